/**
 * Which policies can matter for an action (policy.md §5): those whose head lets it through. Evaluation is linear in
 * the number of policies, and a policy whose head does not match neither determines nor errs, so leaving it out
 * changes nothing; test/policy/slice.test.ts holds that over generated bundles.
 */
import type { PolicyJson } from '@cedar-policy/cedar-wasm/web'
import type { ToolAction } from './catalogue.ts'
import type { PolicyGroup } from './engine.ts'
import { type Policy, appliesTo, cedarPolicy } from './policy.ts'
import type { PolicySet } from './policy-set.ts'

/**
 * A slice of at least this share is not worth a set of its own: the whole one is shared by all actions, so that a
 * bundle of unscoped policies is preparsed once.
 */
const shareMin = 0.75

interface Slices {
  readonly whole: PolicyGroup
  readonly byAction: Map<string, PolicyGroup>
  /** Actions that need the same policies share a group. */
  readonly byContent: Map<string, PolicyGroup>
}

const known = new WeakMap<PolicySet, Slices>()

/** Every policy of the set. */
export function wholeSet(policySet: PolicySet): PolicyGroup {
  return slicesOf(policySet).whole
}

/** The policies that can matter for this action, or all of them where that saves nothing. */
export function sliceFor(policySet: PolicySet, action: ToolAction, mutatesState: boolean): PolicyGroup {
  const slices = slicesOf(policySet)
  const actionKey = `${mutatesState ? 'mutating' : 'reading'} ${action.toolId}`
  const seen = slices.byAction.get(actionKey)
  if (seen !== undefined) return seen
  const policies = [...policySet.policies.values()].filter((policy) =>
    appliesTo(policy.scope, action, mutatesState),
  )
  let group: PolicyGroup
  if (policies.length > 0 && policies.length >= shareMin * policySet.policies.size) group = slices.whole
  else {
    const content = policies.map((policy) => policy.id).join(' ')
    group = slices.byContent.get(content) ?? toGroup(`${policySet.policySetHash} ${actionKey}`, policies)
    slices.byContent.set(content, group)
  }
  slices.byAction.set(actionKey, group)
  return group
}

function slicesOf(policySet: PolicySet): Slices {
  let slices = known.get(policySet)
  if (slices === undefined) {
    const whole = toGroup(policySet.policySetHash, [...policySet.policies.values()])
    slices = { whole, byAction: new Map(), byContent: new Map() }
    known.set(policySet, slices)
  }
  return slices
}

/** Characters of JSON that take the memory of one usual policy: 11 bytes each were measured, of its 4.3 KiB. */
const charsPerPolicy = 400

/** What a policy counts for in the engine's memory: by size, since a few policies of 100 KB each would fill it. */
function weightOf(policy: Policy): number {
  return Math.max(1, Math.ceil(JSON.stringify(policy.json).length / charsPerPolicy))
}

function toGroup(key: string, policies: readonly Policy[]): PolicyGroup {
  return {
    key,
    size: policies.reduce((sum, policy) => sum + weightOf(policy), 0),
    policies: () => {
      const byId: Record<string, PolicyJson> = {}
      for (const policy of policies) byId[policy.id] = cedarPolicy(policy)
      return byId
    },
  }
}
