/**
 * An authorizer for tests of the client: reads requests with the product's own reader and answers them with the product's
 * own Lines, signatures and answers. Its parts can be made to lie one at a time. It has no policy: a test says what it
 * decides.
 */
import { formatApiKey, parseAuthorizeRequest, toKeyId } from '../../src/protocol/index.ts'
import { type AuthorizeAnswer, answerFromOutcome } from '../../src/protocol/authorize-answer.ts'
import {
  type ActionHash,
  type ChainHead,
  type CryptoSuite,
  type OutcomeDraft,
  type PolicySetHash,
  type Signer,
  bindingHash,
  decodeUtf8,
  encodeHex,
  nextLine,
  requestDigest,
  toDigest,
  utf8,
} from '../../src/record/index.ts'

export interface Decided {
  readonly decision: 'allow' | 'deny' | 'require_approval'
  /** Changes the outcome before it is signed. */
  readonly outcome?: (draft: OutcomeDraft) => OutcomeDraft
  /** Of the writer's clock, when it decided and when it answers. */
  readonly decidedAt?: number
  readonly now?: number
}

const grantTtlMs = 60_000

/** A writer of one tenant's Chain, with the key of one agent. */
export class TestAuthorizer {
  readonly tenant: string
  readonly agentId = 'ci-merger'
  readonly key: string
  readonly publicKey: string
  readonly #suite: CryptoSuite
  readonly #signer: Signer
  #head: ChainHead
  #calls = 0

  constructor(suite: CryptoSuite, { tenant = 'acme', seed = 7 } = {}) {
    this.tenant = tenant
    this.#suite = suite
    this.#signer = suite.signer(new Uint8Array(32).fill(seed))
    this.publicKey = encodeHex(this.#signer.publicKey)
    const name = { role: 'agent', tenant, id: toKeyId(new Uint8Array(10).fill(3)) } as const
    this.key = formatApiKey(name, new Uint8Array(32).fill(9), (message) => suite.sha256(message))
    this.#head = { state: 'empty', chainId: tenant }
    this.#append({ line_type: 'open', opened_at: Date.now(), deployment: 'test' })
  }

  /** The answer to a request's bytes, as the API gives it. */
  answer(body: Uint8Array, decided: Decided): AuthorizeAnswer {
    const read = parseAuthorizeRequest(body)
    if (!read.ok) throw new Error(`the request is refused: ${JSON.stringify(read)}`)
    const { request } = read
    const decidedAt = decided.decidedAt ?? Date.now()
    this.#calls += 1
    const tool = `${request.toolCall.tool}.${request.toolCall.action}`
    const shared = {
      call_id: this.#id('call'),
      tool_id: tool.toLowerCase(),
      request_digest: requestDigest(body, this.#suite),
      agent_id: this.agentId,
      action_hash: request.actionHash,
    }
    const context = { risk: { long: '25' }, risk_level: 'medium', source_trust: request.sourceTrust }
    const draft: OutcomeDraft = {
      line_type: 'outcome',
      ...shared,
      policy_set_hash: toDigest<PolicySetHash>(this.#suite.sha256(utf8('policy set'))),
      decided_at: decidedAt,
      ...this.#parts(decided.decision, shared, decidedAt, context),
    }
    this.#append({ line_type: 'intent', ...shared })
    const line = this.#append(decided.outcome === undefined ? draft : decided.outcome(draft))
    const lineHash = encodeHex(this.#suite.sha256(line))
    return answerFromOutcome({ line: decodeUtf8(line), lineHash, now: decided.now ?? decidedAt }, true)
  }

  #parts(
    decision: Decided['decision'],
    call: { call_id: string; tool_id: string; request_digest: string; action_hash: ActionHash },
    decidedAt: number,
    context: NonNullable<OutcomeDraft['decision_axes']['context']>,
  ): Pick<OutcomeDraft, 'policy' | 'capability' | 'execution' | 'decision_axes' | 'grant_id'> {
    const axes = { decided_by: 'policy', matched_rules: ['the-rule'], context } as const
    switch (decision) {
      case 'allow': {
        const grantId = this.#id('grt')
        const grant = {
          grant_id: grantId,
          tool_id: call.tool_id,
          action_hash: call.action_hash,
          expires_at: decidedAt + grantTtlMs,
        }
        return {
          policy: { status: 'allowed' },
          capability: { status: 'granted', grant },
          execution: { status: 'delegated' },
          grant_id: grantId,
          decision_axes: axes,
        }
      }
      case 'deny':
        return {
          policy: { status: 'denied', reason: 'policy_denied' },
          capability: { status: 'denied', reason: 'policy_denied' },
          execution: { status: 'host_denied', reason: 'policy_denied' },
          decision_axes: { ...axes, reason_text: 'not on a Friday' },
        }
      case 'require_approval': {
        const approvalId = this.#id('apr')
        const binding = {
          action_hash: call.action_hash,
          agent_id: this.agentId,
          approval_id: approvalId,
          approve_by: decidedAt + 1_800_000,
          approver_groups: ['release-managers'],
          call_id: call.call_id,
          environment: '',
          policy_set_hash: toDigest<PolicySetHash>(this.#suite.sha256(utf8('policy set'))),
          quorum: 1,
          request_digest: call.request_digest as OutcomeDraft['request_digest'],
          source_trust: 'unknown',
          tenant: this.tenant,
          use_within_ms: 600_000,
        }
        const approval = {
          groups: binding.approver_groups,
          quorum: 1,
          approve_by: binding.approve_by,
          use_within_ms: 600_000,
          binding_hash: bindingHash(binding, this.#suite),
        }
        return {
          policy: { status: 'pending_approval', approval_id: approvalId },
          capability: { status: 'denied', reason: 'approval_pending' },
          execution: { status: 'host_denied', reason: 'approval_pending' },
          decision_axes: { ...axes, overrides: ['approval_required'], approval },
        }
      }
    }
  }

  #append(draft: Parameters<typeof nextLine>[1]): Uint8Array {
    const next = nextLine(this.#head, draft, this.#signer, this.#suite)
    if (next.kind === 'too_long') throw new Error('a test Line is too long')
    this.#head = next.head
    return next.bytes
  }

  #id(prefix: string): string {
    return `${prefix}_${String(this.#calls).padStart(26, '0')}`
  }
}
