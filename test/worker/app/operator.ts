/** The operator of the deployment under test, and admins who work over HTTP as they do in real life. */
import { formatOperatorKey } from '../../../src/protocol/index.ts'
import { type Answer, readCall, body, send } from './authorizer.ts'

/** The secret that vitest.config.ts binds. */
export const operatorKey = formatOperatorKey(new Uint8Array(32))

export const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()

/** One request with a key's text; what is given is sent as JSON, bytes and text as they are. */
export function ask(
  key: string,
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  given?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const text =
    given === undefined || typeof given === 'string' || given instanceof Uint8Array
      ? given
      : JSON.stringify(given)
  return send(path, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(text === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(text === undefined ? {} : { body: text }),
  })
}

/** A tenant as its first admin gets it. */
export class NewTenant {
  readonly tenant: string
  readonly admin: string
  readonly created: Answer

  private constructor(tenant: string, created: Answer) {
    this.tenant = tenant
    this.created = created
    this.admin = String(created.body['admin_key'])
  }

  static async create(tenant: string, subject = 'ada@example.com'): Promise<NewTenant> {
    const created = await ask(operatorKey, 'POST', `/v1/tenants/${tenant}/create`, { admin_subject: subject })
    if (created.status !== 200) throw new Error(created.text)
    return new NewTenant(tenant, created)
  }

  /** Of a key that is issued by the first admin, or by whoever is given. */
  async issue(role: string, given: Readonly<Record<string, unknown>> = {}, by = this.admin): Promise<Answer> {
    const wanted = { role, subject: `${role}@example.com`, expires_at: inAnHour(), ...given }
    return ask(by, 'POST', '/v1/keys', wanted)
  }

  async key(role: string, given: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const answer = await this.issue(role, given)
    if (answer.status !== 200) throw new Error(answer.text)
    return String(answer.body['key'])
  }

  /** An agent that may do something, and its key. */
  async agent(id: string, given: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const created = await ask(this.admin, 'POST', '/v1/agents', { id, owner: 'olga@example.com', ...given })
    if (created.status !== 200) throw new Error(created.text)
    return this.key('agent', { agent: id, subject: `${id}-key` })
  }
}

/** What is decided about a call that reads. */
export async function decisionOf(
  key: string,
  call = readCall as Parameters<typeof body>[0],
): Promise<string> {
  const answer = await ask(key, 'POST', '/v1/authorize', body(call))
  return answer.status === 200
    ? `${answer.body.decision ?? ''} ${answer.body.reason?.code ?? ''}`
    : `${String(answer.status)} ${answer.body.code ?? ''}`
}
