/**
 * What acts of an operator or an admin answer, and how those are recorded whose whole content is in the path: as the
 * canonical form of what they say (SPEC.md §4.9). Not for agents' actions.
 */
import * as v from 'valibot'
import { receiptSchema } from './answer-members.ts'
import { type JsonObject, encodeCanonical } from '../record/index.ts'

export const actAnswerSchema = v.strictObject({
  /** `unchanged`: it was so already, and no Line was written. */
  outcome: v.picklist(['done', 'unchanged']),
  /** The tenant's revision from now on. */
  revision: v.pipe(v.number(), v.integer(), v.minValue(0)),
  call_id: v.exactOptional(v.string()),
  receipt: v.exactOptional(receiptSchema),
})
export type ActAnswer = v.InferOutput<typeof actAnswerSchema>

/** The bytes that stand for a request without a body: its name and what the path names. */
export function bareRequest(act: string, names: JsonObject = {}): Uint8Array {
  return encodeCanonical({ ...names, act })
}
