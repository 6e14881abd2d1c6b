/**
 * One outcome under a policy set (SPEC.md §10): what would be answered to what was recorded, or why that cannot be said.
 * Needs nothing but its Line, so that any thread may do it; what takes the Lines before it (approvals) is recheck.ts.
 */
import {
  type DecisionMeans,
  type Evaluation,
  type PolicySet,
  type Redecided,
  redecide,
  redecideFromEnvelope,
} from '../policy/index.ts'
import {
  type BindingsHash,
  type OutcomeLine,
  type PolicySetHash,
  type RequestDigest,
  requestDigest,
} from '../record/index.ts'
import type { EvaluatedStatus, RecheckReason } from './verdict.ts'

/** Where policy sets and Envelopes come from; the caller brings files, this floor has none. */
export interface RecheckMeans extends DecisionMeans {
  /** The set that an outcome is evaluated under, given the one that it was recorded under; its hash was checked. */
  readonly policySet: (recorded: PolicySetHash) => PolicySet | undefined
  /** The bytes kept under a digest. They are hashed here before use. */
  readonly envelope: (digest: RequestDigest) => Uint8Array | undefined
}

/** What the other set answers. */
export interface Answer {
  readonly status: EvaluatedStatus
  readonly code: string
  /** Determining policies, sorted, all of them. */
  readonly rules: readonly string[]
  /** Present iff people would be asked. */
  readonly approval?: { readonly groups: readonly string[]; readonly quorum: number }
  /** Derived under the set; absent where its catalogue refused before any policy. */
  readonly mutatesState?: boolean
  /** The set that was evaluated. */
  readonly policySetHash: PolicySetHash
}

export type Evaluated =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'indeterminate'; readonly reason: RecheckReason }

const indeterminate = (reason: RecheckReason): Evaluated => ({ kind: 'indeterminate', reason })

/** Refusals of the catalogue, before any policy: they stand for as long as the tool's bindings do. */
const bindingCodes: ReadonlySet<string> = new Set(['unknown_tool', 'binding_failed', 'resource_mismatch'])

/** Evaluates an outcome that the policy decided. Never throws for what a Line says. */
export function evaluateOutcome(line: OutcomeLine, means: RecheckMeans): Evaluated {
  const { decision_axes: axes, policy, tool_id: toolId } = line
  if (policy.status === 'rate_limited') return indeterminate('rate_limit_unevaluable')
  const policySet = means.policySet(line.policy_set_hash)
  if (policySet === undefined) return indeterminate('unknown_policy_set_hash')
  const { policySetHash } = policySet
  const bindings: BindingsHash | undefined = policySet.catalogue.toolAction(toolId)?.bindingsHash
  const refusedByBindings = policy.status === 'denied' && bindingCodes.has(policy.reason)
  if (refusedByBindings && bindings === axes.bindings_hash) return denied(policySetHash, policy.reason)
  if (axes.principal === undefined || axes.action === undefined) return indeterminate('no_binding')
  if (axes.context === undefined && !refusedByBindings) return indeterminate('no_binding')
  // Whatever the arguments were, a tool that the catalogue lacks is denied: no Envelope is needed to say so.
  if (bindings === undefined) return denied(policySetHash, 'unknown_tool')
  if (refusedByBindings || bindings !== axes.bindings_hash) return fromEnvelope(line, policySet, means)
  const redecided = redecide(axes, toolId, policySet, means)
  return redecided.kind === 'needs_envelope' ? fromEnvelope(line, policySet, means) : toEvaluated(redecided)
}

function denied(policySetHash: PolicySetHash, code: string): Evaluated {
  return { kind: 'answer', answer: { status: 'denied', code, rules: [], policySetHash } }
}

function fromEnvelope(line: OutcomeLine, policySet: PolicySet, means: RecheckMeans): Evaluated {
  const { decision_axes: axes, decided_at: decidedAt, tool_id: toolId } = line
  // Of a consume the action is in the request that it was approved for.
  const digest = axes.authorized_digest ?? line.request_digest
  const bytes = means.envelope(digest)
  if (bytes === undefined) return indeterminate('missing_envelope')
  if (requestDigest(bytes, means.digester) !== digest) return indeterminate('envelope_digest_mismatch')
  const recorded = { axes, toolId, ...(decidedAt === undefined ? {} : { decidedAt }) }
  return toEvaluated(redecideFromEnvelope(recorded, bytes, policySet, means))
}

function toEvaluated(redecided: Exclude<Redecided, { readonly kind: 'needs_envelope' }>): Evaluated {
  // A tool that is not there was seen to before.
  if (redecided.kind !== 'evaluated') return indeterminate('no_binding')
  const { approval, code, decision, matchedRules, mutatesState, policySetHash } = redecided.evaluation
  const answer: Answer = {
    status: statusOf[decision],
    code,
    rules: matchedRules,
    ...(approval === undefined ? {} : { approval }),
    mutatesState,
    policySetHash,
  }
  return { kind: 'answer', answer }
}

const statusOf: Readonly<Record<Evaluation['decision'], EvaluatedStatus>> = {
  allow: 'allowed',
  deny: 'denied',
  require_approval: 'pending_approval',
}
