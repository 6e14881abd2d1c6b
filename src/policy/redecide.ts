/**
 * A recorded request decided again (SPEC.md §10): the tagged request is read back from `decision_axes`, what the
 * catalogue settles is derived anew from the other set, and the same judgement follows. Where arguments must be bound
 * anew, their request's bytes are read, and everything else stays as recorded. Executes nothing. Comparing the answers is
 * for the recheck floor.
 */
import { type DecisionAxes, type TaggedValue, parseBody } from '../record/index.ts'
import { parseRequest } from './cases.ts'
import type { ToolAction } from './catalogue.ts'
import {
  type DecisionMeans,
  type DecisionRequest,
  type Evaluation,
  conclude,
  decide,
  judgeTagged,
} from './decide.ts'
import { normaliseIdentifiers } from './identifier.ts'
import type { PolicySet } from './policy-set.ts'
import { recordedAgent, recordedRequest } from './recorded.ts'
import { type CedarRequest, type TaggedRequest, actionGroups, toCedarRequest } from './request.ts'
import { parseTrust } from './trust.ts'
import { datetimeText, parseDatetime } from './value.ts'

export type Redecided =
  | { readonly kind: 'evaluated'; readonly evaluation: Evaluation }
  /** The axes lack a principal, an action or a context, or hold what we do not write; or the engine gave no answer. */
  | { readonly kind: 'no_binding' }
  /** The set's catalogue has no such tool. */
  | { readonly kind: 'unknown_tool' }
  /** These arguments were recorded as digests: the Envelope has the values. */
  | { readonly kind: 'needs_envelope'; readonly names: readonly string[] }

/**
 * Decides what a Line recorded under a policy set.
 *
 * @param toolId the Line's `tool_id`.
 */
export function redecide(
  axes: DecisionAxes,
  toolId: string,
  policySet: PolicySet,
  means: DecisionMeans,
): Redecided {
  const action = policySet.catalogue.toolAction(toolId)
  if (action === undefined) return { kind: 'unknown_tool' }
  const recorded = recordedRequest(axes, toolId)
  if (recorded === undefined) return { kind: 'no_binding' }
  const mutatesState = action.mutatesState || claimedMutation(axes)
  const tagged = underCatalogue(recorded, action, mutatesState)
  const names = digestedArguments(tagged)
  if (names.length > 0) return { kind: 'needs_envelope', names }
  const { context } = tagged
  const sourceTrust = parseTrust(context['source_trust'])
  const environment = context['environment']
  if (sourceTrust === undefined || typeof environment !== 'string') return { kind: 'no_binding' }
  const judgement = judgeTagged(tagged, action, mutatesState, policySet, means.engine)
  // The server's own doubt is a deny; here it would be a difference that no policy made.
  if (judgement.code === 'engine_failed') return { kind: 'no_binding' }
  const evaluation = conclude(
    {
      policySetHash: policySet.policySetHash,
      sourceTrust,
      environment,
      toolId,
      mutatesState,
      risk: action.risk,
      axes: { ...tagged, bindings_hash: action.bindingsHash },
      claims: axes.claims ?? {},
    },
    judgement,
  )
  return { kind: 'evaluated', evaluation }
}

/** What a Line recorded, as far as its request is bound anew. */
export interface RecordedCall {
  readonly axes: DecisionAxes
  /** The Line's `tool_id`. */
  readonly toolId: string
  /** The Line's `decided_at`: the clock where no context was recorded. */
  readonly decidedAt?: number
}

/**
 * Decides a recorded Call from the bytes of its request, where its arguments must be bound anew. Arguments and the
 * resource are the request's; the agent, the clock and everything that the context recorded stay what they were.
 *
 * @param envelope already known to have the digest that the Line names.
 */
export function redecideFromEnvelope(
  recorded: RecordedCall,
  envelope: Uint8Array,
  policySet: PolicySet,
  means: DecisionMeans,
): Exclude<Redecided, { readonly kind: 'needs_envelope' }> {
  const { axes, toolId } = recorded
  const agent = axes.principal === undefined ? undefined : recordedAgent(axes.principal)
  const body = parseBody(envelope)
  if (agent === undefined || !body.ok) return { kind: 'no_binding' }
  let faults = 0
  const sent = parseRequest(body.value, [], () => {
    faults += 1
  })
  if (sent === undefined || faults > 0) return { kind: 'no_binding' }
  const names = normaliseIdentifiers(sent.toolCall.tool, sent.toolCall.action)
  const request = axes.context === undefined ? sent : asRecorded(axes.context, sent)
  const nowMs = clockOf(recorded)
  if (!names.ok || names.toolId !== toolId || request === undefined || nowMs === undefined) {
    return { kind: 'no_binding' }
  }
  const evaluation = decide({ request, agent, policySet, nowMs }, means)
  return evaluation.code === 'engine_failed' ? { kind: 'no_binding' } : { kind: 'evaluated', evaluation }
}

/** The request with what the server had settled about its context; undefined where that is not ours. */
function asRecorded(
  context: NonNullable<DecisionAxes['context']>,
  sent: DecisionRequest,
): DecisionRequest | undefined {
  const sourceTrust = parseTrust(context['source_trust'])
  const sensitive = context['contains_sensitive_data']
  const { session, user } = context
  const userId = typeof user === 'object' ? (user as { readonly id?: TaggedValue }).id : undefined
  if (sourceTrust === undefined || typeof sensitive !== 'boolean') return undefined
  return {
    toolCall: sent.toolCall,
    sourceTrust,
    containsSensitiveData: sensitive,
    ...(typeof session === 'string' ? { session } : {}),
    ...(typeof userId === 'string' ? { userId } : {}),
  }
}

/** The server's clock of the decision: the context's, else the Line's, which is its writer's. */
function clockOf({ axes, decidedAt }: RecordedCall): number | undefined {
  const { context } = axes
  if (context === undefined) {
    return decidedAt !== undefined && datetimeText(decidedAt) !== undefined ? decidedAt : undefined
  }
  const { now } = context
  const text = typeof now === 'object' ? (now as { readonly datetime?: TaggedValue }).datetime : undefined
  return typeof text === 'string' && parseDatetime(text) === text ? Date.parse(text) : undefined
}

/**
 * The Cedar request of recorded axes, as it was evaluated under the catalogue that recorded it.
 *
 * @returns undefined when a value was recorded as its digest, or the axes hold no request.
 */
export function cedarRequestFromAxes(axes: DecisionAxes, action: ToolAction): CedarRequest | undefined {
  const recorded = recordedRequest(axes, action.toolId)
  if (recorded === undefined) return undefined
  const cedar = toCedarRequest(recorded, actionGroups(action, recorded.context['mutates_state'] === true))
  return cedar.ok ? cedar.request : undefined
}

/** What the caller said: the claim where it was overruled, else what was recorded. */
function claimedMutation(axes: DecisionAxes): boolean {
  const claim = axes.claims?.['mutates_state']
  return typeof claim === 'boolean' ? claim : axes.context?.['mutates_state'] === true
}

function underCatalogue(recorded: TaggedRequest, action: ToolAction, mutatesState: boolean): TaggedRequest {
  return {
    ...recorded,
    context: {
      ...recorded.context,
      mutates_state: mutatesState,
      risk: { long: String(action.riskScore) },
      risk_level: action.risk,
    },
  }
}

function digestedArguments(tagged: TaggedRequest): readonly string[] {
  const { args } = tagged.context
  if (typeof args !== 'object' || Array.isArray(args)) return []
  return Object.entries(args as Record<string, TaggedValue>)
    .filter(([, value]) => typeof value === 'object' && 'digest' in value)
    .map(([name]) => name)
    .sort()
}
