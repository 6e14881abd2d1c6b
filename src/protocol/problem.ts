/**
 * Error answers: RFC 9457 problem details with a stable `code` (authorize.md). One exhaustive switch turns a code
 * into a status. Not for denials, which are decisions and answer 200.
 */
import * as v from 'valibot'
import { type ApprovalStateName, approvalStates } from './approval-states.ts'

export const problemCodes = [
  'authorization_malformed',
  'header_malformed',
  'content_length_mismatch',
  'query_invalid',
  'body_malformed',
  'body_invalid',
  'idempotency_key_mismatch',
  'unauthorized',
  'role_not_allowed',
  'explain_not_allowed',
  'not_found',
  'method_not_allowed',
  'idempotency_conflict',
  'already_consumed',
  'not_approved',
  'expired',
  'hash_mismatch',
  'approval_decided',
  'approval_changed',
  'already_reported',
  'report_too_late',
  'body_too_large',
  'content_type_unsupported',
  'content_encoding_unsupported',
  'range_not_satisfiable',
  'already_exists',
  'agent_revoked',
  'key_revoked',
  'agent_required',
  'already_created',
  'confirmation_by_another',
  'tool_id_invalid',
  'subject_required',
  'group_members_invalid',
  'webhook_refused',
  'bundle_invalid',
  'not_behind',
  'archive_not_ours',
  'tenant_name_used',
  'tenant_name_invalid',
  'envelope_erased',
  'envelopes_not_granted',
  'owner_excluded',
  'not_in_group',
  'rate_limited',
  'internal_error',
  'not_configured',
  'not_ready',
  'unavailable',
  'still_stale',
  'storage_full',
  'line_too_long',
  'behind_archive',
] as const
export type ProblemCode = (typeof problemCodes)[number]

export type ProblemStatus = 400 | 401 | 403 | 404 | 405 | 409 | 410 | 413 | 415 | 416 | 429 | 500 | 503

export function problemStatus(code: ProblemCode): ProblemStatus {
  switch (code) {
    case 'authorization_malformed':
    case 'header_malformed':
    case 'content_length_mismatch':
    case 'query_invalid':
    case 'body_malformed':
    case 'body_invalid':
    case 'idempotency_key_mismatch':
    case 'tenant_name_invalid':
    case 'tool_id_invalid':
    case 'webhook_refused':
      return 400
    case 'unauthorized':
      return 401
    case 'role_not_allowed':
    case 'explain_not_allowed':
    case 'envelopes_not_granted':
    case 'owner_excluded':
    case 'not_in_group':
    case 'confirmation_by_another':
      return 403
    case 'not_found':
      return 404
    case 'method_not_allowed':
      return 405
    case 'already_exists':
    case 'agent_revoked':
    case 'key_revoked':
    case 'agent_required':
    case 'already_created':
    case 'subject_required':
    case 'group_members_invalid':
    case 'bundle_invalid':
    case 'not_behind':
    case 'archive_not_ours':
    case 'tenant_name_used':
    case 'idempotency_conflict':
    case 'already_consumed':
    case 'not_approved':
    case 'expired':
    case 'hash_mismatch':
    case 'approval_decided':
    case 'approval_changed':
    case 'already_reported':
    case 'report_too_late':
      return 409
    case 'envelope_erased':
      return 410
    case 'body_too_large':
      return 413
    case 'content_type_unsupported':
    case 'content_encoding_unsupported':
      return 415
    case 'range_not_satisfiable':
      return 416
    case 'rate_limited':
      return 429
    case 'internal_error':
      return 500
    case 'not_configured':
    case 'not_ready':
    case 'unavailable':
    case 'still_stale':
    case 'storage_full':
    case 'line_too_long':
    case 'behind_archive':
      return 503
  }
}

/** A part of a request that was refused: where it stands and what is wrong with it. */
export interface RefusedMember {
  /** `tool_call.resource`; keys that are not plain names are quoted. */
  readonly member: string
  readonly problem: string
}

export interface Problem {
  readonly title: string
  readonly status: ProblemStatus
  readonly code: ProblemCode
  readonly detail: string
  /** Present where a Line was written. */
  readonly call_id?: string
  /** Of an approval, where it is not in the state that the request needs. */
  readonly state?: ApprovalStateName
  readonly members?: readonly RefusedMember[]
}

export const problemSchema = v.strictObject({
  title: v.string(),
  status: v.pipe(v.number(), v.integer()),
  code: v.picklist(problemCodes),
  detail: v.string(),
  call_id: v.exactOptional(v.string()),
  state: v.exactOptional(v.picklist(approvalStates)),
  members: v.exactOptional(v.array(v.strictObject({ member: v.string(), problem: v.string() }))),
})

export interface ProblemExtras {
  /** Instead of the code's own sentence. */
  readonly detail?: string
  readonly callId?: string
  readonly state?: ApprovalStateName
  readonly members?: readonly RefusedMember[]
}

/** The body of an error answer. */
export function toProblem(code: ProblemCode, extras: ProblemExtras = {}): Problem {
  const status = problemStatus(code)
  return {
    title: titles[status],
    status,
    code,
    detail: extras.detail ?? details[code],
    ...(extras.callId === undefined ? {} : { call_id: extras.callId }),
    ...(extras.state === undefined ? {} : { state: extras.state }),
    ...(extras.members === undefined ? {} : { members: extras.members }),
  }
}

/** With `type` left out (about:blank), the title is the phrase of the status. */
const titles: Readonly<Record<ProblemStatus, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  410: 'Gone',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  416: 'Range Not Satisfiable',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
}

const retry = 'nothing was allowed; a retry with the same request_id is safe'

const details: Readonly<Record<ProblemCode, string>> = {
  authorization_malformed: 'Authorization must be `Bearer`, one space and one key',
  header_malformed: 'a header has a value that it may not have',
  content_length_mismatch: 'Content-Length is not the length of the body',
  query_invalid: 'a query parameter is missing or has a value that it may not have',
  body_malformed: 'the body is not a JSON text that is read here',
  body_invalid: 'the body has members that are missing, unknown or wrong',
  idempotency_key_mismatch: 'Idempotency-Key and request_id are both present and differ',
  unauthorized: 'the key is not one that is accepted here',
  role_not_allowed: 'a key of this role may not do this',
  explain_not_allowed: 'an agent key may not ask for this explanation',
  not_found: 'there is nothing here',
  method_not_allowed: 'this path does not take that method; Allow lists those it takes',
  idempotency_conflict: 'this request_id was used for other bytes within the last 24 hours',
  already_consumed: 'this approval was used already; it is good for one use',
  not_approved: 'this approval is not approved',
  expired: 'the time to use this approval is over',
  hash_mismatch: 'action_hash or binding_hash is not the one that was approved',
  approval_decided: 'this approval was decided already',
  approval_changed: 'binding_hash is not the one of this approval',
  already_reported: 'this grant was reported already',
  report_too_late: 'the time to report this grant is over',
  body_too_large: 'the body is longer than is read here',
  content_type_unsupported: 'the body must be application/json in UTF-8',
  content_encoding_unsupported: 'the body must come without Content-Encoding',
  range_not_satisfiable: 'the range begins behind the end',
  already_exists: 'there is one of that name or id already',
  agent_revoked: 'the agent was revoked, for good',
  key_revoked: 'the key was revoked, for good',
  agent_required: 'a key of role agent names its agent',
  already_created: 'a key was made under this Idempotency-Key, and is shown once only: revoke it, or find it',
  confirmation_by_another:
    'an admin confirms what neither he issued nor is his: another subject than the issuer and the holder',
  tool_id_invalid:
    'a tool_id is tool and action with a dot between, in the spelling that Calls are recorded in',
  subject_required: 'a key names its subject: whose it is',
  group_members_invalid: 'a member of a group is the subject of a person, and not empty',
  webhook_refused: 'a webhook is an https URL of a public address, without a password in it',
  bundle_invalid: 'the bundle object has no settings that can be used',
  not_behind: 'the archive goes on where this tenant stands: there is nothing to recover',
  archive_not_ours: 'the archive holds what no key of this tenant signed: it must be put right by hand',
  tenant_name_used: 'the archive knows this name: a tenant of that name was lost, and is to be recovered',
  tenant_name_invalid: 'a name of a tenant is 2 to 39 of a-z, 0-9 and -, and begins with a letter',
  envelope_erased: 'the bytes were erased; the record keeps their digest',
  owner_excluded: "the agent's owner may not decide for it",
  not_in_group: 'this subject is in none of the groups that were asked',
  envelopes_not_granted: 'this key may read the Chain, but no Envelopes',
  rate_limited: 'too many requests; Retry-After says when to ask again',
  internal_error: 'the request could not be answered; nothing was allowed',
  not_configured: 'this deployment is not set up to serve',
  not_ready: 'this deployment cannot serve now',
  unavailable: retry,
  still_stale: `the tenant changed while this was decided, three times; ${retry}`,
  storage_full: 'the record has no room left; nothing was allowed',
  behind_archive:
    'the published Chain does not go on where this tenant stands; its operator must recover it, and nothing was allowed',
  line_too_long: 'what this request makes the record hold is too long; nothing was allowed',
}
