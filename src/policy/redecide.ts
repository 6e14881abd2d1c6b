/**
 * A recorded request decided again (record.md §7): the tagged request is read back from `decision_axes`, what the
 * catalogue settles is derived anew from the other set, and the same judgement follows. Executes nothing and reads
 * no caller's JSON. Comparing the answers is for the recheck floor.
 */
import type { DecisionAxes, TaggedValue } from '../record/index.ts'
import type { ToolAction } from './catalogue.ts'
import { type DecisionMeans, type Evaluation, conclude, judgeTagged } from './decide.ts'
import type { PolicySet } from './policy-set.ts'
import { type CedarRequest, type TaggedRequest, actionGroups, toCedarRequest } from './request.ts'
import { parseTrust } from './trust.ts'

export type Redecided =
  | { readonly kind: 'evaluated'; readonly evaluation: Evaluation }
  /** The axes lack a principal, an action or a context, or hold what we do not write. */
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
  const recorded = requestFromAxes(axes)
  if (recorded === undefined) return { kind: 'no_binding' }
  if (action === undefined) return { kind: 'unknown_tool' }
  const mutatesState = action.mutatesState || claimedMutation(axes)
  const tagged = underCatalogue(recorded, action, mutatesState)
  const names = digestedArguments(tagged)
  if (names.length > 0) return { kind: 'needs_envelope', names }
  const { context } = tagged
  const sourceTrust = parseTrust(context['source_trust'])
  const environment = context['environment']
  const cedar = toCedarRequest(tagged, actionGroups(action, mutatesState))
  if (sourceTrust === undefined || typeof environment !== 'string' || !cedar.ok) return { kind: 'no_binding' }
  const judgement = judgeTagged(tagged, action, mutatesState, policySet, means.engine)
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

/**
 * The Cedar request of recorded axes, as it was evaluated under the catalogue that recorded it.
 *
 * @returns undefined when a value was recorded as its digest, or the axes hold no request.
 */
export function cedarRequestFromAxes(axes: DecisionAxes, action: ToolAction): CedarRequest | undefined {
  const recorded = requestFromAxes(axes)
  if (recorded === undefined) return undefined
  const cedar = toCedarRequest(recorded, actionGroups(action, recorded.context['mutates_state'] === true))
  return cedar.ok ? cedar.request : undefined
}

function requestFromAxes({ principal, action, resource, context }: DecisionAxes): TaggedRequest | undefined {
  if (principal === undefined || action === undefined || context === undefined) return undefined
  return { principal, action, resource: resource ?? { type: 'Resource', id: '' }, context }
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
  if (typeof args !== 'object') return []
  return Object.entries(args as Record<string, TaggedValue>)
    .filter(([, value]) => typeof value === 'object' && 'digest' in value)
    .map(([name]) => name)
    .sort()
}
