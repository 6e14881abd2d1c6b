/** The headers of a body, before anyone is asked who calls (authorize.md §3 step 1). */
import type { MiddlewareHandler } from 'hono'
import { requestIdPattern } from '../../protocol/index.ts'
import { answerProblem } from '../answers.ts'
import { refuseBodyHeaders } from '../body.ts'
import type { RequestScope } from '../request-scope.ts'

/** @param bytesMax what no body may exceed, whatever a tenant's settings say. */
export function requireJson(bytesMax: number): MiddlewareHandler<RequestScope> {
  return async (c, next) => {
    const { headers } = c.req.raw
    const code = refuseBodyHeaders(headers, bytesMax)
    if (code !== undefined) return answerProblem(c, code)
    const key = headers.get('idempotency-key')
    if (key !== null && !requestIdPattern.test(key)) {
      const detail = 'Idempotency-Key must be one value of 1 to 128 characters of U+0021 to U+007E'
      return answerProblem(c, 'header_malformed', { detail })
    }
    return next()
  }
}
