/** `aegis policy shadow report`: what was answered beside what the shadow held, of real, foreign and hostile Chains. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { RowReader } from '../../src/recheck/index.ts'
import { ShadowTally } from '../../src/cli/shadow-tally.ts'
import { Forge } from '../harness/forge.ts'
import { buildCommand } from './command.ts'
import { recordDesk } from './desk-chain.ts'

const aegis = buildCommand()
const sample = fileURLToPath(new URL('../../examples/recheck', import.meta.url))
const chain = join(sample, 'shadow.aarl')
const report = (...args: readonly string[]) => aegis.run(['policy', 'shadow', 'report', ...args])
const rowsOf = (stdout: string): readonly string[] =>
  stdout.split('\n').filter((line) => /^(?:call|row) /.test(line))

describe('the sample', () => {
  it('says what the writer records today', async () => {
    const { chain: fresh } = await recordDesk(sample)
    const ended = await report(aegis.file('fresh.aarl', fresh))
    expect(ended).toEqual(await report(chain))
    expect(ended.code).toBe(1)
  })

  it('differs where the proposal does, and not where a person has agreed', async () => {
    const { stdout, stderr } = await report(chain)
    expect(stderr).toBe('')
    expect(rowsOf(stdout).map((row) => row.replace(/^call \S+ session 0 /, ''))).toEqual([
      'seq 30: newly_parked was=allowed shadow=pending_approval by large-refunds',
      'seq 37: newly_blocked was=pending_approval shadow=denied by refund-ceiling',
      'seq 41: newly_allowed was=denied shadow=allowed by charges',
    ])
    expect(stdout).toContain(
      '\n7 compared: 4 unchanged, 1 newly_blocked, 1 newly_allowed, 1 newly_parked\ncounted apart: 2 without a shadow, ',
    )
    expect(stdout).toContain(', 1 used an approval, where the shadow asks people too\n')
    expect(stdout).toMatch(/\nallowed->pending_approval +1\ndenied->allowed +1\n/)
    expect(stdout).toMatch(/\ndesk\.refund +2 +1 +0 +1\n/)
    expect(stdout).toMatch(/\nhouse-cards +1 +0\n/)
  })

  it('is objects too, wherever --json stands', async () => {
    const { stdout } = await report('--json', chain)
    const objects = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(objects).toHaveLength(4)
    expect(objects[2]).toMatchObject({
      verdict: 'newly_allowed',
      tool_id: 'desk.charge',
      was: { status: 'denied', rules: ['house-cards'] },
      shadow: { status: 'allowed', rules: ['charges'] },
    })
    expect(objects[3]).toMatchObject({
      summary: {
        calls: 7,
        unchanged: 4,
        no_shadow: 2,
        approved_uses: 1,
        by_tool: [{ name: 'desk.charge' }, {}, {}],
      },
    })
    expect((await report(chain, '--json')).stdout).toBe(stdout)
  })

  it('has exit codes to decide a promotion by', async () => {
    const { stdout: hash } = await aegis.run(['policy', 'hash', join(sample, 'proposed')])
    const code = async (...args: readonly string[]) => (await report(...args)).code
    expect(await code('--set', hash.trim(), '--fail-on', 'newly_allowed', chain)).toBe(1)
    expect(await code('--fail-on', 'newly_allowed', '--since', '2026-11-30T12:00:09Z', chain)).toBe(3)
    const early = ['--fail-on', 'newly_allowed', '-']
    const lines = readFileSync(chain, 'utf8').split('\n')
    const input = `${lines.slice(0, 41).join('\n')}\n`
    expect((await aegis.run(['policy', 'shadow', 'report', ...early], { input })).code).toBe(0)
    // Nothing to compare proves nothing.
    expect(await code('--set', '0'.repeat(64), chain)).toBe(3)
    expect(await code(join(sample, 'chain.aarl'))).toBe(3)
    expect(await code('/nowhere')).toBe(2)
  })

  it.each([
    [['--set', 'proposed', chain], /--set .*64 lowercase hex/],
    [['--fail-on', 'unchanged', chain], /--fail-on/],
    [['--url', 'https://x.example', chain], /unknown option '--url'/],
    [[], /missing required argument 'file'/],
  ])('%j is a usage error', async (args, message) => {
    expect(await report(...args)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(message) as string,
    })
  })
})

const shadowOf = (status: string, rules: readonly string[] = []) => ({
  policy_set_hash: '1'.repeat(64),
  status,
  matched_rules: [...rules],
})

describe('a hostile Chain', () => {
  it('writes no control character and no row of the report', async () => {
    const evil = '\u001b]0;owned\u0007\u202e\r\ncall x'
    const forge = new Forge().open()
    for (const status of [evil, 'allowed', 'rate_limited']) {
      forge.outcome(`${evil}${status}`, {
        tool_id: evil.repeat(100),
        policy: { status: 'denied', reason: evil },
        decision_axes: { matched_rules: [evil], shadow: shadowOf(status, [evil, 'a', 'b', 'c', 'd']) },
      })
    }
    const file = aegis.file('evil.aarl', forge.close().raw('{"line_type":').file)
    for (const form of [[], ['--json']]) {
      const { code, stdout } = await report(...form, file)
      expect(code).toBe(3)
      expect(stdout).toMatch(/^[\n\u0020-\u007e]*$/)
    }
    const { stdout } = await report(file)
    expect(rowsOf(stdout)).toHaveLength(2)
    expect(rowsOf(stdout)[0]).toMatch(/newly_allowed was=denied shadow=allowed by \S+, a, b and 2 more$/)
    expect(stdout).toContain(', 2 that cannot be read, 1 rows that are no Line\n')
  })

  it('has as many names as it likes, and a table a thousand', () => {
    const tally = new ShadowTally()
    const digester = { sha256: () => new Uint8Array(32) } as never
    const reader = new RowReader({
      engine: {} as never,
      digester,
      policySet: () => undefined,
      envelope: () => undefined,
    })
    const forge = new Forge().open()
    for (let at = 0; at < 1_500; at += 1) {
      forge.outcome('c', {
        tool_id: `tool.${String(at)}`,
        policy: { status: 'denied', reason: 'x' },
        decision_axes: { shadow: shadowOf('allowed', [`rule-${String(at)}`]) },
      })
    }
    for (const row of forge.rows) tally.take(reader.read(row, 0, row.length))
    expect(tally.differences.newly_allowed).toBe(1_500)
    expect(tally.text).toMatch(/\n\(all others\) +0 +0 +500 +0\n/)
    expect(tally.text.split('\n').length).toBeLessThan(2_100)
  })
})
