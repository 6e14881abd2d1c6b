/** `aegis try`, as a newcomer runs it on a history. */
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { buildCommand } from './command.ts'

const aegis = buildCommand()
const airline = fileURLToPath(new URL('../../policies/examples/airline', import.meta.url))
const flags = ['--bundle', airline, '--now', '2026-01-02T03:04:05Z']

const think = { tool: 'think', arguments: '{"thought":"…"}' }
const cancel = { tool: 'cancel_reservation', arguments: { reservation_id: 'GV1N64' } }
const certificate = {
  tool: 'update_reservation_flights',
  arguments: { reservation_id: 'R', cabin: 'economy', payment_id: 'certificate_1' },
}
const lines = (...rows: readonly unknown[]): string =>
  rows.map((row) => `${typeof row === 'string' ? row : JSON.stringify(row)}\n`).join('')

interface Told {
  readonly now: number
  readonly calls: readonly {
    readonly line: number | null
    readonly tool_id: string
    readonly decision: string
  }[]
  readonly summary: object
  readonly unread: readonly { readonly line: number | null; readonly why: string }[]
}

describe('aegis try', { timeout: 60_000 }, () => {
  it('shows each call and why, then the sums', async () => {
    const input = lines(think, cancel, certificate)
    const { code, stdout, stderr } = await aegis.run(['try', '-', '--tool', 'airline', ...flags], { input })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(
      /policy_set_hash [0-9a-f]{64}\nsource trust semi_trusted_customer, now 2026-01-02T03:04:05.000Z\n/,
    )
    expect(stdout).toMatch(/\n {5}1 {2}airline\.think +allow +reads\n/)
    expect(stdout).toMatch(
      /\n {5}2 {2}airline\.cancel_reservation +require_approval +cancellation, customer-changes {2}-> refunds and service-desk\n/,
    )
    expect(stdout).toMatch(
      /\n {5}3 {2}airline\.update_reservation_flights +deny +change-paid-by-certificate\n/,
    )
    expect(stdout).toContain('\n3 calls decided: 1 allow, 1 require_approval, 1 deny\n')
    expect(stdout).toMatch(/\n {5}1 {2}cancellation +every cancellation needs the refunds group\n/)
    const summary = await aegis.run(['try', '-', '--tool', 'airline', '--summary', ...flags], { input })
    expect(summary.code).toBe(0)
    expect(summary.stdout).toBe(
      `${stdout.split('\n').slice(0, 2).join('\n')}\n\n${stdout.slice(stdout.indexOf('3 calls decided'))}`,
    )
  })

  it('tells the same in JSON', async () => {
    const input = lines(think, cancel, certificate, { role: 'user', content: 'hi' })
    const { code, stdout } = await aegis.run(['try', '-', '--tool', 'airline', '--json', ...flags], { input })
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      source_trust: 'semi_trusted_customer',
      now: 1_767_323_045_000,
      calls: [
        {
          line: 1,
          path: '$',
          tool_id: 'airline.think',
          decision: 'allow',
          code: 'permitted',
          matched_rules: ['reads'],
        },
        { line: 2, decision: 'require_approval', groups: ['refunds', 'service-desk'], quorum: 1 },
        {
          line: 3,
          decision: 'deny',
          code: 'policy_denied',
          reason: 'a change cannot be paid with a travel certificate',
        },
      ],
      summary: {
        calls: 3,
        allow: 1,
        require_approval: 1,
        deny: 1,
        by_action: { 'airline.think': { allow: 1, require_approval: 0, deny: 0 } },
        by_rule: { cancellation: 1, reads: 1 },
        rows_without_call: 1,
      },
      unknown_tools: [],
      unread: [],
    })
  })

  it('decides under another trust, which the agent must be allowed to claim', async () => {
    const input = lines(cancel)
    const untrusted = await aegis.run(
      ['try', '-', '--tool', 'airline', '--source-trust', 'untrusted_external', ...flags],
      { input },
    )
    expect(untrusted.stdout).toContain('1 deny')
    const claimed = ['try', '-', '--tool', 'airline', '--source-trust', 'trusted_internal_signed', ...flags]
    const cut = await aegis.run(claimed, { input })
    expect(cut.stdout).toContain("(cut from trusted_internal_signed by the agent's trust_max)")
    expect(cut.stderr).toContain('--trust-max trusted_internal_signed lifts that')
    const lifted = await aegis.run([...claimed, '--trust-max', 'trusted_internal_signed'], { input })
    expect(lifted.stdout).toMatch(/cancellation, internal-changes {2}-> refunds\n/)
    const agent = aegis.file('agent.json', '{"trust_max":"trusted_internal_signed","force_approval":true}')
    const forced = await aegis.run([...claimed, '--agent', agent], { input: lines(think) })
    expect(forced.stdout).toMatch(/airline\.think +require_approval +reads {2}-> service-desk\n/)
  })

  it('lists tools that the catalogue lacks, with entries to paste; exit 1', async () => {
    const input = lines(think, { tool: 'refund', arguments: { id: 'R\u001b[2J', amount: 5, '\u001bx': 1 } })
    const { code, stdout } = await aegis.run(['try', '-', ...flags], { input })
    expect(code).toBe(1)
    expect(stdout).toContain('tools.think  1 call; the catalogue has it under airline: use --tool airline\n')
    expect(stdout).toContain('tools.refund  1 call\n')
    expect(stdout).not.toContain('\u001b')
    const draft = stdout.slice(stdout.indexOf('\n{') + 1)
    expect(JSON.parse(draft)).toMatchObject({
      tools: {
        refund: {
          risk: 'high',
          mutates_state: true,
          args: { amount: { at: '/amount', type: 'integer', required: true } },
        },
      },
    })
  })

  it('names lines and calls that cannot be read and decides the rest; exit 3', async () => {
    const input = lines(think, 'nonsense', { tool: 'think', arguments: '{"a":1' }, cancel)
    const { code, stdout } = await aegis.run(['try', '-', '--tool', 'airline', ...flags], { input })
    expect(code).toBe(3)
    expect(stdout).toContain('2 calls decided')
    expect(stdout).toContain('could not be read: 2\n  line 2: ')
    expect(stdout).toContain('\n  line 3: the arguments of think: ')
    const json = await aegis.run(['try', '-', '--tool', 'airline', '--json', ...flags], { input })
    const told = JSON.parse(json.stdout) as Told
    expect(json.code).toBe(3)
    expect(told.calls.map(({ line }) => line)).toEqual([1, 4])
    expect(told.unread.map(({ line }) => line)).toEqual([2, 3])
  })

  it('writes names of the file escaped, and counts names that no tool can have; exit 1', async () => {
    const input = lines({ tool: 'a\u001b[31m\nallow  evil', arguments: {} })
    const { code, stdout } = await aegis.run(['try', '-', '--tool', 'airline', ...flags], { input })
    expect(code).toBe(1)
    expect(stdout).not.toContain('\u001b')
    expect(stdout).toContain('airline.a\\u{1b}[31m\\u{a}allow\\u{20}\\u{20}evil')
    expect(stdout).toContain('identifier_not_allowed')
  })

  it.each([
    ['no such file', ['try', 'nowhere', ...flags], '', 2, 'there is no such file'],
    ['no such bundle', ['try', '-', '--bundle', 'nowhere'], lines(think), 2, 'there is no such file'],
    ['no call in it', ['try', '-', ...flags], '{"hello":1}\n', 2, 'no tool call of a known form'],
    ['no JSON', ['try', '-', ...flags], 'hello\n', 2, 'neither JSON Lines nor one JSON document'],
    ['an empty file', ['try', '-', ...flags], '', 2, 'is empty'],
    ['no bundle named', ['try', '-'], lines(think), 1, '--bundle'],
    ['another trust', ['try', '-', ...flags, '--source-trust', 'good'], lines(think), 1, '--source-trust'],
    ['another time', ['try', '-', '--bundle', airline, '--now', 'noon'], lines(think), 1, '--now'],
    ['another flag', ['try', '-', ...flags, '--sumary'], lines(think), 1, '--sumary'],
  ])('%s: nothing on stdout', async (_, args, input, code, why) => {
    const ended = await aegis.run(args, { input })
    expect(ended).toMatchObject({ code, stdout: '' })
    expect(ended.stderr).toContain(why)
    expect(ended.stderr.trimEnd().split('\n')).toHaveLength(1)
  })
})
