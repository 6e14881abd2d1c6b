/** Lets the operator's key through, and nobody else (authorize.md §1). */
import type { MiddlewareHandler } from 'hono'
import { answerProblem } from '../answers.ts'
import { authenticateOperator } from '../authenticate.ts'
import type { RequestScope } from '../request-scope.ts'
import type { Services } from '../services.ts'

export function requireOperator(services: Services): MiddlewareHandler<RequestScope> {
  return async (c, next) => {
    const found = authenticateOperator(services, c.req.raw.headers.get('authorization'))
    return found === 'operator' ? next() : answerProblem(c, found)
  }
}
