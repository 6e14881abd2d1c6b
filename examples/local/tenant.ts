/**
 * A tenant on the local authorizer: created, given a bundle, an agent, a key for each role and people for the bundle's
 * groups, through the object's own methods. Everything is derived from the local secrets, so that a second run over the
 * same state finds what the first one made.
 */
import { createHmac } from 'node:crypto'
import {
  deriveLineKey,
  deriveTagKey,
  hmacSha256,
  nodeSuite,
  parseSeeds,
} from '../../src/crypto-node/index.ts'
import { type AgentRecord, type Bundle, type Trust, readBundle } from '../../src/policy/index.ts'
import { type KeyRole, formatApiKey, secretHash, toKeyId } from '../../src/protocol/api-key.ts'
import { encodeHex, requestDigest, utf8 } from '../../src/record/index.ts'
import { readBundleFolder } from '../../src/cli/bundle-folder.ts'
import { policyMeans } from '../../src/cli/policy-engine.ts'
import type { LocalAuthorizer, LocalSecrets } from './authorizer.ts'

export interface LocalTenant {
  readonly tenant: string
  readonly agent: AgentRecord
  readonly keys: Readonly<Record<KeyRole, string>>
  /** Of the key that signs this tenant's Lines: what an auditor pins. */
  readonly publicKey: string
  readonly bundle: Bundle
}

export interface LocalAgent {
  readonly id: string
  readonly owner: string
  readonly trustMax: Trust
}

const keyLifeMs = 10 * 365 * 24 * 60 * 60 * 1000
const roles: readonly KeyRole[] = ['agent', 'approver', 'auditor', 'admin']

/** Reads and validates a bundle from its folder; a finding of severity error ends the run with all of them. */
export async function readBundleOrThrow(folder: string): Promise<Bundle> {
  const { bundle, findings } = readBundle(await readBundleFolder(folder), policyMeans())
  if (bundle !== undefined) return bundle
  throw new Error(`${folder} is no usable bundle:\n${findings.map((finding) => finding.message).join('\n')}`)
}

/** Makes the tenant, or finds it, with exactly this bundle active. */
export async function provisionTenant(
  authorizer: LocalAuthorizer,
  secrets: LocalSecrets,
  { tenant, agent, bundle }: { readonly tenant: string; readonly agent: LocalAgent; readonly bundle: Bundle },
): Promise<LocalTenant> {
  const operator = new Operator(authorizer, tenant)
  const fields = agentFields(agent)
  const keys = {} as Record<KeyRole, string>
  const ids = {} as Record<KeyRole, string>
  const made = await authorizer.call<{ kind: string }>(tenant, 'create', {
    tenant,
    ...requestOf('tenant.create'),
  })
  if (made.kind !== 'done' && made.kind !== 'exists') throw new Error(`create: ${JSON.stringify(made)}`)
  if (made.kind === 'done') await operator.administer({ act: 'agent.create', agent: fields })
  for (const role of roles) {
    const named = role === 'agent' ? { agentId: agent.id } : {}
    const { key, record } = makeKey(secrets, { tenant, role, holder: role, ...named })
    ids[role] = record.id
    keys[role] = key
    if (made.kind === 'done') await operator.administer({ act: 'key.issue', key: record })
  }
  const { policySetHash, settings } = bundle.policySet
  const active = await authorizer.call<{ current?: { policySetHash?: string } }>(tenant, 'resolve', ids.agent)
  if (active.current?.policySetHash !== policySetHash) {
    await operator.policy('pushPolicy', { bundle: bundle.objectBytes })
    await operator.policy('activatePolicy', { policySetHash })
    for (const [group, { quorum }] of Object.entries(settings.approver_groups)) {
      await operator.administer({ act: 'group.change', group, members: people(tenant, quorum) })
    }
  }
  return { tenant, agent: fields, keys, publicKey: publicKeyOf(secrets, tenant), bundle }
}

/** A further agent of a tenant that exists, and its key. */
export async function addAgent(
  authorizer: LocalAuthorizer,
  secrets: LocalSecrets,
  { tenant, agent }: { readonly tenant: string; readonly agent: LocalAgent },
): Promise<{ readonly key: string; readonly keyId: string }> {
  const operator = new Operator(authorizer, tenant)
  await operator.administer({ act: 'agent.create', agent: agentFields(agent) })
  const { key, record } = makeKey(secrets, { tenant, role: 'agent', holder: agent.id, agentId: agent.id })
  await operator.administer({ act: 'key.issue', key: record })
  return { key, keyId: record.id }
}

/** What the operator does, each act as a Call; refused acts end the run. */
export class Operator {
  readonly #authorizer: LocalAuthorizer
  readonly #tenant: string

  constructor(authorizer: LocalAuthorizer, tenant: string) {
    this.#authorizer = authorizer
    this.#tenant = tenant
  }

  async administer(act: Readonly<Record<string, unknown>>): Promise<void> {
    await this.#do('administer', { actor: { role: 'operator' }, ...requestOf(JSON.stringify(act)), act })
  }

  async policy(method: string, call: Readonly<Record<string, unknown>>): Promise<void> {
    const hash = call['policySetHash']
    const request = typeof hash === 'string' ? requestOf(JSON.stringify({ policy_set_hash: hash })) : {}
    await this.#do(method, { actor: { role: 'operator' }, ...request, ...call })
  }

  async #do(method: string, call: unknown): Promise<void> {
    const answer = await this.#authorizer.call<{ kind: string }>(this.#tenant, method, call)
    if (answer.kind !== 'done') throw new Error(`${method}: ${JSON.stringify(answer)}`)
  }
}

/** A key and the record that is kept of it; the same each time, so that nothing has to be stored here. */
function makeKey(
  secrets: LocalSecrets,
  {
    tenant,
    role,
    holder,
    agentId,
  }: { readonly tenant: string; readonly role: KeyRole; readonly holder: string; readonly agentId?: string },
) {
  const seed = currentSeed(secrets)
  const tagKey = deriveTagKey(seed, secrets.deployment)
  const secret = derive(seed, 'secret', tenant, role, holder)
  const id = toKeyId(derive(seed, 'id', tenant, role, holder).subarray(0, 10))
  const record = {
    id,
    role,
    subject: `${tenant}-${holder}`,
    secretHash: secretHash(secret, nodeSuite),
    expiresAt: Date.now() + keyLifeMs,
    ...(agentId === undefined ? {} : { agentId }),
  }
  return { key: formatApiKey({ role, tenant, id }, secret, (message) => hmacSha256(tagKey, message)), record }
}

/** The approver whose key is printed, and as many others as the quorum asks for. */
function people(tenant: string, quorum: number): readonly string[] {
  const others = Array.from({ length: quorum - 1 }, (_, at) => `${tenant}-approver-${String(at + 2)}`)
  return [`${tenant}-approver`, ...others]
}

function agentFields({ id, owner, trustMax }: LocalAgent): AgentRecord {
  return {
    id,
    owner,
    trustMax,
    environment: 'local',
    riskTier: '',
    forceApproval: false,
    roles: ['assistant'],
  }
}

function requestOf(text: string) {
  const request = utf8(text)
  return { request, requestDigest: requestDigest(request, nodeSuite) }
}

function currentSeed(secrets: LocalSecrets): Uint8Array {
  const parsed = parseSeeds(secrets.seed)
  const seed = parsed.kind === 'seeds' ? parsed.set.seeds.get(parsed.set.current) : undefined
  if (seed === undefined) throw new Error('the local seed is malformed')
  return seed
}

function derive(seed: Uint8Array, ...names: readonly string[]): Uint8Array {
  return new Uint8Array(
    createHmac('sha256', seed)
      .update(JSON.stringify(['local', ...names]))
      .digest(),
  )
}

function publicKeyOf(secrets: LocalSecrets, tenant: string): string {
  const lineKey = deriveLineKey(currentSeed(secrets), secrets.deployment, tenant, 0)
  return encodeHex(nodeSuite.signer(lineKey).publicKey)
}
