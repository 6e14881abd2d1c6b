/**
 * The body of `POST /v1/approvals/{id}/consume` (authorize.md §4): the single use of an approval, for exactly the action
 * and the binding that were approved. Answered by an authorize answer, or by a problem.
 */
import * as v from 'valibot'
import {
  type ActionHash,
  type BindingHash,
  describeFormatError,
  parseBody,
  parseDigest,
} from '../record/index.ts'
import { requestIdPattern } from './authorize-request.ts'
import type { RefusedMember } from './problem.ts'
import { refusedMembers } from './refused-members.ts'

const aString = 'must be a string'
const digest = v.pipe(v.string(aString), v.regex(/^[0-9a-f]{64}$/, 'must be 64 lowercase hex characters'))

export const consumeRequestSchema = v.strictObject(
  {
    request_id: v.pipe(
      v.string(aString),
      v.regex(requestIdPattern, 'must be 1 to 128 characters of U+0021 to U+007E'),
    ),
    action_hash: digest,
    binding_hash: digest,
  },
  'must be an object',
)

export interface ConsumeRequest {
  readonly requestId: string
  readonly actionHash: ActionHash
  readonly bindingHash: BindingHash
}

export type ParsedConsumeRequest =
  | { readonly ok: true; readonly request: ConsumeRequest }
  | { readonly ok: false; readonly code: 'body_malformed'; readonly detail: string }
  | { readonly ok: false; readonly code: 'body_invalid'; readonly members: readonly RefusedMember[] }

/** Reads a body, strictly. */
export function parseConsumeRequest(bytes: Uint8Array): ParsedConsumeRequest {
  const body = parseBody(bytes)
  if (!body.ok) return { ok: false, code: 'body_malformed', detail: describeFormatError(body.error) }
  const read = v.safeParse(consumeRequestSchema, body.value)
  if (!read.success) {
    return { ok: false, code: 'body_invalid', members: refusedMembers(consumeRequestSchema, body.value) }
  }
  return {
    ok: true,
    request: {
      requestId: read.output.request_id,
      actionHash: parseDigest<ActionHash>(read.output.action_hash) as ActionHash,
      bindingHash: parseDigest<BindingHash>(read.output.binding_hash) as BindingHash,
    },
  }
}
