/**
 * A tenant on the local authorizer, made over HTTP as an operator and an admin make one: created, given a bundle, an
 * agent, a key for each role and people for the bundle's groups. Keys are shown once, so they are kept in a file beside
 * the state: a second run over the same state finds what the first one made.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type AgentRecord, type Bundle, type Trust, readBundle } from '../../src/policy/index.ts'
import type { KeyRole } from '../../src/protocol/api-key.ts'
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
/** What the admin makes, besides his own. */
const issuedRoles = ['agent', 'approver', 'auditor'] as const

/** Reads and validates a bundle from its folder; a finding of severity error ends the run with all of them. */
export async function readBundleOrThrow(folder: string): Promise<Bundle> {
  const { bundle, findings } = readBundle(await readBundleFolder(folder), policyMeans())
  if (bundle !== undefined) return bundle
  throw new Error(`${folder} is no usable bundle:\n${findings.map((finding) => finding.message).join('\n')}`)
}

/** Whoever has a key: an operator or an admin. What is refused ends the run. */
export class KeyHolder {
  readonly #url: string
  readonly #key: string

  constructor(url: string, key: string) {
    this.#url = url
    this.#key = key
  }

  /** Bytes are sent as they are, anything else as JSON. */
  async send(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown): Promise<Answered> {
    const answer = await this.ask(method, path, body)
    if (answer.status === 200) return answer.body
    throw new Error(`${method} ${path}: ${String(answer.status)} ${JSON.stringify(answer.body)}`)
  }

  async ask(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ readonly status: number; readonly body: Answered }> {
    const sent = body === undefined || body instanceof Uint8Array ? body : JSON.stringify(body)
    const answer = await fetch(`${this.#url}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.#key}`, 'content-type': 'application/json' },
      ...(sent === undefined ? {} : { body: sent }),
    })
    return { status: answer.status, body: (await answer.json()) as Answered }
  }
}

/** Members that are looked at here. */
export interface Answered {
  readonly code?: string
  readonly key?: string
  readonly key_id?: string
  readonly admin_key?: string
  readonly groups?: readonly { readonly name: string }[]
  readonly policies?: readonly { readonly policy_set_hash: string; readonly active: boolean }[]
  readonly keys?: readonly { readonly public_key: string }[]
}

/** Makes the tenant, or finds it, with exactly this bundle active. */
export async function provisionTenant(
  authorizer: LocalAuthorizer,
  secrets: Pick<LocalSecrets, 'operatorSecret'>,
  { tenant, agent, bundle }: { readonly tenant: string; readonly agent: LocalAgent; readonly bundle: Bundle },
): Promise<LocalTenant> {
  const operator = new KeyHolder(authorizer.url, `aegis_operator_${secrets.operatorSecret}`)
  const file = join(authorizer.stateFolder, 'keys', `${tenant}.json`)
  const made = await operator.ask('POST', `/v1/tenants/${tenant}/create`, {
    admin_subject: `${tenant}-admin`,
    key_expires_at: inTenYears(),
  })
  if (made.status !== 200 && made.body.code !== 'already_exists') {
    throw new Error(`create ${tenant}: ${JSON.stringify(made.body)}`)
  }
  const keys =
    (made.status === 200 ? undefined : await readKeys(file)) ??
    (await makeKeys(authorizer, operator, tenant, agent, made.body.admin_key))
  await mkdir(join(authorizer.stateFolder, 'keys'), { recursive: true })
  await writeFile(file, `${JSON.stringify(keys, undefined, 2)}\n`, { mode: 0o600 })
  const admin = new KeyHolder(authorizer.url, keys.admin)
  await activate(admin, tenant, bundle)
  const { keys: signing = [] } = await admin.send('GET', `/v1/keys/${tenant}`)
  const publicKey = signing.at(-1)?.public_key
  if (publicKey === undefined) throw new Error('the tenant has no public key')
  return { tenant, agent: agentRecord(agent), keys, publicKey, bundle }
}

/** A further agent of a tenant that exists, and its key. */
export async function addAgent(
  authorizer: LocalAuthorizer,
  { tenant, keys }: LocalTenant,
  agent: LocalAgent,
): Promise<{ readonly key: string; readonly keyId: string }> {
  const admin = new KeyHolder(authorizer.url, keys.admin)
  await admin.send('POST', '/v1/agents', agentBody(agent))
  const { key, key_id: keyId } = await admin.send('POST', '/v1/keys', {
    role: 'agent',
    agent: agent.id,
    subject: `${tenant}-${agent.id}`,
    expires_at: inTenYears(),
  })
  if (key === undefined || keyId === undefined) throw new Error('no key was shown')
  return { key, keyId }
}

async function readKeys(file: string): Promise<LocalTenant['keys'] | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined)
  return text === undefined ? undefined : (JSON.parse(text) as LocalTenant['keys'])
}

/** All of them anew; where the tenant was made before and its keys were lost, the operator lets the admin in again. */
async function makeKeys(
  authorizer: LocalAuthorizer,
  operator: KeyHolder,
  tenant: string,
  agent: LocalAgent,
  first: string | undefined,
): Promise<LocalTenant['keys']> {
  const wanted = (role: KeyRole) => ({
    role,
    subject: `${tenant}-${role}`,
    expires_at: inTenYears(),
    ...(role === 'agent' ? { agent: agent.id } : {}),
  })
  const adminKey = first ?? (await operator.send('POST', `/v1/tenants/${tenant}/keys`, wanted('admin'))).key
  if (adminKey === undefined) throw new Error('no admin key was shown')
  const admin = new KeyHolder(authorizer.url, adminKey)
  const created = await admin.ask('POST', '/v1/agents', agentBody(agent))
  if (created.status !== 200 && created.body.code !== 'already_exists') {
    throw new Error(`agent ${agent.id}: ${JSON.stringify(created.body)}`)
  }
  const keys: Partial<Record<KeyRole, string>> = {}
  for (const role of issuedRoles) {
    const { key } = await admin.send('POST', '/v1/keys', wanted(role))
    if (key !== undefined) keys[role] = key
  }
  return { ...keys, admin: adminKey } as LocalTenant['keys']
}

/** A group that somebody has changed since stays as it is. */
async function activate(admin: KeyHolder, tenant: string, { policySet, objectBytes }: Bundle): Promise<void> {
  const { policySetHash, settings } = policySet
  const { groups = [] } = await admin.send('GET', '/v1/groups')
  for (const [group, { quorum }] of Object.entries(settings.approver_groups)) {
    if (groups.some(({ name }) => name === group)) continue
    await admin.send('PUT', `/v1/groups/${group}`, { members: people(tenant, quorum) })
  }
  const { policies = [] } = await admin.send('GET', '/v1/policies')
  if (policies.some((one) => one.active && one.policy_set_hash === policySetHash)) return
  await admin.send('POST', '/v1/policies', objectBytes)
  await admin.send('POST', `/v1/policies/${policySetHash}/activate`)
}

/** The approver whose key is printed, and as many others as the quorum asks for. */
function people(tenant: string, quorum: number): readonly string[] {
  const others = Array.from({ length: quorum - 1 }, (_, at) => `${tenant}-approver-${String(at + 2)}`)
  return [`${tenant}-approver`, ...others]
}

function agentRecord({ id, owner, trustMax }: LocalAgent): AgentRecord {
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

function agentBody(agent: LocalAgent) {
  const { id, owner, trustMax, environment, roles } = agentRecord(agent)
  return { id, owner, trust_max: trustMax, environment, roles }
}

function inTenYears(): string {
  return new Date(Date.now() + keyLifeMs).toISOString()
}
