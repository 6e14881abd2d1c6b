/**
 * An authorizer for tests of the client: reads requests with the product's own reader and answers them with the product's
 * own Lines, signatures and answers. Its parts can be made to lie one at a time. It has no policy: a test says what it
 * decides.
 */
import {
  type ApprovalStateBody,
  type ApprovalStateName,
  type ReportAnswer,
  formatApiKey,
  formatInstant,
  parseAuthorizeRequest,
  parseConsumeRequest,
  parseReportRequest,
  toKeyId,
} from '../../src/protocol/index.ts'
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

/** A Call as its two Lines name it. */
interface CallMembers {
  readonly call_id: string
  readonly tool_id: string
  readonly request_digest: OutcomeDraft['request_digest']
  readonly agent_id: string
  readonly action_hash: ActionHash
}

/** An approval that was asked for; a test says what became of it. */
export interface Pending {
  readonly approvalId: string
  readonly call: CallMembers
  readonly bindingHash: string
  readonly groups: readonly string[]
  readonly approveBy: number
  state: ApprovalStateName
}

/** Of every authorizer of this process, so that one that lies can answer what another one asked for. */
const everyPending: Pending[] = []

/** A writer of one tenant's Chain, with the key of one agent. */
export class TestAuthorizer {
  readonly tenant: string
  readonly agentId = 'ci-merger'
  readonly key: string
  readonly publicKey: string
  readonly #suite: CryptoSuite
  readonly #signer: Signer
  readonly #pending: Pending[] = []
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

  /** The approvals that were asked for, in order. */
  get pending(): readonly Pending[] {
    return this.#pending
  }

  /** The answer to the bytes of an authorize, or of a consume, as the API gives it. */
  answer(body: Uint8Array, decided: Decided): AuthorizeAnswer {
    const consume = parseConsumeRequest(body)
    if (consume.ok) return this.#consume(body, consume.request.bindingHash, decided)
    if (body.length === 0) return this.#decide(this.#nobodys(body), 'unknown', decided, {})
    const read = parseAuthorizeRequest(body)
    if (!read.ok) throw new Error(`the request is refused: ${JSON.stringify(read)}`)
    const { request } = read
    const tool = `${request.toolCall.tool}.${request.toolCall.action}`
    return this.#decide(
      {
        call_id: this.#id('call'),
        tool_id: tool.toLowerCase(),
        request_digest: requestDigest(body, this.#suite),
        agent_id: this.agentId,
        action_hash: request.actionHash,
      },
      request.sourceTrust,
      decided,
      {},
    )
  }

  /** A Call that nobody made: what a server that lies may answer to a question about a state. */
  #nobodys(body: Uint8Array): CallMembers {
    return {
      call_id: this.#id('call'),
      tool_id: 'github.merge_pr',
      request_digest: requestDigest(body, this.#suite),
      agent_id: this.agentId,
      action_hash: toDigest<ActionHash>(this.#suite.sha256(utf8('an action'))),
    }
  }

  #consume(body: Uint8Array, bindingHash: string, decided: Decided): AuthorizeAnswer {
    const asked = everyPending.find((approval) => approval.bindingHash === bindingHash)
    if (asked === undefined) throw new Error('nothing was asked with this binding')
    asked.state = 'consumed'
    const call = {
      ...asked.call,
      call_id: this.#id('call'),
      request_digest: requestDigest(body, this.#suite),
    }
    return this.#decide(call, 'unknown', decided, {
      approval_ref: asked.approvalId,
      call_ref: asked.call.call_id,
      authorized_digest: asked.call.request_digest,
    })
  }

  #decide(
    shared: CallMembers,
    trust: string,
    decided: Decided,
    axes: Partial<OutcomeDraft['decision_axes']>,
  ): AuthorizeAnswer {
    const decidedAt = decided.decidedAt ?? Date.now()
    const context = { risk: { long: '25' }, risk_level: 'medium', source_trust: trust }
    const parts = this.#parts(decided.decision, shared, decidedAt, context)
    const draft: OutcomeDraft = {
      line_type: 'outcome',
      ...shared,
      policy_set_hash: toDigest<PolicySetHash>(this.#suite.sha256(utf8('policy set'))),
      decided_at: decidedAt,
      ...parts,
      decision_axes: { ...parts.decision_axes, ...axes },
    }
    this.#append({ line_type: 'intent', ...shared })
    const line = this.#append(decided.outcome === undefined ? draft : decided.outcome(draft))
    const lineHash = encodeHex(this.#suite.sha256(line))
    return answerFromOutcome({ line: decodeUtf8(line), lineHash, now: decided.now ?? decidedAt }, true)
  }

  /** The agent's view of an approval. */
  state(approvalId: string): ApprovalStateBody {
    const asked = this.#pending.find((approval) => approval.approvalId === approvalId)
    if (asked === undefined) throw new Error(`there is no ${approvalId}`)
    const { state, approveBy } = asked
    return {
      approval_id: approvalId,
      state,
      call_id: asked.call.call_id,
      action_hash: asked.call.action_hash,
      binding_hash: asked.bindingHash,
      tool_id: asked.call.tool_id,
      groups: [...asked.groups],
      quorum: 1,
      approve_by: formatInstant(approveBy),
      ...(state === 'approved' ? { use_by: formatInstant(Date.now() + 600_000) } : {}),
      ...(state === 'pending' ? {} : { decided_at: formatInstant(Date.now()) }),
      ...(state === 'denied' ? { reason: { code: 'denied', detail: 'not before the freeze ends' } } : {}),
    }
  }

  /** The answer to the bytes of a report. */
  report(body: Uint8Array, outcome = (draft: OutcomeDraft): OutcomeDraft => draft): ReportAnswer {
    const read = parseReportRequest(body)
    if (!read.ok) throw new Error(`the report is refused: ${JSON.stringify(read)}`)
    const { callId, grantId, execution, wallMs } = read.request
    const shared = {
      call_id: this.#id('call'),
      tool_id: 'aegis/report',
      request_digest: requestDigest(body, this.#suite),
      agent_id: this.agentId,
    }
    this.#append({ line_type: 'intent', ...shared })
    const line = this.#append(
      outcome({
        line_type: 'outcome',
        ...shared,
        policy_set_hash: toDigest<PolicySetHash>(this.#suite.sha256(utf8('policy set'))),
        decided_at: Date.now(),
        grant_id: grantId,
        policy: { status: 'allowed' },
        capability: { status: 'denied', reason: 'report' },
        execution,
        decision_axes: { decided_by: 'report', call_ref: callId },
        ...(wallMs === undefined ? {} : { wall_ms: wallMs }),
      }),
    )
    return {
      call_id: shared.call_id,
      receipt: { line: decodeUtf8(line), line_hash: encodeHex(this.#suite.sha256(line)) },
    }
  }

  #parts(
    decision: Decided['decision'],
    call: CallMembers,
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
          request_digest: call.request_digest,
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
        const { groups, approve_by: approveBy } = approval
        const asked: Pending = {
          approvalId,
          call,
          bindingHash: approval.binding_hash,
          groups,
          approveBy,
          state: 'pending',
        }
        this.#pending.push(asked)
        everyPending.push(asked)
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
    this.#calls += 1
    return `${prefix}_${String(this.#calls).padStart(26, '0')}`
  }
}
