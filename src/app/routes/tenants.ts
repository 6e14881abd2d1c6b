/**
 * The operator's routes (authorize.md §1): tenants are created, listed, frozen, unfrozen and recovered, and given another
 * admin key. Each act is a Call of the tenant's own Chain. There is no deletion: a tenant is frozen for good.
 */
import { Hono } from 'hono'
import type { DirectAct } from '../../../durable-objects/rpc.ts'
import { keysPath, keysPrefix } from '../../archive/paths.ts'
import {
  type TenantBody,
  type TenantList,
  adminKeyRequestSchema,
  formatInstant,
  readStrictBody,
} from '../../protocol/index.ts'
import { isTenantName } from '../../record/index.ts'
import { actBytesMax, readAct } from '../act-request.ts'
import { answerAct, bareCall } from '../acts.ts'
import { answerJson, answerProblem, answerUnavailable } from '../answers.ts'
import { createTenant } from '../create-tenant.ts'
import {
  describeCreateTenant,
  describeIssueAdminKey,
  describeTenant,
  describeTenantAct,
  describeTenants,
} from '../descriptions-administration.ts'
import { requireJson } from '../middleware/require-json.ts'
import { requireOperator } from '../middleware/require-operator.ts'
import { publishKeys } from '../public-keys.ts'
import type { RequestContext, RequestScope } from '../request-scope.ts'
import type { Services } from '../services.ts'
import { issueKey } from './api-keys.ts'

const operator = { role: 'operator' } as const

export function tenantRoutes(services: Services): Hono<RequestScope> {
  const isOperator = requireOperator(services)
  const json = requireJson(actBytesMax)
  return new Hono<RequestScope>()
    .get('/v1/tenants', describeTenants, isOperator, (c) => list(services, c))
    .get('/v1/tenants/:tenant', describeTenant, isOperator, (c) => show(services, c))
    .post('/v1/tenants/:tenant/create', describeCreateTenant, json, isOperator, (c) => {
      const tenant = tenantOf(c)
      return tenant === undefined
        ? answerProblem(c, 'tenant_name_invalid')
        : createTenant(services, c, tenant)
    })
    .post('/v1/tenants/:tenant/keys', describeIssueAdminKey, json, isOperator, (c) => issue(services, c))
    .post('/v1/tenants/:tenant/freeze', describeTenantAct('freeze'), isOperator, (c) =>
      act(services, c, { act: 'tenant.freeze' }),
    )
    .post('/v1/tenants/:tenant/unfreeze', describeTenantAct('unfreeze'), isOperator, (c) =>
      act(services, c, { act: 'tenant.unfreeze' }),
    )
    .post('/v1/tenants/:tenant/recover', describeTenantAct('recover'), isOperator, (c) =>
      recover(services, c),
    )
}

/** Of one answer. */
const pageMax = 1_000

/** From the public keys in the archive, which every tenant has: no object is woken. */
async function list(services: Services, c: RequestContext): Promise<Response> {
  const after = c.req.query('after')
  if (after !== undefined && !isTenantName(after)) {
    return answerProblem(c, 'query_invalid', { detail: 'after must be the name of a tenant' })
  }
  const { objects, truncated } = await c.get('timing').measure('archive', () =>
    services.archive.list({
      prefix: keysPrefix,
      ...(after === undefined ? {} : { startAfter: keysPath(after) }),
      limit: pageMax,
    }),
  )
  const tenants = objects
    .map(({ key }) => ({ tenant: key.slice(keysPrefix.length).replace(/\.json$/, '') }))
    .filter(({ tenant }) => isTenantName(tenant))
  const next = truncated ? tenants.at(-1)?.tenant : undefined
  const body: TenantList = { tenants, ...(next === undefined ? {} : { next }) }
  return answerJson(c, body)
}

async function show(services: Services, c: RequestContext): Promise<Response> {
  const tenant = tenantOf(c)
  if (tenant === undefined) return answerProblem(c, 'not_found')
  const found = await c.get('timing').measure('record', () => services.chainOf(tenant).overview())
  switch (found.kind) {
    case 'overview': {
      const { policySetHash } = found
      const deployed = services.deployedBundle(tenant).policySetHash
      const body: TenantBody = {
        tenant,
        created_at: formatInstant(found.createdAt),
        revision: found.revision,
        frozen: found.frozen,
        ...(policySetHash === undefined ? {} : { policy_set_hash: policySetHash }),
        deployed: { policy_set_hash: deployed, active: deployed === policySetHash },
        key_epoch: found.keyEpoch,
        admins: found.admins,
      }
      return answerJson(c, body)
    }
    case 'unauthorized':
      return answerProblem(c, 'not_found')
    case 'unavailable':
      return answerUnavailable(c, found.code)
  }
}

async function issue(services: Services, c: RequestContext): Promise<Response> {
  const tenant = tenantOf(c)
  if (tenant === undefined) return answerProblem(c, 'not_found')
  const read = await readAct(services, c, operator, (bytes) => readStrictBody(adminKeyRequestSchema, bytes))
  if (read.kind === 'answered') return read.response
  const chain = services.chainOf(tenant)
  const response = await issueKey(services, c, {
    chain,
    tenant,
    holder: 'operator',
    call: read.call,
    wanted: read.value,
  })
  // The operator proved who he is: what his object does not know is a tenant that is not there.
  return response.status === 401 ? answerProblem(c, 'not_found') : response
}

async function act(services: Services, c: RequestContext, what: DirectAct): Promise<Response> {
  await c.req.raw.body?.cancel()
  const tenant = tenantOf(c)
  if (tenant === undefined) return answerProblem(c, 'not_found')
  const call = bareCall(services, operator, what.act, { tenant })
  const chain = services.chainOf(tenant)
  const result = await c.get('timing').measure('record', () => chain.administer({ ...call, act: what }))
  return result.kind === 'unauthorized' ? answerProblem(c, 'not_found') : answerAct(c, result)
}

async function recover(services: Services, c: RequestContext): Promise<Response> {
  await c.req.raw.body?.cancel()
  const tenant = tenantOf(c)
  if (tenant === undefined) return answerProblem(c, 'not_found')
  const chain = services.chainOf(tenant)
  const call = bareCall(services, operator, 'tenant.recover', { tenant })
  const result = await c.get('timing').measure('record', () => chain.recover(call))
  // Refused as well: an operator who finds nothing to recover has the public keys written again.
  if (result.kind === 'done' || result.kind === 'refused') await publishKeys(services, c, chain)
  return result.kind === 'unauthorized' ? answerProblem(c, 'not_found') : answerAct(c, result)
}

function tenantOf(c: RequestContext): string | undefined {
  const tenant = c.req.param('tenant') ?? ''
  if (!isTenantName(tenant)) return undefined
  c.get('noted').tenant = tenant
  return tenant
}
