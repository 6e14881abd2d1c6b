/** A deployment that lacks a secret answers 503 to everything but health; the log says which binding, once. */
import type { MiddlewareHandler } from 'hono'
import { answerProblem } from '../answers.ts'
import type { RequestScope } from '../request-scope.ts'
import type { Services } from '../services.ts'

export function requireConfig(services: Services): MiddlewareHandler<RequestScope> {
  const { config } = services
  if (config.kind === 'not_configured') {
    services.log(JSON.stringify({ level: 'error', code: 'not_configured', bindings: config.missing }))
  }
  return async (c, next) => {
    if (config.kind === 'configured') return next()
    c.get('noted').fault = `missing ${config.missing.join(', ')}`
    return answerProblem(c, 'not_configured')
  }
}
