/**
 * `POST /v1/chain/seal` and `POST /v1/chain/rotate-key` (authorize.md §5): an admin ends the open Session, or ends it and
 * has the next ones signed by a new key, whose public half is made known here.
 */
import { Hono } from 'hono'
import { answerAct, bareCall } from '../acts.ts'
import { describeRotateKey, describeSeal } from '../descriptions.ts'
import { requireCaller } from '../middleware/require-caller.ts'
import { publishKeys } from '../public-keys.ts'
import type { RequestContext, RequestScope } from '../request-scope.ts'
import type { Services } from '../services.ts'

export function sealingRoutes(services: Services): Hono<RequestScope> {
  return new Hono<RequestScope>()
    .post('/v1/chain/seal', describeSeal, requireCaller(services, ['admin']), (c) => seal(services, c))
    .post('/v1/chain/rotate-key', describeRotateKey, requireCaller(services, ['admin']), (c) =>
      rotateKey(services, c),
    )
}

async function seal(services: Services, c: RequestContext): Promise<Response> {
  const { chain, keyId } = c.get('caller')
  await c.req.raw.body?.cancel()
  const call = bareCall(services, { role: 'admin', keyId }, 'chain.seal')
  const result = await c
    .get('timing')
    .measure('record', () => chain.administer({ ...call, act: { act: 'chain.seal' } }))
  return answerAct(c, result)
}

async function rotateKey(services: Services, c: RequestContext): Promise<Response> {
  const { chain, keyId } = c.get('caller')
  await c.req.raw.body?.cancel()
  const call = bareCall(services, { role: 'admin', keyId }, 'signing_key.rotate')
  const result = await c.get('timing').measure('record', () => chain.rotateKey(call))
  if (result.kind === 'done') await publishKeys(services, c, chain)
  return answerAct(c, result)
}
