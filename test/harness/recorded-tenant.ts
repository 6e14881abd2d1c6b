/**
 * Calls that a real policy decides and the real writer records, in memory: a Chain that can be rechecked, the Envelopes
 * and the bundle objects beside it. What a Worker does before `admit` is done here, without its HTTP.
 */
import { actOnApproval } from '../../src/chain/approvals.ts'
import { admit } from '../../src/chain/admit.ts'
import type { AdmitResult, DraftEvaluation } from '../../src/chain/draft.ts'
import type { AgentFields } from '../../src/chain/acts.ts'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import {
  type AgentRecord,
  type Bundle,
  type DecisionRequest,
  type Engine,
  type Evaluation,
  type PolicySet,
  createEngine,
  decide,
  parseRequest,
} from '../../src/policy/index.ts'
import {
  type JsonObject,
  type ToolCall,
  actionHash,
  decodeLine,
  isKnownLine,
  parseBody,
  requestDigest,
  utf8,
} from '../../src/record/index.ts'
import type { OutcomeLine } from '../../src/record/index.ts'
import { cedarModule } from '../policy/node-means.ts'
import { agentFields, draft, keyFields, wideSettings } from './drafts.ts'
import { verifyLive } from './follower.ts'
import { MemoryTenant } from './memory-tenant.ts'

export const recheckEngine: Engine = createEngine({ module: cedarModule })
const means = { engine: recheckEngine, digester: nodeSuite }

/** A call as a test writes it; what is left out is as a caller's who claims the best trust there is. */
export interface TestCall {
  readonly agent?: string
  readonly tool: string
  readonly action: string
  readonly parameters?: JsonObject
  readonly resource?: string | null
  readonly mutatesState?: boolean
  readonly sourceTrust?: string
  readonly session?: string
  readonly userId?: string
  readonly metadata?: JsonObject
}

export interface RecordedCallOf {
  readonly line: OutcomeLine
  readonly body: Uint8Array
}

export class RecordedTenant {
  readonly tenant: MemoryTenant
  /** Bundle objects by hash. */
  readonly objects = new Map<string, Uint8Array>()
  /** Request bodies by digest. */
  readonly envelopes = new Map<string, Uint8Array>()
  #active: PolicySet
  #shadow: PolicySet | undefined
  #requests = 0
  readonly #agents = new Map<string, AgentFields>()

  /** Agents have keys of their names; each group has the approvers `GROUP-1` to `GROUP-3`, with keys of these names. */
  constructor(bundle: Bundle, agents: readonly Partial<AgentFields>[] = [{}]) {
    const fields = agents.map((given, at) => agentFields(given.id ?? `agent-${String(at)}`, given))
    this.tenant = new MemoryTenant({ agents: [] })
    for (const agent of fields) {
      this.#agents.set(agent.id, agent)
      this.tenant.do({ act: 'agent.create', agent })
      this.tenant.do({ act: 'key.issue', key: keyFields(agent.id, { agentId: agent.id }) })
    }
    this.#active = bundle.policySet
    this.activate(bundle)
  }

  get chain(): Uint8Array {
    return this.tenant.chain
  }

  /** The set in force from now on; its groups get members. */
  activate(bundle: Bundle): void {
    const { objectBytes, policySet } = bundle
    this.objects.set(policySet.policySetHash, objectBytes)
    this.#active = policySet
    for (const group of Object.keys(policySet.settings.approver_groups)) {
      const members = [1, 2, 3].map((number) => `${group}-${String(number)}`)
      if (this.tenant.store.readGroup(group) !== undefined) continue
      this.tenant.do({ act: 'group.change', group, members: members.map((name) => `${name}@example.com`) })
      for (const name of members) {
        const subject = `${name}@example.com`
        this.tenant.do({ act: 'key.issue', key: keyFields(name, { role: 'approver', subject }) })
      }
    }
    this.tenant.do({
      act: 'policy.activate',
      policySetHash: policySet.policySetHash,
      settings: { ...wideSettings, pending_per_agent: 100_000, pending_per_tenant: 100_000 },
    })
  }

  /** A candidate set beside the active one. */
  shadow(bundle: Bundle | undefined): void {
    this.#shadow = bundle?.policySet
  }

  /** Puts a person into a group, or takes one out. */
  change(agent: Partial<AgentFields> & { readonly id: string }): void {
    const changed = { ...agentFields(agent.id), ...this.#agents.get(agent.id), ...agent }
    this.#agents.set(agent.id, changed)
    this.tenant.do({ act: 'agent.change', agent: changed })
  }

  /** Decides and records one call. */
  authorize(call: TestCall): RecordedCallOf {
    this.#requests += 1
    const toolCall: ToolCall = {
      tool: call.tool,
      action: call.action,
      resource: call.resource ?? null,
      mutates_state: call.mutatesState ?? false,
      parameters: call.parameters ?? {},
    }
    const hash = actionHash(toolCall, nodeSuite)
    const body = utf8(
      JSON.stringify({
        request_id: `request-${String(this.#requests)}`,
        tool_call: toolCall,
        action_hash: hash,
        context: {
          source_trust: call.sourceTrust ?? 'trusted_internal_signed',
          ...(call.session === undefined ? {} : { session: call.session }),
          ...(call.userId === undefined ? {} : { user: { id: call.userId } }),
        },
        ...(call.metadata === undefined ? {} : { metadata: call.metadata }),
      }),
    )
    const agent = this.#agent(call.agent)
    const evaluation = this.#decide(body, agent)
    const line = this.#admit(agent.id, body, evaluation, hash)
    return { line, body }
  }

  /** Approves a pending call with the keys given. */
  approve(pending: RecordedCallOf, keys: readonly string[]): void {
    this.#act(pending, 'approve', keys)
  }

  deny(pending: RecordedCallOf, key: string): void {
    this.#act(pending, 'deny', [key])
  }

  /** Uses an approval: decided again under what is in force now. */
  consume(pending: RecordedCallOf): OutcomeLine {
    this.#requests += 1
    const { line, body } = pending
    const agent = this.#agent(line.agent_id)
    const { approval } = line.decision_axes
    const hash = line.action_hash
    if (line.policy.status !== 'pending_approval' || approval === undefined || hash === undefined) {
      throw new Error('not a pending call')
    }
    const request = utf8(JSON.stringify({ action_hash: hash, request_id: `use-${String(this.#requests)}` }))
    const consume = {
      approvalId: line.policy.approval_id,
      actionHash: hash,
      bindingHash: approval.binding_hash,
    }
    return this.#admit(agent.id, request, this.#decide(body, agent), hash, consume)
  }

  /** Fails unless the whole Chain verifies. */
  verify(): void {
    verifyLive('acme', this.chain)
  }

  #act(pending: RecordedCallOf, act: 'approve' | 'deny', keys: readonly string[]): void {
    const { decision_axes: axes, policy } = pending.line
    if (policy.status !== 'pending_approval' || axes.approval === undefined) throw new Error('not pending')
    for (const keyId of keys) {
      const request = utf8(JSON.stringify({ act, keyId, nonce: (this.#requests += 1) }))
      const result = actOnApproval(this.tenant.context(), {
        keyId,
        approvalId: policy.approval_id,
        act,
        bindingHash: axes.approval.binding_hash,
        request,
        requestDigest: requestDigest(request, nodeSuite),
      })
      if (result.kind !== 'approval') throw new Error(`${act}: ${JSON.stringify(result)}`)
    }
  }

  #agent(id: string | undefined): AgentFields {
    const [first] = this.#agents.values()
    const agent = id === undefined ? first : this.#agents.get(id)
    if (agent === undefined) throw new Error(`no agent ${String(id)}`)
    return agent
  }

  #decide(body: Uint8Array, agent: AgentFields): Evaluation {
    const read = parseBody(body)
    if (!read.ok) throw new Error(read.error.code)
    const request = parseRequest(read.value, [], (path, code) => {
      throw new Error(`${path.join('.')}: ${code}`)
    }) as DecisionRequest
    const { metadata } = read.value
    return decide(
      {
        request: metadata === undefined ? request : { ...request, metadata: metadata as never },
        agent: agent as AgentRecord,
        policySet: this.#active,
        nowMs: this.tenant.now,
        ...(this.#shadow === undefined ? {} : { shadow: this.#shadow }),
      },
      means,
    )
  }

  #admit(
    keyId: string,
    request: Uint8Array,
    evaluation: Evaluation,
    hash: ReturnType<typeof actionHash>,
    consume?: { readonly approvalId: string; readonly actionHash: string; readonly bindingHash: string },
  ): OutcomeLine {
    const digest = requestDigest(request, nodeSuite)
    this.envelopes.set(digest, request)
    const { tenant } = this
    const given = {
      request,
      requestDigest: digest,
      actionHash: hash,
      ...(consume === undefined ? {} : { consume }),
    }
    const made = draft(keyId, tenant.revision, tenant.now, given)
    // Each call of a test is alone in its second: no limit is met by chance.
    const result = admit(tenant.context(), { ...made, evaluation: toDraftEvaluation(evaluation) })
    tenant.now += 1_000
    return outcomeOf(result)
  }
}

function toDraftEvaluation(evaluation: Evaluation): DraftEvaluation {
  const { approval, axes, code, decision, environment, policySetHash, sourceTrust, toolId } = evaluation
  return {
    decision,
    code,
    toolId,
    policySetHash,
    ...(approval === undefined ? {} : { approval }),
    environment,
    sourceTrust,
    axes,
  }
}

function outcomeOf(result: AdmitResult): OutcomeLine {
  if (result.kind !== 'admitted') throw new Error(`not admitted: ${JSON.stringify(result)}`)
  const read = decodeLine(JSON.parse(result.line) as JsonObject)
  if (!read.ok || !isKnownLine(read.value) || read.value.line_type !== 'outcome')
    throw new Error('no outcome')
  return read.value
}
