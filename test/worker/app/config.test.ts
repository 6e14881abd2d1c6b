/** A deployment that is not set up serves nobody, and what is logged holds no secret (authorize.md §1). */
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import worker from '../../../src/worker.ts'
import { testEnv } from '../durable-objects/object.ts'
import { type Authorizer, body, origin, provisionAuthorizer, toAnswer } from './authorizer.ts'

let acme: Authorizer

beforeAll(async () => {
  acme = await provisionAuthorizer('configured')
})

afterEach(() => {
  vi.restoreAllMocks()
})

/** What the Worker printed while `run` ran. */
async function logged(run: () => Promise<unknown>): Promise<string[]> {
  const lines: string[] = []
  vi.spyOn(console, 'log').mockImplementation((line: string) => {
    lines.push(line)
  })
  await run()
  return lines
}

const ask = async (env: object, path: string, init: RequestInit = {}) =>
  toAnswer(
    await worker.fetch(new Request(`${origin}${path}`, init), env as Parameters<typeof worker.fetch>[1]),
  )

const post = () => ({ method: 'POST', headers: acme.headers('bot'), body: JSON.stringify(body()) })

describe('a missing or malformed binding', () => {
  const bindings: [string, string | undefined][] = [
    ['AEGIS_SEED', undefined],
    ['AEGIS_SEED', ''],
    ['AEGIS_SEED', '0:07'],
    ['AEGIS_OPERATOR_SECRET', undefined],
    ['AEGIS_OPERATOR_SECRET', 'hunter2'],
    ['AEGIS_DEPLOYMENT', undefined],
    ['AEGIS_DEPLOYMENT', ''],
  ]
  it.each(bindings)('%s=%j: 503 that says nothing, a log line that names it', async (name, value) => {
    const env = { ...testEnv, [name]: value }
    const answers: { status: number; text: string }[] = []
    const lines = await logged(async () => {
      answers.push(await ask(env, '/v1/authorize', post()))
      answers.push(await ask(env, '/v1/chain/head', { headers: acme.headers('auditor') }))
      answers.push(await ask(env, '/openapi.json'))
      answers.push(await ask(env, '/v1/health/ready'))
      answers.push(await ask(env, '/nothing'))
    })
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 503, 503, 503])
    for (const { text } of answers) {
      expect(text).not.toContain('AEGIS')
      expect(text).not.toContain(name)
    }
    expect(lines.some((line) => line.includes(name) && line.includes('not_configured'))).toBe(true)
    const text = lines.join('\n')
    expect(value !== undefined && value !== '' && text.includes(value)).toBe(false)
  })

  it('leaves health: alive, not ready', async () => {
    const answer = await ask({ ...testEnv, AEGIS_SEED: undefined }, '/v1/health')
    expect([answer.status, answer.body['live'], answer.body['ready']]).toEqual([200, true, false])
  })
})

describe('the log', () => {
  it('is one line a request: ids, tenant, code and times, never arguments or secrets', async () => {
    const sent = body(
      { parameters: { base_branch: 'develop', secret_argument: 'swordfish' } },
      { metadata: { m: 'marlin' } },
    )
    const init = {
      ...post(),
      headers: { ...acme.headers('bot'), 'x-request-id': 'req-1' },
      body: JSON.stringify(sent),
    }
    const lines = await logged(() => ask({ ...testEnv }, '/v1/authorize?token=guppy', init))
    expect(lines).toHaveLength(1)
    const line = JSON.parse(lines[0] ?? '') as Record<string, unknown>
    expect(line).toMatchObject({
      request_id: 'req-1',
      method: 'POST',
      route: '/v1/authorize',
      status: 200,
      code: 'permitted',
      decision: 'allow',
      tenant: 'configured',
      key_id: acme.keyIds.get('bot'),
    })
    expect(line['call_id']).toMatch(/^call_/)
    expect(Object.keys(line['ms'] as object)).toEqual(['auth', 'policy', 'read', 'decide', 'record', 'total'])
    const text = lines.join()
    for (const secret of ['swordfish', 'marlin', 'guppy', acme.key('bot').slice(-52)])
      expect(text).not.toContain(secret)
  })

  it('of a refused key names no more than was proved', async () => {
    const key = acme.key('bot').replace('_configured_', '_configure2_')
    const headers = { ...acme.headers('bot'), authorization: `Bearer ${key}` }
    const lines = await logged(() => ask({ ...testEnv }, '/v1/authorize', { ...post(), headers }))
    const line = JSON.parse(lines[0] ?? '') as Record<string, unknown>
    expect(line).toMatchObject({ status: 401, code: 'unauthorized' })
    expect(line).not.toHaveProperty('tenant')
    expect(lines[0]).not.toContain('configure2')
  })
})

describe('the flood limit', () => {
  it('of the platform, where it is bound, answers 429 before any object is asked', async () => {
    const keys: string[] = []
    const flooded = {
      ...testEnv,
      FLOOD: {
        limit: ({ key }: { key: string }) => {
          keys.push(key)
          return Promise.resolve({ success: false })
        },
      },
      TENANT_CHAIN: {
        getByName: () => {
          throw new Error('asked')
        },
      },
    }
    const answer = await ask(flooded, '/v1/authorize', post())
    expect([answer.status, answer.body.code, answer.body.call_id]).toEqual([429, 'rate_limited', undefined])
    expect(answer.headers.get('retry-after')).toBe('10')
    expect(answer.headers.get('ratelimit')).toBe('"flood";r=0;t=10')
    expect(keys).toEqual([acme.keyIds.get('bot')])
  })

  it('is not there where it is not bound', async () => {
    expect((await ask({ ...testEnv, FLOOD: undefined }, '/v1/authorize', post())).body.decision).toBe('allow')
  })
})

describe('tags', () => {
  it('made under an older seed still count after a newer one came', async () => {
    const env = { ...testEnv, AEGIS_SEED: `1:${'01'.repeat(32)},${testEnv.AEGIS_SEED}` }
    // The object has its own environment, which did not change: only the tag is looked at here.
    expect((await ask(env, '/v1/authorize', post())).body.decision).toBe('allow')
    const without = { ...testEnv, AEGIS_SEED: `1:${'01'.repeat(32)}` }
    expect((await ask(without, '/v1/authorize', post())).status).toBe(401)
  })
})
