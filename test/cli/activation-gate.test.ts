/**
 * `aegis policy push --activate` with a history, against the real system: the recheck is shown, and a bundle that newly
 * allows recorded calls which change state is not put in force, nor one of which that cannot be said.
 */
import { cpSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { type JsonObject, actionHash } from '../../src/record/index.ts'
import { Forge, sha256Hex } from '../harness/forge.ts'
import { SegmentServer, apiKey, publish } from '../harness/segment-server.ts'
import type { Ended } from './command.ts'
import { startOperating } from './operating.ts'

const test = startOperating()
const { aegis, as, done, json, path } = test
const sample = fileURLToPath(new URL('../../examples/recheck', import.meta.url))
const chain = join(sample, 'chain.aarl')
const proposed = join(sample, 'proposed')
const sampleEnvelopes = ['--envelopes', join(sample, 'envelopes')]

const push = (folder: string, ...more: readonly string[]): Promise<Ended> =>
  as('ada.key', 'policy', 'push', folder, '--activate', ...more)

async function states(): Promise<Readonly<Record<string, boolean>>> {
  const entries = await json('ada.key', 'policy', 'list')
  return Object.fromEntries(
    entries.map(({ policy_set_hash: hash, active }) => [String(hash), active === true]),
  )
}

async function hashOf(folder: string): Promise<string> {
  return (await aegis.run(['policy', 'hash', folder])).stdout.trim()
}

const changing: ReadonlySet<string> = new Set(['refund', 'charge'])
let requests = 0
/** Asks as the agent would; the request's bytes are kept as an auditor keeps them. */
async function authorize(action: string, parameters: JsonObject): Promise<string> {
  const toolCall = { tool: 'desk', action, resource: null, mutates_state: changing.has(action), parameters }
  requests += 1
  const body = JSON.stringify({
    request_id: `gate-${String(requests)}`,
    timestamp: new Date().toISOString(),
    tool_call: toolCall,
    action_hash: actionHash(toolCall, nodeSuite),
    context: { source_trust: 'semi_trusted_customer' },
  })
  writeFileSync(join(path('envelopes'), sha256Hex(body)), body)
  const answer = await fetch(`${test.system.authorizer.url}/v1/authorize`, {
    method: 'POST',
    headers: { authorization: `Bearer ${test.secret('clerk.key')}`, 'content-type': 'application/json' },
    body,
  })
  return ((await answer.json()) as { readonly decision: string }).decision
}

beforeAll(async () => {
  mkdirSync(path('envelopes'))
  mkdirSync(path('tmp'))
  const out = (name: string) => ['--out', path(name)]
  const issue = ['apikey', 'issue', '--expires', '1d']
  for (const tenant of ['acme', 'other']) {
    const key = tenant === 'acme' ? 'ada.key' : 'other-admin.key'
    await done('operator.key', 'tenant', 'create', tenant, '--admin', 'ada@example.com', ...out(key))
    const auditor = tenant === 'acme' ? 'auditor.key' : 'other-auditor.key'
    await done(key, ...issue, '--role', 'auditor', '--subject', 'al@example.com', ...out(auditor))
  }
  await done('ada.key', 'agent', 'create', 'clerk', '--owner', 'olga@example.com')
  await done(
    'ada.key',
    ...issue,
    '--role',
    'agent',
    '--agent',
    'clerk',
    '--subject',
    'clerk',
    ...out('clerk.key'),
  )
  await done('ada.key', 'group', 'set', 'managers', 'mia@example.com')
  await done('ada.key', 'policy', 'push', join(sample, 'bundle'), '--activate')
})

it('begins with a history of three calls', async () => {
  expect(await authorize('refund', { order: 'A-1', amount: 40 })).toBe('allow')
  expect(await authorize('charge', { order: 'A-2', amount: 30, card: '9000' })).toBe('deny')
  expect(await authorize('export_customers', {})).toBe('require_approval')
})

describe('with --history', () => {
  it('refuses what would newly allow a call that changes state, shows why, and has sent nothing', async () => {
    const before = await states()
    const ended = await push(proposed, '--history', chain, ...sampleEnvelopes)
    expect(ended.code).toBe(1)
    expect(ended.stdout).toContain('seq 44: newly_allowed was=denied now=allowed\n')
    expect(ended.stdout).toContain('\n\n11 rechecked: 7 unchanged, 2 newly_blocked, 1 newly_allowed')
    expect(ended.stdout).not.toContain('done')
    expect(ended.stderr).toMatch(
      /^error: nothing was pushed or put in force: policy set [0-9a-f]{64} newly allows 1 recorded call that changes state \(call_\w+\); --yes does it nevertheless\n$/,
    )
    const quiet = await push(proposed, '--history', chain, ...sampleEnvelopes, '--quiet')
    expect(quiet).toEqual({ ...ended, stdout: '' })
    expect(await states()).toEqual(before)
  })

  it('refuses it too where the bundle says that the tool no longer changes anything', async () => {
    cpSync(proposed, path('harmless'), { recursive: true })
    const tools = JSON.parse(readFileSync(join(proposed, 'tools.json'), 'utf8')) as {
      readonly desk: { readonly charge: { mutates_state: boolean } }
    }
    tools.desk.charge.mutates_state = false
    writeFileSync(join(path('harmless'), 'tools.json'), JSON.stringify(tools))
    const ended = await push(path('harmless'), '--untested', '--history', chain, ...sampleEnvelopes)
    expect([ended.code, ended.stderr]).toEqual([1, expect.stringContaining('newly allows 1 recorded call')])
  })

  it('refuses what cannot be judged, with another exit code', async () => {
    const ended = await push(proposed, '--history', chain)
    expect([ended.code, ended.stderr]).toEqual([
      3,
      expect.stringContaining(
        'may newly allow 1 recorded call that cannot be judged without --envelopes; --yes does it nevertheless',
      ),
    ])
    const torn = aegis.file('torn.aarl', `${readFileSync(chain, 'utf8')}{"line_type":\n`)
    const broken = await push(join(sample, 'bundle'), '--history', torn)
    expect([broken.code, broken.stderr]).toEqual([
      3,
      expect.stringContaining('was held against a history of which 1 row is no Line; --yes'),
    ])
  })

  it('is one JSON object a row that differs, the sums, then nothing or the acts', async () => {
    const { stdout } = await push(proposed, '--history', chain, ...sampleEnvelopes, '--json')
    const objects = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(objects.map(({ verdict }) => verdict)).toEqual([
      'newly_parked',
      'newly_blocked',
      'newly_blocked',
      'newly_allowed',
      undefined,
    ])
    expect(objects.at(-1)).toMatchObject({ summary: { calls: 11, newly_allowed: 1 } })
  })

  it('does not pass where nobody reads what it says', async () => {
    const before = await states()
    const bytes = readFileSync(chain)
    const many = aegis.file('many.aarl', Buffer.concat(Array.from({ length: 100 }, () => bytes)))
    const args = ['policy', 'push', proposed, '--activate', '--yes', '--json', ...sampleEnvelopes]
    const connection = ['--url', test.system.authorizer.url, '--key-file', path('ada.key')]
    const child = aegis.start([...args, '--history', many, ...connection])
    child.stdout?.once('data', () => child.stdout?.destroy())
    const code = await new Promise((resolve) => child.once('exit', resolve))
    expect(code).toBe(1)
    expect(await states()).toEqual(before)
  })

  it.each([
    [['--history', chain, '--auditor-key-file', 'x'], /--history and --auditor-key-file exclude each other/],
    [['--yes'], /--yes: it is for --history/],
    [['--envelopes', sample], /--envelopes: it is for --history/],
    [['--auditor-key-file', '-'], /--auditor-key-file/],
  ])('%j is a usage error', async (more, message) => {
    const ended = await push(proposed, ...more)
    expect([ended.code, ended.stdout, ended.stderr]).toEqual([1, '', expect.stringMatching(message)])
  })

  it('is for --activate only', async () => {
    const ended = await as('ada.key', 'policy', 'push', proposed, '--history', chain)
    expect([ended.code, ended.stderr]).toEqual([
      1,
      expect.stringContaining('--history: it is for --activate'),
    ])
  })
})

describe('with --auditor-key-file', () => {
  const history = (...more: readonly string[]) => ['--auditor-key-file', path('auditor.key'), ...more]

  it("takes the deployment's own Lines, and leaves nothing of them behind", async () => {
    const before = await states()
    const connection = ['--url', test.system.authorizer.url, '--key-file', path('ada.key')]
    const ended = await aegis.run(
      ['policy', 'push', proposed, '--activate', ...connection, ...history('--envelopes', path('envelopes'))],
      { env: { TMPDIR: path('tmp') } },
    )
    expect(ended.code).toBe(1)
    expect(ended.stdout).toMatch(/: newly_allowed was=denied now=allowed\n\n3 rechecked: 2 unchanged, /)
    expect(ended.stderr).toContain('newly allows 1 recorded call that changes state')
    expect(readdirSync(path('tmp'))).toEqual([])
    expect((await push(proposed, ...history())).code).toBe(3)
    expect(await states()).toEqual(before)
  })

  it('lets pass what newly allows reading only, over segments and the open Session', async () => {
    const admin = { authorization: `Bearer ${test.secret('ada.key')}` }
    const sealed = await fetch(`${test.system.authorizer.url}/v1/chain/seal`, {
      method: 'POST',
      headers: admin,
    })
    expect(sealed.status).toBe(200)
    expect(await authorize('refund', { order: 'A-3', amount: 20 })).toBe('allow')
    cpSync(join(sample, 'bundle'), path('exports'), { recursive: true })
    const tools = readFileSync(join(sample, 'bundle', 'tools.json'), 'utf8')
    const critical = '"export_customers": { "risk": "critical", "mutates_state": false }'
    expect(tools).toContain(critical)
    writeFileSync(
      join(path('exports'), 'tools.json'),
      tools.replace(critical, critical.replace('critical', 'low')),
    )
    const ended = await push(path('exports'), '--untested', ...history('--envelopes', path('envelopes')))
    expect(ended.stdout).toMatch(
      /: newly_allowed was=pending_approval now=allowed\n\n4 rechecked: 3 unchanged, /,
    )
    expect([ended.code, ended.stderr]).toEqual([0, ''])
    expect((await states())[await hashOf(path('exports'))]).toBe(true)
  })

  it('puts it in force nevertheless where that is said, and says what it is', async () => {
    const ended = await push(proposed, ...history('--yes', '--envelopes', path('envelopes')))
    expect(ended.code).toBe(0)
    expect(ended.stderr).toMatch(/^warning: policy set [0-9a-f]{64} newly allows 1 recorded call /)
    expect(ended.stdout).toMatch(/\n\ndone {2}policy set [0-9a-f]{64} pushed .*\ndone .* is in force/)
    expect((await states())[await hashOf(proposed)]).toBe(true)
  })

  it('refuses a key of another role or tenant, by the name of its flag', async () => {
    const other = await push(proposed, '--auditor-key-file', path('other-auditor.key'))
    expect([other.code, other.stderr]).toEqual([
      1,
      expect.stringMatching(/^error: --auditor-key-file: .* tenant other, and the admin's is of acme\n$/),
    ])
    const role = await push(proposed, '--auditor-key-file', path('ada.key'))
    expect([role.code, role.stderr]).toEqual([
      1,
      expect.stringMatching(/^error: --auditor-key-file: .*: this needs the key of an auditor/),
    ])
  })
})

describe('a deployment whose history does not verify', () => {
  let server: SegmentServer
  const whole = new Forge().open().intent().outcome().close().file

  beforeAll(async () => {
    const altered = Buffer.from(whole)
    altered.write('z', altered.indexOf('"tool_id":"') + 11)
    server = await SegmentServer.start(publish('acme', [altered]))
    aegis.file('fake-admin.key', apiKey('admin', 'acme'))
    aegis.file('fake-auditor.key', apiKey('auditor', 'acme'))
  })
  afterAll(() => server.end())

  it('is not pushed to', async () => {
    const keys = ['--key-file', path('fake-admin.key'), '--auditor-key-file', path('fake-auditor.key')]
    const args = ['policy', 'push', proposed, '--activate', '--yes', '--url', server.url, ...keys]
    const ended = await aegis.run(args, { env: { TMPDIR: path('tmp') } })
    expect([ended.code, ended.stdout, ended.stderr]).toEqual([
      1,
      '',
      'error: --auditor-key-file: the history cannot be used: session 0: not_verified: its Lines do not verify\n',
    ])
    expect(server.requests).toContain('/v1/chain/segments/0')
    expect(server.requests).not.toContain('/v1/policies')
    expect(readdirSync(path('tmp'))).toEqual([])
  })
})
