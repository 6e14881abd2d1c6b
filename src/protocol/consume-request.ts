/**
 * The body of `POST /v1/approvals/{id}/consume` (authorize.md §4): the single use of an approval, for exactly the action
 * and the binding that were approved. Answered by an authorize answer, or by a problem.
 */
import * as v from 'valibot'
import { type ActionHash, type BindingHash, parseDigest } from '../record/index.ts'
import { requestId } from './authorize-request.ts'
import { type RefusedBody, digestText, mustBeObject, readStrictBody } from './strict-body.ts'

export const consumeRequestSchema = v.strictObject(
  { request_id: requestId, action_hash: digestText, binding_hash: digestText },
  mustBeObject,
)

export interface ConsumeRequest {
  readonly requestId: string
  readonly actionHash: ActionHash
  readonly bindingHash: BindingHash
}

export type ParsedConsumeRequest = { readonly ok: true; readonly request: ConsumeRequest } | RefusedBody

/** Reads a body, strictly. */
export function parseConsumeRequest(bytes: Uint8Array): ParsedConsumeRequest {
  const read = readStrictBody(consumeRequestSchema, bytes)
  if (!read.ok) return read
  const { request_id: id, action_hash: action, binding_hash: binding } = read.value
  return {
    ok: true,
    request: {
      requestId: id,
      actionHash: parseDigest<ActionHash>(action) as ActionHash,
      bindingHash: parseDigest<BindingHash>(binding) as BindingHash,
    },
  }
}
