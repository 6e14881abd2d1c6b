/**
 * What commands say when a deployment refuses, lies or answers with something else: one line on stderr, an exit code, no
 * secret, nothing on stdout. And what no command says anywhere.
 */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { SegmentServer, answerJson, answerProblem, apiKey, publish } from '../harness/segment-server.ts'
import { type Ended, buildCommand } from './command.ts'

const aegis = buildCommand()
const planted = apiKey('admin', 'acme')
const operator = `aegis_operator_${planted.slice(-52)}`
const secret = planted.slice(-52)
const id = `apr_${'0'.repeat(26)}`
const hash = 'a'.repeat(64)
let server: SegmentServer
/** What every request is answered with. */
let answer: { readonly status: number; readonly code?: string; readonly body?: unknown }

beforeAll(async () => {
  server = await SegmentServer.start(publish('acme', []))
  server.trick = (_request, response) => {
    if (answer.status === 200) answerJson(response, answer.body)
    else answerProblem(response, answer.status, answer.code ?? '', `no: ${planted}\u001b[2J`)
    return true
  }
})
afterAll(() => server.end())
beforeEach(() => {
  answer = { status: 409, code: 'already_exists' }
  server.requests.length = 0
})

const folder = 'policies/default'
const keyOut = () => join(aegis.folder, 'made.key')
/** Each command that talks to a deployment, by the role whose key it takes. */
const commands: readonly (readonly [role: string, ...args: string[]])[] = [
  ['operator', 'tenant', 'create', 'acme', '--admin', 'a', '--out', 'KEY'],
  ['operator', 'tenant', 'list'],
  ['operator', 'tenant', 'show', 'acme'],
  ['operator', 'tenant', 'freeze', 'acme'],
  ['operator', 'tenant', 'unfreeze', 'acme'],
  ['operator', 'tenant', 'recover', 'acme'],
  [
    'operator',
    'apikey',
    'issue',
    '--tenant',
    'acme',
    '--role',
    'admin',
    '--subject',
    'x',
    '--expires',
    '1d',
    '--print',
  ],
  ['admin', 'agent', 'create', 'desk', '--owner', 'x'],
  ['admin', 'agent', 'change', 'desk', '--owner', 'x'],
  ['admin', 'agent', 'freeze', 'desk'],
  ['admin', 'agent', 'unfreeze', 'desk'],
  ['admin', 'agent', 'revoke', 'desk'],
  ['admin', 'agent', 'list'],
  ['admin', 'agent', 'show', 'desk'],
  ['admin', 'group', 'set', 'leads', 'x'],
  ['admin', 'group', 'list'],
  ['admin', 'apikey', 'issue', '--role', 'auditor', '--subject', 'x', '--expires', '1d', '--out', 'KEY'],
  ['admin', 'apikey', 'confirm', '0'.repeat(16)],
  ['admin', 'apikey', 'revoke', '0'.repeat(16)],
  ['admin', 'apikey', 'list'],
  ['admin', 'tool', 'freeze', 'a.b'],
  ['admin', 'tool', 'unfreeze', 'a.b'],
  ['admin', 'tool', 'list'],
  ['admin', 'freeze'],
  ['admin', 'policy', 'push', folder],
  ['admin', 'policy', 'activate', hash],
  ['admin', 'policy', 'rollback'],
  ['admin', 'policy', 'list'],
  ['admin', 'policy', 'diff', folder, hash],
  ['admin', 'policy', 'shadow', 'off'],
  ['admin', 'chain', 'seal'],
  ['admin', 'chain', 'rotate-key'],
  ['auditor', 'chain', 'head'],
  ['auditor', 'envelope', 'get', hash],
  ['admin', 'envelope', 'erase', hash],
  ['approver', 'approvals', 'list'],
  ['approver', 'approvals', 'show', id],
  ['approver', 'approvals', 'approve', id, '--binding', hash],
  ['approver', 'approvals', 'deny', id, '--binding', hash],
  ['approver', 'approvals', 'withdraw', id, '--binding', hash],
  ['admin', 'approvals', 'cancel', id],
  ['auditor', 'calls', 'list'],
  ['auditor', 'calls', 'show', `call_${'0'.repeat(26)}`],
]

async function run([role, ...args]: readonly string[]): Promise<Ended> {
  const key = role === 'operator' ? operator : apiKey(role ?? '', 'acme')
  const given = args.map((word) => (word === 'KEY' ? keyOut() : word))
  const ended = await aegis.run([...given, '--url', server.url], {
    env: { AEGIS_API_KEY: key, AEGIS_OPERATOR_KEY: operator },
    cwd: process.cwd(),
  })
  expect(`${ended.stdout}${ended.stderr}`).not.toContain(secret)
  return ended
}

describe('a refusal', () => {
  it.each(commands)('of %s %s %s names code, detail and Call, and holds no secret', async (...command) => {
    const { code, stdout, stderr } = await run(command)
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(
      /^error: (GET|POST|PUT|DELETE) http\S+: 409 already_exists: no: .* \(call_id call_1\)\n$/,
    )
    expect(stderr).not.toContain('\u001b')
    expect(() => statSync(keyOut())).toThrow('ENOENT')
  })

  it.each(commands)('of %s %s %s is no answer of this API: exit 2', async (...command) => {
    answer = { status: 200, body: { outcome: 5, next: 1, call: 1, deployed: 1 } }
    const { code, stdout, stderr } = await run(command)
    // Bytes are what they are; whoever asked for them hashes them.
    const isBytes = command[1] === 'chain' && command[2] === 'head'
    const isHashed = (command[1] === 'envelope' && command[2] === 'get') || command[2] === 'diff'
    if (isBytes) return
    expect([code === 2 || isHashed, stdout]).toEqual([true, ''])
    expect(stderr).toMatch(/^error: .*\n$/)
    expect(() => statSync(keyOut())).toThrow('ENOENT')
  })
})

describe('a request that changes something', () => {
  it('is not sent twice where a repeat would do it twice', async () => {
    answer = { status: 500, code: 'internal_error' }
    for (const command of [
      ['admin', 'agent', 'create', 'desk', '--owner', 'x'],
      ['admin', 'apikey', 'issue', '--role', 'auditor', '--subject', 'x', '--expires', '1d', '--print'],
      ['admin', 'chain', 'rotate-key'],
    ]) {
      server.requests.length = 0
      expect((await run(command)).code).toBe(2)
      expect(server.requests).toHaveLength(1)
    }
  })

  it('names people and agents as they are, also where a path has other rules', async () => {
    await run(['admin', 'agent', 'freeze', 'a/../b?c#d'])
    expect(server.requests).toEqual(['/v1/agents/a%2F..%2Fb%3Fc%23d/freeze'])
  })
})

describe('a list', () => {
  it('that goes in a circle ends', async () => {
    answer = { status: 200, body: { tenants: [{ tenant: 'acme' }], next: 'acme' } }
    const { code, stderr } = await run(['operator', 'tenant', 'list'])
    expect([code, stderr]).toEqual([2, "error: the deployment's list does not go on behind a page\n"])
    expect(server.requests).toHaveLength(2)
  })

  it('shows what others wrote on its own line, and nothing that a terminal obeys', async () => {
    const hostile = 'x\nadmin  live\u001b[2J\u202e'
    answer = {
      status: 200,
      body: {
        agents: [
          {
            id: hostile,
            owner: hostile,
            trust_max: hostile,
            roles: [hostile],
            frozen: false,
            revoked: false,
          },
        ],
      },
    }
    const { code, stdout } = await run(['admin', 'agent', 'list'])
    expect(code).toBe(0)
    expect(stdout.split('\n')).toHaveLength(3)
    expect(stdout).not.toContain('\u001b')
    expect(stdout).toContain('x\\u{a}admin \\u{20}live\\u{1b}[2J\\u{202e}')
  })
})

describe('a secret', () => {
  const issued = {
    outcome: 'done',
    revision: 1,
    call_id: `call_${'0'.repeat(26)}`,
    key_id: '0'.repeat(16),
    confirmed: true,
    key: planted,
    admin_key: planted,
    policy_set_hash: hash,
  }

  it('goes into its file only, whatever else is asked for', async () => {
    answer = { status: 200, body: issued }
    for (const more of [[], ['--json'], ['-q']]) {
      for (const command of [
        ['operator', 'tenant', 'create', 'acme', '--admin', 'x'],
        ['admin', 'apikey', 'issue', '--role', 'auditor', '--subject', 'x', '--expires', '1d'],
      ]) {
        const out = join(aegis.folder, `secret-${String(more.length)}${more.join('')}-${command[1] ?? ''}`)
        const { code, stderr } = await run([...command, '--out', out, ...more])
        expect([code, stderr]).toEqual([0, ''])
        expect([readFileSync(out, 'utf8'), statSync(out).mode & 0o777]).toEqual([`${planted}\n`, 0o600])
      }
    }
  })

  it('is in the one JSON object where stdout was asked for', async () => {
    answer = { status: 200, body: issued }
    const { stdout, stderr } = await aegis.run(
      [
        'apikey',
        'issue',
        '--role',
        'auditor',
        '--subject',
        'x',
        '--expires',
        '1d',
        '--print',
        '--json',
        '--url',
        server.url,
      ],
      { env: { AEGIS_API_KEY: planted } },
    )
    expect(JSON.parse(stdout)).toMatchObject({ key: planted, key_id: '0'.repeat(16) })
    expect(stderr).toBe('')
  })

  it('that is given where a name belongs is not said again', async () => {
    for (const command of [
      ['admin', 'apikey', 'revoke', planted],
      ['admin', 'agent', planted],
      ['admin', planted],
      ['admin', 'agent', 'list', `--${planted}`],
      ['admin', 'approvals', 'show', planted],
      ['admin', 'agent', 'list', planted],
      ['admin', 'apikey', 'issue', '--role', planted, '--subject', 'x', '--expires', '1d', '--print'],
    ]) {
      expect((await run(command)).code).toBe(1)
    }
    expect(server.requests).toEqual([])
  })
})
