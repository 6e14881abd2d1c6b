/**
 * From the engine's answer to a decision: policy.md §4 steps 2 to 4, in order. Each override tightens only and is
 * named when it changed the answer. Not for what is decided before Cedar is asked: decide.ts.
 */
import type { ToolAction } from './catalogue.ts'
import type { EngineAnswer } from './engine.ts'
import { type Policy, reasonBytesMax } from './policy.ts'
import type { PolicySet } from './policy-set.ts'

/** Stable; they are `policy.reason` in the record. */
export type ReasonCode =
  | 'permitted'
  | 'approval_required'
  | 'default_require_approval'
  | 'critical_requires_approval'
  | 'force_approval'
  | 'identifier_not_allowed'
  | 'unknown_tool'
  | 'binding_failed'
  | 'resource_mismatch'
  | 'policy_denied'
  | 'no_policy_permits'
  | 'policy_error'
  | 'default_deny'
  | 'no_approver_group'
  | 'engine_failed'

export interface Judgement {
  readonly decision: 'allow' | 'deny' | 'require_approval'
  readonly decidedBy: 'policy' | 'pipeline'
  readonly code: ReasonCode
  readonly detail: string
  /** Determining policies, sorted. */
  readonly matchedRules: readonly string[]
  /** Policies whose evaluation errored, sorted. */
  readonly policyErrors: readonly string[]
  /** In the order applied. */
  readonly overrides: readonly string[]
  readonly approval?: { readonly groups: readonly string[]; readonly quorum: number }
}

/**
 * @param forceApproval the flag of the agent's record.
 */
export function judge(
  answer: EngineAnswer,
  action: ToolAction,
  forceApproval: boolean,
  policySet: PolicySet,
): Judgement {
  if (answer.kind === 'failed') {
    return {
      decision: 'deny',
      decidedBy: 'pipeline',
      code: 'engine_failed',
      detail: 'the policy engine gave no answer',
      matchedRules: [],
      policyErrors: [],
      overrides: ['engine_failed'],
    }
  }
  const matchedRules = answer.determining
  const policyErrors = answer.errored
  const determining = matchedRules.flatMap((id) => policySet.policies.get(id) ?? [])
  const overrides: string[] = []
  const deny = (code: ReasonCode, detail: string): Judgement => ({
    decision: 'deny',
    decidedBy: 'policy',
    code,
    detail,
    matchedRules,
    policyErrors,
    overrides,
  })

  // Step 2. A forbid that errored is skipped by Cedar; here it denies.
  if (!answer.allow && matchedRules.length > 0) {
    return deny('policy_denied', reasons(determining) ?? 'a policy forbids this')
  }
  if (policyErrors.length > 0) {
    if (answer.allow) overrides.push('policy_error')
    return deny('policy_error', 'a policy could not be evaluated for this request')
  }
  if (!answer.allow) return deny('no_policy_permits', 'no policy permits this')

  // Steps 3 and 4: the first that asks for a human gives the code; none can take a denial or a human away.
  const { default_group: defaultGroup } = policySet.settings
  const asking = determining.filter((policy) => policy.approval !== undefined)
  const groups = new Set(asking.flatMap((policy) => policy.approval?.groups ?? []))
  let needsDefaultGroup = asking.some((policy) => policy.approval?.groups.length === 0)
  let code: ReasonCode = 'permitted'
  let detail = reasons(determining) ?? 'a policy permits this'
  if (asking.length > 0) {
    code = 'approval_required'
    detail = reasons(asking) ?? 'a policy asks for approval'
    overrides.push(code)
  }
  if (action.default === 'deny') {
    overrides.push('default_deny')
    return deny('default_deny', 'the tool catalogue denies this action')
  }
  const asks: readonly [boolean, ReasonCode, string][] = [
    [
      action.default === 'require_approval',
      'default_require_approval',
      'the tool catalogue asks for approval',
    ],
    [action.risk === 'critical', 'critical_requires_approval', 'an action of critical risk needs approval'],
    [forceApproval, 'force_approval', 'everything that this agent does needs approval'],
  ]
  for (const [fires, name, why] of asks) {
    if (!fires || code !== 'permitted') continue
    code = name
    detail = why
    needsDefaultGroup = true
    overrides.push(name)
  }
  if (code === 'permitted') {
    return { decision: 'allow', decidedBy: 'policy', code, detail, matchedRules, policyErrors, overrides }
  }
  if (needsDefaultGroup && defaultGroup === undefined) {
    overrides.push('no_approver_group')
    return deny('no_approver_group', 'approval is needed and no group could give it')
  }
  if (needsDefaultGroup && defaultGroup !== undefined) groups.add(defaultGroup)
  return {
    decision: 'require_approval',
    decidedBy: 'policy',
    code,
    detail,
    matchedRules,
    policyErrors,
    overrides,
    approval: strictest([...groups].sort(), asking, policySet),
  }
}

/** Every named group; one quorum, the highest that a policy or one of the groups asks for. */
function strictest(
  groups: readonly string[],
  asking: readonly Policy[],
  policySet: PolicySet,
): NonNullable<Judgement['approval']> {
  let quorum = 1
  for (const policy of asking) quorum = Math.max(quorum, policy.approval?.quorum ?? 1)
  for (const group of groups)
    quorum = Math.max(quorum, policySet.settings.approver_groups[group]?.quorum ?? 1)
  return { groups, quorum }
}

/** What the policies say about themselves, in the order of their ids; cut to what the record holds. */
function reasons(policies: readonly Policy[]): string | undefined {
  const texts = [...new Set(policies.flatMap((policy) => policy.reason ?? []))]
  return texts.length === 0 ? undefined : cutBytes(texts.join('; '), reasonBytesMax)
}

/** At most so many bytes of UTF-8, no half of a character. */
export function cutBytes(text: string, bytesMax: number): string {
  let bytes = 0
  let end = 0
  for (const character of text) {
    const code = character.codePointAt(0) as number
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4
    if (bytes > bytesMax) return text.slice(0, end)
    end += character.length
  }
  return text
}
