/** `aegis policy validate | test | hash | schema | explain`, as their users run them. */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { buildCommand } from './command.ts'

const aegis = buildCommand()
const airline = fileURLToPath(new URL('../../policies/examples/airline', import.meta.url))

/** A small bundle with the given files over it. */
function bundle(name: string, files: Readonly<Record<string, string>> = {}): string {
  const folder = join(aegis.folder, name)
  const all: Record<string, string> = {
    'tools.json': JSON.stringify({
      shop: {
        look: { risk: 'low', mutates_state: false },
        buy: {
          risk: 'medium',
          mutates_state: true,
          args: { total: { at: '/total', type: 'integer', required: true } },
        },
      },
    }),
    'settings.json': JSON.stringify({ approver_groups: { ops: { quorum: 1 } }, default_group: 'ops' }),
    'shop.cedar':
      '// Permits looking.\n@id("look") @reason("looking is free")\npermit (principal, action == Action::"shop.look", resource);\n',
    'cases/shop.json': JSON.stringify([
      {
        name: 'looks',
        request: { tool_call: { tool: 'shop', action: 'look' }, context: { source_trust: 'unknown' } },
        expect: { decision: 'allow' },
      },
    ]),
    ...files,
  }
  for (const [file, text] of Object.entries(all)) {
    mkdirSync(join(folder, file, '..'), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  return folder
}

const sound = bundle('sound')
const misspelt = bundle('misspelt', {
  'buy.cedar':
    '// Permits small purchases.\n@id("buy")\npermit (principal, action == Action::"shop.buy", resource)\nunless { context.args has totl && context.args.totl > 100 };\n',
})

interface Validated {
  readonly valid: boolean
  readonly policy_set_hash: string | null
  readonly findings: readonly {
    readonly code: string
    readonly file: string
    readonly line: number
    readonly fix: string
  }[]
}

describe('aegis policy validate', { timeout: 60_000 }, () => {
  it('says that a bundle is valid, and its hash', async () => {
    const { code, stdout, stderr } = await aegis.run(['policy', 'validate', airline])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(
      /^valid {2}\S+: no findings\n14 actions, \d+ policies, \d+ cases\npolicy_set_hash [0-9a-f]{64}\n$/,
    )
  })

  it('names file, line, policy and what to do, and exits with 1', async () => {
    const { code, stdout, stderr } = await aegis.run(['policy', 'validate', misspelt])
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
    expect(stdout).toContain(
      `${misspelt}/buy.cedar:4  error unknown_argument\n    buy: uses context.args.totl`,
    )
    expect(stdout).toContain('did you mean `total`?')
    expect(stdout).toMatch(/\ninvalid {2}.*: \d error/)
    const json = await aegis.run(['policy', 'validate', '--json', misspelt])
    expect(json.code).toBe(1)
    const said = JSON.parse(json.stdout) as Validated
    expect(said).toMatchObject({ valid: false, policy_set_hash: null })
    expect(said.findings).toContainEqual(
      expect.objectContaining({ code: 'unknown_argument', file: 'buy.cedar', line: 4, policy_id: 'buy' }),
    )
  })

  it('exits with 0 for warnings only', async () => {
    const folder = bundle('warned', { 'settings.json': '{}' })
    const { code, stdout } = await aegis.run(['policy', 'validate', folder])
    expect(code).toBe(0)
    expect(stdout).toContain('warning no_default_group')
    expect(stdout).toContain('1 warning\n')
  })

  it('shows nothing of a file that a terminal would obey', async () => {
    const folder = bundle('hostile', {
      'evil\u001b[2J.txt': '',
      'x.cedar': '@id("\u001b[31m") permit (principal, action, resource);',
    })
    const { code, stdout } = await aegis.run(['policy', 'validate', folder])
    expect(code).toBe(1)
    expect(stdout).not.toContain('\u001b')
    expect(stdout).toContain('\\u{1b}')
  })

  it.each([
    ['no folder', ['policy', 'validate', 'nowhere'], 'there is no such file'],
    ['a file', ['policy', 'validate', join(airline, 'tools.json')], 'is a file; name the folder'],
  ])('%s is unreadable: exit 2', async (_, args, why) => {
    const { code, stdout, stderr } = await aegis.run(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(why)
    expect(stderr).toMatch(/^error: [^\n]*\n$/)
  })

  it('an empty folder is unreadable', async () => {
    mkdirSync(join(aegis.folder, 'void'))
    expect((await aegis.run(['policy', 'validate', 'void'])).code).toBe(2)
  })
})

describe('aegis policy test', { timeout: 60_000 }, () => {
  it('passes, a row a case', async () => {
    const { code, stdout, stderr } = await aegis.run(['policy', 'test', sound])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toBe(
      'cases/shop.json\n  pass  looks  allow             look\npassed  1 case: 1 passed, 0 failed\n',
    )
  })

  it('fails with what differs, and exits with 1', async () => {
    const request = {
      tool_call: { tool: 'shop', action: 'buy', parameters: { total: 1 } },
      context: { source_trust: 'unknown' },
    }
    const folder = bundle('failing', {
      'cases/wrong.json': JSON.stringify([
        { name: 'buys', request, expect: { decision: 'allow', matched_rules: ['buy'] } },
      ]),
    })
    const { code, stdout } = await aegis.run(['policy', 'test', folder])
    expect(code).toBe(1)
    expect(stdout).toContain('  FAIL  buys')
    expect(stdout).toContain('decision: want allow, got deny')
    expect(stdout).toContain('matched_rules: want buy, got none')
    expect(stdout).toContain('FAILED  2 cases: 1 passed, 1 failed\n')
    const json = await aegis.run(['policy', 'test', folder, '--json'])
    expect(json.code).toBe(1)
    expect(JSON.parse(json.stdout)).toMatchObject({
      passed: 1,
      failed: 1,
      cases: [
        { passed: true },
        { name: 'buys', passed: false, got: { decision: 'deny', code: 'no_policy_permits' } },
      ],
    })
  })

  it('does not pass a bundle that asks nothing, nor one with an error', async () => {
    const silent = await aegis.run(['policy', 'test', bundle('silent', { 'cases/shop.json': '[]' })])
    expect(silent).toMatchObject({ code: 1, stdout: '' })
    expect(silent.stderr).toContain('has no cases')
    const wrong = await aegis.run(['policy', 'test', misspelt])
    expect(wrong).toMatchObject({ code: 1, stdout: '' })
    expect(wrong.stderr).toContain('unknown_argument')
  })
})

describe('aegis policy hash', { timeout: 60_000 }, () => {
  it('is the SHA-256 of the object that it prints, and does not move under comments and file splits', async () => {
    const { code, stdout: hash } = await aegis.run(['policy', 'hash', sound])
    expect(code).toBe(0)
    expect(hash).toMatch(/^[0-9a-f]{64}\n$/)
    const object = await aegis.run(['policy', 'hash', '--object', sound])
    expect(createHash('sha256').update(object.stdout).digest('hex')).toBe(hash.trim())
    const moved = bundle('moved', {
      'shop.cedar': '// Nothing.\r\n',
      'other.cedar':
        '// Permits looking.\r\n@reason("looking is free")\r\n@id("look")\r\npermit (principal,\r\n action == Action::"shop.look", resource) ;',
    })
    const json = await aegis.run(['policy', 'hash', '--json', moved])
    expect(JSON.parse(json.stdout)).toEqual({
      policy_set_hash: hash.trim(),
      object_bytes: Buffer.byteLength(object.stdout),
    })
  })

  it('refuses two forms at once', async () => {
    expect(await aegis.run(['policy', 'hash', '--json', '--object', sound])).toMatchObject({
      code: 1,
      stdout: '',
    })
  })
})

describe('aegis policy schema', { timeout: 60_000 }, () => {
  it('prints the schema in both forms', async () => {
    const text = await aegis.run(['policy', 'schema', sound])
    expect(text).toMatchObject({ code: 0, stderr: '' })
    expect(text.stdout).toContain('entity Agent in [Role]')
    expect(text.stdout).toMatch(/action "shop\.buy" in \[.*Action::"mutating"/)
    const json = await aegis.run(['policy', 'schema', '--json', sound])
    expect(JSON.parse(json.stdout)).toMatchObject({ '': { actions: { 'shop.buy': {} } } })
  })
})

describe('aegis policy explain', { timeout: 60_000 }, () => {
  const cases = JSON.parse(readFileSync(join(airline, 'cases/bookings.json'), 'utf8')) as readonly {
    readonly name: string
    readonly request: object
  }[]
  const above = cases.find(({ name }) => name === '501 for a customer')
  if (above === undefined) throw new Error('the airline has lost a case')

  it('shows the decision, the policies, the overrides and the context of a case', async () => {
    const file = aegis.file('case.json', JSON.stringify({ ...above, now: '2026-01-02T03:04:05Z' }))
    const { code, stdout, stderr } = await aegis.run(['policy', 'explain', airline, file])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^require_approval\n/)
    expect(stdout).toContain('asks        service-desk, quorum 1')
    expect(stdout).toContain('booking-above-total  (permit, once approved)')
    expect(stdout).toContain('args.total  {"long":"501"}')
    expect(stdout).toMatch(/args\.payment_ids {2}\{"digest":"[0-9a-f]{64}"\}/)
    expect(stdout).toContain('now  {"datetime":"2026-01-02T03:04:05.000Z"}')
    expect(stdout).not.toContain('credit_card')
  })

  it('takes an authorize body from standard input; exit 0 whatever the decision', async () => {
    const body = { ...above.request, context: { source_trust: 'untrusted_external' } }
    const { code, stdout } = await aegis.run(['policy', 'explain', '--json', airline, '-'], {
      input: JSON.stringify(body),
    })
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      decision: 'deny',
      code: 'policy_denied',
      policies: [{ id: 'untrusted-changes', effect: 'forbid', reason: expect.any(String) as string }],
      decision_axes: { context: { args: { total: { long: '501' } } } },
    })
  })

  it.each([
    ['no JSON', 'nonsense', 2, 'is not a request'],
    ['no request', '{}', 1, 'is not a request'],
    [
      'another trust',
      '{"tool_call":{"tool":"a","action":"b"},"context":{"source_trust":"good"}}',
      1,
      'is not a trust level',
    ],
    [
      'another time',
      '{"request":{"tool_call":{"tool":"a","action":"b"},"context":{"source_trust":"unknown"}},"now":"noon"}',
      1,
      'is not a time',
    ],
  ])('%s is refused', async (_, input, code, why) => {
    const ended = await aegis.run(['policy', 'explain', sound, '-'], { input })
    expect(ended).toMatchObject({ code, stdout: '' })
    expect(ended.stderr).toContain(why)
  })
})

it('hidden files are no part of a bundle', { timeout: 60_000 }, async () => {
  const folder = join(aegis.folder, 'hidden')
  cpSync(sound, folder, { recursive: true })
  writeFileSync(join(folder, '.DS_Store'), 'x')
  expect((await aegis.run(['policy', 'validate', folder])).stdout).toContain('no findings')
})
