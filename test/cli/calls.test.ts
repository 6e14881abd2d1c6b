/** `aegis calls` against the real system, and against a deployment with 50,000 Calls in little memory. */
import { readFileSync } from 'node:fs'
import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ToolCall } from '../../src/record/index.ts'
import { apiKey } from '../harness/segment-server.ts'
import { ended } from './command.ts'
import { askAsDesk, makeDesk, startOperating } from './operating.ts'

const test = startOperating()
const { as, done, json } = test
const calls: { id: string; decision: string }[] = []

async function authorize(tool: string, action: string, parameters: ToolCall['parameters'], claimed?: string) {
  const asked = { tool, action, mutates_state: action !== 'read', parameters }
  const answer = await askAsDesk(test, asked, claimed)
  calls.push({ id: answer.call_id, decision: answer.decision })
  return answer
}

beforeAll(async () => {
  await makeDesk(test, '--role', 'assistant')
  const issue = ['apikey', 'issue', '--expires', '1d']
  await done(
    'ada.key',
    ...issue,
    '--role',
    'auditor',
    '--subject',
    'al',
    '--envelopes',
    '--out',
    test.path('auditor.key'),
  )
  await done(
    'ada.key',
    ...issue,
    '--role',
    'approver',
    '--subject',
    'lena@example.com',
    '--out',
    test.path('lena.key'),
  )
  await done('ada.key', 'group', 'set', 'approvers', 'lena@example.com')
  await authorize('files', 'read', { path: '/home/user/notes.md' })
  await done('ada.key', 'chain', 'seal')
  await authorize('files', 'read', { path: '/root/.ssh/id_rsa' })
  await authorize('no\u202esuch', 'read', {})
  await authorize('files', 'write', { path: '/tmp/x', text: 'hello' })
})

describe('aegis calls list', () => {
  it('shows what agents and administrators did, newest first', async () => {
    const rows = (await done('auditor.key', 'calls', 'list')).split('\n')
    expect(rows[0]).toMatch(/^TIME \(UTC\) +DECISION +TOOL +AGENT +CALL +REASON$/)
    expect(rows[1]).toMatch(
      /^\d{4}-\d\d-\d\dT[\d:.]+Z {2}require_approval {2}files\.write +desk +call_\w{26} {2}approval_required by changes\.semi-trusted$/,
    )
    expect(rows[3]).toMatch(/ deny +files\.read +desk +call_\w+ {2}policy_denied by secrets\.files$/)
    expect(rows.some((row) => / allow +aegis\/chain\.seal +\(ada@example\.com\) /.test(row))).toBe(true)
    expect(rows.at(-2)).toMatch(/ allow +aegis\/tenant\.create +\(operator\) /)
  })

  it('shows those that were asked for', async () => {
    expect(await done('auditor.key', 'calls', 'list', '--agent', 'desk', '-q')).toBe(
      calls
        .map(({ id }) => `${id}\n`)
        .reverse()
        .join(''),
    )
    const denied = await json(
      'auditor.key',
      'calls',
      'list',
      '--decision',
      'deny',
      '--agent',
      'desk',
      '--since',
      '1h',
    )
    expect(denied.map(({ call_id: id }) => id)).toEqual([calls[2]?.id, calls[1]?.id])
    expect(await done('auditor.key', 'calls', 'list', '--until', '1h')).toBe('')
    expect(await json('auditor.key', 'calls', 'list', '--rule', 'secrets.files')).toHaveLength(1)
    expect(await json('auditor.key', 'calls', 'list', '--limit', '2')).toHaveLength(2)
    const all = await json('auditor.key', 'calls', 'list', '--all')
    expect(await json('auditor.key', 'calls', 'list')).toEqual(all)
    expect((await as('ada.key', 'calls', 'list')).stderr).toContain('this needs the key of an auditor')
  })
})

describe('aegis calls show', () => {
  it('explains a denial', async () => {
    const text = await done('auditor.key', 'calls', 'show', calls[1]?.id ?? '')
    expect(text).toMatch(
      /^call_\w+ {2}\d{4}-.*Z {2}session \d+ seq \d+\n\nwho asked: the agent\n {4}\| "desk"\nin the roles\n {4}\| "assistant"\nfor whom, as the agent said\n {4}\| "u1"\nwhat was asked\n {4}\| "files\.read"\n/,
    )
    expect(text).toContain('what was derived of it\n')
    expect(text).toContain('    | /fs/path = "/root/.ssh/id_rsa"\n')
    expect(text).toContain(
      'what was claimed otherwise, and did not count\n    | /source_trust = "trusted_internal_signed"\n',
    )
    expect(text).toContain(
      'decision deny: policy_denied\nin words\n    | "keys and passwords are kept there"\n',
    )
    expect(text).toContain('rules that determined it\n    | "secrets.files"\n')
    expect(text).toMatch(/\nline_hash {7}[0-9a-f]{64}\nkey_id {10}[0-9a-f]{64}\n/)
  })

  it('explains what waited for a person, and who approved it', async () => {
    const asked = await authorize('files', 'write', { path: '/tmp/y', text: 'hello' })
    const { approval_id: id = '', binding_hash: binding = '' } = asked.approval ?? {}
    expect(await done('auditor.key', 'calls', 'show', asked.call_id)).toContain(
      `waits for approval ${id} by approvers\n`,
    )
    await done('lena.key', 'approvals', 'approve', id, '--binding', binding)
    expect(await done('auditor.key', 'calls', 'show', asked.call_id)).toMatch(
      new RegExp(`\\nbehind it, about it\\n {2}\\d{4}-.*Z {2}decision {2}${id} {2}approved\\n`),
    )
  })

  it('explains an act, in an earlier Session', async () => {
    const [act] = await json('auditor.key', 'calls', 'list', '--tool', 'aegis/agent.create')
    const text = await done('auditor.key', 'calls', 'show', String(act?.['call_id']))
    expect(text).toMatch(
      /\nwho did it\n {4}\| admin "ada@example\.com" with key [0-9a-z]{16}\nwhat was asked\n {4}\| "aegis\/agent\.create"\n/,
    )
    expect(text).toContain('came out as success\n')
  })

  it('prints the receipt, which verifies', async () => {
    const line = await done('auditor.key', 'calls', 'show', calls[0]?.id ?? '', '--line')
    expect(JSON.parse(line)).toMatchObject({ line_type: 'outcome', call_id: calls[0]?.id })
    const [object] = await json('auditor.key', 'calls', 'show', calls[0]?.id ?? '')
    expect(`${String(object?.['outcome'])}\n`).toBe(line)
  })

  it('says that there is no such Call', async () => {
    const none = await as('auditor.key', 'calls', 'show', `call_${'0'.repeat(26)}`)
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('404 not_found')])
    expect((await as('auditor.key', 'calls', 'show', 'x')).code).toBe(1)
  })
})

describe('aegis calls tail', () => {
  it('shows the last, and each that comes, once and in order', async () => {
    const child = test.aegis.start(
      [
        'calls',
        'tail',
        '-n',
        '2',
        '--interval',
        '1',
        '--agent',
        'desk',
        '-q',
        '--url',
        test.system.authorizer.url,
      ],
      { env: { AEGIS_API_KEY: test.secret('auditor.key') } },
    )
    let seen = ''
    child.stdout?.on('data', (piece: Buffer) => (seen += piece.toString()))
    const until = async (id: string) => {
      for (let at = 0; !seen.includes(id); at += 1) {
        if (at > 200) throw new Error(`${id} is not in ${seen}`)
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
    const last = calls.slice(-2).map(({ id }) => id)
    await until(last[1] ?? '')
    const came: string[] = []
    for (let at = 0; at < 3; at += 1)
      came.push((await authorize('files', 'read', { path: `/tmp/${String(at)}` })).call_id)
    await until(came[2] ?? '')
    const more = (await authorize('files', 'read', { path: '/tmp/more' })).call_id
    await until(more)
    child.kill('SIGINT')
    await ended(child)
    expect(seen.trim().split('\n')).toEqual([...last, ...came, more])
  })
})

describe('50,000 Calls', () => {
  const total = 50_000
  let server: Server
  let url = ''
  let pages = 0

  beforeAll(async () => {
    const sample = (at: number) => ({
      call_id: `call_${String(at).padStart(26, '0')}`,
      session_index: Math.floor(at / 1_000),
      seq: 2 + 2 * (at % 1_000),
      decided_at: '2026-11-30T12:00:00.000Z',
      tool_id: 'files.read',
      agent: 'desk',
      decision: 'allow',
      reason: { code: 'permitted', detail: 'x'.repeat(400) },
      matched_rules: ['reads.allowed'],
      policy_set_hash: '0'.repeat(64),
    })
    server = createServer((request, response) => {
      const { searchParams } = new URL(request.url ?? '', 'http://localhost')
      const [session, seq] = (searchParams.get('after') ?? '50:2').split(':').map(Number)
      const from = (session ?? 0) * 1_000 + ((seq ?? 2) - 2) / 2
      const limit = Number(searchParams.get('limit'))
      pages += 1
      const found = Array.from({ length: Math.min(limit, from) }, (_, at) => sample(from - 1 - at))
      const last = found.at(-1)
      const next =
        last === undefined || last.call_id.endsWith('0'.repeat(26))
          ? {}
          : { next: `${String(last.session_index)}:${String(last.seq)}` }
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(
        JSON.stringify({ calls: found, ...next, head: '49:2001', scanned: { sessions: 1, bytes: 1 } }),
      )
    })
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve)
    })
    url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`
  })
  afterAll(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })

  it('are listed in a heap that could not hold them, the last hundred in one page', async () => {
    // 50,000 of these entries are some 35 MB of JSON, and several times that as objects.
    const env = { AEGIS_API_KEY: apiKey('auditor', 'acme'), NODE_OPTIONS: '--max-old-space-size=40' }
    const listed = await test.aegis.run(['calls', 'list', '--all', '--json', '--url', url], { env })
    expect([listed.code, listed.stderr]).toEqual([0, ''])
    expect(listed.stdout.split('\n')).toHaveLength(total + 1)
    expect(pages).toBe(50)
    pages = 0
    const last = await test.aegis.run(['calls', 'list', '-q', '--url', url], { env })
    expect(last.stdout.split('\n').slice(0, -1)).toEqual(
      Array.from({ length: 100 }, (_, at) => `call_${String(total - 1 - at).padStart(26, '0')}`),
    )
    expect(pages).toBe(1)
  })
})

describe('aegis envelope', () => {
  it('gets the bytes of a request, and erases them for good', async () => {
    const line = await done('auditor.key', 'calls', 'show', calls[0]?.id ?? '', '--line')
    const { request_digest: digest } = JSON.parse(line) as { readonly request_digest: string }
    const sent = await done('auditor.key', 'envelope', 'get', digest)
    expect(JSON.parse(sent)).toMatchObject({ tool_call: { parameters: { path: '/home/user/notes.md' } } })
    await done('auditor.key', 'envelope', 'get', digest, '--out', test.path('request.json'))
    expect(readFileSync(test.path('request.json'), 'utf8')).toBe(sent)
    expect(await done('ada.key', 'envelope', 'erase', digest)).toMatch(
      /^done {2}the bytes of request [0-9a-f]{64} are erased {2}revision/,
    )
    expect(await done('ada.key', 'envelope', 'erase', digest)).toMatch(/^unchanged /)
    const gone = await as('auditor.key', 'envelope', 'get', digest)
    expect([gone.code, gone.stderr]).toEqual([1, expect.stringContaining('410 envelope_erased')])
  })
})

describe('aegis doctor', () => {
  it('finds the real deployment well, for each role', async () => {
    for (const [key, role] of [
      ['auditor.key', 'auditor of acme'],
      ['ada.key', 'admin of acme'],
      ['lena.key', 'approver of acme'],
      ['desk.key', 'agent of acme'],
      ['operator.key', 'operator'],
    ] as const) {
      const { stdout } = await as(key, 'doctor')
      expect(stdout).toMatch(
        /^deployment {2}ok .*\nclock {7}unknown {2}the answer has no Date\nbindings {4}ok /,
      )
      expect(stdout).toContain(role)
    }
    // Keys of a day are about to expire. A deployment on the edge dates its answers; this one does not.
    expect((await as('auditor.key', 'doctor')).code).toBe(1)
    expect((await as('ada.key', 'doctor', '--json')).code).toBe(0)
  })
})

describe('what was printed', () => {
  it('has none of the secrets', () => {
    for (const name of ['operator.key', 'ada.key', 'desk.key', 'auditor.key', 'lena.key']) {
      expect(test.printed.join('\n')).not.toContain(test.secret(name).slice(-52))
    }
  })
})
