/**
 * The canonical form: RFC 8785 (SPEC.md §3.3). It is also `aegis-jcs-1` (SPEC.md §6.1), because a key above U+FFFF is
 * refused there and below it the order by UTF-16 code unit is the order by code point. Not a reader and not a check of
 * a profile: what may stand in a Line is said by profile.ts.
 */
import { type JsonObject, type JsonValue, hasLoneSurrogate } from './json.ts'
import { depthMax } from './profile.ts'
import { utf8 } from './utf8.ts'

/**
 * A value as canonical UTF-8 bytes.
 *
 * @throws Error for a value that has no canonical form (a lone surrogate, a number that is not finite, more than 64
 *   levels): readers refuse these, so here it is a broken invariant.
 * @example encodeCanonical({ b: 1, a: 'x' }) // the bytes of {"a":"x","b":1}
 */
export function encodeCanonical(value: JsonValue): Uint8Array {
  return utf8(canonicalText(value))
}

/** Whether bytes are exactly the canonical form of the value that was read from them. */
export function isCanonical(value: JsonValue, bytes: Uint8Array): boolean {
  const canonical = encodeCanonical(value)
  return canonical.length === bytes.length && canonical.every((byte, at) => byte === bytes[at])
}

/**
 * The same as text; for signing and hashing use {@link encodeCanonical}.
 *
 * @param outerLevels containers that the text will be put into: they count towards the 64 levels.
 */
export function canonicalText(value: JsonValue, outerLevels = 0): string {
  return serialise(value, outerLevels)
}

function serialise(value: JsonValue, depth: number): string {
  switch (typeof value) {
    case 'string':
      return canonicalString(value)
    case 'number':
      return canonicalNumber(value)
    case 'boolean':
      return value ? 'true' : 'false'
    default:
      if (value === null) return 'null'
      // Recursion goes at most as deep as this limit, never as deep as an input.
      if (depth >= depthMax)
        throw new Error('a value nested deeper than 64 levels has no canonical form here')
      return Array.isArray(value) ? serialiseArray(value, depth) : serialiseObject(value as JsonObject, depth)
  }
}

function serialiseArray(items: readonly JsonValue[], depth: number): string {
  let text = '['
  for (let at = 0; at < items.length; at += 1) {
    if (at > 0) text += ','
    text += serialise(items[at] as JsonValue, depth + 1)
  }
  return `${text}]`
}

function serialiseObject(members: JsonObject, depth: number): string {
  // The default sort compares UTF-16 code units, which is the order that RFC 8785 §3.2.3 asks for.
  const keys = Object.keys(members).sort()
  let text = '{'
  for (const key of keys) {
    const value = members[key]
    if (value === undefined) continue
    if (text.length > 1) text += ','
    text += `${canonicalString(key)}:${serialise(value, depth + 1)}`
  }
  return `${text}}`
}

/** RFC 8785 §3.2.2.2 is ECMAScript's QuoteJSONString, whose only difference is what it does with a lone surrogate. */
export function canonicalString(text: string): string {
  // Nearly every string of a Line is of these: nothing to escape, nothing to refuse.
  if (plainText.test(text)) return `"${text}"`
  if (hasLoneSurrogate(text)) throw new Error('a lone surrogate has no canonical form')
  return JSON.stringify(text)
}

/** Printable ASCII but for the quote and the backslash. */
const plainText = /^[\u0020\u0021\u0023-\u005b\u005d-\u007e]*$/

/** RFC 8785 §3.2.2.3: ECMAScript's Number::toString, the shortest text that reads back to the same double. */
function canonicalNumber(value: number): string {
  if (!Number.isFinite(value)) throw new Error('a number that is not finite has no canonical form')
  return String(value)
}
