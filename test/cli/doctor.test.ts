/** `aegis doctor` against deployments in each kind of trouble, and against one that is well. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { SegmentServer, answerJson, answerProblem, apiKey, publish } from '../harness/segment-server.ts'
import { buildCommand } from './command.ts'

const aegis = buildCommand()
const keyId = '0'.repeat(16)
let server: SegmentServer
let answers: Record<string, unknown>
let date: string | undefined

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()
const hash = (digit: string) => digit.repeat(64)

beforeAll(async () => {
  server = await SegmentServer.start(publish('acme', []))
  server.trick = (request: IncomingMessage, response: ServerResponse) => {
    const path = (request.url ?? '').split('?')[0] ?? ''
    if (date !== undefined) response.setHeader('date', date)
    const answer = answers[path]
    if (typeof answer === 'number') answerProblem(response, answer, 'unauthorized', 'no')
    else answerJson(response, answer ?? {})
    return true
  }
})
afterAll(() => server.end())

beforeEach(() => {
  date = undefined
  answers = {
    '/v1/health': { live: true, ready: true, versions: { schema_version: 2, evaluator: 'aegis-edge 1' } },
    '/v1/keys': { keys: [{ key_id: ownId(), subject: 'al', expires_at: inDays(60) }] },
    '/v1/chain/segments': { segments: [], unpublished: { sessions: 0 } },
    '/v1/policies': { policies: [policySet('a', { active: true, deployed: true })] },
  }
})

function ownId(): string {
  return (apiKey('auditor', 'acme').split('_')[3] ?? keyId).slice(0, 16)
}

function policySet(digit: string, more: object = {}) {
  return { policy_set_hash: hash(digit), bytes: 1, active: false, shadow: false, deployed: false, ...more }
}

const doctor = (role = 'auditor', ...more: string[]) =>
  aegis.run(['doctor', '--url', server.url, ...more], { env: { AEGIS_API_KEY: apiKey(role, 'acme') } })

async function problemOf(name: string, role = 'auditor'): Promise<string> {
  const { code, stdout } = await doctor(role, '--json')
  const { checks, problems } = JSON.parse(stdout) as {
    checks: { name: string; state: string; detail: string }[]
    problems: number
  }
  const found = checks.filter(({ state }) => state === 'problem')
  expect([code, problems, found.map((check) => check.name)]).toEqual([1, 1, [name]])
  return found[0]?.detail ?? ''
}

describe('aegis doctor', () => {
  it('finds nothing where all is well', async () => {
    const { code, stdout, stderr } = await doctor()
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(
      /^deployment {2}ok {7}http.* answers; aegis-edge 1\nclock {7}ok {7}as here\nbindings {4}ok .*\nkey {9}ok {7}auditor of acme, al, until .*\npublishing {2}ok .*\npolicy {6}ok {7}a{64} is in force\n$/,
    )
    expect((await doctor('auditor', '-q')).stdout).toBe('')
  })

  it('says what a key cannot see', async () => {
    answers['/v1/grants'] = { grants: [] }
    const { code, stdout } = await doctor('agent')
    expect(code).toBe(0)
    expect(stdout).toMatch(/\nkey +ok +agent of acme; a key of this role does not see when it expires\n/)
    expect(stdout).toMatch(/\npublishing +unknown +needs an auditor's key\npolicy +unknown /)
  })

  it('finds a clock that is wrong, in both directions', async () => {
    date = new Date(Date.now() + 120_000).toUTCString()
    expect(await problemOf('clock')).toMatch(/^the clock here is 1[12]\d s behind the deployment's/)
    date = new Date(Date.now() - 120_000).toUTCString()
    expect(await problemOf('clock')).toMatch(/^the clock here is 1[12]\d s ahead of the deployment's/)
  })

  it('finds bindings that are missing', async () => {
    answers['/v1/health'] = { ready: false, versions: { evaluator: 'x' } }
    expect(await problemOf('bindings')).toContain('not ready')
  })

  it('finds a key that expires, and one that is not accepted', async () => {
    answers['/v1/keys'] = { keys: [{ key_id: ownId(), subject: 'al', expires_at: inDays(3) }] }
    expect(await problemOf('key')).toMatch(/: [23] days left$/)
    answers['/v1/keys'] = 401
    expect(await problemOf('key')).toContain('the key is not accepted')
  })

  it('finds that nothing is published', async () => {
    answers['/v1/chain/segments'] = {
      segments: [],
      unpublished: { sessions: 3, oldest_closed_at: Date.now() - 600_000 },
    }
    expect(await problemOf('publishing')).toMatch(/^3 sealed Sessions wait, the oldest for 60\d s/)
    answers['/v1/chain/segments'] = {
      segments: [],
      unpublished: { sessions: 3, stopped: 'archive_conflict' },
    }
    expect(await problemOf('publishing')).toContain('stopped')
  })

  it('finds a bundle that is deployed and not in force', async () => {
    answers['/v1/policies'] = {
      policies: [policySet('a', { active: true }), policySet('b', { deployed: true })],
    }
    expect(await problemOf('policy')).toContain(
      `in force is ${hash('a')}, and the deployment carries ${hash('b')}`,
    )
    answers['/v1/policies'] = { policies: [policySet('b', { deployed: true })] }
    expect(await problemOf('policy')).toContain('no policy set is in force')
  })

  it('finds that nobody is there', async () => {
    const { code, stdout } = await aegis.run(['doctor', '--url', 'http://127.0.0.1:1'], {
      env: { AEGIS_API_KEY: apiKey('auditor', 'acme') },
    })
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(/^deployment {2}problem {2}GET .*: no answer: /),
    ])
  }, 30_000)

  it('finds what is no answer of this API', async () => {
    answers['/v1/policies'] = { policies: 'none' }
    expect(await problemOf('policy')).toContain('policies is not a list')
  })
})
