/**
 * `GET /v1/policies/{policy_set_hash}` (authorize.md §5): the bundle object that was evaluated, its bytes as they are
 * hashed. Another tenant's is a 404 like one that never was.
 */
import { Hono } from 'hono'
import { getBundle } from '../../archive/bundles.ts'
import { type PolicySetHash, parseDigest } from '../../record/index.ts'
import { answerProblem, answerRefusedReading } from '../answers.ts'
import { describePolicy } from '../descriptions.ts'
import { requireCaller } from '../middleware/require-caller.ts'
import type { RequestContext, RequestScope } from '../request-scope.ts'
import type { Services } from '../services.ts'

export function policyRoutes(services: Services): Hono<RequestScope> {
  return new Hono<RequestScope>().get(
    '/v1/policies/:policy_set_hash',
    describePolicy,
    requireCaller(services, ['auditor']),
    (c) => policy(services, c),
  )
}

async function policy(services: Services, c: RequestContext): Promise<Response> {
  const { chain, keyId, tenant } = c.get('caller')
  const leave = await c.get('timing').measure('record', () => chain.mayRead(keyId, ['auditor']))
  if (leave.kind !== 'granted') return answerRefusedReading(services, c, leave)
  const hash = parseDigest<PolicySetHash>(c.req.param('policy_set_hash'))
  if (hash === undefined) return answerProblem(c, 'not_found')
  const bundle = await c
    .get('timing')
    .measure('archive', () => getBundle(services.archive, tenant, hash, services.digester))
  switch (bundle.kind) {
    case 'found':
      return c.body(new Uint8Array(bundle.bytes), 200, { 'content-type': 'application/json' })
    case 'absent':
      return answerProblem(c, 'not_found')
    case 'corrupt':
      c.get('noted').fault = 'a bundle object is not what its name says'
      return answerProblem(c, 'unavailable')
  }
}
