/**
 * Around every request: its id, its times, `no-store`, one line in the log, and no body left unread (an unread one
 * stalls the connection). The log holds ids, codes and times; never arguments, paths as they were sent, or secrets.
 */
import type { MiddlewareHandler } from 'hono'
import { matchedRoutes } from 'hono/route'
import type { Noted, RequestScope } from '../request-scope.ts'
import type { Services } from '../services.ts'
import { Timing, toServerTiming } from '../timing.ts'

/** Narrow, because it is echoed and logged. */
const requestIdAllowed = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/

export function observe(services: Services): MiddlewareHandler<RequestScope> {
  return async (c, next) => {
    const said = c.req.raw.headers.get('x-request-id')
    const requestId = said !== null && requestIdAllowed.test(said) ? said : services.randomId()
    const timing = new Timing(services.elapsed)
    const noted: Noted = {}
    c.set('requestId', requestId)
    c.set('timing', timing)
    c.set('noted', noted)
    await next()
    await discardBody(c.req.raw)
    const ms = timing.summary()
    const { headers } = c.res
    headers.set('x-request-id', requestId)
    headers.set('server-timing', toServerTiming(ms))
    if (!headers.has('cache-control')) headers.set('cache-control', 'no-store')
    headers.set('vary', 'Authorization')
    headers.set('x-content-type-options', 'nosniff')
    services.log(
      JSON.stringify({
        at: new Date(services.now()).toISOString(),
        request_id: requestId,
        method: c.req.method,
        // As the route is written, not as it was asked for; middleware matches under ALL.
        route: matchedRoutes(c).findLast(({ method }) => method !== 'ALL')?.path,
        status: c.res.status,
        code: noted.code,
        decision: noted.decision,
        tenant: noted.tenant,
        key_id: noted.keyId,
        call_id: noted.callId,
        stale: noted.stale,
        fault: noted.fault,
        ms,
      }),
    )
  }
}

/** Read to its end where it is short, since a connection whose body was cancelled is closed under the next request. */
const readToEndMax = 65_536

async function discardBody(request: Request): Promise<void> {
  if (request.body === null || request.bodyUsed || request.body.locked) return
  const length = request.headers.get('content-length')
  try {
    if (length !== null && Number(length) <= readToEndMax) await request.arrayBuffer()
    else await request.body.cancel()
  } catch {
    // The client has gone: there is nothing left to read.
  }
}
