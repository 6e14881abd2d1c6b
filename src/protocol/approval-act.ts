/** The bodies with which a person approves, denies or withdraws (authorize.md §4): the hash of what was shown to him. */
import * as v from 'valibot'
import { type BindingHash, describeFormatError, parseBody, parseDigest } from '../record/index.ts'
import type { RefusedMember } from './problem.ts'
import { refusedMembers } from './refused-members.ts'
import { utf8Length } from './utf8-length.ts'

const aString = 'must be a string'
const digest = v.pipe(v.string(aString), v.regex(/^[0-9a-f]{64}$/, 'must be 64 lowercase hex characters'))
/** As long as any prose of a Line may be (SPEC.md §4.4). */
const proseBytesMax = 512

export const approvalActSchema = v.strictObject({ binding_hash: digest }, 'must be an object')
export const denialSchema = v.strictObject(
  {
    binding_hash: digest,
    /** Kept in the record, for good. */
    reason: v.exactOptional(
      v.pipe(
        v.string(aString),
        v.check((value) => utf8Length(value) <= proseBytesMax, 'must be at most 512 bytes'),
        v.description('At most 512 bytes of UTF-8'),
      ),
    ),
  },
  'must be an object',
)

export interface ApprovalActRequest {
  readonly bindingHash: BindingHash
  readonly reason?: string
}

export type ParsedApprovalAct =
  | { readonly ok: true; readonly request: ApprovalActRequest }
  | { readonly ok: false; readonly code: 'body_malformed'; readonly detail: string }
  | { readonly ok: false; readonly code: 'body_invalid'; readonly members: readonly RefusedMember[] }

/** Reads a body, strictly; only a denial has a reason. */
export function parseApprovalAct(bytes: Uint8Array, act: 'approve' | 'deny' | 'withdraw'): ParsedApprovalAct {
  const body = parseBody(bytes)
  if (!body.ok) return { ok: false, code: 'body_malformed', detail: describeFormatError(body.error) }
  const schema = act === 'deny' ? denialSchema : approvalActSchema
  const read = v.safeParse(schema, body.value)
  if (!read.success) {
    return { ok: false, code: 'body_invalid', members: refusedMembers(schema, body.value) }
  }
  const bindingHash = parseDigest<BindingHash>(read.output.binding_hash) as BindingHash
  const reason = 'reason' in read.output ? read.output.reason : undefined
  return { ok: true, request: { bindingHash, ...(reason === undefined ? {} : { reason }) } }
}
