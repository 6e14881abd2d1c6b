/** What auditors read, explanations, health and the OpenAPI document (authorize.md §3, §5). */
import * as v from 'valibot'
import { SELF } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  authorizeRequestSchema,
  explanationSchema,
  healthSchema,
  problemSchema,
} from '../../../src/protocol/index.ts'
import { checkJson } from '../../harness/json-schema.ts'
import type { OpenApi } from '../../harness/openapi-document.ts'
import {
  type Answer,
  type Authorizer,
  body,
  origin,
  provisionAuthorizer,
  readCall,
  send,
} from './authorizer.ts'

let acme: Authorizer

beforeAll(async () => {
  acme = await provisionAuthorizer('reading')
})

describe('the Chain', () => {
  it('at its head is the last receipt, byte for byte', async () => {
    const decided = await acme.authorize('bot', body())
    const head = await acme.get('auditor', '/v1/chain/head')
    expect(head.status).toBe(200)
    expect(head.text).toBe(decided.body.receipt?.line)
  })

  it('live holds two Lines a Call, and every receipt at its position', async () => {
    const answers = await Promise.all(Array.from({ length: 30 }, () => acme.authorize('bot', body())))
    const lines = await acme.lines()
    const texts = new Set(lines.map(({ text }) => text))
    for (const { body: answer } of answers) {
      expect(texts.has(answer.receipt?.line ?? '')).toBe(true)
      expect(lines.filter(({ call_id }) => call_id === answer.call_id)).toHaveLength(2)
    }
    expect(lines.map(({ seq }) => seq)).toEqual(lines.map((_, at) => at))
  })

  it('live is a stream of several pages when it is long', async () => {
    const long = await provisionAuthorizer('reading-long')
    // About 9 KB a Call, so that 140 of them are more than a page of 1 MiB.
    const metadata = Object.fromEntries(
      Array.from({ length: 16 }, (_, at) => [`${'m'.repeat(250)}${String(at)}`, 'x'.repeat(256)]),
    )
    for (let round = 0; round < 7; round += 1) {
      await Promise.all(Array.from({ length: 20 }, () => long.authorize('bot', body(readCall, { metadata }))))
    }
    const headers = long.headers('auditor')
    const response = await SELF.fetch(`${origin}/v1/chain/live`, { headers })
    expect(response.headers.get('content-type')).toBe('application/jsonl; charset=utf-8')
    expect((await response.text()).length).toBeGreaterThan(1_100_000)
    expect(await long.lines()).toHaveLength(2 * 140 + 1 + 2 * 9)
  }, 30_000)

  it('answers HEAD without a body', async () => {
    const answer = await send('/v1/chain/head', { method: 'HEAD', headers: acme.headers('auditor') })
    expect([answer.status, answer.text]).toEqual([200, ''])
  })
})

describe('an explanation of an agent that is not there', () => {
  it('costs a token of the tenant, like every other', async () => {
    const small = await provisionAuthorizer('reading-names')
    const limits = { agent_rate_per_s: 1, agent_burst: 5, tenant_rate_per_s: 1, tenant_burst: 5 }
    await small.activate({ settings: limits })
    const codes: number[] = []
    for (let n = 0; n < 12; n += 1) {
      codes.push((await small.explain('auditor', `?agent=nobody-${String(n)}`, body())).status)
    }
    expect(codes[0]).toBe(404)
    expect(codes.at(-1)).toBe(429)
    expect(new Set(codes)).toEqual(new Set([404, 429]))
  })
})

describe('a policy set', () => {
  it('comes in the bytes that are hashed', async () => {
    const { policySetHash, bytes } = await acme.activate()
    const answer = await acme.get('auditor', `/v1/policies/${policySetHash}`)
    expect(answer.headers.get('content-type')).toBe('application/json')
    expect(new TextEncoder().encode(answer.text)).toEqual(bytes)
  })
})

describe('an explanation', () => {
  it('says everything, and leaves no Line but a count in the next', async () => {
    const before = await acme.lines()
    const answer = await acme.explain('auditor', '?agent=bot', body())
    expect(answer.status).toBe(200)
    expect(v.is(explanationSchema, answer.body)).toBe(true)
    expect(answer.body).toMatchObject({
      decision: 'allow',
      reason: { code: 'permitted' },
      agent_id: 'bot',
      tool_id: 'github.merge_pr',
      matched_rules: ['merges'],
      decision_axes: { matched_rule: 'merges', context: { args: { base_branch: 'develop' } } },
    })
    expect(answer.body.grant).toBeUndefined()
    expect(answer.body.receipt).toBeUndefined()
    expect(await acme.lines()).toHaveLength(before.length)
    await acme.authorize('bot', body())
    expect((await acme.lastOutcome()).decision_axes?.explained).toBe(1)
  })

  it('is the same evaluation that a decision gets', async () => {
    for (const sent of [
      body({ parameters: { base_branch: 'main' } }),
      body({ tool: 'x' }),
      body({}, { action_hash: 'f'.repeat(64) }),
    ]) {
      const explained = await acme.explain('admin', '?agent=bot', sent)
      const decided = await acme.authorize('bot', sent)
      expect(explained.body.decision).toBe(decided.body.decision)
      expect(explained.body.reason?.code).toBe(decided.body.reason?.code)
    }
  })

  it('needs to be told of whom', async () => {
    for (const query of ['', '?agent=', '?agent=bot&agent=bot']) {
      const answer = await acme.explain('auditor', query, body())
      expect([query, answer.status, answer.body.code]).toEqual([query, 400, 'query_invalid'])
    }
  })

  it('is not for agents, unless the settings say so, and then of themselves', async () => {
    expect((await acme.explain('bot', '', body())).body.code).toBe('explain_not_allowed')
    const open = await provisionAuthorizer('explaining', { settings: { agents_may_explain: true } })
    await open.addAgent('other')
    expect((await open.explain('bot', '', body())).body.matched_rules).toEqual(['merges'])
    expect((await open.explain('bot', '?agent=bot', body())).status).toBe(200)
    expect((await open.explain('bot', '?agent=other', body())).status).toBe(403)
    expect((await open.explain('bot', '?agent=nobody', body())).status).toBe(403)
  })

  it('is decided under the current state', async () => {
    const fenced = await provisionAuthorizer('explaining-fenced')
    expect((await fenced.explain('auditor', '?agent=bot', body())).body.decision).toBe('allow')
    await fenced.activate({ policies: '@id("stop") forbid(principal, action, resource);' })
    expect((await fenced.explain('auditor', '?agent=bot', body())).body.reason?.code).toBe('policy_denied')
  })

  it('has the body rules of a decision', async () => {
    const answer = await acme.explain('auditor', '?agent=bot', { a: 1 })
    expect([answer.status, answer.body.code]).toEqual([400, 'body_invalid'])
  })
})

describe('health', () => {
  it('needs no key', async () => {
    const answer = await send('/v1/health')
    expect(v.parse(healthSchema, answer.body).ready).toBe(true)
    expect((await send('/v1/health/ready')).status).toBe(204)
  })
})

describe('/openapi.json', () => {
  let document: OpenApi
  beforeAll(async () => {
    document = JSON.parse((await send('/openapi.json')).text) as OpenApi
  })

  it('names every route', () => {
    const named = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    expect(document.openapi).toBe('3.1.0')
    expect(named.sort()).toEqual([
      'DELETE /v1/envelopes/{request_digest}',
      'DELETE /v1/policies/shadow',
      'GET /openapi.json',
      'GET /v1/agents',
      'GET /v1/agents/{id}',
      'GET /v1/approvals',
      'GET /v1/approvals/{id}',
      'GET /v1/calls',
      'GET /v1/calls/{call_id}',
      'GET /v1/chain/head',
      'GET /v1/chain/live',
      'GET /v1/chain/segments',
      'GET /v1/chain/segments/{n}',
      'GET /v1/envelopes/{request_digest}',
      'GET /v1/grants',
      'GET /v1/groups',
      'GET /v1/groups/{name}/webhook-secret',
      'GET /v1/health',
      'GET /v1/health/ready',
      'GET /v1/keys',
      'GET /v1/keys/{tenant}',
      'GET /v1/policies',
      'GET /v1/policies/{policy_set_hash}',
      'GET /v1/tenants',
      'GET /v1/tenants/{tenant}',
      'GET /v1/tools',
      'POST /v1/agents',
      'POST /v1/agents/{id}/freeze',
      'POST /v1/agents/{id}/revoke',
      'POST /v1/agents/{id}/unfreeze',
      'POST /v1/approvals/{id}/approve',
      'POST /v1/approvals/{id}/cancel',
      'POST /v1/approvals/{id}/consume',
      'POST /v1/approvals/{id}/deny',
      'POST /v1/approvals/{id}/withdraw',
      'POST /v1/authorize',
      'POST /v1/chain/rotate-key',
      'POST /v1/chain/seal',
      'POST /v1/explain',
      'POST /v1/freeze',
      'POST /v1/keys',
      'POST /v1/keys/{id}/confirm',
      'POST /v1/keys/{id}/revoke',
      'POST /v1/policies',
      'POST /v1/policies/{policy_set_hash}/activate',
      'POST /v1/policies/{policy_set_hash}/shadow',
      'POST /v1/reports',
      'POST /v1/tenants/{tenant}/create',
      'POST /v1/tenants/{tenant}/freeze',
      'POST /v1/tenants/{tenant}/keys',
      'POST /v1/tenants/{tenant}/recover',
      'POST /v1/tenants/{tenant}/unfreeze',
      'POST /v1/tools/{tool_id}/freeze',
      'POST /v1/tools/{tool_id}/unfreeze',
      'PUT /v1/agents/{id}',
      'PUT /v1/groups/{name}',
    ])
  })

  /** What a real answer has that the document does not say of its route. */
  function undescribed(method: string, path: string, answer: Answer): string[] {
    const { status, headers, body: got } = answer
    const response = document.paths[path]?.[method]?.responses[String(status)]
    const where = `${method} ${path} ${String(status)}`
    if (response === undefined) return [where]
    const type = headers.get('content-type')?.split(';')[0] ?? ''
    const ref = response.content?.[type]?.schema?.$ref
    if (ref === undefined) return [`${where} ${type}`]
    const faults = checkJson(document.components.schemas[ref.split('/').at(-1) ?? ''], got)
    const isNamed = status < 400 || response.description.split(', ').includes(got.code ?? '')
    return [...faults, ...(isNamed ? [] : [String(got.code)])].map((fault) => `${where}: ${fault}`)
  }

  it('describes what is really answered', async () => {
    const found: string[] = []
    const check = (method: string, path: string, answer: Answer) =>
      found.push(...undescribed(method, path, answer))
    for (const sent of [
      body(),
      body({ parameters: { base_branch: 'main' } }),
      body({ tool: 'x' }),
      body(readCall),
      { a: 1 },
    ]) {
      check('post', '/v1/authorize', await acme.authorize('bot', sent))
      check('post', '/v1/explain', await acme.explain('auditor', '?agent=bot', sent))
    }
    check('post', '/v1/authorize', await acme.authorize('bot', '{'))
    check('post', '/v1/authorize', await acme.authorize('auditor', body()))
    check('post', '/v1/authorize', await acme.authorize('bot', body(), { authorization: 'Bearer x' }))
    check('post', '/v1/authorize', await acme.authorize('bot', body(), { 'content-type': 'text/plain' }))
    check('post', '/v1/authorize', await acme.authorize('bot', ' '.repeat(300_000)))
    const used = body()
    await acme.authorize('bot', used)
    check('post', '/v1/authorize', await acme.authorize('bot', `${JSON.stringify(used)} `))
    check('post', '/v1/explain', await acme.explain('auditor', '', body()))
    check('post', '/v1/explain', await acme.explain('auditor', '?agent=nobody', body()))
    check('post', '/v1/explain', await acme.explain('bot', '', body()))
    check('get', '/v1/health', await send('/v1/health'))
    check('get', '/v1/chain/head', await send('/v1/chain/head'))
    check('get', '/v1/policies/{policy_set_hash}', await acme.get('auditor', '/v1/policies/x'))
    expect(found).toEqual([])
  })

  it('has schemas that take and refuse what the Worker does', () => {
    const { AuthorizeRequest, Problem } = document.components.schemas
    const good = JSON.parse(JSON.stringify(body({}, { metadata: { a: 'b' }, nonce: 'n' }))) as Record<
      string,
      unknown
    >
    for (const value of [
      good,
      { ...good, x: 1 },
      { ...good, nonce: '' },
      { ...good, action_hash: 'X' },
      { ...good, tool_call: {} },
      { ...good, timestamp: 'now' },
      {},
    ]) {
      expect(checkJson(AuthorizeRequest, value).length === 0).toBe(v.is(authorizeRequestSchema, value))
    }
    const problem = { title: 't', status: 400, code: 'not_found', detail: 'd' }
    for (const value of [problem, { ...problem, code: 'other' }, { ...problem, status: '400' }]) {
      expect(checkJson(Problem, value).length === 0).toBe(v.is(problemSchema, value))
    }
  })
})
