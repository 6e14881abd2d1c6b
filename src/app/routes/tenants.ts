/**
 * The operator's routes (authorize.md §1): tenants are created, frozen, unfrozen and recovered. Each act is a Call of the
 * tenant's own Chain. There is no deletion: a tenant is frozen for good.
 */
import { Hono } from 'hono'
import type { DirectAct } from '../../../durable-objects/rpc.ts'
import { answerAct, bareCall } from '../acts.ts'
import { answerProblem, answerUnavailable } from '../answers.ts'
import { describeTenantAct } from '../descriptions.ts'
import { requireOperator } from '../middleware/require-operator.ts'
import { publishKeys } from '../public-keys.ts'
import type { RequestContext, RequestScope } from '../request-scope.ts'
import type { Services } from '../services.ts'
import { tenantName } from '../tenant-name.ts'

export function tenantRoutes(services: Services): Hono<RequestScope> {
  const operator = requireOperator(services)
  return new Hono<RequestScope>()
    .post('/v1/tenants/:tenant/create', describeTenantAct('create'), operator, (c) => create(services, c))
    .post('/v1/tenants/:tenant/freeze', describeTenantAct('freeze'), operator, (c) =>
      act(services, c, { act: 'tenant.freeze' }),
    )
    .post('/v1/tenants/:tenant/unfreeze', describeTenantAct('unfreeze'), operator, (c) =>
      act(services, c, { act: 'tenant.unfreeze' }),
    )
    .post('/v1/tenants/:tenant/recover', describeTenantAct('recover'), operator, (c) => recover(services, c))
}

async function create(services: Services, c: RequestContext): Promise<Response> {
  const tenant = await tenantOf(c)
  if (tenant === undefined) return answerProblem(c, 'tenant_name_invalid')
  const chain = services.chainOf(tenant)
  const call = bareCall(services, { role: 'operator' }, 'tenant.create', { tenant })
  const result = await c.get('timing').measure('record', () => chain.create({ tenant, ...call }))
  switch (result.kind) {
    case 'done':
      await publishKeys(services, c, chain)
      return answerAct(c, result)
    case 'exists':
      // Whoever asks twice may have been cut off before the keys were made known.
      await publishKeys(services, c, chain)
      return answerProblem(c, 'already_exists')
    case 'invalid':
      return answerProblem(c, result.code === 'tenant_name_used' ? result.code : 'tenant_name_invalid')
    case 'unavailable':
      return answerUnavailable(c, result.code)
  }
}

async function act(services: Services, c: RequestContext, what: DirectAct): Promise<Response> {
  const tenant = await tenantOf(c)
  if (tenant === undefined) return answerProblem(c, 'not_found')
  const call = bareCall(services, { role: 'operator' }, what.act, { tenant })
  const chain = services.chainOf(tenant)
  const result = await c.get('timing').measure('record', () => chain.administer({ ...call, act: what }))
  return result.kind === 'unauthorized' ? answerProblem(c, 'not_found') : answerAct(c, result)
}

async function recover(services: Services, c: RequestContext): Promise<Response> {
  const tenant = await tenantOf(c)
  if (tenant === undefined) return answerProblem(c, 'not_found')
  const chain = services.chainOf(tenant)
  const call = bareCall(services, { role: 'operator' }, 'tenant.recover', { tenant })
  const result = await c.get('timing').measure('record', () => chain.recover(call))
  // Refused as well: an operator who finds nothing to recover has the public keys written again.
  if (result.kind === 'done' || result.kind === 'refused') await publishKeys(services, c, chain)
  return result.kind === 'unauthorized' ? answerProblem(c, 'not_found') : answerAct(c, result)
}

async function tenantOf(c: RequestContext): Promise<string | undefined> {
  await c.req.raw.body?.cancel()
  const tenant = c.req.param('tenant') ?? ''
  if (!tenantName.test(tenant)) return undefined
  c.get('noted').tenant = tenant
  return tenant
}
