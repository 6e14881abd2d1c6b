/**
 * What a Worker can ask of a tenant's object: every method answers with a union of plain data. An exception through the
 * stub is the platform's (the object was reset): nothing was acknowledged, and a retry with the same `request_id` is safe.
 */
import type {
  Act,
  Actor,
  AdministerResult,
  AdministrativeCall,
  CreateTenantResult,
} from '../src/chain/administer.ts'
import type { ExplainAsk, ExplainResult, LeaveResult, ResolveResult } from '../src/chain/consult.ts'
import type { AdmitResult, AuthorizeDraft } from '../src/chain/draft.ts'
import type { HeadResult, LivePosition, LiveResult } from '../src/chain/reading.ts'
import type { Role } from '../src/chain/records.ts'
import type { Unavailable } from '../src/chain/unavailable.ts'
import type { PolicySetHash, RequestDigest } from '../src/record/index.ts'

export type {
  Act,
  Actor,
  AdministerResult,
  AdministrativeCall,
  AgentFields,
} from '../src/chain/administer.ts'
export type { ExplainAsk, ExplainResult, LeaveResult, ResolveResult } from '../src/chain/consult.ts'
export type { AdmitResult, AuthorizeDraft, DraftEvaluation } from '../src/chain/draft.ts'
export type { HeadResult, LivePosition, LiveResult } from '../src/chain/reading.ts'
export type { AgentRecord, KeyRecord, Role } from '../src/chain/records.ts'
export type { Current } from '../src/chain/state.ts'
export type { Unavailable } from '../src/chain/unavailable.ts'

/** Acts whose whole content is in the request; those on bundles have methods of their own. */
export type DirectAct = Exclude<Act, { readonly act: `policy.${string}` }>

export interface CreateCall {
  readonly tenant: string
  /** The request's body, verbatim, and its SHA-256. */
  readonly request: Uint8Array
  readonly requestDigest: RequestDigest
}

export type CreateResult =
  | CreateTenantResult
  /** Not a tenant's name, or not the name of this object. */
  | { readonly kind: 'invalid'; readonly code: 'tenant_name' | 'tenant_mismatch' }
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
  pushPolicy(call: PushPolicyCall): Promise<PushPolicyResult>
  activatePolicy(call: PolicyCall): Promise<AdministerResult>
  shadowPolicy(call: ShadowPolicyCall): Promise<AdministerResult>
  /** The state to decide with; `agentId` asks for another agent than the key's own. */
  resolve(keyId: string, agentId?: string): Promise<ResolveResult | Unavailable>
  admit(draft: AuthorizeDraft): Promise<AdmitResult>
  /** Counts an explanation that the Worker then gives. */
  explain(ask: ExplainAsk): Promise<ExplainResult | Unavailable>
  /** A token for a read that the Worker answers from the archive. */
  mayRead(keyId: string, roles: readonly Role[]): Promise<LeaveResult | Unavailable>
  head(keyId: string): Promise<HeadResult>
  live(keyId: string, after?: LivePosition): Promise<LiveResult>
}
