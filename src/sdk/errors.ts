/**
 * Everything that is not an answer (authorize.md §6): one class for each place where it went wrong, one closed union of
 * codes. Whoever catches one of these must not run the tool. A denial is a decision: `authorize` returns it, and only
 * `protect`, which has nothing else to return, throws it. No text here ever holds the API key.
 */
import type { ApprovalStateName } from '../protocol/approval-states.ts'
import type { Approval } from './approval.ts'
import type { Denied } from './authorization.ts'

/** Stable: a code keeps its meaning, and a switch over them is complete. */
export type AegisErrorCode =
  // AegisOptionError: the client was made wrongly; nothing was sent
  | 'option_invalid'
  | 'url_invalid'
  | 'key_invalid'
  // AegisActionError: the action has no exact form; nothing was sent
  | 'action_invalid'
  // AegisUnreachableError: no answer
  | 'network_error'
  | 'timeout'
  // AegisAbortedError: the caller's signal
  | 'aborted'
  // AegisDenied: the decision is no
  | 'denied'
  | ApprovalErrorCode
  | StatusErrorCode
  | AnswerErrorCode

/** Of AegisApprovalError: a human was asked, and there is no authority. */
type ApprovalErrorCode =
  // still undecided when the waiting ended
  | 'approval_pending'
  | 'approval_denied'
  | 'approval_expired'
  | 'approval_cancelled'
  | 'approval_withdrawn'
  | 'approval_lapsed'
  | 'approval_consumed'
  // what was approved is not what would run
  | 'approval_hash_mismatch'

/** Of AegisStatusError: an answer that is not a decision. */
type StatusErrorCode =
  | 'unauthorized'
  | 'forbidden'
  | 'conflict'
  | 'rate_limited'
  | 'unavailable'
  | 'server_error'
  | 'unexpected_status'

/** Of AegisAnswerError: a 200 that cannot be believed. */
type AnswerErrorCode =
  | 'redirected'
  | 'not_json'
  | 'answer_too_large'
  | 'answer_malformed'
  | 'unknown_decision'
  | 'receipt_missing'
  | 'receipt_malformed'
  | 'receipt_mismatch'
  | 'receipt_untrusted'
  | 'grant_missing'
  | 'grant_unexpected'
  | 'grant_expired'
  | 'grant_used'
  | 'clock_skew'
  | 'unknown_state'
  | 'state_mismatch'

/** What a receipt is kept as: the signed outcome Line, verbatim, and its hash. */
export interface Receipt {
  readonly line: string
  /** SHA-256 of the Line's bytes, computed here. */
  readonly lineHash: string
}

export interface ErrorEvidence {
  /** Where the server named the Call. */
  readonly callId?: string | undefined
  /** Where a well-formed receipt came with the answer; it is evidence, not permission. */
  readonly receipt?: Receipt | undefined
}

/** The base of all errors of this client. */
export abstract class AegisError extends Error {
  readonly code: AegisErrorCode
  readonly callId: string | undefined
  readonly receipt: Receipt | undefined

  constructor(code: AegisErrorCode, message: string, evidence: ErrorEvidence = {}) {
    super(`${code}: ${message}`)
    this.code = code
    this.callId = evidence.callId
    this.receipt = evidence.receipt
  }
}

/** The options cannot work. Thrown by the constructor and never later. */
export class AegisOptionError extends AegisError {
  override readonly name = 'AegisOptionError'
  declare readonly code: 'option_invalid' | 'url_invalid' | 'key_invalid'
  constructor(code: AegisOptionError['code'], message: string) {
    super(code, message)
  }
}

/** A value that JSON would change, drop or refuse. `path` is a JSON path from the action, e.g. `$.parameters.when`. */
export class AegisActionError extends AegisError {
  override readonly name = 'AegisActionError'
  declare readonly code: 'action_invalid'
  readonly path: string
  constructor(path: string, why: string) {
    super('action_invalid', `${path} ${why}`)
    this.path = path
  }
}

/** No answer came: the connection failed, broke off, or took longer than the deadline. */
export class AegisUnreachableError extends AegisError {
  override readonly name = 'AegisUnreachableError'
  declare readonly code: 'network_error' | 'timeout'
  /** Requests that were sent, all with the same bytes. */
  readonly attempts: number
  constructor(code: AegisUnreachableError['code'], message: string, attempts: number) {
    super(code, message)
    this.attempts = attempts
  }
}

/** The caller's `AbortSignal` fired. The Call may have been recorded all the same. */
export class AegisAbortedError extends AegisError {
  override readonly name = 'AegisAbortedError'
  declare readonly code: 'aborted'
  constructor() {
    super('aborted', "the caller's signal fired before the answer")
  }
}

/** The decision is no. Its receipt shows that it was recorded. */
export class AegisDenied extends AegisError {
  override readonly name = 'AegisDenied'
  declare readonly code: 'denied'
  readonly decision: Denied
  constructor(decision: Denied) {
    super('denied', `${decision.reason.code}${suffix(decision.reason.detail)}`, decision)
    this.decision = decision
  }
  /** `code` is the server's and stable, e.g. `policy_denied`. */
  get reason(): Denied['reason'] {
    return this.decision.reason
  }
}

/** A human was asked, and nothing may run. */
export class AegisApprovalError extends AegisError {
  override readonly name = 'AegisApprovalError'
  declare readonly code: ApprovalErrorCode
  readonly approval: Approval
  /** Why it was denied, where the server tells. */
  readonly reason: { readonly code: string; readonly detail: string } | undefined
  constructor(
    code: ApprovalErrorCode,
    approval: Approval,
    evidence: ErrorEvidence,
    reason?: AegisApprovalError['reason'],
  ) {
    const said = reason === undefined ? '' : `: ${reason.code}${suffix(reason.detail)}`
    super(code, `${approval.approvalId}${said}`, evidence)
    this.approval = approval
    this.reason = reason
  }
}

/** What the server said of its refusal, cut to a readable length. */
export interface Problem {
  readonly code: string
  readonly detail?: string
  /** Of the approval that it is about. */
  readonly state?: ApprovalStateName
}

/** Another status than 200. */
export class AegisStatusError extends AegisError {
  override readonly name = 'AegisStatusError'
  declare readonly code: StatusErrorCode
  readonly status: number
  /** From `application/problem+json`; its `code` is the server's, e.g. `idempotency_conflict`. */
  readonly problem: Problem | undefined
  /** From `Retry-After`, where the server sent a sensible one. */
  readonly retryAfterMs: number | undefined
  constructor(
    status: number,
    problem: Problem | undefined,
    retryAfterMs: number | undefined,
    evidence: ErrorEvidence,
  ) {
    const said = problem === undefined ? '' : `: ${problem.code}${suffix(problem.detail)}`
    super(codeOfStatus(status), `the authorizer answered ${String(status)}${said}`, evidence)
    this.status = status
    this.problem = problem
    this.retryAfterMs = retryAfterMs
  }
}

/** An answer with status 200 or 3xx that must not be acted upon. */
export class AegisAnswerError extends AegisError {
  override readonly name = 'AegisAnswerError'
  declare readonly code: AnswerErrorCode
  constructor(code: AegisAnswerError['code'], message: string, evidence: ErrorEvidence = {}) {
    super(code, message, evidence)
  }
}

function codeOfStatus(status: number): AegisStatusError['code'] {
  switch (status) {
    case 401:
      return 'unauthorized'
    case 403:
      return 'forbidden'
    case 409:
      return 'conflict'
    case 429:
      return 'rate_limited'
    case 502:
    case 503:
    case 504:
      return 'unavailable'
    default:
      return status >= 500 ? 'server_error' : 'unexpected_status'
  }
}

function suffix(detail: string | undefined): string {
  return detail === undefined || detail === '' ? '' : ` (${toPrintable(detail)})`
}

/** Text of others for a message: without characters that steer a terminal, cut at 512. */
export function toPrintable(text: string): string {
  const clean = text.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '\u{fffd}')
  return clean.length > 512 ? `${clean.slice(0, 512)}…` : clean
}
