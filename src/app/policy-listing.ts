/**
 * `GET /v1/policies`: the bundle objects that a tenant has in the archive, which of them are evaluated, and the one that
 * the deployment carries for it, pushed or not.
 */
import type { ListedObject } from '../archive/bucket.ts'
import { bundlesPrefix } from '../archive/paths.ts'
import type { PolicyList } from '../protocol/index.ts'
import { type PolicySetHash, parseDigest } from '../record/index.ts'
import { answerJson, answerProblem, answerRefusedReading } from './answers.ts'
import type { RequestContext } from './request-scope.ts'
import type { Services } from './services.ts'

/** Of one answer. */
const pageMax = 250

export async function listPolicies(services: Services, c: RequestContext): Promise<Response> {
  const { chain, keyId, tenant } = c.get('caller')
  const given = c.req.query('after')
  const after = given === undefined ? undefined : parseDigest<PolicySetHash>(given)
  if (given !== undefined && after === undefined) {
    return answerProblem(c, 'query_invalid', { detail: 'after must be a policy_set_hash' })
  }
  const state = await c.get('timing').measure('record', () => chain.policyState(keyId))
  if (state.kind !== 'policies') return answerRefusedReading(services, c, state)
  const prefix = bundlesPrefix(tenant)
  const { objects, truncated } = await c.get('timing').measure('archive', () =>
    services.archive.list({
      prefix,
      ...(after === undefined ? {} : { startAfter: `${prefix}${after}.json` }),
      limit: pageMax,
    }),
  )
  const deployed = services.deployedBundle(tenant)
  const toEntry = (hash: PolicySetHash, facts: { bytes: number; pushed_at?: string }) => ({
    policy_set_hash: hash,
    ...facts,
    active: hash === state.active,
    previous: hash === state.previous,
    shadow: hash === state.shadow,
    deployed: hash === deployed.policySetHash,
  })
  const policies = objects.flatMap(({ key, size, uploaded }) => {
    const hash = parseDigest<PolicySetHash>(key.slice(prefix.length).replace(/\.json$/, ''))
    return hash === undefined ? [] : [toEntry(hash, { bytes: size, pushed_at: uploaded.toISOString() })]
  })
  // On the page where it would stand, if it had been pushed.
  const isHere = truncated ? isBefore(objects, `${prefix}${deployed.policySetHash}.json`) : true
  const isLater = after === undefined || deployed.policySetHash > after
  if (isHere && isLater && !policies.some((entry) => entry.deployed)) {
    policies.push(toEntry(deployed.policySetHash, { bytes: deployed.bytes.length }))
    policies.sort((left, right) => (left.policy_set_hash < right.policy_set_hash ? -1 : 1))
  }
  const next = truncated ? policies.at(-1)?.policy_set_hash : undefined
  const list: PolicyList = { policies, ...(next === undefined ? {} : { next }) }
  return answerJson(c, list)
}

function isBefore(objects: readonly ListedObject[], key: string): boolean {
  const last = objects.at(-1)
  return last !== undefined && key < last.key
}
