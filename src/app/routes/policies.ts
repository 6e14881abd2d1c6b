/**
 * `/v1/policies` (authorize.md §5, policy.md §1): policy sets are pushed, activated, evaluated in the shadow, and listed;
 * one is read in the bytes that are hashed. Another tenant's is a 404 like one that never was.
 */
import { Hono } from 'hono'
import { getBundle } from '../../archive/bundles.ts'
import { type PolicySetHash, parseDigest } from '../../record/index.ts'
import type { PolicyActivated, PolicyPushed } from '../../protocol/index.ts'
import { openUnnamedPolicySet, validatePolicySet } from '../../policy/index.ts'
import { adminOf } from '../act-request.ts'
import { answerRefusedBody } from '../parsed-body.ts'
import { answerAct, bareCall } from '../acts.ts'
import { answerProblem, answerRefusedReading } from '../answers.ts'
import { readBody } from '../body.ts'
import { describePolicy } from '../descriptions.ts'
import {
  describeActivatePolicy,
  describePolicies,
  describePushPolicy,
  describeShadowPolicy,
  describeUnshadowPolicy,
} from '../descriptions-administration.ts'
import { requireCaller } from '../middleware/require-caller.ts'
import { requireJson } from '../middleware/require-json.ts'
import { listPolicies } from '../policy-listing.ts'
import { unreachableQuorums } from '../quorum-warnings.ts'
import type { RequestContext, RequestScope } from '../request-scope.ts'
import type { Services } from '../services.ts'

/** Of a bundle object, and of what the tenant's object takes. */
const bundleBytesMax = 1_048_576

export function policyRoutes(services: Services): Hono<RequestScope> {
  const admin = requireCaller(services, ['admin'])
  const readers = requireCaller(services, ['auditor', 'admin'])
  return new Hono<RequestScope>()
    .get('/v1/policies', describePolicies, readers, (c) => listPolicies(services, c))
    .post('/v1/policies', describePushPolicy, requireJson(bundleBytesMax), admin, (c) => push(services, c))
    .delete('/v1/policies/shadow', describeUnshadowPolicy, admin, (c) => unshadow(services, c))
    .get('/v1/policies/:policy_set_hash', describePolicy, readers, (c) => policy(services, c))
    .post('/v1/policies/:policy_set_hash/activate', describeActivatePolicy, admin, (c) =>
      activate(services, c),
    )
    .post('/v1/policies/:policy_set_hash/shadow', describeShadowPolicy, admin, (c) => shadow(services, c))
}

async function push(services: Services, c: RequestContext): Promise<Response> {
  const body = await c.get('timing').measure('read', () => readBody(c.req.raw, bundleBytesMax))
  if (body.kind === 'refused') return answerProblem(c, body.code)
  const problems = c.get('timing').measureSync('policy', () => findingsOf(services, body.bytes))
  if (problems.length > 0) {
    return answerRefusedBody(c, { ok: false, code: 'body_invalid', members: problems })
  }
  const { chain } = c.get('caller')
  const result = await c
    .get('timing')
    .measure('record', () => chain.pushPolicy({ actor: adminOf(c), bundle: body.bytes }))
  if (result.kind === 'too_large') return answerProblem(c, 'body_too_large')
  const more: Pick<PolicyPushed, 'policy_set_hash'> | undefined =
    'policySetHash' in result ? { policy_set_hash: result.policySetHash } : undefined
  return answerAct(c, result, more)
}

/** At most this many are said; whoever has more runs `aegis policy validate` on the folder, which knows lines. */
const findingsMax = 32

/** The bundle object as it would run: opened as it will be when it is evaluated, and held against its own schema. */
function findingsOf(services: Services, bytes: Uint8Array) {
  const opened = openUnnamedPolicySet(bytes, services.digester)
  if (!opened.ok && opened.reason === 'hash_mismatch') throw new Error('a hash that nobody named')
  const findings = opened.ok ? validatePolicySet(opened.policySet, services.engine) : opened.findings
  return findings
    .filter(({ severity }) => severity === 'error')
    .slice(0, findingsMax)
    .map(({ code, file, policyId, message, fix }) => ({
      member: policyId === undefined ? file : `policies[${JSON.stringify(policyId.slice(0, 64))}]`,
      problem: `${code}: ${message}; ${fix}`,
    }))
}

async function activate(services: Services, c: RequestContext): Promise<Response> {
  const { chain, tenant } = c.get('caller')
  await c.req.raw.body?.cancel()
  const hash = hashOf(c)
  if (hash === undefined) return answerProblem(c, 'not_found')
  const pushed = await pushDeployed(services, c, hash)
  if (pushed !== undefined) return pushed
  const call = bareCall(services, adminOf(c), 'policy.activate', { policy_set_hash: hash })
  const result = await c
    .get('timing')
    .measure('record', () => chain.activatePolicy({ ...call, policySetHash: hash }))
  if (result.kind !== 'done') return answerAct(c, result)
  const policySet = await c.get('timing').measure('archive', () => services.policySets.get(tenant, hash))
  const more: Pick<PolicyActivated, 'policy_set_hash' | 'warnings'> = {
    policy_set_hash: hash,
    warnings: await unreachableQuorums(c.get('caller'), policySet?.settings),
  }
  return answerAct(c, result, more)
}

/**
 * What the deployment carries may be activated by its hash alone: it is pushed first, as a Call of its own.
 *
 * @returns what went wrong.
 */
async function pushDeployed(
  services: Services,
  c: RequestContext,
  hash: PolicySetHash,
): Promise<Response | undefined> {
  const { chain, tenant } = c.get('caller')
  const deployed = services.deployedBundle(tenant)
  if (deployed.policySetHash !== hash) return undefined
  const found = await c
    .get('timing')
    .measure('archive', () => getBundle(services.archive, tenant, hash, services.digester))
  if (found.kind !== 'absent') return undefined
  const result = await chain.pushPolicy({ actor: adminOf(c), bundle: deployed.bytes })
  if (result.kind === 'done') return undefined
  return result.kind === 'too_large' ? answerProblem(c, 'body_too_large') : answerAct(c, result)
}

async function shadow(services: Services, c: RequestContext): Promise<Response> {
  const { chain } = c.get('caller')
  await c.req.raw.body?.cancel()
  const hash = hashOf(c)
  if (hash === undefined) return answerProblem(c, 'not_found')
  const pushed = await pushDeployed(services, c, hash)
  if (pushed !== undefined) return pushed
  const call = bareCall(services, adminOf(c), 'policy.shadow', { policy_set_hash: hash })
  const result = await c
    .get('timing')
    .measure('record', () => chain.shadowPolicy({ ...call, policySetHash: hash }))
  return answerAct(c, result)
}

async function unshadow(services: Services, c: RequestContext): Promise<Response> {
  const { chain } = c.get('caller')
  await c.req.raw.body?.cancel()
  const call = bareCall(services, adminOf(c), 'policy.shadow')
  return answerAct(c, await c.get('timing').measure('record', () => chain.shadowPolicy(call)))
}

async function policy(services: Services, c: RequestContext): Promise<Response> {
  const { chain, keyId, tenant } = c.get('caller')
  const leave = await c.get('timing').measure('record', () => chain.mayRead(keyId, ['auditor', 'admin']))
  if (leave.kind !== 'granted') return answerRefusedReading(services, c, leave)
  const hash = hashOf(c)
  if (hash === undefined) return answerProblem(c, 'not_found')
  const bundle = await c
    .get('timing')
    .measure('archive', () => getBundle(services.archive, tenant, hash, services.digester))
  switch (bundle.kind) {
    case 'found':
      return c.body(new Uint8Array(bundle.bytes), 200, { 'content-type': 'application/json' })
    case 'absent':
      return answerProblem(c, 'not_found')
    case 'corrupt':
      c.get('noted').fault = 'a bundle object is not what its name says'
      return answerProblem(c, 'unavailable')
  }
}

function hashOf(c: RequestContext): PolicySetHash | undefined {
  return parseDigest<PolicySetHash>(c.req.param('policy_set_hash'))
}
