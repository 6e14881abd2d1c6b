/**
 * Reason codes of a decision in words (authorize.md §2, record.md §4): the sentence for a code whose Line holds no
 * `reason_text`, because the writer and not a policy refused. Not an error: those are in problem.ts.
 */
export const reasonSentences: Readonly<Record<string, string>> = {
  action_hash_mismatch: 'action_hash is not the hash of tool_call',
  agent_frozen: 'this agent is frozen',
  agent_revoked: 'this agent is revoked',
  approval_insufficient: 'the approval that was given is not the one that is asked for now',
  approval_required: 'a person has to approve this',
  engine_failed: 'the policy engine gave no answer',
  identifier_not_allowed: 'the tool or the action is not an allowed identifier',
  nonce_replayed: 'this nonce was used before',
  permitted: 'a policy permits this',
  policy_unavailable: 'there is no policy set that could be evaluated',
  quorum_unreachable: 'approval is needed, and its groups have too few members to give it',
  rate_limited: 'too many requests',
  replay_fields_missing:
    'an action that changes state needs request_id and timestamp, and a nonce needs timestamp',
  tenant_frozen: 'this tenant is frozen',
  timestamp_out_of_window: 'timestamp is too far from the clock of the server',
  too_many_pending: 'too many approvals are waiting already',
  tool_frozen: 'this tool is frozen',
}

/** The sentence for a code; a code that is not listed stands for itself. */
export function describeReason(code: string): string {
  return Object.hasOwn(reasonSentences, code) ? (reasonSentences[code] ?? code) : code
}
