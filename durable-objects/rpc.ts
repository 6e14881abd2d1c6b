/**
 * What a Worker can ask of a tenant's object: every method answers with a union of plain data. An exception through the
 * stub is the platform's (the object was reset): nothing was acknowledged, and a retry with the same `request_id` is safe.
 */
import type { Act, Actor, AdministerResult, AdministrativeCall } from '../src/chain/acts.ts'
import type { CreateTenantResult, TenantOverview } from '../src/chain/administer.ts'
import type { ApprovalAct, ApprovalResult, ApprovalsResult, FrozenResult } from '../src/chain/approvals.ts'
import type { ExplainAsk, ExplainResult, LeaveResult, ResolveResult } from '../src/chain/consult.ts'
import type { AdmitResult, AuthorizeDraft } from '../src/chain/draft.ts'
import type {
  AgentResult,
  ListResult,
  ListedAgent,
  ListedKey,
  PolicyStateResult,
} from '../src/chain/listing.ts'
import type {
  EnvelopeResult,
  HeadResult,
  IndexResult,
  LivePosition,
  LiveResult,
  LiveStart,
  SegmentResult,
} from '../src/chain/reading.ts'
import type { ApprovalState, GroupRecord, Role } from '../src/chain/records.ts'
import type { GrantsResult, ReportAct, ReportResult } from '../src/chain/reports.ts'
import type { Unavailable } from '../src/chain/unavailable.ts'
import type { PublicKeys } from '../src/archive/public-keys.ts'
import type { PolicySetHash, RequestDigest } from '../src/record/index.ts'

export type { Act, Actor, AdministerResult, AdministrativeCall, AgentFields } from '../src/chain/acts.ts'
export type {
  ApprovalAct,
  ApprovalResult,
  ApprovalsResult,
  ApprovalViewer,
  FrozenResult,
} from '../src/chain/approvals.ts'
export type { ExplainAsk, ExplainResult, LeaveResult, ResolveResult } from '../src/chain/consult.ts'
export type { AdmitResult, AuthorizeDraft, DraftEvaluation } from '../src/chain/draft.ts'
export type { AgentResult, ListResult, ListedAgent, ListedKey } from '../src/chain/listing.ts'
export type {
  EnvelopeResult,
  HeadResult,
  IndexResult,
  LivePosition,
  LiveResult,
  LiveStart,
  SegmentResult,
} from '../src/chain/reading.ts'
export type {
  AgentRecord,
  ApprovalRecord,
  ApprovalState,
  GroupRecord,
  KeyRecord,
  Role,
} from '../src/chain/records.ts'
export type { GrantsResult, ReportAct, ReportResult } from '../src/chain/reports.ts'
export type { Current } from '../src/chain/state.ts'
export type { Unavailable } from '../src/chain/unavailable.ts'

/** Acts whose whole content is in the request; those that look into the archive or the seeds have their own methods. */
export type DirectAct = Exclude<
  Act,
  { readonly act: `policy.${string}` | 'tenant.recover' | 'signing_key.rotate' | 'envelope.erase' }
>

export interface CreateCall {
  readonly tenant: string
  /** The request's body, verbatim, and its SHA-256. */
  readonly request: Uint8Array
  readonly requestDigest: RequestDigest
}

export type CreateResult =
  /** Also where it exists: the public keys can be written again by whoever asks twice. */
  | (CreateTenantResult & { readonly publicKeys: PublicKeys })
  /** Not a tenant's name, not the name of this object, or one that the archive knows from a tenant that was lost. */
  | { readonly kind: 'invalid'; readonly code: 'tenant_name' | 'tenant_mismatch' | 'tenant_name_used' }
  | Unavailable

/** An act that needs nothing but the request that asked for it. */
export interface BareCall {
  readonly actor: Actor
  readonly request: Uint8Array
  readonly requestDigest: RequestDigest
}

export interface EraseEnvelopeCall extends BareCall {
  /** Of the Envelope. */
  readonly digest: RequestDigest
}

export type KeysResult =
  { readonly kind: 'keys'; readonly publicKeys: PublicKeys } | { readonly kind: 'unauthorized' } | Unavailable

export type OverviewResult = TenantOverview | { readonly kind: 'unauthorized' } | Unavailable

export type WebhookSecretResult =
  | { readonly kind: 'secret'; readonly secret: string }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'limited'; readonly retryAfterMs: number }
  | { readonly kind: 'unauthorized' }
  | Unavailable

export interface PushPolicyCall {
  readonly actor: Actor
  /** The bundle object, canonical and validated; it is also the request. */
  readonly bundle: Uint8Array
}

export interface PolicyCall {
  readonly actor: Actor
  readonly request: Uint8Array
  readonly requestDigest: RequestDigest
  readonly policySetHash: PolicySetHash
}

/** Without a hash there is no shadow any more. */
export type ShadowPolicyCall = Omit<PolicyCall, 'policySetHash'> & { readonly policySetHash?: PolicySetHash }

type Recorded = Extract<AdministerResult, { readonly callId: string }>

/** As of any act; a push says which hash the bundle has. */
export type PushPolicyResult =
  | (Recorded & { readonly policySetHash: PolicySetHash })
  | { readonly kind: 'too_large' }
  | Exclude<AdministerResult, Recorded>

export interface TenantChainRpc {
  /** Makes the tenant; the Worker has checked that the operator asks. */
  create(call: CreateCall): Promise<CreateResult>
  administer(call: AdministrativeCall<DirectAct>): Promise<AdministerResult>
  /** Seals, and signs the next Session with a new generation, out of the newest seed. */
  rotateKey(call: BareCall): Promise<AdministerResult>
  eraseEnvelope(call: EraseEnvelopeCall): Promise<AdministerResult>
  /** The operator's, for a tenant that was restored from the past, or lost. */
  recover(call: BareCall): Promise<AdministerResult>
  /** For the Worker to make public; they are no secret. */
  publicKeys(): Promise<KeysResult>
  pushPolicy(call: PushPolicyCall): Promise<PushPolicyResult>
  activatePolicy(call: PolicyCall): Promise<AdministerResult>
  shadowPolicy(call: ShadowPolicyCall): Promise<AdministerResult>
  /** For the operator; the Worker has checked that it is he. */
  overview(): Promise<OverviewResult>
  /** Lists for admins and auditors, from the name behind `after`. */
  agents(keyId: string, after: string): Promise<ListResult<ListedAgent>>
  agent(keyId: string, agentId: string): Promise<AgentResult>
  apiKeys(keyId: string, after: string): Promise<ListResult<ListedKey>>
  groups(keyId: string, after: string): Promise<ListResult<GroupRecord>>
  /** Of a group's webhook, for an admin to set up the receiver with. */
  webhookSecret(keyId: string, group: string): Promise<WebhookSecretResult>
  frozenTools(keyId: string, after: string): Promise<ListResult<string>>
  policyState(keyId: string): Promise<PolicyStateResult>
  /** The state to decide with; `agentId` asks for another agent than the key's own. */
  resolve(keyId: string, agentId?: string): Promise<ResolveResult | Unavailable>
  admit(draft: AuthorizeDraft): Promise<AdmitResult>
  /** The frozen action, for its agent, to be decided again before it is used. */
  frozen(keyId: string, approvalId: string): Promise<FrozenResult>
  approval(keyId: string, approvalId: string): Promise<ApprovalResult>
  approvals(
    keyId: string,
    page: { readonly state?: ApprovalState; readonly after: string },
  ): Promise<ApprovalsResult>
  actOnApproval(act: ApprovalAct): Promise<ApprovalResult>
  report(act: ReportAct): Promise<ReportResult>
  unreported(keyId: string, after: string): Promise<GrantsResult>
  /** Counts an explanation that the Worker then gives. */
  explain(ask: ExplainAsk): Promise<ExplainResult | Unavailable>
  /** A token for a read that the Worker answers from the archive. */
  mayRead(keyId: string, roles: readonly Role[]): Promise<LeaveResult | Unavailable>
  head(keyId: string): Promise<HeadResult>
  live(keyId: string, at?: LiveStart | LivePosition): Promise<LiveResult>
  /** The index of segments, from the Session behind `after` (-1: from the first). */
  segments(keyId: string, after: number): Promise<IndexResult>
  segment(keyId: string, sessionIndex: number): Promise<SegmentResult>
  /** Where the bytes of a request are; those in the archive the Worker reads itself. */
  envelope(keyId: string, digest: RequestDigest): Promise<EnvelopeResult>
}
