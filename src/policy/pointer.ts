/**
 * JSON Pointer (RFC 6901) with at most one `*` for each element of an array (policy.md §2). Walks own members only;
 * parameters have no prototype. Not a query language.
 */
import { type JsonValue, isJsonObject } from '../record/index.ts'

export type PointerStep = { readonly kind: 'member'; readonly name: string } | { readonly kind: 'each' }

export type ParsedPointer =
  { readonly ok: true; readonly steps: readonly PointerStep[] } | { readonly ok: false; readonly why: string }

const stepsMax = 16
const charsMax = 512

export function parsePointer(text: string): ParsedPointer {
  if (!text.startsWith('/')) return { ok: false, why: 'does not begin with /' }
  if (text.length > charsMax) return { ok: false, why: 'is over 512 characters' }
  if (/~(?![01])/.test(text)) return { ok: false, why: 'has a ~ that is neither ~0 nor ~1' }
  const steps = text
    .slice(1)
    .split('/')
    .map((part): PointerStep =>
      part === '*'
        ? { kind: 'each' }
        : { kind: 'member', name: part.replaceAll('~1', '/').replaceAll('~0', '~') },
    )
  if (steps.length > stepsMax) return { ok: false, why: 'has more than 16 steps' }
  if (steps.filter((step) => step.kind === 'each').length > 1)
    return { ok: false, why: 'has more than one *' }
  return { ok: true, steps }
}

/** What stands at a place: a value, nothing (absent or null), or something that the pointer cannot go into. */
export type Pointed =
  | { readonly kind: 'value'; readonly value: JsonValue }
  | { readonly kind: 'absent' }
  | { readonly kind: 'mistyped' }

/** Follows member steps. null counts as absent: a model that fills in every optional argument sends it. */
export function follow(value: JsonValue, steps: readonly PointerStep[]): Pointed {
  let at: JsonValue = value
  for (const step of steps) {
    if (at === null) return { kind: 'absent' }
    if (step.kind === 'each') throw new Error('a * is followed by its caller')
    let next: JsonValue | undefined
    if (isJsonObject(at)) next = Object.hasOwn(at, step.name) ? at[step.name] : undefined
    else if (Array.isArray(at) && /^(0|[1-9][0-9]{0,3})$/.test(step.name))
      next = at[Number(step.name)] as JsonValue
    else return { kind: 'mistyped' }
    if (next === undefined) return { kind: 'absent' }
    at = next
  }
  return at === null ? { kind: 'absent' } : { kind: 'value', value: at }
}
