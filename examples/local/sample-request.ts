/** A curl line that a reader can paste: the first of the bundle's own cases that is allowed and changes nothing. */
import { actionHash, canonicalText } from '../../src/record/index.ts'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { policyMeans } from '../../src/cli/policy-engine.ts'
import { decide } from '../../src/policy/index.ts'
import type { LocalTenant } from './tenant.ts'

/** For a read: neither `request_id` nor `timestamp` is required, so that the line works whenever it is pasted. */
export function sampleCurl(url: string, { agent, bundle, keys }: LocalTenant): string {
  const means = policyMeans()
  const sample = bundle.cases.find((one) => {
    const { decision, mutatesState } = decide({ ...one, agent, policySet: bundle.policySet }, means)
    return decision === 'allow' && !mutatesState
  })
  if (sample === undefined) return '(the bundle has no case of an allowed read to show)'
  const { toolCall, sourceTrust, containsSensitiveData } = sample.request
  const body = canonicalText({
    tool_call: { ...toolCall },
    action_hash: actionHash(toolCall, nodeSuite),
    context: {
      source_trust: sourceTrust,
      ...(containsSensitiveData === undefined ? {} : { contains_sensitive_data: containsSensitiveData }),
    },
  })
  return [
    `curl -s ${url}/v1/authorize -H 'Authorization: Bearer ${keys.agent}' \\`,
    `  -H 'Content-Type: application/json' --data '${body.replaceAll("'", "'\\''")}'`,
  ].join('\n')
}
