/** `aegis inspect`: rows for people, JSON for programs, nothing verified, nothing obeyed. */
import { describe, expect, it } from 'vitest'
import { buildChain } from '../harness/chain.ts'
import { Forge, forgeKey } from '../harness/forge.ts'
import { vectorPath } from '../harness/vector-files.ts'
import { buildCommand, ended } from './command.ts'

const aegis = buildCommand()
const notVerified = 'aegis inspect: nothing was verified; aegis verify does that\n'
const example = vectorPath('11/final.aarl')

interface Listed {
  readonly row: number
  readonly broken?: string
  readonly session_index: number | null
  readonly seq: number | null
  readonly time: number | null
  readonly line_type: string | null
  readonly call_id: string | null
  readonly tool_id: string | null
  readonly agent_id: string | null
  readonly status: string | null
  readonly reason: string | null
  readonly line: Readonly<Record<string, unknown>>
}

async function list(...args: string[]): Promise<Listed[]> {
  const { stdout } = await aegis.run(['inspect', '--json', ...args])
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Listed)
}

describe('aegis inspect', () => {
  it('shows a row a Line, times in UTC, and says that nothing was verified', async () => {
    const { code, stdout, stderr } = await aegis.run(['inspect', example], { env: { TZ: 'Asia/Kathmandu' } })
    expect({ code, stderr }).toEqual({ code: 0, stderr: notVerified })
    const rows = stdout.trimEnd().split('\n')
    expect(rows).toHaveLength(1 + 13)
    expect(rows[0]?.split(/ {2,}/)).toEqual([
      'SESSION',
      'SEQ',
      'TIME (UTC)',
      'TYPE',
      'STATUS',
      'TOOL',
      'AGENT',
      'CALL',
      'REASON',
    ])
    expect(rows[5]?.split(/ {2,}/)).toEqual([
      '0',
      '4',
      '2026-11-30T09:05:00.012Z',
      'outcome',
      'pending_approval',
      'github.merge_pr',
      'ci-merger',
      'call_1ssrveznb63jw6s1p11gkwd0kp',
      'apr_y06rw2qp94r64v1evz43axhrv0',
    ])
    expect(rows[10]?.split(/ {2,}/).slice(0, 5)).toEqual([
      '1',
      '1',
      '2026-11-30T09:12:00.000Z',
      'decision',
      'approved',
    ])
  })

  it('gives every Line whole as JSON', async () => {
    const listed = await list(example)
    expect(listed.map(({ row }) => row)).toEqual(Array.from({ length: 13 }, (_, at) => at + 1))
    expect(listed[3]).toMatchObject({
      session_index: 0,
      seq: 3,
      time: null,
      line_type: 'intent',
      call_id: 'call_1ssrveznb63jw6s1p11gkwd0kp',
      status: null,
    })
    expect(listed[4]?.line).toMatchObject({ line_type: 'outcome', policy: { status: 'pending_approval' } })
  })

  it('filters by call, tool, agent and status, and by all of them at once', async () => {
    const all = await list(example)
    const callId = 'call_0g3rt1esa72prv3ectq7fdhmjv'
    const kept = async (...args: string[]): Promise<number[]> =>
      (await list(...args, example)).map(({ row }) => row)
    const rowsWhere = (keep: (line: Listed) => boolean): number[] => all.filter(keep).map(({ row }) => row)
    expect(await kept('--call', callId)).toEqual(rowsWhere((line) => line.call_id === callId))
    expect(await kept('--tool', 'github.merge_pr')).toEqual([4, 5, 11, 12])
    expect(await kept('--agent', 'ci-merger')).toEqual(rowsWhere((line) => line.agent_id === 'ci-merger'))
    expect(await kept('--status', 'allowed')).toEqual([3, 7, 12])
    expect(await kept('--status', 'allowed', '--tool', 'github.merge_pr')).toEqual([12])
    expect(await kept('--status', 'allow')).toEqual([])
  })

  it('reads files one behind the other, and standard input', async () => {
    const chain = buildChain({ seed: 3 })
    const [first, second] = chain.files.map((bytes, at) => aegis.file(`part-${String(at)}.aarl`, bytes))
    const whole = await aegis.run(['inspect', '-'], { input: chain.bytes })
    expect(await aegis.run(['inspect', first ?? '', second ?? ''])).toEqual(whole)
    expect(whole.stdout.trimEnd().split('\n')).toHaveLength(chain.lines.length + 1)
  })

  it('goes on behind rows that are no Lines, shows them whatever the filter, and exits with 3', async () => {
    const forge = new Forge({ key: forgeKey(7) }).open()
    const rows = [
      forge.rows[0] ?? '',
      'not JSON',
      '[1]',
      '{"seq":1.5}',
      '{"seq":1,"seq":1}',
      '\u0000',
      `"${'x'.repeat(70_000)}"`,
      '{}',
    ]
    const bytes = Buffer.concat(rows.flatMap((row) => [Buffer.from(row), Buffer.from('\n')]))
    const file = aegis.file('broken.aarl', Buffer.concat([bytes, Buffer.of(0x22, 0xff)]))
    const { code, stdout, stderr } = await aegis.run(['inspect', file])
    expect(code).toBe(3)
    expect(stderr).toBe(`${notVerified}aegis inspect: rows that are no Lines: 7\n`)
    expect(stdout.split('\n').slice(1)).toEqual([
      expect.stringMatching(/^0 +0 +- +open /),
      'row 2 is no Line: malformed_line',
      'row 3 is no Line: not_an_object',
      'row 4 is no Line: value_not_allowed',
      'row 5 is no Line: not_canonical',
      'row 6 is no Line: malformed_line',
      'row 7 is no Line: line_too_long',
      expect.stringMatching(/^0 +- +- +- +- /),
      'row 9 is no Line: not_utf8',
      '',
    ])
    const listed = await list('--tool', 'none', file)
    expect(listed.map(({ row, broken }) => [row, broken])).toContainEqual([7, 'line_too_long'])
    expect(listed).toHaveLength(7)
  })

  it('lets no value of a file write a row or reach the terminal', async () => {
    const evil = 'x\n0  1  forged\u001b[2J\u202e\u0007\\'
    const forge = new Forge({ key: forgeKey(7) })
      .open()
      .outcome(evil, { tool_id: evil, agent_id: evil, policy: { status: 'denied', reason: `r${evil}` } })
      .line(evil, {}, true)
    const { stdout } = await aegis.run(['inspect', aegis.file('evil.aarl', forge.file)], {
      env: { FORCE_COLOR: '1' },
    })
    expect(stdout).toMatch(/^[\n\u0020-\u007e]*$/)
    expect(stdout.trimEnd().split('\n')).toHaveLength(1 + 3)
    expect(stdout).toContain('x\\u{a}0\\u{20}\\u{20}1\\u{20}\\u{20}forged\\u{1b}[2J\\u{202e}\\u{7}\\\\')
    const json = await aegis.run(['inspect', '--json', aegis.file('evil.aarl', forge.file)])
    expect(json.stdout).toMatch(/^[\n\u0020-\u007e]*$/)
  })

  it('shows a time that no date can hold as the number that it is', async () => {
    const forge = new Forge({ key: forgeKey(7) }).open({ opened_at: Number.MAX_SAFE_INTEGER })
    const { stdout } = await aegis.run(['inspect', aegis.file('late.aarl', forge.file)])
    expect(stdout).toContain(String(Number.MAX_SAFE_INTEGER))
  })

  it('ends quietly when its reader does', async () => {
    const chain = buildChain({ seed: 4, sessions: 20, callsPerSession: 50 })
    const child = aegis.start(['inspect', aegis.file('long.aarl', chain.bytes)])
    child.stdout?.once('data', () => child.stdout?.destroy())
    expect(await ended(child)).toMatchObject({ code: 0, stderr: notVerified })
  })

  it('is a usage error, or unreadable, as every command is', async () => {
    const usage = await aegis.run(['inspect', '--caller', 'x', example])
    expect(usage).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('--caller') as string,
    })
    expect(await aegis.run(['inspect'])).toMatchObject({ code: 1, stdout: '' })
    expect(await aegis.run(['inspect', '--call', '', example])).toMatchObject({ code: 1, stdout: '' })
    const missing = await aegis.run(['inspect', 'missing.aarl'])
    expect(missing).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('missing.aarl') as string,
    })
  })
})
