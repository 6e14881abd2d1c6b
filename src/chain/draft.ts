/**
 * What comes to `admit` and what it answers: plain data, since both cross an RPC. The draft is a finished evaluation;
 * the answer's receipt is the signed outcome Line.
 */
import type { ActionHash, DecisionAxes, LineHash, PolicySetHash, RequestDigest } from '../record/index.ts'
import type { Limit } from './limits.ts'
import type { ApprovalState } from './records.ts'
import type { Current } from './state.ts'
import type { Unavailable } from './unavailable.ts'

/** Which route a `request_id` belongs to: the same id may be used once in each. */
export type Route = 'authorize' | `consume/${string}`

/** What the Worker made of a request. Plain data: it crosses an RPC. */
export interface AuthorizeDraft {
  readonly keyId: string
  /** The fence: the `revision` at which agent, key, policy set and settings were read. */
  readonly revision: number
  /** `context.now` of the evaluation, integer ms. */
  readonly evaluatedAt: number
  readonly requestDigest: RequestDigest
  /** As the server computed it. */
  readonly actionHash: ActionHash
  /** The verbatim bytes of the request. */
  readonly request: Uint8Array
  readonly requestId?: string
  /** Integer ms; present whenever `nonce` is. */
  readonly timestamp?: number
  readonly nonce?: string
  readonly evaluation: DraftEvaluation
  /** The use of an approval: `evaluation` is of the frozen request, `request` is the body that asked for the use. */
  readonly consume?: ConsumeAsk
}

/** What the body of a consume says. */
export interface ConsumeAsk {
  readonly approvalId: string
  readonly actionHash: string
  readonly bindingHash: string
}

/** The part of an Evaluation that the writer records and acts upon. */
export interface DraftEvaluation {
  readonly decision: 'allow' | 'deny' | 'require_approval'
  /** Stable reason code. */
  readonly code: string
  /** `-` where the identifier was refused. */
  readonly toolId: string
  /** Absent where there was no set to evaluate. */
  readonly policySetHash?: PolicySetHash
  /** Of `require_approval`. */
  readonly approval?: { readonly groups: readonly string[]; readonly quorum: number }
  readonly environment: string
  /** The effective one. */
  readonly sourceTrust: string
  readonly axes: DecisionAxes
}

export type AdmitResult =
  | {
      readonly kind: 'admitted'
      readonly callId: string
      /** The signed outcome Line, verbatim: the receipt. */
      readonly line: string
      readonly lineHash: LineHash
      /** The object's clock. */
      readonly now: number
      /** Of a consume that was refused: what has become of the agent's own approval. */
      readonly approvalState?: ApprovalState
    }
  | {
      /** The same bytes under the same `request_id`: the answer is the recorded one. */
      readonly kind: 'repeated'
      readonly line: string
      readonly lineHash: LineHash
      readonly now: number
      readonly approvalState?: ApprovalState
    }
  | {
      /** As `repeated`, but the Line was published: the Worker reads it from the segment, whose hash this is. */
      readonly kind: 'archived'
      readonly sessionIndex: number
      readonly seq: number
      readonly sha256: string
      readonly now: number
    }
  | { readonly kind: 'stale'; readonly current: Current }
  | { readonly kind: 'conflict'; readonly code: 'idempotency_conflict' }
  | {
      /** Without `callId` nothing was recorded. */
      readonly kind: 'limited'
      readonly limit: Limit | 'refused_calls' | 'nonces'
      readonly retryAfterMs: number
      readonly callId?: string
    }
  /** The key does not (any longer) stand for an agent here. */
  | { readonly kind: 'unauthorized' }
  | Unavailable
