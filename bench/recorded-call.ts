/** A decision as the two Lines that the service records of it, for benches that write without the service. */
import { nodeSuite } from '../src/crypto-node/index.ts'
import type { Evaluation } from '../src/policy/index.ts'
import { type LineDraft, requestDigest, utf8 } from '../src/record/index.ts'
import { benchAgent } from './policy-workload.ts'

/** @param number of the Call: everything that the decision does not say follows from it. */
export function draftsOf(
  { axes, code, decision, policySetHash, toolId }: Evaluation,
  number: number,
  decidedAt: number,
): readonly LineDraft[] {
  const digest = requestDigest(utf8(`request ${String(number)}`), nodeSuite)
  const shared = {
    call_id: `call_${String(number).padStart(26, '0')}`,
    request_digest: digest,
    tool_id: toolId,
  }
  const agent = { agent_id: benchAgent.id, action_hash: digest as string as never }
  const refused = { status: 'denied', reason: code } as const
  return [
    { line_type: 'intent', ...shared, ...agent },
    {
      line_type: 'outcome',
      ...shared,
      ...agent,
      policy: decision === 'allow' ? { status: 'allowed' } : refused,
      capability: refused,
      execution: decision === 'allow' ? { status: 'delegated' } : { status: 'host_denied', reason: code },
      decided_at: decidedAt,
      decision_axes: axes,
      policy_set_hash: policySetHash,
    },
  ]
}
