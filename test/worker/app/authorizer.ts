/**
 * A tenant of the real Worker: provisioned through its object's own methods, called over HTTP with real keys, its Chain
 * read as an auditor reads it and verified after each reading.
 */
import { SELF } from 'cloudflare:test'
import type {
  AdministerResult,
  AgentFields,
  DirectAct,
  KeyRecord,
  TenantChainRpc,
} from '../../../durable-objects/rpc.ts'
import { deriveTagKey, hmacSha256, nodeSuite } from '../../../src/crypto-node/index.ts'
import { type KeyRole, formatApiKey, secretHash, toKeyId } from '../../../src/protocol/index.ts'
import { type ToolCall, actionHash } from '../../../src/record/index.ts'
import { act, agentFields } from '../../harness/drafts.ts'
import { Follower, testDeployment, testSeed } from '../../harness/follower.ts'
import { testEnv } from '../durable-objects/object.ts'
import { type BundleGiven, type TestBundle, testBundle } from './test-bundle.ts'

const tagKey = deriveTagKey(testSeed, testDeployment)
export const tagHmac = (message: Uint8Array) => hmacSha256(tagKey, message)
export const random = (count: number) => crypto.getRandomValues(new Uint8Array(count))

export const origin = 'https://aegis.example'

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Of JSON; otherwise an empty object. */
  readonly body: AnswerBody
}

/** Members that tests look at; which of them stand there is what the tests say. */
export interface AnswerBody {
  readonly code?: string
  readonly detail?: string
  readonly call_id?: string
  readonly members?: readonly { readonly member: string }[]
  readonly decision?: string
  readonly reason?: { readonly code: string; readonly detail: string }
  readonly risk?: { readonly level: string; readonly score: number }
  readonly matched_rules?: readonly string[]
  readonly grant?: { readonly grant_id: string; readonly expires_at: string; readonly expires_in_ms: number }
  readonly approval?: { readonly approval_id: string; readonly groups: readonly string[] }
  readonly receipt?: { readonly line: string; readonly line_hash: string }
  readonly [member: string]: unknown
}

export async function toAnswer(response: Response): Promise<Answer> {
  const text = await response.text()
  const isJson = /^application\/(problem\+)?json$/.test(response.headers.get('content-type') ?? '')
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson && text !== '' ? (JSON.parse(text) as AnswerBody) : {},
  }
}

/** One request to the Worker. */
export async function send(path: string, init: RequestInit = {}): Promise<Answer> {
  return toAnswer(await SELF.fetch(`${origin}${path}`, init))
}

/** An authorize body whose hash is right, unless `given` says otherwise. */
export function body(call: Partial<ToolCall> = {}, given: Readonly<Record<string, unknown>> = {}) {
  const toolCall: ToolCall = {
    tool: 'github',
    action: 'merge_pr',
    resource: 'repo:acme/widgets#57',
    mutates_state: true,
    parameters: { base_branch: 'develop' },
    ...call,
  }
  return {
    request_id: crypto.randomUUID(),
    timestamp: new Date().toISOString(),
    tool_call: toolCall,
    action_hash: actionHash(toolCall, nodeSuite) as string,
    context: { source_trust: 'semi_trusted_customer' },
    ...given,
  }
}

export const readCall = { action: 'read', resource: null, mutates_state: false, parameters: {} } as const

export class Authorizer {
  readonly tenant: string
  readonly #follower: Follower
  /** Key texts by a name of the test's choosing. */
  readonly keys = new Map<string, string>()
  readonly keyIds = new Map<string, string>()

  constructor(tenant: string) {
    this.tenant = tenant
    this.#follower = new Follower(tenant)
  }

  get rpc(): TenantChainRpc {
    return testEnv.TENANT_CHAIN.getByName(this.tenant)
  }

  async do(what: DirectAct): Promise<AdministerResult> {
    const result = await this.rpc.administer(act(what))
    if (result.kind !== 'done') throw new Error(JSON.stringify(result))
    return result
  }

  async activate(given: BundleGiven = {}): Promise<TestBundle> {
    const bundle = testBundle(given)
    const actor = { role: 'operator' } as const
    const pushed = await this.rpc.pushPolicy({ actor, bundle: bundle.bytes })
    if (pushed.kind !== 'done') throw new Error(JSON.stringify(pushed))
    await this.activateHash(bundle)
    return bundle
  }

  async activateHash({ policySetHash }: Pick<TestBundle, 'policySetHash'>): Promise<void> {
    const { actor, request, requestDigest } = act({ act: 'policy.push', policySetHash })
    const activated = await this.rpc.activatePolicy({ actor, request, requestDigest, policySetHash })
    if (activated.kind !== 'done') throw new Error(JSON.stringify(activated))
  }

  async issue(name: string, role: KeyRole, given: Partial<KeyRecord> = {}): Promise<string> {
    const id = toKeyId(random(10))
    const secret = random(32)
    const text = formatApiKey({ role, tenant: this.tenant, id }, secret, tagHmac)
    await this.do({
      act: 'key.issue',
      key: {
        id,
        role,
        subject: `${name}@example.com`,
        secretHash: secretHash(secret, nodeSuite),
        expiresAt: Date.now() + 3_600_000,
        ...given,
      },
    })
    this.keys.set(name, text)
    this.keyIds.set(name, id)
    return text
  }

  async addAgent(id: string, given: Partial<AgentFields> = {}): Promise<void> {
    await this.do({ act: 'agent.create', agent: agentFields(id, given) })
    await this.issue(id, 'agent', { agentId: id })
  }

  key(name: string): string {
    const key = this.keys.get(name)
    if (key === undefined) throw new Error(`there is no key ${name}`)
    return key
  }

  headers(name: string): Record<string, string> {
    return { authorization: `Bearer ${this.key(name)}`, 'content-type': 'application/json' }
  }

  /** A body is sent as it is when it is text, else as JSON. */
  authorize(name: string, sent: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.#post('/v1/authorize', name, sent, headers)
  }

  explain(name: string, query: string, sent: unknown): Promise<Answer> {
    return this.#post(`/v1/explain${query}`, name, sent, {})
  }

  #post(
    path: string,
    name: string,
    sent: unknown,
    headers: Readonly<Record<string, string>>,
  ): Promise<Answer> {
    const text = typeof sent === 'string' ? sent : JSON.stringify(sent)
    return send(path, { method: 'POST', headers: { ...this.headers(name), ...headers }, body: text })
  }

  get(name: string, path: string): Promise<Answer> {
    return send(path, { headers: this.headers(name) })
  }

  /** The Lines of the open Session, verified. */
  async lines(): Promise<RecordedLine[]> {
    const answer = await this.get('auditor', '/v1/chain/live')
    if (answer.status !== 200) throw new Error(answer.text)
    this.#follower.follow(new TextEncoder().encode(answer.text))
    return answer.text
      .trimEnd()
      .split('\n')
      .map((line) => ({ ...(JSON.parse(line) as RecordedLine), text: line }))
  }

  /** The last outcome that is an agent's. */
  async lastOutcome(): Promise<RecordedLine> {
    const lines = await this.lines()
    const last = lines.findLast(
      ({ line_type, agent_id }) => line_type === 'outcome' && agent_id !== undefined,
    )
    if (last === undefined) throw new Error('no outcome')
    return last
  }
}

export interface RecordedLine {
  readonly text: string
  readonly line_type: string
  readonly seq: number
  readonly call_id?: string
  readonly tool_id?: string
  readonly agent_id?: string
  readonly action_hash?: string
  readonly request_digest?: string
  readonly policy_set_hash?: string
  readonly policy?: { readonly status: string; readonly reason?: string }
  readonly decision_axes?: {
    readonly decided_by?: string
    readonly claims?: Readonly<Record<string, unknown>>
    readonly matched_rules?: readonly string[]
    readonly metadata?: Readonly<Record<string, string>>
    readonly suppressed?: number
    readonly explained?: number
    readonly context?: Readonly<Record<string, unknown>>
  }
}

/** A tenant with the test bundle, an agent `bot`, an approver in `leads`, and a key for each role. */
export async function provisionAuthorizer(tenant: string, given: BundleGiven = {}): Promise<Authorizer> {
  const authorizer = new Authorizer(tenant)
  const { request, requestDigest } = act({ act: 'tenant.freeze' })
  const created = await authorizer.rpc.create({ tenant, request, requestDigest })
  if (created.kind !== 'done') throw new Error(JSON.stringify(created))
  await authorizer.activate(given)
  await authorizer.do({ act: 'group.change', group: 'leads', members: ['lena@example.com'] })
  await authorizer.addAgent('bot')
  for (const role of ['approver', 'auditor', 'admin'] as const) await authorizer.issue(role, role)
  return authorizer
}
