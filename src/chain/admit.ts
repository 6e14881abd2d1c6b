/**
 * `admit` (authorize.md §3, steps 8 to 13): takes an evaluated request under the writer's lock. One synchronous
 * transaction checks the fence, freezes, limits, idempotency and replay, appends `intent` and `outcome`, stages the
 * Envelope and creates the approval, or does none of it. Not a policy: what was decided comes in with the draft, and
 * here it can only become stricter.
 */
import {
  type BindingHash,
  type DecisionAxes,
  type LineHash,
  type OutcomeDraft,
  bindingHash,
  decodeUtf8,
  noPolicySet,
  parseLineObject,
  toDigest,
} from '../record/index.ts'
import { type Appended, append } from './append.ts'
import { endApproved, meets, refuseConsume, votesMax, votesNeeded } from './approval.ts'
import { settleOverdue, write as writeApproval } from './approvals.ts'
import type { AdmitResult, AuthorizeDraft, ConsumeAsk, DraftEvaluation, Route } from './draft.ts'
import { envelopeNote, stageRequest } from './envelopes.ts'
import { newId } from './ids.ts'
import { readLiveKey } from './key.ts'
import { type Limit, countNonce, countRefusal, draw, freshCounters, hasNonceRoom } from './limits.ts'
import type { ChainContext } from './ports.ts'
import type {
  AgentCounters,
  AgentRecord,
  ApprovalRecord,
  ApprovalState,
  HeadRecord,
  KeyRecord,
  RequestRecord,
  TenantRecord,
} from './records.ts'
import { currentState, evaluationAgeMaxMs } from './state.ts'
import { foldSubject } from './subject.ts'
import { unavailable } from './unavailable.ts'
import { queueNotices } from './webhook.ts'

/** One draft in its own transaction. Throws only when the store does; then nothing was written. */
export function admit(context: ChainContext, draft: AuthorizeDraft): AdmitResult {
  return context.store.transaction(() => new Admission(context, draft).run())
}

/** One admission; a class because every step reads what the steps before it found. */
class Admission {
  readonly #context: ChainContext
  readonly #draft: AuthorizeDraft
  /** A consume's path names the approval, and its body does not: the same id may be used for another approval. */
  readonly #route: Route
  /** Of a consume: what it is about, once it was read. */
  #consumed: ApprovalRecord | undefined

  constructor(context: ChainContext, draft: AuthorizeDraft) {
    this.#context = context
    this.#draft = draft
    this.#route = draft.consume === undefined ? 'authorize' : `consume/${draft.consume.approvalId}`
  }

  run(): AdmitResult {
    const { store, now } = this.#context
    const draft = this.#draft
    if (draft.evaluation.toolId.startsWith('aegis/'))
      throw new Error('a reserved tool_id is only ours to write')
    const tenant = store.readTenant()
    if (tenant === undefined) return { kind: 'unauthorized' }
    const key = readLiveKey(this.#context, draft.keyId, ['agent'])
    const agent = key?.agentId === undefined ? undefined : store.readAgent(key.agentId)
    if (key === undefined || agent === undefined) return { kind: 'unauthorized' }

    // 8. The fence.
    if (draft.revision !== tenant.revision || Math.abs(now - draft.evaluatedAt) > evaluationAgeMaxMs) {
      return { kind: 'stale', current: currentState(this.#context, tenant, key, agent) }
    }
    if (!store.hasRoom()) return unavailable('storage_full')
    if (draft.consume !== undefined) {
      // What is over by the clock ends before anyone is answered about it.
      settleOverdue(this.#context, tenant, draft.consume.approvalId)
      this.#consumed = store.readApproval(draft.consume.approvalId)
    }
    const head = store.readHead()
    const counters = store.readCounters(agent.id) ?? freshCounters(agent.id, tenant.settings, now)
    const call: OpenCall = { tenant, agent, stored: head, head, counters, key }

    // 9. Freezes. Never stored under the request_id: the same bytes may be allowed once it is lifted.
    const frozen = this.#frozenCode(tenant, agent)
    if (frozen !== undefined) return this.#refuse(call, frozen, { remember: false })

    // 10. Limits.
    const drawn = draw({ head, counters }, tenant.settings, now)
    const counted: OpenCall = { ...call, head: drawn.head, counters: drawn.counters }
    if (drawn.kind === 'limited') return this.#limit(counted, drawn.limit, drawn.retryAfterMs)

    // 11. Idempotency.
    const repeated = this.#repeat(counted)
    if (repeated !== undefined) return repeated

    if (draft.consume !== undefined) return this.#consume(counted, draft.consume)

    // 12. Replay.
    const { timestamp, nonce } = draft
    if (timestamp !== undefined && Math.abs(now - timestamp) > tenant.settings.replay_window_ms) {
      return this.#refuse(counted, 'timestamp_out_of_window', { remember: true })
    }
    if (nonce !== undefined) {
      if (store.hasNonce(agent.id, nonce, now))
        return this.#refuse(counted, 'nonce_replayed', { remember: true })
      if (!hasNonceRoom(counted.counters, now)) return this.#writeCounts(counted, 'nonces', nonceRetryMs)
      return this.#decide(counted, nonce)
    }

    // 13. Append and answer.
    return this.#decide(counted, undefined)
  }

  #frozenCode(tenant: TenantRecord, agent: AgentRecord): string | undefined {
    if (tenant.frozen) return 'tenant_frozen'
    if (agent.revoked) return 'agent_revoked'
    if (agent.frozen) return 'agent_frozen'
    return this.#context.store.isToolFrozen(this.#draft.evaluation.toolId) ? 'tool_frozen' : undefined
  }

  #repeat(call: OpenCall): AdmitResult | undefined {
    const { store, now, suite } = this.#context
    const { requestId, requestDigest } = this.#draft
    if (requestId === undefined) return undefined
    const known = store.readRequest(call.agent.id, this.#route, requestId, now)
    if (known === undefined) return undefined
    // A repeat costs a token, whatever its answer: what was drawn is written.
    this.#write(call)
    if (known.requestDigest !== requestDigest) return { kind: 'conflict', code: 'idempotency_conflict' }
    const { sessionIndex, seq } = known
    const bytes = store.readLine(sessionIndex, seq)
    if (bytes === undefined) {
      const segment = store.readSegment(sessionIndex)
      if (segment === undefined) return unavailable('archive_failed')
      return { kind: 'archived', sessionIndex, seq, sha256: segment.sha256, now }
    }
    // After a recovery another Line may stand at that position: then nothing is known of this request.
    const parsed = parseLineObject(bytes)
    const isTheirs = parsed.ok && parsed.value['request_digest'] === requestDigest
    if (!isTheirs) return unavailable('archive_failed')
    const lineHash = toDigest<LineHash>(suite.sha256(bytes))
    return { kind: 'repeated', line: decodeUtf8(bytes), lineHash, now, ...this.#approvalState(call.agent) }
  }

  #decide(call: OpenCall, nonce: string | undefined): AdmitResult {
    const { evaluation } = this.#draft
    const remember = { remember: true, ...(nonce === undefined ? {} : { nonce }) }
    switch (evaluation.decision) {
      case 'deny':
        return this.#refuse(call, evaluation.code, remember)
      case 'allow':
        return this.#grant(call, remember)
      case 'require_approval': {
        const refusal = this.#cannotPend(call)
        if (refusal !== undefined) return this.#refuse(call, refusal, remember)
        return this.#pend(call, remember)
      }
    }
  }

  /** The single use of an approval, under what is decided of the frozen action today (authorize.md §4). */
  #consume(call: OpenCall, consume: ConsumeAsk): AdmitResult {
    const approval = this.#consumed
    const code = refuseConsume(approval, { ...consume, agentId: call.agent.id })
    if (approval === undefined || code !== undefined) {
      return this.#refuse(call, code ?? 'not_found', { remember: true })
    }
    const { evaluation } = this.#draft
    if (evaluation.decision === 'deny') return this.#refuse(call, evaluation.code, { remember: true })
    if (evaluation.decision === 'require_approval' && !isMet(approval, evaluation.approval)) {
      return this.#refuse(call, 'approval_insufficient', { remember: true })
    }
    // What would be granted is what was approved, by construction: an approval is used for nothing else.
    if (this.#draft.actionHash !== approval.actionHash || evaluation.toolId !== approval.toolId) {
      throw new Error('another action than the one that was approved')
    }
    return this.#grant(call, { remember: true }, () => {
      writeApproval(this.#context, endApproved(approval, 'consumed', this.#context.now))
    })
  }

  #grant(call: OpenCall, remember: Remember, also: () => void = () => undefined): AdmitResult {
    const { store, now, random } = this.#context
    const { evaluation, requestDigest } = this.#draft
    const grantId = newId('grt', random)
    const callId = newId('call', random)
    const expiresAt = now + call.tenant.settings.grant_ttl_ms
    return this.#record(call, this.#grantOutcome(grantId, expiresAt), remember, callId, () => {
      const grant = { grantId, callId, toolId: evaluation.toolId, requestDigest, expiresAt, reported: false }
      store.insertGrant(call.agent.id, grant, now)
      also()
    })
  }

  #cannotPend(call: OpenCall): string | undefined {
    const { approval } = this.#draft.evaluation
    // No group, or a quorum of none, would be an approval that nobody has to give.
    if (approval === undefined || approval.groups.length === 0 || approval.quorum < 1) {
      return 'quorum_unreachable'
    }
    if (votesNeeded(approval.groups, approval.quorum) > votesMax) return 'quorum_unreachable'
    if (!approval.groups.every((group) => this.#canReach(group, approval.quorum, call.agent))) {
      return 'quorum_unreachable'
    }
    const { settings } = call.tenant
    const full =
      call.counters.pendingApprovals >= settings.pending_per_agent ||
      call.head.pendingApprovals >= settings.pending_per_tenant
    return full ? 'too_many_pending' : undefined
  }

  /** The agent's owner cannot approve for his own agent, so he does not count. */
  #canReach(group: string, quorum: number, agent: AgentRecord): boolean {
    const members = this.#context.store.readGroup(group)?.members ?? []
    const owner = foldSubject(agent.owner)
    return members.filter((member) => member !== owner).length >= quorum
  }

  #grantOutcome(grantId: string, expiresAt: number): OutcomeParts {
    const { evaluation, actionHash } = this.#draft
    const grant = {
      grant_id: grantId,
      tool_id: evaluation.toolId,
      action_hash: actionHash,
      expires_at: expiresAt,
    }
    return {
      policy: { status: 'allowed' },
      capability: { status: 'granted', grant },
      execution: { status: 'delegated' },
      grant_id: grantId,
      decision_axes: evaluation.axes,
    }
  }

  #pend(call: OpenCall, remember: Remember): AdmitResult {
    const { now, random, suite } = this.#context
    const { evaluation, requestDigest, actionHash, request } = this.#draft
    const { tenant, agent } = call
    const groups = [...(evaluation.approval?.groups ?? [])].sort()
    const quorum = evaluation.approval?.quorum ?? 1
    const approvalId = newId('apr', random)
    const callId = newId('call', random)
    const approveBy = now + tenant.settings.approve_by_ms
    const useWithinMs = tenant.settings.use_within_ms
    const binding: BindingHash = bindingHash(
      {
        action_hash: actionHash,
        agent_id: agent.id,
        approval_id: approvalId,
        approve_by: approveBy,
        approver_groups: groups,
        call_id: callId,
        environment: evaluation.environment,
        policy_set_hash: evaluation.policySetHash ?? noPolicySet,
        quorum,
        request_digest: requestDigest,
        source_trust: evaluation.sourceTrust,
        tenant: tenant.tenant,
        use_within_ms: useWithinMs,
      },
      suite,
    )
    const approval = {
      groups,
      quorum,
      approve_by: approveBy,
      use_within_ms: useWithinMs,
      binding_hash: binding,
    }
    const parts: OutcomeParts = {
      policy: { status: 'pending_approval', approval_id: approvalId },
      capability: { status: 'denied', reason: 'approval_pending' },
      execution: { status: 'host_denied', reason: 'approval_pending' },
      decision_axes: { ...evaluation.axes, approval },
    }
    const waiting: OpenCall = {
      ...call,
      head: { ...call.head, pendingApprovals: call.head.pendingApprovals + 1 },
      counters: { ...call.counters, pendingApprovals: call.counters.pendingApprovals + 1 },
    }
    return this.#record(waiting, parts, remember, callId, ({ sessionIndex, seq, line }) => {
      const pending: ApprovalRecord = {
        approvalId,
        state: 'pending',
        agentId: agent.id,
        owner: agent.owner,
        callId,
        toolId: evaluation.toolId,
        sessionIndex,
        seq,
        requestedAt: now,
        approveBy,
        useWithinMs,
        groups,
        quorum,
        actionHash,
        bindingHash: binding,
        requestDigest,
        line: decodeUtf8(line),
        votes: [],
        request,
      }
      writeApproval(this.#context, pending)
      queueNotices(this.#context, pending)
    })
  }

  #limit(call: OpenCall, limit: Limit, retryAfterMs: number): AdmitResult {
    const refusal = this.#refuse(call, 'rate_limited', { remember: false })
    if (refusal.kind !== 'admitted') return refusal
    return { kind: 'limited', limit, retryAfterMs, callId: refusal.callId }
  }

  /** A deny of the pipeline or of the policy, under the cap on refused Calls. */
  #refuse(call: OpenCall, code: string, remember: Remember): AdmitResult {
    const { evaluation } = this.#draft
    const refusal = countRefusal(call.counters, call.tenant.settings, this.#context.now)
    const counted: OpenCall = { ...call, counters: refusal.counters }
    if (refusal.kind === 'suppressed')
      return this.#writeCounts(counted, 'refused_calls', refusal.retryAfterMs)
    const own =
      (code === evaluation.code && evaluation.decision === 'deny') || code === 'approval_insufficient'
    const axes: DecisionAxes = own ? evaluation.axes : pipelineAxes(evaluation.axes)
    const status = code === 'rate_limited' ? 'rate_limited' : 'denied'
    const parts: OutcomeParts = {
      policy: { status, reason: code },
      capability: { status: 'denied', reason: code },
      execution: { status: 'host_denied', reason: code },
      decision_axes: axes,
    }
    return this.#record(counted, parts, remember)
  }

  #record(
    call: OpenCall,
    parts: OutcomeParts,
    remember: Remember,
    callId = newId('call', this.#context.random),
    also: (appended: Extract<Appended, { kind: 'appended' }>) => void = () => undefined,
  ): AdmitResult {
    const { store, now } = this.#context
    const { evaluation, requestDigest, actionHash, requestId, request } = this.#draft
    const { tenant, agent, counters } = call
    const shared = {
      call_id: callId,
      tool_id: evaluation.toolId,
      request_digest: requestDigest,
      agent_id: agent.id,
      action_hash: actionHash,
    }
    const envelope = envelopeNote(this.#context, tenant, requestDigest)
    const noted: DecisionAxes = {
      ...envelope,
      ...this.#consumeAxes(agent),
      ...(counters.suppressed > 0 ? { suppressed: counters.suppressed } : {}),
      ...(counters.explained > 0 ? { explained: counters.explained } : {}),
    }
    const outcome: OutcomeDraft = {
      line_type: 'outcome',
      ...shared,
      policy_set_hash: evaluation.policySetHash ?? noPolicySet,
      ...parts,
      decision_axes: { ...parts.decision_axes, ...noted },
      decided_at: now,
    }
    const appended = append(this.#context, tenant, call.stored, call.head, [
      { line_type: 'intent', ...shared },
      outcome,
    ])
    if (appended.kind === 'too_long') {
      // No Line and no approval, but what was drawn is kept: a request that can never be recorded is not free.
      const pendingApprovals = store.readCounters(agent.id)?.pendingApprovals ?? 0
      this.#write({
        ...call,
        head: { ...call.head, pendingApprovals: call.stored.pendingApprovals },
        counters: { ...counters, pendingApprovals },
      })
      return unavailable('line_too_long')
    }
    // Counted where it is kept: a Call that leaves no Line must not use up the agent's room for nonces.
    const kept = remember.nonce === undefined ? counters : countNonce(counters, now)
    store.writeCounters({ ...kept, suppressed: 0, explained: 0, lastCallAt: now })
    const position = { sessionIndex: appended.sessionIndex, seq: appended.seq }
    if (requestId !== undefined && remember.remember) {
      const record: RequestRecord = { requestDigest, ...position }
      store.insertRequest(agent.id, this.#route, requestId, record, now)
    }
    if (remember.nonce !== undefined) store.insertNonce(agent.id, remember.nonce, now)
    stageRequest(this.#context, envelope, requestDigest, request)
    also(appended)
    const { lineHash } = appended
    const line = decodeUtf8(appended.line)
    return { kind: 'admitted', callId, line, lineHash, now, ...this.#approvalState(agent) }
  }

  #approvalState(agent: AgentRecord): { readonly approvalState?: ApprovalState } {
    return this.#consumed?.agentId === agent.id ? { approvalState: this.#consumed.state } : {}
  }

  /** What a consume is the use of. Of another agent's approval no more is said than the caller said himself. */
  #consumeAxes(agent: AgentRecord): DecisionAxes {
    const { consume } = this.#draft
    if (consume === undefined) return {}
    const approval = this.#consumed?.agentId === agent.id ? this.#consumed : undefined
    return {
      approval_ref: consume.approvalId,
      ...(approval === undefined
        ? {}
        : { call_ref: approval.callId, authorized_digest: approval.requestDigest }),
    }
  }

  /** Nothing is recorded, but what was counted is kept. */
  #writeCounts(call: OpenCall, limit: 'refused_calls' | 'nonces', retryAfterMs: number): AdmitResult {
    this.#write(call)
    return { kind: 'limited', limit, retryAfterMs }
  }

  #write(call: OpenCall): void {
    this.#context.store.replaceHead(call.stored, call.head)
    this.#context.store.writeCounters(call.counters)
  }
}

/** Whether the votes that an approval got are those that would be asked for today. */
function isMet(approval: ApprovalRecord, asked: DraftEvaluation['approval']): boolean {
  return asked !== undefined && meets(approval.votes, asked.groups, asked.quorum)
}

/** Nonces free up one generation at a time; sooner than a minute there is no point in asking again. */
const nonceRetryMs = 60_000

interface OpenCall {
  readonly tenant: TenantRecord
  readonly agent: AgentRecord
  readonly key: KeyRecord
  /** As read: what compare-and-set compares with. */
  readonly stored: HeadRecord
  /** With this Call counted. */
  readonly head: HeadRecord
  readonly counters: AgentCounters
}

type OutcomeParts = Pick<OutcomeDraft, 'policy' | 'capability' | 'execution' | 'decision_axes' | 'grant_id'>

interface Remember {
  /** Whether the answer is kept under the `request_id`. */
  readonly remember: boolean
  readonly nonce?: string
}

/** What of an evaluation does not stand in the record when the writer refused: the policy did not decide. */
const policyFindings: ReadonlySet<string> = new Set([
  'matched_rule',
  'matched_rules',
  'rules_total',
  'overrides',
  'approval',
  'reason_text',
  'shadow',
])

function pipelineAxes(axes: DecisionAxes): DecisionAxes {
  const kept = Object.entries(axes).filter(([name]) => !policyFindings.has(name))
  return { ...(Object.fromEntries(kept) as DecisionAxes), decided_by: 'pipeline' }
}
