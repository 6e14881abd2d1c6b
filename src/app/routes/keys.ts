/**
 * `GET /v1/keys/{tenant}` (authorize.md §5): the public keys of a tenant with the Sessions they sign, for anyone. Read
 * from the archive, so that a name that somebody makes up never wakes an object.
 */
import { Hono } from 'hono'
import { readBytes } from '../../archive/bucket.ts'
import { keysPath } from '../../archive/paths.ts'
import { isTenantName } from '../../record/index.ts'
import { answerProblem } from '../answers.ts'
import { describeKeys } from '../descriptions.ts'
import type { RequestContext, RequestScope } from '../request-scope.ts'
import type { Services } from '../services.ts'

export function keyRoutes(services: Services): Hono<RequestScope> {
  return new Hono<RequestScope>().get('/v1/keys/:tenant', describeKeys, (c) => keys(services, c))
}

async function keys(services: Services, c: RequestContext): Promise<Response> {
  const tenant = c.req.param('tenant') ?? ''
  if (!isTenantName(tenant)) return answerProblem(c, 'not_found')
  const bytes = await c.get('timing').measure('archive', () => readBytes(services.archive, keysPath(tenant)))
  if (bytes === undefined) return answerProblem(c, 'not_found')
  return c.body(new Uint8Array(bytes), 200, { 'content-type': 'application/json' })
}
