/** Approvals and grants as the agent that asked for them sees them (authorize.md §4, §5). Not for deciding on them. */
import type { ApprovalStateName } from '../protocol/approval-states.ts'

/** What a human must approve, as the decision that asked for it says. */
export interface Approval {
  readonly approvalId: string
  readonly actionHash: string
  /** What a human is shown and approves. */
  readonly bindingHash: string
  readonly groups: readonly string[]
  readonly quorum: number
  /** Of the server's clock, integer ms since the epoch. */
  readonly approveBy: number
  /** How long it may be used once it is approved. */
  readonly useWithinMs: number
}

/** Where an approval stands; times are of the server's clock, integer ms since the epoch. */
export interface ApprovalState extends Omit<Approval, 'useWithinMs'> {
  readonly state: ApprovalStateName
  /** The Call that asked for it. */
  readonly callId: string
  readonly toolId: string
  /** Once approved. */
  readonly useBy: number | undefined
  readonly decidedAt: number | undefined
  /** Of a denied one. */
  readonly reason: { readonly code: string; readonly detail: string } | undefined
}

/** Grants that ended without a report. */
export interface UnreportedGrants {
  readonly grants: readonly {
    readonly grantId: string
    readonly callId: string
    readonly toolId: string
    readonly expiresAt: number
  }[]
  /** What to give as `after` for the rest. */
  readonly next: string | undefined
}
