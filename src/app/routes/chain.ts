/**
 * `GET /v1/chain/head` and `GET /v1/chain/live` (authorize.md §5): signed Lines, verbatim, from the tenant's object.
 * Not for published Sessions, which are segments in the archive.
 */
import { Hono } from 'hono'
import type { LivePosition, LiveResult, TenantChainRpc } from '../../../durable-objects/rpc.ts'
import { answerProblem, answerRefusedReading } from '../answers.ts'
import { describeHead, describeLive } from '../descriptions.ts'
import { requireCaller } from '../middleware/require-caller.ts'
import type { RequestContext, RequestScope } from '../request-scope.ts'
import type { Services } from '../services.ts'

export function chainRoutes(services: Services): Hono<RequestScope> {
  return new Hono<RequestScope>()
    .get('/v1/chain/head', describeHead, requireCaller(services, ['auditor']), (c) => head(services, c))
    .get('/v1/chain/live', describeLive, requireCaller(services, ['auditor']), (c) => live(services, c))
}

async function head(services: Services, c: RequestContext): Promise<Response> {
  const { chain, keyId } = c.get('caller')
  const result = await c.get('timing').measure('record', () => chain.head(keyId))
  if (result.kind !== 'head') return answerRefusedReading(services, c, result)
  return c.body(result.line, 200, { 'content-type': 'application/json' })
}

async function live(services: Services, c: RequestContext): Promise<Response> {
  const { chain, keyId } = c.get('caller')
  const given = c.req.query('from')
  if (given !== undefined && !/^(0|[1-9]\d{0,9})$/.test(given)) {
    return answerProblem(c, 'query_invalid', { detail: 'from must be the session_index of a Session' })
  }
  const start = given === undefined ? {} : { from: Number(given) }
  const first = await c.get('timing').measure('record', () => chain.live(keyId, start))
  if (first.kind === 'published') {
    return answerProblem(c, 'not_found', { detail: 'that Session is published: read its segment' })
  }
  if (first.kind !== 'lines') return answerRefusedReading(services, c, first)
  return c.body(streamLines(chain, keyId, first), 200, { 'content-type': 'application/jsonl; charset=utf-8' })
}

/**
 * Page by page, as fast as it is read. A page that cannot be had breaks the connection off: a Chain must never look
 * whole when it is not.
 */
function streamLines(
  chain: TenantChainRpc,
  keyId: string,
  first: Extract<LiveResult, { kind: 'lines' }>,
): ReadableStream<Uint8Array> {
  let next: LivePosition | undefined = first.next
  return new ReadableStream<Uint8Array>({
    start(controller) {
      if (first.bytes.length > 0) controller.enqueue(first.bytes)
      if (next === undefined) controller.close()
    },
    async pull(controller) {
      if (next === undefined) return
      const page = await chain.live(keyId, next)
      if (page.kind !== 'lines') {
        controller.error(new Error('the Session cannot be read on'))
        return
      }
      next = page.next
      if (page.bytes.length > 0) controller.enqueue(page.bytes)
      if (next === undefined) controller.close()
    },
  })
}
