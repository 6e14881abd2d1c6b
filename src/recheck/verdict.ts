/**
 * What a recheck says of one outcome (SPEC.md §10): five verdicts, the reasons why it can say nothing, and the exit code
 * that follows from all of them. How a verdict comes about: evaluate.ts and recheck.ts.
 */

/** `policy.status` of an outcome Line. */
export const policyStatuses = ['allowed', 'denied', 'rate_limited', 'pending_approval'] as const
export type PolicyStatusName = (typeof policyStatuses)[number]

/** What an evaluation can answer; limits are no policy's. */
export type EvaluatedStatus = Exclude<PolicyStatusName, 'rate_limited'>

export const recheckReasons = [
  'missing_envelope',
  'envelope_digest_mismatch',
  'unknown_policy_set_hash',
  'no_binding',
  'rate_limit_unevaluable',
  'unknown_approval',
] as const
/** Why an outcome cannot be rechecked. */
export type RecheckReason = (typeof recheckReasons)[number]

export const verdictNames = [
  'unchanged',
  'newly_blocked',
  'newly_allowed',
  'newly_parked',
  'indeterminate',
] as const
export type VerdictName = (typeof verdictNames)[number]

/** The verdicts that are a difference: what `--fail-on` names. */
export const differenceNames = ['newly_blocked', 'newly_allowed', 'newly_parked'] as const
export type DifferenceName = (typeof differenceNames)[number]

export type Verdict =
  | { readonly verdict: 'unchanged'; readonly action: PolicyStatusName }
  | { readonly verdict: 'newly_blocked'; readonly was: PolicyStatusName; readonly now: EvaluatedStatus }
  | { readonly verdict: 'newly_allowed'; readonly was: PolicyStatusName; readonly now: EvaluatedStatus }
  | { readonly verdict: 'newly_parked'; readonly was: PolicyStatusName }
  | { readonly verdict: 'indeterminate'; readonly reason: RecheckReason }

/** The difference between what was answered and what would be. */
export function compareStatus(was: PolicyStatusName, now: EvaluatedStatus): Verdict {
  if (was === now) return { verdict: 'unchanged', action: now }
  switch (now) {
    case 'allowed':
      return { verdict: 'newly_allowed', was, now }
    case 'denied':
      return { verdict: 'newly_blocked', was, now }
    case 'pending_approval':
      return { verdict: 'newly_parked', was }
  }
}

/**
 * Exit code of a recheck.
 *
 * @param failOn the differences that count; all of them unless given.
 * @param unread whether a row of the input was no Line: what it hid is not known.
 */
export function recheckExitCode(
  counts: Readonly<Record<VerdictName, number>>,
  failOn: readonly DifferenceName[],
  unread: boolean,
): 0 | 1 | 3 {
  if (counts.indeterminate > 0 || unread) return 3
  return failOn.some((name) => counts[name] > 0) ? 1 : 0
}
