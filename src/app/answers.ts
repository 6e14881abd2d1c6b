/** How answers are written: JSON, problems, and the headers of a 429. Every route ends in one of these. */
import { type ProblemCode, type ProblemExtras, toProblem } from '../protocol/index.ts'
import type { RequestContext } from './request-scope.ts'
import type { Services } from './services.ts'

export function answerJson(c: RequestContext, body: unknown): Response {
  return c.body(JSON.stringify(body), 200, { 'content-type': 'application/json' })
}

export function answerProblem(c: RequestContext, code: ProblemCode, extras: ProblemExtras = {}): Response {
  const noted = c.get('noted')
  noted.code = code
  if (extras.callId !== undefined) noted.callId = extras.callId
  const problem = toProblem(code, extras)
  return c.body(JSON.stringify(problem), problem.status, {
    'content-type': 'application/problem+json',
    ...(problem.status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
    ...(problem.status === 503 ? { 'retry-after': '1' } : {}),
  })
}

/**
 * A 429 (authorize.md): `RateLimit` names the limit that was met, with nothing remaining and the seconds until there
 * is (draft-ietf-httpapi-ratelimit-headers).
 *
 * @param retryAfterMs rounded up to whole seconds.
 */
export function answerLimited(
  c: RequestContext,
  limit: string,
  retryAfterMs: number,
  callId?: string,
): Response {
  const seconds = String(Math.max(1, Math.ceil(retryAfterMs / 1000)))
  c.header('retry-after', seconds)
  c.header('ratelimit', `"${limit}";r=0;t=${seconds}`)
  return answerProblem(c, 'rate_limited', callId === undefined ? {} : { callId })
}

/** Why the tenant's object gave nothing to read. */
type RefusedReading =
  | { readonly kind: 'limited'; readonly retryAfterMs: number }
  | { readonly kind: 'unauthorized' }
  | { readonly kind: 'unavailable'; readonly code: string }

/** A reading that the object refused; a key that it no longer knows is forgotten here too. */
export function answerRefusedReading(
  services: Services,
  c: RequestContext,
  result: RefusedReading,
): Response {
  switch (result.kind) {
    case 'limited':
      return answerLimited(c, 'tenant_rate', result.retryAfterMs)
    case 'unauthorized': {
      const { tenant, keyId } = c.get('caller')
      services.callerStates.forget(tenant, keyId)
      return answerProblem(c, 'unauthorized')
    }
    case 'unavailable':
      return answerUnavailable(c, result.code)
  }
}

/** A 503 that says what an operator can do about it; everything else is for the log. */
export function answerUnavailable(c: RequestContext, code: string): Response {
  c.get('noted').fault = code
  switch (code) {
    case 'storage_full':
    case 'line_too_long':
    case 'behind_archive':
    case 'archive_not_ours':
      return answerProblem(c, code)
    default:
      return answerProblem(c, 'unavailable')
  }
}
