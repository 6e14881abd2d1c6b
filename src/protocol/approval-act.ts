/** The bodies with which a person approves, denies or withdraws (authorize.md §4): the hash of what was shown to him. */
import * as v from 'valibot'
import { type BindingHash, parseDigest } from '../record/index.ts'
import { type RefusedBody, digestText, mustBeObject, prose, readStrictBody } from './strict-body.ts'

export const approvalActSchema = v.strictObject({ binding_hash: digestText }, mustBeObject)
export const denialSchema = v.strictObject(
  {
    binding_hash: digestText,
    /** Kept in the record, for good. */
    reason: v.exactOptional(prose),
  },
  mustBeObject,
)

export interface ApprovalActRequest {
  readonly bindingHash: BindingHash
  readonly reason?: string
}

export type ParsedApprovalAct = { readonly ok: true; readonly request: ApprovalActRequest } | RefusedBody

/** Reads a body, strictly; only a denial has a reason. */
export function parseApprovalAct(bytes: Uint8Array, act: 'approve' | 'deny' | 'withdraw'): ParsedApprovalAct {
  const read = readStrictBody(act === 'deny' ? denialSchema : approvalActSchema, bytes)
  if (!read.ok) return read
  const bindingHash = parseDigest<BindingHash>(read.value.binding_hash) as BindingHash
  const reason = 'reason' in read.value ? read.value.reason : undefined
  return { ok: true, request: { bindingHash, ...(reason === undefined ? {} : { reason }) } }
}
