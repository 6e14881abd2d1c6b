/**
 * `GET` and `DELETE /v1/envelopes/{request_digest}` (authorize.md §5): the bytes of a request for an auditor to whom that
 * was granted, and their erasure by an admin, which is a Call. An erased Envelope is gone before its bytes are.
 */
import { Hono } from 'hono'
import { readArchivedEnvelope } from '../../archive/segments.ts'
import { type RequestDigest, parseDigest } from '../../record/index.ts'
import { answerAct, bareCall } from '../acts.ts'
import { answerProblem, answerRefusedReading } from '../answers.ts'
import { describeEnvelope, describeEraseEnvelope } from '../descriptions.ts'
import { requireCaller } from '../middleware/require-caller.ts'
import type { RequestContext, RequestScope } from '../request-scope.ts'
import type { Services } from '../services.ts'

export function envelopeRoutes(services: Services): Hono<RequestScope> {
  const path = '/v1/envelopes/:request_digest'
  return new Hono<RequestScope>()
    .get(path, describeEnvelope, requireCaller(services, ['auditor']), (c) => get(services, c))
    .delete(path, describeEraseEnvelope, requireCaller(services, ['admin']), (c) => erase(services, c))
}

async function get(services: Services, c: RequestContext): Promise<Response> {
  const { chain, keyId, tenant } = c.get('caller')
  const digest = parseDigest<RequestDigest>(c.req.param('request_digest'))
  if (digest === undefined) return answerProblem(c, 'not_found')
  const timing = c.get('timing')
  const place = await timing.measure('record', () => chain.envelope(keyId, digest))
  switch (place.kind) {
    case 'staged':
      return answerBytes(c, place.bytes)
    case 'archived': {
      const { envelopes, digester } = services
      const bytes = await timing.measure('archive', () =>
        readArchivedEnvelope(envelopes, tenant, digest, digester),
      )
      return bytes === undefined ? answerProblem(c, 'not_found') : answerBytes(c, bytes)
    }
    case 'erased':
      return answerProblem(c, 'envelope_erased')
    case 'not_granted':
      return answerProblem(c, 'envelopes_not_granted')
    default:
      return answerRefusedReading(services, c, place)
  }
}

/** Never as what a browser would show: it is what an agent sent. */
function answerBytes(c: RequestContext, bytes: Uint8Array): Response {
  return c.body(new Uint8Array(bytes), 200, {
    'content-type': 'application/octet-stream',
    'content-disposition': 'attachment',
    'x-content-type-options': 'nosniff',
  })
}

async function erase(services: Services, c: RequestContext): Promise<Response> {
  const { chain, keyId } = c.get('caller')
  await c.req.raw.body?.cancel()
  const digest = parseDigest<RequestDigest>(c.req.param('request_digest'))
  if (digest === undefined) return answerProblem(c, 'not_found')
  const call = bareCall(services, { role: 'admin', keyId }, 'envelope.erase', { request_digest: digest })
  const result = await c.get('timing').measure('record', () => chain.eraseEnvelope({ ...call, digest }))
  return answerAct(c, result)
}
