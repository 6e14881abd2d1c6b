/**
 * What a tenant's object holds, as plain data: the tenant, its agents, keys and groups, where its Chain stands, and what
 * is counted. Held by a `ChainStore` (ports.ts); changed only inside a transaction. Not the record that auditors read:
 * that is the Lines.
 */
import type {
  ActionHash,
  BindingHash,
  ChainHead,
  KeyId,
  LineHash,
  PolicySetHash,
  RequestDigest,
} from '../record/index.ts'

export type Role = 'agent' | 'approver' | 'auditor' | 'admin'

/** One row, written by administrative Calls only. */
export interface TenantRecord {
  readonly tenant: string
  readonly deployment: string
  /** Integer ms, like every time here. */
  readonly createdAt: number
  /** Raised by every Call that changes what a decision reads (the fence, authorize.md §3 step 8). */
  readonly revision: number
  /** Generation of the signing key, and the number of the seed that it is derived from. */
  readonly keyEpoch: number
  readonly seedNumber: number
  /** Every generation so far, oldest first; the last one is the current. */
  readonly keys: readonly LineKeyRecord[]
  readonly frozen: boolean
  /** Absent before the first activation: everything is then denied `policy_unavailable`. */
  readonly policySetHash?: PolicySetHash
  /** What was active before it: what a roll-back puts in force again. */
  readonly previousPolicySetHash?: PolicySetHash
  readonly shadowHash?: PolicySetHash
  /** Of the active bundle; before the first one, {@link settingsBeforeFirstBundle}. */
  readonly settings: ChainSettings
}

/** A generation of the signing key, and the Session from which on it signs. */
export interface LineKeyRecord {
  readonly keyEpoch: number
  readonly seedNumber: number
  readonly firstSession: number
}

/** The settings of the active bundle that the writer itself enforces, under their names in `settings.json`. */
export interface ChainSettings {
  readonly agent_rate_per_s: number
  readonly agent_burst: number
  readonly tenant_rate_per_s: number
  readonly tenant_burst: number
  readonly agent_daily_quota: number
  readonly tenant_daily_quota: number
  readonly replay_window_ms: number
  readonly grant_ttl_ms: number
  readonly approve_by_ms: number
  readonly use_within_ms: number
  readonly refused_calls_per_minute: number
  readonly pending_per_agent: number
  readonly pending_per_tenant: number
  readonly envelope: 'on' | 'off'
  readonly envelope_retention_days: number
  readonly agents_may_explain: boolean
}

export interface AgentRecord {
  readonly id: string
  /** Empty strings where there is none. */
  readonly environment: string
  readonly owner: string
  readonly riskTier: string
  readonly trustMax: string
  readonly forceApproval: boolean
  readonly roles: readonly string[]
  readonly frozen: boolean
  /** Terminal. */
  readonly revoked: boolean
}

export interface KeyRecord {
  readonly id: string
  readonly role: Role
  /** Whose it is. */
  readonly subject: string
  /** SHA-256 of the secret, 64 hex. */
  readonly secretHash: string
  /** Present for role `agent`, and only there. */
  readonly agentId?: string
  /** Of role `auditor`: may read Envelopes too. */
  readonly envelopes?: boolean
  readonly expiresAt: number
  readonly revoked: boolean
  /** `false`: nothing may be done with it until a second admin has confirmed it (issue-key.ts). Absent: it may be used. */
  readonly confirmed?: boolean
  /** Subject of the admin who issued it; absent when it was the operator. */
  readonly issuedBy?: string
}

/** Members are subjects, ASCII-lowercased. */
export interface GroupRecord {
  readonly name: string
  readonly members: readonly string[]
  /** Told of each approval that the group is asked for. */
  readonly webhook?: WebhookTarget
}

/** Where notices go, and in which shape. */
export interface WebhookTarget {
  /** May hold a secret: whoever has it can post there. */
  readonly url: string
  readonly format: 'standard' | 'slack'
}

/** A notice that waits to be sent to a group: of an approval, at a time, after so many attempts. */
export interface NoticeRecord {
  readonly approvalId: string
  readonly group: string
  readonly at: number
  readonly attempts: number
}

/** One row, replaced by compare-and-set on `head.lineHash` with each append. */
export interface HeadRecord {
  readonly head: ChainHead
  /** Of the Session under way; 0 when none is open. */
  readonly openedAt: number
  readonly calls: number
  readonly bytes: number
  readonly bucket: Bucket
  readonly day: DayCount
  readonly pendingApprovals: number
}

/** A token bucket: what was in it at a time. */
export interface Bucket {
  readonly tokens: number
  readonly at: number
}

/** Calls counted against a daily quota, and the UTC day (days since the epoch) they belong to. */
export interface DayCount {
  readonly day: number
  readonly calls: number
}

/** One row an agent: everything that is counted for it, so that a Call writes it once. */
export interface AgentCounters {
  readonly agentId: string
  readonly bucket: Bucket
  readonly day: DayCount
  /** Refused Calls since `refusedSince`, in windows of one minute. */
  readonly refused: number
  readonly refusedSince: number
  /** Since this agent's last Line. */
  readonly suppressed: number
  readonly explained: number
  readonly pendingApprovals: number
  /** Nonces kept, by generation (ids.ts): the current one and the one before. */
  readonly nonceGeneration: number
  readonly nonces: number
  readonly noncesBefore: number
  /** When its last Call was recorded; absent before version 2 had one. */
  readonly lastCallAt?: number
}

/** Where a `request_id` led. */
export interface RequestRecord {
  readonly requestDigest: RequestDigest
  readonly sessionIndex: number
  /** Of the outcome Line. */
  readonly seq: number
}

export type ApprovalState =
  'pending' | 'approved' | 'denied' | 'expired' | 'cancelled' | 'consumed' | 'lapsed' | 'withdrawn'

export interface ApprovalVote {
  /** ASCII-lowercased. */
  readonly subject: string
  readonly apiKey: string
  /** Of the groups asked, those that he was in. */
  readonly groups: readonly string[]
  readonly at: number
}

/** A frozen action that waits for people, or for its use; and for 30 days what became of it. */
export interface ApprovalRecord {
  readonly approvalId: string
  readonly state: ApprovalState
  readonly agentId: string
  /** Of the agent, when it asked. */
  readonly owner: string
  readonly callId: string
  readonly toolId: string
  readonly sessionIndex: number
  /** Of its pending outcome Line. */
  readonly seq: number
  readonly requestedAt: number
  readonly approveBy: number
  readonly useWithinMs: number
  /** Sorted. */
  readonly groups: readonly string[]
  readonly quorum: number
  readonly actionHash: ActionHash
  readonly bindingHash: BindingHash
  readonly requestDigest: RequestDigest
  /** The pending outcome Line, verbatim: what was decided, and from what. */
  readonly line: string
  readonly votes: readonly ApprovalVote[]
  /** When it ceased to be pending. */
  readonly decidedAt?: number
  /** Once approved. */
  readonly useBy?: number
  /** When nothing more can become of it. */
  readonly endedAt?: number
  readonly denial?: { readonly code: string; readonly detail?: string }
  /** The frozen request, verbatim; gone once nothing can become of it. */
  readonly request?: Uint8Array
}

/** A grant until it is reported, and for as long as it may be. */
export interface GrantRecord {
  readonly grantId: string
  readonly callId: string
  readonly toolId: string
  readonly requestDigest: RequestDigest
  readonly expiresAt: number
  readonly reported: boolean
}

/** Consecutive Lines that were appended together. */
export interface StoredRow {
  /** Of the first of them. */
  readonly seq: number
  /** The Lines, each with its LF (row.ts). */
  readonly bytes: Uint8Array
}

/** What the alarm does, each under one name; a tenant has at most one deadline for each. */
export type DueName = 'approvals' | 'seal' | 'webhooks' | 'publish' | 'envelopes' | 'erase' | 'retention'

export interface DueRecord {
  readonly name: DueName
  readonly at: number
  /** Failures in a row. */
  readonly attempts: number
}

/** A published Session: what the archive holds under `chains/<tenant>/<session_index>.aarl`. */
export interface SegmentRecord {
  readonly sessionIndex: number
  readonly bytes: number
  /** SHA-256 of the object, 64 hex. */
  readonly sha256: string
  readonly calls: number
  readonly openedAt: number
  readonly closedAt: number
  /** Hash of its `close`. */
  readonly tail: LineHash
  readonly keyId: KeyId
}

/** How far the archive has come. */
export interface PublicationRecord {
  /** The last published Session. */
  readonly published?: {
    readonly sessionIndex: number
    readonly seq: number
    readonly lineHash: LineHash
    /** The `close`, verbatim, for whoever asks for the head once its row is gone. */
    readonly close: string
  }
  /** The archive holds other bytes where the next segment belongs: an operator must look. */
  readonly stopped?: 'archive_conflict' | undefined
  /** Envelopes of the Sessions up to here were erased when their time was over. */
  readonly erasedThrough?: number
  /** The same, recorded as a Call and perhaps not yet done; never below the former. */
  readonly erasingThrough?: number
}
