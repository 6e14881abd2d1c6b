/**
 * A tenant from nothing (authorize.md §1, policy.md §1): its Chain, the bundle that the deployment carries for it, in
 * force, and the first admin's key. Four Calls, the key last: whatever is cut off before it is completed by asking again,
 * and with the key the creation is over.
 */
import type { AdministerResult, OverviewResult, TenantChainRpc } from '../../durable-objects/rpc.ts'
import {
  type ActAnswer,
  type TenantCreated,
  parseInstant,
  readStrictBody,
  tenantCreateSchema,
} from '../protocol/index.ts'
import type { PolicySetHash } from '../record/index.ts'
import { readAct } from './act-request.ts'
import { answerRefusedBody } from './parsed-body.ts'
import { answerAct, bareCall } from './acts.ts'
import { answerProblem, answerUnavailable } from './answers.ts'
import { makeKey } from './make-key.ts'
import { publishKeys } from './public-keys.ts'
import type { RequestContext } from './request-scope.ts'
import type { Services } from './services.ts'

const operator = { role: 'operator' } as const

/** Long enough for whoever gets it to make keys for others; it is not for daily use. */
const firstKeyLifeMs = 90 * 24 * 60 * 60 * 1000

export async function createTenant(services: Services, c: RequestContext, tenant: string): Promise<Response> {
  const read = await readAct(services, c, operator, (bytes) => readStrictBody(tenantCreateSchema, bytes))
  if (read.kind === 'answered') return read.response
  const { admin_subject: subject, key_expires_at: expires } = read.value
  const now = services.now()
  const expiresAt = expires === undefined ? now + firstKeyLifeMs : (parseInstant(expires) ?? 0)
  if (expiresAt <= now) {
    const members = [{ member: 'key_expires_at', problem: 'must be in the future' }]
    return answerRefusedBody(c, { ok: false, code: 'body_invalid', members })
  }
  const chain = services.chainOf(tenant)
  const timing = c.get('timing')
  const { request, requestDigest } = read.call
  const created = await timing.measure('record', () => chain.create({ tenant, request, requestDigest }))
  if (created.kind === 'unavailable') return answerUnavailable(c, created.code)
  if (created.kind === 'invalid') {
    return answerProblem(c, created.code === 'tenant_name_used' ? created.code : 'tenant_name_invalid')
  }
  // Whoever asks twice may have been cut off before the keys were made known.
  await publishKeys(services, c, chain)
  const found = await timing.measure('record', () => chain.overview())
  if (found.kind !== 'overview') return answerLost(c, found)
  if (found.handedOver) return answerProblem(c, 'already_exists')
  const active = await timing.measure('record', () => provisionPolicy(services, chain, tenant, found))
  if (active.kind !== 'active') return answerAct(c, active)
  const key = makeKey(services, { role: 'admin', tenant, names: ['tenant.create', 'admin'] })
  const call = bareCall(services, operator, 'key.issue', { admin_subject: subject, tenant })
  const issued = await timing.measure('record', () =>
    chain.administer({
      ...call,
      act: {
        act: 'key.issue',
        key: { id: key.id, role: 'admin', subject, secretHash: key.secretHash, expiresAt },
        // Of two creations at once, one makes the key.
        once: true,
      },
    }),
  )
  if (issued.kind === 'unchanged') return answerProblem(c, 'already_exists')
  const shown: Omit<TenantCreated, keyof ActAnswer> = {
    policy_set_hash: active.policySetHash,
    key_id: key.id,
    admin_key: key.text,
  }
  return answerAct(c, issued, shown)
}

type Provisioned = { readonly kind: 'active'; readonly policySetHash: PolicySetHash } | AdministerResult

/** Pushed and activated, unless a set is in force already. */
async function provisionPolicy(
  services: Services,
  chain: TenantChainRpc,
  tenant: string,
  found: Extract<OverviewResult, { kind: 'overview' }>,
): Promise<Provisioned> {
  if (found.policySetHash !== undefined) return { kind: 'active', policySetHash: found.policySetHash }
  const { bytes, policySetHash } = services.deployedBundle(tenant)
  const pushed = await chain.pushPolicy({ actor: operator, bundle: bytes })
  if (pushed.kind === 'too_large') throw new Error('a deployed bundle is too large')
  if (pushed.kind !== 'done') return pushed
  const call = bareCall(services, operator, 'policy.activate', { policy_set_hash: policySetHash })
  const activated = await chain.activatePolicy({ ...call, policySetHash })
  return activated.kind === 'done' ? { kind: 'active', policySetHash } : activated
}

/** Made a moment ago, and now not there. */
function answerLost(c: RequestContext, found: Exclude<OverviewResult, { kind: 'overview' }>): Response {
  return answerUnavailable(c, found.kind === 'unavailable' ? found.code : 'lost')
}
