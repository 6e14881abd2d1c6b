/**
 * The JSON of an answer, read so that it can be read one way only: strict UTF-8, one value, no member twice. Small, since
 * the SDK is counted in kilobytes: the platform parses, and the repeated members that it would swallow are found by
 * counting. Not for Lines, which must be canonical besides (receipt.ts), nor for anything that is hashed.
 */
import type { JsonObject, JsonValue } from '../record/json.ts'

/** `undefined` for bytes that are not one JSON object in strict UTF-8, or that name a member twice. */
export function readObject(bytes: Uint8Array): JsonObject | undefined {
  try {
    // A byte order mark is kept, and then refused by JSON.parse.
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    const value = JSON.parse(text) as JsonValue
    // Outside strings a colon stands for a member, and a member that came twice is in the value once.
    const colons = text.replaceAll(/"[^"\\]*(?:\\.[^"\\]*)*"/g, '').split(':').length - 1
    return isObject(value) && colons === countMembers(value) ? value : undefined
  } catch {
    // Not UTF-8, not JSON, or nested deeper than the stack.
    return undefined
  }
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function countMembers(value: JsonValue): number {
  if (typeof value !== 'object' || value === null) return 0
  const inside = Object.values(value as JsonObject)
  return inside.reduce<number>(
    (sum, member) => sum + countMembers(member),
    Array.isArray(value) ? 0 : inside.length,
  )
}
