/**
 * The decision (policy.md §4): Cedar's answer composed with our overrides, each of which can tighten only, and each
 * named. A pure function of the request as parsed, the agent's record, the policy set and the clock; whatever goes
 * wrong is a deny. Not here: limits, replay, freezes and who is in a group, which the writer knows.
 */
import {
  type DecisionAxes,
  type Digester,
  type JsonObject,
  type PolicySetHash,
  type TaggedValue,
  type ToolCall,
  encodeCanonical,
} from '../record/index.ts'
import { type Bound, bindArguments } from './binding.ts'
import { type RiskLevel, type ToolAction, riskScores } from './catalogue.ts'
import { type Engine, evaluator } from './engine.ts'
import { normaliseIdentifiers } from './identifier.ts'
import { type Judgement, type ReasonCode, cutBytes, judge } from './judge.ts'
import { reasonBytesMax } from './policy.ts'
import type { PolicySet } from './policy-set.ts'
import {
  type AgentRecord,
  type TaggedRequest,
  actionGroups,
  contextOf,
  principalOf,
  toCedarRequest,
} from './request.ts'
import { sliceFor } from './slice.ts'
import { type Trust, effectiveTrust } from './trust.ts'
import { digestValue } from './value.ts'

/** A request as the strict reader and the schema left it. */
export interface DecisionRequest {
  /** As the caller sent it: names are normalised here. */
  readonly toolCall: ToolCall
  readonly sourceTrust: Trust
  readonly containsSensitiveData?: boolean
  readonly session?: string
  readonly userId?: string
  /** Recorded, decides nothing. */
  readonly metadata?: { readonly [name: string]: string }
}

export interface DecisionInput {
  readonly request: DecisionRequest
  readonly agent: AgentRecord
  readonly policySet: PolicySet
  /** The server's clock, ms since the epoch; it is recorded as `context.now`. */
  readonly nowMs: number
  /** A candidate set: its answer is recorded and never given. */
  readonly shadow?: PolicySet
}

export interface DecisionMeans {
  readonly engine: Engine
  readonly digester: Digester
}

/** The members of `decision_axes` that a decision yields; the writer adds those that only it knows. */
export type EvaluationAxes = Omit<
  DecisionAxes,
  | 'approval'
  | 'approval_ref'
  | 'call_ref'
  | 'authorized_digest'
  | 'explained'
  | 'suppressed'
  | 'actor'
  | 'envelope'
>

export interface Evaluation {
  readonly decision: 'allow' | 'deny' | 'require_approval'
  readonly decidedBy: 'policy' | 'pipeline'
  readonly code: ReasonCode
  /** For the caller: names no policy. */
  readonly detail: string
  readonly policySetHash: PolicySetHash
  /** `-` when the identifiers were refused. */
  readonly toolId: string
  /** Effective; true where nothing is known about the action. */
  readonly mutatesState: boolean
  /** Effective. */
  readonly sourceTrust: Trust
  readonly environment: string
  readonly risk: { readonly level: RiskLevel; readonly score: number }
  /** Every determining policy, sorted; the axes hold the first 64. */
  readonly matchedRules: readonly string[]
  /** Present iff the decision is `require_approval`. */
  readonly approval?: { readonly groups: readonly string[]; readonly quorum: number }
  readonly axes: EvaluationAxes
}

/**
 * Decides one request. The same inputs give the same answer and the same axes. Throws only for a clock outside the
 * years 0 to 9999, which is a broken invariant.
 *
 * @example decide({ request, agent, policySet, nowMs: Date.now() }, { engine, digester: nobleSuite })
 */
export function decide(input: DecisionInput, means: DecisionMeans): Evaluation {
  const evaluation = decideAlone(input, means)
  if (input.shadow === undefined) return recordable(evaluation)
  const shadow = decideAlone({ ...input, policySet: input.shadow }, means)
  return recordable({ ...evaluation, axes: { ...evaluation.axes, shadow: toRecordedShadow(shadow) } })
}

/** A Line has 64 KiB; a quarter is left for what the writer adds. */
const axesBytesMax = 49_152

/**
 * No record, no allow: what would not fit into a Line is denied with what does. Each part has its own limit, and
 * only all of them at once, with every character escaped, come this far.
 */
function recordable(evaluation: Evaluation): Evaluation {
  // A code unit is at most three bytes: nearly always this is all there is to do.
  if (JSON.stringify(evaluation.axes).length * 3 <= axesBytesMax) return evaluation
  const { axes } = evaluation
  if (encodeCanonical(axes as unknown as JsonObject).length <= axesBytesMax) return evaluation
  return refuse(
    {
      ...evaluation,
      risk: evaluation.risk.level,
      axes: {
        evaluator,
        ...(axes.principal === undefined ? {} : { principal: axes.principal }),
        ...(axes.action === undefined ? {} : { action: axes.action }),
        ...(axes.bindings_hash === undefined ? {} : { bindings_hash: axes.bindings_hash }),
      },
      claims: {},
    },
    'binding_failed',
    'argument *: too much in all',
  )
}

function decideAlone(input: DecisionInput, means: DecisionMeans): Evaluation {
  const { request, agent, policySet } = input
  const { toolCall } = request
  const sourceTrust = effectiveTrust(request.sourceTrust, agent.trustMax)
  const known: Known = {
    policySetHash: policySet.policySetHash,
    sourceTrust,
    environment: agent.environment,
    toolId: '-',
    mutatesState: true,
    risk: 'critical',
    axes: {
      ...(agent.roles.length === 1 ? { role: agent.roles[0] as string } : {}),
      ...(request.session === undefined ? {} : { session: request.session }),
      evaluator,
      principal: principalOf(agent),
      ...(request.metadata === undefined ? {} : { metadata: request.metadata }),
    },
    claims: request.sourceTrust === sourceTrust ? {} : { source_trust: request.sourceTrust },
  }
  const names = normaliseIdentifiers(toolCall.tool, toolCall.action)
  if (!names.ok) {
    const claims = { ...known.claims, action: cutText(toolCall.action), tool: cutText(toolCall.tool) }
    const detail = `the ${names.member} is not an allowed identifier`
    return refuse({ ...known, claims }, 'identifier_not_allowed', detail)
  }
  const named: Known = {
    ...known,
    toolId: names.toolId,
    axes: { ...known.axes, action: { type: 'Action', id: names.toolId } },
  }
  const action = policySet.catalogue.toolAction(names.toolId)
  if (action === undefined) {
    const claims = toolCall.mutates_state ? named.claims : { ...named.claims, mutates_state: false }
    return refuse({ ...named, claims }, 'unknown_tool', 'the tool catalogue has no such tool and action')
  }
  // The catalogue wins; a caller may only tighten.
  const mutatesState = action.mutatesState || toolCall.mutates_state
  const catalogued: Known = {
    ...named,
    mutatesState,
    risk: action.risk,
    axes: {
      ...named.axes,
      ...(action.capability === undefined ? {} : { capability: action.capability }),
      bindings_hash: action.bindingsHash,
    },
    claims:
      toolCall.mutates_state === mutatesState ? named.claims : { ...named.claims, mutates_state: false },
  }
  const binding = bindArguments(action, toolCall.parameters)
  if (!binding.ok) {
    return refuse(catalogued, 'binding_failed', `argument ${binding.name}: ${binding.why}`)
  }
  return decideBound(input, means, action, binding.bound, catalogued)
}

function decideBound(
  input: DecisionInput,
  means: DecisionMeans,
  action: ToolAction,
  bound: Bound,
  known: Known,
): Evaluation {
  const { request, agent, policySet } = input
  const { mutatesState } = known
  const claimed = request.toolCall.resource
  const resourceId = bound.resource ?? claimed ?? ''
  const tagged: TaggedRequest = {
    principal: principalOf(agent),
    action: { type: 'Action', id: action.toolId },
    resource: { type: 'Resource', id: resourceId },
    context: contextOf(
      {
        sourceTrust: known.sourceTrust,
        mutatesState,
        risk: action.risk,
        riskScore: action.riskScore,
        containsSensitiveData: request.containsSensitiveData ?? mutatesState,
        environment: agent.environment,
        nowMs: input.nowMs,
        ...(request.session === undefined ? {} : { session: request.session }),
        ...(request.userId === undefined ? {} : { userId: request.userId }),
      },
      bound,
    ),
  }
  const complete: Known = {
    ...known,
    axes: {
      ...known.axes,
      ...(bound.fs === undefined ? {} : { fs: bound.fs }),
      ...(bound.net === undefined ? {} : { net: { host: bound.net.host, port: bound.net.port } }),
      resource: tagged.resource,
      context: recordedContext(tagged.context, action, means.digester),
    },
  }
  if (bound.resource !== undefined && claimed !== null && claimed !== bound.resource) {
    const claims = { ...complete.claims, resource: cutText(claimed) }
    return refuse(
      { ...complete, claims },
      'resource_mismatch',
      'the resource is not the one that the arguments name',
    )
  }
  return conclude(complete, judgeTagged(tagged, action, mutatesState, policySet, means.engine))
}

/** Evaluates a tagged request; shared with what evaluates a recorded one again. */
export function judgeTagged(
  tagged: TaggedRequest,
  action: ToolAction,
  mutatesState: boolean,
  policySet: PolicySet,
  engine: Engine,
): Judgement {
  const cedar = toCedarRequest(tagged, actionGroups(action, mutatesState))
  const answer = cedar.ok
    ? engine.authorize(sliceFor(policySet, action, mutatesState), cedar.request)
    : ({ kind: 'failed', detail: 'the request has no Cedar form' } as const)
  return judge(answer, action, tagged.principal.attrs['force_approval'] === true, policySet)
}

/** What is settled before Cedar is asked. */
export interface Known {
  readonly policySetHash: PolicySetHash
  readonly sourceTrust: Trust
  readonly environment: string
  readonly toolId: string
  readonly mutatesState: boolean
  readonly risk: RiskLevel
  readonly axes: EvaluationAxes
  /** What the caller asserted where the server decided otherwise. */
  readonly claims: JsonObject
}

/** Refusals before Cedar: rules of the catalogue, so `policy`, but for identifiers (record.md §4). */
function refuse(
  known: Known,
  code: 'identifier_not_allowed' | 'unknown_tool' | 'binding_failed' | 'resource_mismatch',
  detail: string,
): Evaluation {
  return conclude(known, {
    decision: 'deny',
    decidedBy: code === 'identifier_not_allowed' ? 'pipeline' : 'policy',
    code,
    detail,
    matchedRules: [],
    policyErrors: [],
    overrides: [code],
  })
}

/** Policy ids of a kind that a Line holds: 64 of 128 characters are 8 KiB of its 64. */
const rulesRecordedMax = 64

export function conclude(known: Known, judgement: Judgement): Evaluation {
  const { matchedRules, policyErrors, overrides } = judgement
  const recorded = matchedRules.slice(0, rulesRecordedMax)
  const [first] = recorded
  return {
    decision: judgement.decision,
    decidedBy: judgement.decidedBy,
    code: judgement.code,
    detail: judgement.detail,
    policySetHash: known.policySetHash,
    toolId: known.toolId,
    mutatesState: known.mutatesState,
    sourceTrust: known.sourceTrust,
    environment: known.environment,
    risk: { level: known.risk, score: riskScores[known.risk] },
    matchedRules,
    ...(judgement.approval === undefined ? {} : { approval: judgement.approval }),
    axes: {
      ...known.axes,
      decided_by: judgement.decidedBy,
      ...(first === undefined ? {} : { matched_rule: first }),
      matched_rules: recorded,
      ...(matchedRules.length > rulesRecordedMax ? { rules_total: matchedRules.length } : {}),
      ...(policyErrors.length === 0 ? {} : { policy_errors: policyErrors.slice(0, rulesRecordedMax) }),
      ...(overrides.length === 0 ? {} : { overrides }),
      ...(Object.keys(known.claims).length === 0 ? {} : { claims: known.claims }),
      reason_text: cutBytes(judgement.detail, reasonBytesMax),
    },
  }
}

function recordedContext(
  context: TaggedRequest['context'],
  action: ToolAction,
  digester: Digester,
): TaggedRequest['context'] {
  const secret = action.args.filter((binding) => binding.record === 'digest')
  if (secret.length === 0) return context
  const args: Record<string, TaggedValue> = { ...(context['args'] as Record<string, TaggedValue>) }
  for (const { name } of secret) {
    const value = args[name]
    if (value !== undefined) args[name] = digestValue(value, digester)
  }
  return { ...context, args }
}

function toRecordedShadow(shadow: Evaluation): NonNullable<EvaluationAxes['shadow']> {
  const matched_rules = shadow.axes.matched_rules ?? []
  const { policySetHash: policy_set_hash } = shadow
  switch (shadow.decision) {
    case 'allow':
      return { policy_set_hash, status: 'allowed', matched_rules }
    case 'require_approval':
      return { policy_set_hash, status: 'pending_approval', reason: shadow.code, matched_rules }
    case 'deny':
      return { policy_set_hash, status: 'denied', reason: shadow.code, matched_rules }
  }
}

/** The first 128 code units, no half of a pair. */
function cutText(text: string): string {
  return text.slice(0, 128).replace(/[\uD800-\uDBFF]$/, '')
}
