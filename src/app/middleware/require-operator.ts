/** Lets the operator's key through, and nobody else (authorize.md §1). */
import type { MiddlewareHandler } from 'hono'
import { answerLimited, answerProblem } from '../answers.ts'
import { authenticateOperator, floodRetryMs } from '../authenticate.ts'
import type { RequestScope } from '../request-scope.ts'
import type { Services } from '../services.ts'

export function requireOperator(services: Services): MiddlewareHandler<RequestScope> {
  return async (c, next) => {
    const found = authenticateOperator(services, c.req.raw.headers.get('authorization'))
    if (found !== 'operator') return answerProblem(c, found)
    const { floodLimit } = services
    if (floodLimit !== undefined && !(await floodLimit('operator')))
      return answerLimited(c, 'flood', floodRetryMs)
    return next()
  }
}
