/**
 * What an operator or an admin can do (SPEC.md §4.9), what it answers and why it is refused: plain data, since it
 * crosses an RPC. The name of an act is its `tool_id` without `aegis/`.
 */
import type { LineHash, PolicySetHash, RequestDigest } from '../record/index.ts'
import type {
  AgentRecord,
  ChainSettings,
  KeyRecord,
  LineKeyRecord,
  SegmentRecord,
  WebhookTarget,
} from './records.ts'
import type { ArchivedTail } from './tail.ts'
import type { Unavailable } from './unavailable.ts'

/** Who acts: the deployment's operator, or the holder of a key of this tenant. */
export type Actor = { readonly role: 'operator' } | { readonly role: 'admin'; readonly keyId: string }

export type Act =
  | { readonly act: 'tenant.freeze' }
  | { readonly act: 'tenant.unfreeze' }
  /** Without a plan it can only be refused. */
  | { readonly act: 'tenant.recover'; readonly plan?: RecoveryPlan }
  | { readonly act: 'agent.create'; readonly agent: AgentFields }
  | { readonly act: 'agent.change'; readonly agent: AgentFields }
  | { readonly act: 'agent.freeze'; readonly agentId: string }
  | { readonly act: 'agent.unfreeze'; readonly agentId: string }
  | { readonly act: 'agent.revoke'; readonly agentId: string }
  | { readonly act: 'tool.freeze'; readonly toolId: string }
  | { readonly act: 'tool.unfreeze'; readonly toolId: string }
  | {
      readonly act: 'group.change'
      readonly group: string
      readonly members: readonly string[]
      /** Absent: as it was; `null`: none any more. */
      readonly webhook?: WebhookTarget | null
    }
  | {
      readonly act: 'key.issue'
      readonly key: KeyFields
      /** The id stands for the request: where it was issued before, nothing is recorded and nothing said of it. */
      readonly once?: boolean
    }
  | { readonly act: 'key.confirm'; readonly keyId: string }
  | { readonly act: 'key.revoke'; readonly keyId: string }
  | { readonly act: 'policy.push'; readonly policySetHash: PolicySetHash }
  | {
      readonly act: 'policy.activate'
      readonly policySetHash: PolicySetHash
      readonly settings: ChainSettings
    }
  | { readonly act: 'policy.shadow'; readonly policySetHash: PolicySetHash | undefined }
  | { readonly act: 'chain.seal' }
  | { readonly act: 'signing_key.rotate'; readonly seedNumber: number }
  | {
      readonly act: 'envelope.erase'
      readonly digest: RequestDigest
      /** Whether bytes were found, staged or in the archive, before the transaction. */
      readonly found: boolean
    }

/** Where a recovered Chain goes on. */
export interface RecoveryPlan {
  readonly tail: ArchivedTail
  /** Facts of the archive's segments that the store does not know, or knows otherwise. */
  readonly segments: readonly SegmentRecord[]
  /** The generations that signed the Chain up to there, as far as they are known. */
  readonly keys: readonly LineKeyRecord[]
  /** Of the generation that signs from here on: above every one that was ever used. */
  readonly keyEpoch: number
  readonly seedNumber: number
}

/** An agent's record without what only freezes and revocations change. */
export type AgentFields = Omit<AgentRecord, 'frozen' | 'revoked'>

/** A key's record without what acts on it decide. */
export type KeyFields = Omit<KeyRecord, 'revoked' | 'confirmed' | 'issuedBy'>

export interface AdministrativeCall<A extends Act = Act> {
  readonly actor: Actor
  /** The request's body, verbatim, and its SHA-256. */
  readonly request: Uint8Array
  readonly requestDigest: RequestDigest
  readonly act: A
  /** What was found wrong before the transaction, in the archive: the act is recorded as refused. */
  readonly refusal?: AdministerRefusal
}

export type AdministerResult =
  | {
      /** `refused`: recorded, and nothing changed. */
      readonly kind: 'done' | 'refused'
      /** Of `refused`. */
      readonly code?: AdministerRefusal
      readonly callId: string
      readonly line: string
      readonly lineHash: LineHash
      readonly revision: number
      /** Of a key that was issued: whether it may be used, or waits for a second admin. */
      readonly confirmed?: boolean
    }
  /** It is so already, and there is nothing to record: no Session to seal, an Envelope that was erased before. */
  | { readonly kind: 'unchanged'; readonly revision: number }
  /** The tenant's bucket is empty. */
  | { readonly kind: 'limited'; readonly retryAfterMs: number }
  | { readonly kind: 'unauthorized' }
  | Unavailable

export type AdministerRefusal =
  | 'already_exists'
  | 'not_found'
  | 'agent_revoked'
  | 'key_revoked'
  | 'role_not_allowed'
  | 'agent_required'
  | 'confirmation_by_another'
  | 'tool_id_invalid'
  | 'group_members_invalid'
  | 'webhook_refused'
  | 'subject_required'
  | 'bundle_invalid'
  | 'not_behind'
  | 'archive_not_ours'
