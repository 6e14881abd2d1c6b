/** Every route with every kind of key that must not pass (authorize.md §1). */
import { beforeAll, describe, expect, it } from 'vitest'
import { formatApiKey, formatOperatorKey, parseApiKey, toKeyId } from '../../../src/protocol/index.ts'
import worker from '../../../src/worker.ts'
import { testEnv } from '../durable-objects/object.ts'
import {
  type Answer,
  type Authorizer,
  body,
  origin,
  provisionAuthorizer,
  random,
  send,
  tagHmac,
  toAnswer,
} from './authorizer.ts'

interface Route {
  readonly name: string
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly roles: readonly string[]
}

const hash = 'c'.repeat(64)
const routes: readonly Route[] = [
  { name: 'authorize', method: 'POST', path: '/v1/authorize', roles: ['agent'] },
  { name: 'explain', method: 'POST', path: '/v1/explain?agent=bot', roles: ['auditor', 'admin', 'agent'] },
  { name: 'head', method: 'GET', path: '/v1/chain/head', roles: ['auditor'] },
  { name: 'live', method: 'GET', path: '/v1/chain/live', roles: ['auditor'] },
  { name: 'policy', method: 'GET', path: `/v1/policies/${hash}`, roles: ['auditor', 'admin'] },
]

let acme: Authorizer
let other: Authorizer

beforeAll(async () => {
  acme = await provisionAuthorizer('access', { settings: { agents_may_explain: true } })
  other = await provisionAuthorizer('elsewhere')
})

function call({ method, path }: Route, authorization?: string): Promise<Answer> {
  const headers = {
    'content-type': 'application/json',
    ...(authorization === undefined ? {} : { authorization }),
  }
  return send(path, { method, headers, ...(method === 'POST' ? { body: JSON.stringify(body()) } : {}) })
}

const bearer = (key: string) => `Bearer ${key}`

/** A key of ours with one part of another. */
function changed(
  key: string,
  change: { role?: 'agent' | 'auditor'; tenant?: string; id?: string; secret?: Uint8Array },
) {
  const parsed = parseApiKey(key)
  if (parsed?.kind !== 'tenant') throw new Error('not a key')
  const { role, tenant, id, secret } = { ...parsed, ...change }
  return formatApiKey({ role, tenant, id }, secret, tagHmac)
}

describe.each(routes)('$name', (route) => {
  const role = route.roles[0] === 'agent' ? 'bot' : (route.roles[0] ?? '')
  const own = () => acme.key(role)

  it('takes the keys of its roles', async () => {
    const answer = await call(route, bearer(own()))
    expect([200, 404]).toContain(answer.status)
    expect((await call(route, `bearer ${own()}`)).status).toBe(answer.status)
  })

  it('answers one and the same 401 to whoever proves nothing', async () => {
    const kind = role === 'bot' ? 'agent' : 'auditor'
    const agent = role === 'bot' ? { agentId: 'bot' } : {}
    const revoked = await acme.issue(`revoked-${route.name}`, kind, agent)
    await acme.do({ act: 'key.revoke', keyId: acme.keyIds.get(`revoked-${route.name}`) ?? '' })
    const expired = await acme.issue(`expired-${route.name}`, kind, {
      ...agent,
      expiresAt: Date.now() - 1,
    })
    const key = own()
    const refused: Record<string, string | undefined> = {
      missing: undefined,
      empty: '',
      'another scheme': `Basic ${btoa('a:b')}`,
      'no key at all': 'Bearer x',
      'only the scheme': 'Bearer',
      'a forged tag': bearer(
        key.replace(/_([0-9a-z]{16})(.)/, (_, id: string, c: string) => `_${id}${c === '0' ? '1' : '0'}`),
      ),
      'a made-up tenant': bearer(key.replace('_access_', '_acces2_')),
      'a tenant that is tagged and not there': bearer(changed(key, { tenant: 'never-made' })),
      'a key that is tagged and not there': bearer(changed(key, { id: toKeyId(random(10)) })),
      'a key of another tenant under this name': bearer(changed(other.key(role), { tenant: 'access' })),
      'another role under this id': bearer(changed(key, { role: role === 'bot' ? 'auditor' : 'agent' })),
      'a wrong secret': bearer(changed(key, { secret: random(32) })),
      'an operator who is none': bearer(formatOperatorKey(random(32))),
      revoked: bearer(revoked),
      expired: bearer(expired),
    }
    const answers = new Set<string>()
    for (const authorization of Object.values(refused)) {
      const answer = await call(route, authorization)
      const { status, headers, text } = answer
      answers.add(
        JSON.stringify([status, headers.get('www-authenticate'), headers.get('content-type'), text]),
      )
    }
    const [only, ...more] = answers
    expect(more).toEqual([])
    expect(only).toContain('[401,"Bearer","application/problem+json"')
  })

  it('answers 403 to a key of another role, and to the operator', async () => {
    const operator = formatOperatorKey(new Uint8Array(32))
    for (const [name, key] of [...acme.keys, ['operator', operator] as const]) {
      const parsed = parseApiKey(key)
      if (/revoked|expired|used/.test(name) || parsed === undefined) continue
      if (parsed.kind === 'tenant' && route.roles.includes(parsed.role)) continue
      const answer = await call(route, bearer(key))
      expect([name, answer.status, answer.body.code]).toEqual([name, 403, 'role_not_allowed'])
    }
  })

  it('refuses a key that is revoked while it is in use, at once', async () => {
    const name = `used-${route.name}`
    const key = await acme.issue(
      name,
      role === 'bot' ? 'agent' : 'auditor',
      role === 'bot' ? { agentId: 'bot' } : {},
    )
    expect((await call(route, bearer(key))).status).not.toBe(401)
    await acme.do({ act: 'key.revoke', keyId: acme.keyIds.get(name) ?? '' })
    expect((await call(route, bearer(key))).status).toBe(401)
  })
})

describe('a forged tag', () => {
  it('wakes no object: not even the namespace is asked', async () => {
    let asked = 0
    const env = {
      ...testEnv,
      TENANT_CHAIN: {
        getByName(name: string) {
          asked += 1
          return testEnv.TENANT_CHAIN.getByName(name)
        },
      },
    }
    const ask = async (key: string) => {
      const headers = { authorization: bearer(key), 'content-type': 'application/json' }
      const request = new Request(`${origin}/v1/chain/head`, { headers })
      return toAnswer(await worker.fetch(request, env))
    }
    const key = acme.key('auditor')
    expect((await ask(key.replace('_access_', '_acces2_'))).status).toBe(401)
    expect(asked).toBe(0)
    expect((await ask(key)).status).toBe(200)
    expect(asked).toBe(1)
  })
})

describe('another tenant', () => {
  it('is not there: its policy set answers like one that never was', async () => {
    const mine = await acme.activate({ policies: '@id("mine") permit(principal, action, resource);' })
    expect((await acme.get('auditor', `/v1/policies/${mine.policySetHash}`)).status).toBe(200)
    const foreign = await other.get('auditor', `/v1/policies/${mine.policySetHash}`)
    const absent = await other.get('auditor', `/v1/policies/${hash}`)
    const malformed = await other.get('auditor', '/v1/policies/x')
    expect(foreign.status).toBe(404)
    expect(foreign.text).toBe(absent.text)
    expect(malformed.text).toBe(absent.text)
  })

  it('is not there: its agents are explained like those that never were', async () => {
    await other.addAgent('theirs')
    const foreign = await acme.explain('auditor', '?agent=theirs', body())
    const absent = await acme.explain('auditor', '?agent=nobody', body())
    expect(foreign.status).toBe(404)
    expect(foreign.text).toBe(absent.text)
  })

  it('has its own request ids, nonces and Chain', async () => {
    const sent = body({}, { nonce: crypto.randomUUID() })
    const [ours, theirs] = [await acme.authorize('bot', sent), await other.authorize('bot', sent)]
    expect([ours.body.decision, theirs.body.decision]).toEqual(['allow', 'allow'])
    expect(ours.body.call_id).not.toBe(theirs.body.call_id)
    const lines = await other.lines()
    expect(lines.some(({ call_id }) => call_id === ours.body.call_id)).toBe(false)
  })
})
