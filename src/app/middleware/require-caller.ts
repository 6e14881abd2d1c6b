/** Lets a request through with a caller in one of the roles, or answers it (authorize.md §1). */
import type { MiddlewareHandler } from 'hono'
import type { KeyRole } from '../../protocol/index.ts'
import { answerLimited, answerProblem } from '../answers.ts'
import { authenticate } from '../authenticate.ts'
import type { RequestScope } from '../request-scope.ts'
import type { Services } from '../services.ts'

export function requireCaller(
  services: Services,
  roles: readonly KeyRole[],
): MiddlewareHandler<RequestScope> {
  return async (c, next) => {
    const noted = c.get('noted')
    const header = c.req.raw.headers.get('authorization')
    const authenticated = await c.get('timing').measure('auth', () => authenticate(services, header, roles))
    if (authenticated.kind === 'refused') {
      const { code, retryAfterMs, tenant, keyId } = authenticated
      if (tenant !== undefined) noted.tenant = tenant
      if (keyId !== undefined) noted.keyId = keyId
      return code === 'rate_limited' ? answerLimited(c, 'flood', retryAfterMs ?? 0) : answerProblem(c, code)
    }
    const { caller } = authenticated
    noted.tenant = caller.tenant
    noted.keyId = caller.keyId
    c.set('caller', caller)
    return next()
  }
}
