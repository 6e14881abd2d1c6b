/**
 * What `authorize` answers with, told apart by `kind`. Only `allowed` carries a grant; a `kind` that a caller does not
 * know must be treated like a denial. Errors are in errors.ts.
 */
import type { ActionHash, ToolCall } from '../record/index.ts'
import type { Approval } from './approval.ts'
import type { AegisError, Receipt } from './errors.ts'
import type { UsableGrant } from './grant.ts'

/** What every decision says. */
interface Decided {
  readonly callId: string
  /** `code` is stable; `detail` is for people. */
  readonly reason: { readonly code: string; readonly detail: string }
  readonly risk: { readonly level: 'low' | 'medium' | 'high' | 'critical'; readonly score: number }
  /** Ids of the policies that decided, where the server tells. */
  readonly matchedRules: readonly string[]
  /** The signed outcome Line; hand it to the tool server. */
  readonly receipt: Receipt
  /** The deep, frozen copy that was hashed and decided upon: run this one, not the original. */
  readonly action: ToolCall
  readonly actionHash: ActionHash
  readonly requestId: string
}

/** The action may run now, once, while `grant.isUsable()`. */
export interface Allowed extends Decided {
  readonly kind: 'allowed'
  readonly grant: UsableGrant
}

/** The action must not run. */
export interface Denied extends Decided {
  readonly kind: 'denied'
}

/** A human must approve first; until then the action must not run. Plain data, which may be stored as JSON. */
export interface ApprovalRequired extends Decided {
  readonly kind: 'approval_required'
  readonly approval: Approval
}

/**
 * Nobody decided: the authorizer could not be reached, and the caller's own options let this read through. There is no
 * record of it, no grant and no receipt.
 */
export interface UnverifiedRead {
  readonly kind: 'unverified_read'
  readonly action: ToolCall
  readonly actionHash: ActionHash
  readonly requestId: string
  /** Why there is no decision. */
  readonly error: AegisError
}

export type Decision = Allowed | Denied | ApprovalRequired
