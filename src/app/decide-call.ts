/**
 * Steps 4 to 7 of the pipeline (authorize.md §3) for a body that was read: the action's hash, identifiers, catalogue
 * and bindings, replay fields, the decision. Pure, and each refusal is a decision that gets recorded. What the writer
 * alone knows (freezes, limits, repeats) comes later and can only be stricter.
 */
import type { AgentRecord as KeptAgent, DraftEvaluation } from '../../durable-objects/rpc.ts'
import {
  type AgentRecord,
  type DecisionMeans,
  type Evaluation,
  type PolicySet,
  decide,
  effectiveTrust,
  evaluator,
  normaliseIdentifiers,
  parseTrust,
} from '../policy/index.ts'
import { type AuthorizeRequest, type Risk, describeReason } from '../protocol/index.ts'
import { type ActionHash, type DecisionAxes, type PolicySetHash, actionHash } from '../record/index.ts'

export interface CallToDecide {
  readonly request: AuthorizeRequest
  readonly agent: KeptAgent
  /** Of the set in force; absent where there is none. */
  readonly policySetHash?: PolicySetHash
  /** Absent where it could not be read. */
  readonly policySet?: PolicySet
  readonly shadow?: PolicySet
  readonly nowMs: number
  /** Of a frozen request: its replay fields did their work when it was made (authorize.md §4). */
  readonly isFrozen?: boolean
}

export interface DecidedCall {
  /** What the writer records and acts upon. */
  readonly evaluation: DraftEvaluation
  /** As computed here. */
  readonly actionHash: ActionHash
  /** The rest is for explanations. */
  readonly detail: string
  readonly risk: Risk
  readonly matchedRules: readonly string[]
}

export function decideCall(call: CallToDecide, means: DecisionMeans): DecidedCall {
  const { request } = call
  const computed = actionHash(request.toolCall, means.digester)
  if (computed !== request.actionHash) {
    return refuseUndecided(call, computed, 'action_hash_mismatch', { action_hash: request.actionHash })
  }
  if (call.policySet === undefined) return refuseUndecided(call, computed, 'policy_unavailable')
  const evaluation = decide(
    {
      request: {
        toolCall: request.toolCall,
        sourceTrust: request.sourceTrust,
        ...(request.containsSensitiveData === undefined
          ? {}
          : { containsSensitiveData: request.containsSensitiveData }),
        ...(request.session === undefined ? {} : { session: request.session }),
        ...(request.userId === undefined ? {} : { userId: request.userId }),
        ...(request.metadata === undefined ? {} : { metadata: request.metadata }),
      },
      agent: toAgent(call.agent),
      policySet: call.policySet,
      nowMs: call.nowMs,
      ...(call.shadow === undefined ? {} : { shadow: call.shadow }),
    },
    means,
  )
  if (call.isFrozen !== true && lacksReplayFields(request, evaluation))
    return refuseReplay(evaluation, computed)
  const { decision, code, toolId, policySetHash, approval, environment, sourceTrust, axes } = evaluation
  return {
    evaluation: {
      decision,
      code,
      toolId,
      policySetHash,
      ...(approval === undefined ? {} : { approval }),
      environment,
      sourceTrust,
      axes,
    },
    actionHash: computed,
    detail: evaluation.detail,
    risk: evaluation.risk,
    matchedRules: evaluation.matchedRules,
  }
}

/** Decided before the replay fields are looked at: they come after identifiers, catalogue and bindings. */
const earlierCodes: ReadonlySet<string> = new Set([
  'identifier_not_allowed',
  'unknown_tool',
  'binding_failed',
  'resource_mismatch',
])

/** A nonce is kept for as long as its timestamp may be used: without one it could be used again. */
function lacksReplayFields(request: AuthorizeRequest, evaluation: Evaluation): boolean {
  if (earlierCodes.has(evaluation.code)) return false
  const { requestId, timestamp, nonce } = request
  if (nonce !== undefined && timestamp === undefined) return true
  return evaluation.mutatesState && (requestId === undefined || timestamp === undefined)
}

const replayFieldsMissing = 'replay_fields_missing'

/** What the policy found is not what was answered, so it does not stand in the record. */
const policyFindings: ReadonlySet<string> = new Set([
  'matched_rule',
  'matched_rules',
  'rules_total',
  'policy_errors',
  'overrides',
  'reason_text',
  'shadow',
])

function refuseReplay(evaluation: Evaluation, computed: ActionHash): DecidedCall {
  const kept = Object.entries(evaluation.axes).filter(([name]) => !policyFindings.has(name))
  const { toolId, policySetHash, environment, sourceTrust } = evaluation
  const axes: DecisionAxes = { ...(Object.fromEntries(kept) as DecisionAxes), decided_by: 'pipeline' }
  return {
    evaluation: {
      decision: 'deny',
      code: replayFieldsMissing,
      toolId,
      policySetHash,
      environment,
      sourceTrust,
      axes,
    },
    actionHash: computed,
    detail: describeReason(replayFieldsMissing),
    risk: evaluation.risk,
    matchedRules: [],
  }
}

/** A refusal that no policy set had a part in. */
function refuseUndecided(
  { request, agent: kept, policySetHash }: CallToDecide,
  computed: ActionHash,
  code: 'action_hash_mismatch' | 'policy_unavailable',
  claims: Readonly<Record<string, string>> = {},
): DecidedCall {
  const agent = toAgent(kept)
  const names = normaliseIdentifiers(request.toolCall.tool, request.toolCall.action)
  const [role, ...more] = agent.roles
  return {
    evaluation: {
      decision: 'deny',
      code,
      toolId: names.ok ? names.toolId : '-',
      ...(policySetHash === undefined ? {} : { policySetHash }),
      environment: agent.environment,
      sourceTrust: effectiveTrust(request.sourceTrust, agent.trustMax),
      axes: {
        ...(role === undefined || more.length > 0 ? {} : { role }),
        ...(request.session === undefined ? {} : { session: request.session }),
        ...(request.metadata === undefined ? {} : { metadata: request.metadata }),
        ...(Object.keys(claims).length === 0 ? {} : { claims }),
        decided_by: 'pipeline',
        evaluator,
      },
    },
    actionHash: computed,
    detail: describeReason(code),
    risk: { level: 'critical', score: 95 },
    matchedRules: [],
  }
}

/** What stands for an evaluation where there is no request to evaluate: a consume of what cannot be used. */
export function unevaluated(
  toolId: string,
  agent: KeptAgent,
  policySetHash?: PolicySetHash,
): DraftEvaluation {
  const [role, ...more] = agent.roles
  return {
    decision: 'deny',
    code: 'not_approved',
    toolId,
    ...(policySetHash === undefined ? {} : { policySetHash }),
    environment: agent.environment,
    sourceTrust: toAgent(agent).trustMax,
    axes: { ...(role === undefined || more.length > 0 ? {} : { role }), decided_by: 'pipeline', evaluator },
  }
}

/** The writer keeps the level as text; one that no policy knows is the worst. */
function toAgent(kept: KeptAgent): AgentRecord {
  const { id, roles, environment, owner, riskTier, trustMax, forceApproval } = kept
  return {
    id,
    roles,
    environment,
    owner,
    riskTier,
    trustMax: parseTrust(trustMax) ?? 'unknown',
    forceApproval,
  }
}
