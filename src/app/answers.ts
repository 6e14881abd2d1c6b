/** How answers are written: JSON, problems, and the headers of a 429. Every route ends in one of these. */
import { type ProblemCode, type ProblemExtras, toProblem } from '../protocol/index.ts'
import type { RequestContext } from './request-scope.ts'

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
