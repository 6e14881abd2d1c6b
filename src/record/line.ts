/**
 * The Line union: every type of Line with its members (SPEC.md §4), in the names of the wire. Members that the edge
 * profile adds to AAR are optional here, because files of others lack them; what our writer must supply is said by the
 * drafts in session.ts. Reading stands in line-decoder.ts.
 */
import type {
  ActionHash,
  BindingHash,
  BindingsHash,
  KeyId,
  PolicySetHash,
  PrevHash,
  LineHash,
  PublicKeyHex,
  RequestDigest,
  ResponseDigest,
  SignatureHex,
  ValueDigest,
} from './digest.ts'
import type { JsonObject, JsonValue } from './json.ts'

/** Bytes of a Line, its LF not counted (SPEC.md §3.7). */
export const lineBytesMax = 65_536

export const signedLineTypes = ['open', 'outcome', 'decision', 'close', 'checkpoint'] as const

interface EveryLine {
  readonly schema_version: 2
  readonly seq: number
  readonly prev_hash: PrevHash
}

interface EverySignedLine extends EveryLine {
  readonly key_id: KeyId
  readonly signature: SignatureHex
  /** The tenant. */
  readonly chain_id?: string
  /** Ordinal of the Session in the whole Chain. */
  readonly session_index?: number
}

/** SPEC.md §4.1. */
export interface OpenLine extends EverySignedLine {
  readonly line_type: 'open'
  readonly public_key: PublicKeyHex
  readonly prev_session_tail?: LineHash
  readonly opened_at?: number
  readonly deployment?: string
}

/** SPEC.md §4.2; never signed, the next signature covers it. */
export interface IntentLine extends EveryLine {
  readonly line_type: 'intent'
  readonly call_id: string
  readonly tool_id: string
  readonly request_digest: RequestDigest
  readonly agent_id?: string
  readonly action_hash?: ActionHash
}

export type PolicyStatus =
  | { readonly status: 'allowed' }
  | { readonly status: 'denied'; readonly reason: string }
  | { readonly status: 'rate_limited'; readonly reason: string }
  | { readonly status: 'pending_approval'; readonly approval_id: string }

export interface Grant {
  readonly grant_id: string
  readonly tool_id: string
  readonly action_hash?: ActionHash
  /** Integer ms since the epoch. */
  readonly expires_at?: number
  readonly fs?: JsonObject
  readonly net?: JsonObject
}

export type CapabilityStatus =
  | { readonly status: 'granted'; readonly grant: Grant }
  | { readonly status: 'denied'; readonly reason: string }

export type ExecutionStatus =
  | { readonly status: 'delegated' }
  | { readonly status: 'host_denied'; readonly reason: string }
  | { readonly status: 'success' }
  | { readonly status: 'trap'; readonly message: string }
  | { readonly status: 'resource_exceeded'; readonly kind: string }

/** SPEC.md §4.3. */
export interface OutcomeLine extends EverySignedLine {
  readonly line_type: 'outcome'
  readonly call_id: string
  readonly tool_id: string
  readonly request_digest: RequestDigest
  readonly policy_set_hash: PolicySetHash
  readonly policy: PolicyStatus
  readonly capability: CapabilityStatus
  readonly execution: ExecutionStatus
  readonly decision_axes: DecisionAxes
  readonly grant_id?: string
  readonly response_digest?: ResponseDigest
  readonly wall_ms?: number
  readonly agent_id?: string
  readonly action_hash?: ActionHash
  readonly decided_at?: number
}

export type DecidedBy = 'policy' | 'pipeline' | 'admin' | 'report'

/**
 * A value as Cedar saw it: strings and booleans plain, every other type under a tag that names it, records as objects
 * of these (SPEC.md §4.5).
 */
export type TaggedValue =
  | string
  | boolean
  | { readonly long: string }
  | { readonly decimal: string }
  | { readonly ipaddr: string }
  | { readonly datetime: string }
  | { readonly set: readonly TaggedValue[] }
  | { readonly digest: ValueDigest }
  | { readonly [name: string]: TaggedValue }

export interface EntityReference {
  readonly type: string
  readonly id: string
}

export interface RecordedPrincipal extends EntityReference {
  readonly attrs: { readonly [name: string]: TaggedValue }
  readonly parents: readonly EntityReference[]
}

/** Everything that the verdict was a function of (SPEC.md §4.4). All members are optional in the format. */
export interface DecisionAxes {
  readonly capability?: string
  readonly role?: string
  readonly session?: string
  readonly matched_rule?: string
  readonly approval_ref?: string
  readonly fs?: { readonly path_raw: string; readonly path_canonical: string }
  readonly net?: { readonly host: string; readonly port: number }
  readonly decided_by?: DecidedBy
  readonly evaluator?: string
  readonly matched_rules?: readonly string[]
  readonly policy_errors?: readonly string[]
  readonly rules_total?: number
  readonly overrides?: readonly string[]
  readonly principal?: RecordedPrincipal
  readonly action?: EntityReference
  readonly resource?: EntityReference
  readonly context?: { readonly [name: string]: TaggedValue }
  readonly bindings_hash?: BindingsHash
  readonly metadata?: { readonly [name: string]: string }
  readonly claims?: JsonObject
  readonly reason_text?: string
  readonly approval?: RecordedApproval
  readonly call_ref?: string
  readonly authorized_digest?: RequestDigest
  readonly shadow?: RecordedShadow
  readonly explained?: number
  readonly suppressed?: number
  readonly actor?: RecordedActor
  readonly envelope?: 'off' | 'erased'
}

export interface RecordedApproval {
  readonly groups: readonly string[]
  readonly quorum: number
  readonly approve_by: number
  readonly use_within_ms: number
  readonly binding_hash: BindingHash
}

export interface RecordedShadow {
  readonly policy_set_hash: PolicySetHash
  readonly status: PolicyStatus['status']
  readonly reason?: string
  readonly matched_rules: readonly string[]
}

export interface RecordedActor {
  readonly role: string
  readonly api_key?: string
  readonly subject?: string
}

export type Verdict =
  | {
      readonly verdict: 'approved'
      readonly scope: { readonly tool_id: string; readonly fs?: JsonObject; readonly net?: JsonObject }
    }
  | { readonly verdict: 'denied'; readonly reason: string }

export interface RecordedApprover {
  readonly subject: string
  readonly api_key: string
  readonly groups: readonly string[]
  readonly at: number
}

/** SPEC.md §4.6: one for each `approval_id`, ever. */
export interface DecisionLine extends EverySignedLine {
  readonly line_type: 'decision'
  readonly approval_id: string
  readonly verdict: Verdict
  readonly action_hash?: ActionHash
  readonly binding_hash?: BindingHash
  readonly approvers?: readonly RecordedApprover[]
  readonly decided_at?: number
  readonly reason_text?: string
  readonly actor?: RecordedActor
}

/** SPEC.md §4.7. */
export interface CloseLine extends EverySignedLine {
  readonly line_type: 'close'
  readonly closed_at?: number
  readonly calls?: number
}

export type Line = OpenLine | IntentLine | OutcomeLine | DecisionLine | CloseLine

/** A Line of a type that we do not write: `checkpoint`, or one that a later version of the format adds. */
export interface ForeignLine {
  readonly line_type: string
  readonly seq: number
  readonly prev_hash: PrevHash
  readonly members: { readonly [name: string]: JsonValue }
}
