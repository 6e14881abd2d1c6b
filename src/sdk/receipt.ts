/**
 * A receipt as the client reads it: the text must be the canonical form of an outcome Line of this version with a
 * signature in it. Its members are looked up one by one where they are compared; what nobody compares is not judged. Whether
 * the signature holds is trust.ts, and whether it fits the request answer-check.ts.
 */
import type { JsonObject, JsonValue } from '../record/json.ts'
import { canonicalText } from '../record/jcs.ts'
import { isObject } from './answer-json.ts'
import { AegisAnswerError, type ErrorEvidence, type Receipt } from './errors.ts'
import { type Hash, hexHash, toBytes } from './hash.ts'

export interface ReadReceipt {
  readonly receipt: Receipt
  readonly bytes: Uint8Array
  readonly outcome: JsonObject
}

/** @throws AegisAnswerError `receipt_malformed`. */
export async function readReceipt(text: unknown, hash: Hash, evidence: ErrorEvidence): Promise<ReadReceipt> {
  const outcome = typeof text === 'string' ? parseCanonical(text) : undefined
  if (typeof text !== 'string' || outcome === undefined || !isOutcome(outcome)) {
    throw new AegisAnswerError('receipt_malformed', 'the receipt is not a signed outcome Line', evidence)
  }
  const bytes = toBytes(text)
  const receipt = Object.freeze({ line: text, lineHash: await hexHash(hash, bytes) })
  return { receipt, bytes, outcome }
}

/** What stands at a path of members, `undefined` where one is missing. */
export function at(outcome: JsonObject, ...path: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = outcome
  for (const name of path) value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
  return value
}

/** The same where it is a text; `''`, which is nobody's id, where it is not. */
export function textAt(outcome: JsonObject, ...path: readonly string[]): string {
  const value = at(outcome, ...path)
  return typeof value === 'string' ? value : ''
}

/** That a text equals the canonical form of what it parses to: no member twice, no space, no other spelling. */
function parseCanonical(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text) as JsonValue
    return isObject(value) && canonicalText(value) === text ? value : undefined
  } catch {
    return undefined
  }
}

function isOutcome(line: JsonObject): boolean {
  return (
    line['line_type'] === 'outcome' &&
    line['schema_version'] === 2 &&
    isHex(line['signature'], 128) &&
    isHex(line['key_id'], 64)
  )
}

function isHex(value: JsonValue | undefined, length: number): boolean {
  return typeof value === 'string' && value.length === length && /^[0-9a-f]*$/.test(value)
}
