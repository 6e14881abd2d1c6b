/** `aegis receipt verify` on the Call of SPEC.md section 2. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { vectorPath } from '../harness/vector-files.ts'
import { buildCommand } from './command.ts'

const aegis = buildCommand()
const [open = '', , outcome = ''] = readFileSync(vectorPath('2/example.aarl'), 'utf8').split('\n')
const key = (JSON.parse(open) as { public_key: string }).public_key
const receipt = aegis.file('receipt.json', `${outcome}\n`)
const actionText = readFileSync(vectorPath('2/example.action.json'), 'utf8')
const action = aegis.file('action.json', actionText)
const during = '2026-11-30T12:00:10Z'

async function judge(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const { code, stdout, stderr } = await aegis.run(['receipt', 'verify', ...args])
  return { code, stdout, stderr }
}
const usual = ['--key', key, '--chain', 'acme', '--action', action, '--now', during]

describe('aegis receipt verify', () => {
  it('says valid, and until when', async () => {
    expect(await judge(...usual, receipt)).toEqual({
      code: 0,
      stdout: [
        'valid',
        'grant_id grt_c5dhmc4bn36pcfp74x2fyvf1c7',
        'tool_id github.merge_pr',
        'decided_at 2026-11-30T12:00:00.040Z',
        'expires_at 2026-11-30T12:01:00.040Z',
        '',
      ].join('\n'),
      stderr: '',
    })
    const json = await judge(...usual, '--json', '--agent', 'ci-merger', receipt)
    expect(JSON.parse(json.stdout)).toEqual({
      valid: true,
      grant_id: 'grt_c5dhmc4bn36pcfp74x2fyvf1c7',
      tool_id: 'github.merge_pr',
      decided_at: 1_796_040_000_040,
      expires_at: 1_796_040_060_040,
    })
  })

  it('reads the receipt from standard input, with any zone in --now', async () => {
    const args = ['receipt', 'verify', '--key', key, '--chain', 'acme', '--action', action]
    const { code } = await aegis.run([...args, '--now', '2026-11-30T17:45:10.5+05:45', '-'], {
      input: outcome,
    })
    expect(code).toBe(0)
  })

  it('takes the keys of a trust store, within their Sessions', async () => {
    const store = (more: object): string =>
      aegis.file('trust.json', JSON.stringify({ chain_id: 'acme', keys: [{ public_key: key, ...more }] }))
    const args = ['--chain', 'acme', '--action', action, '--now', during]
    expect(await judge('--trust-store', store({}), ...args, receipt)).toMatchObject({ code: 0 })
    expect(await judge('--trust-store', store({ first_session: 1 }), ...args, receipt)).toMatchObject({
      code: 1,
      stdout: 'refused untrusted_key\n',
    })
  })

  const swapped = aegis.file('swapped.json', actionText.replace('develop', 'main'))
  const altered = aegis.file('altered.json', outcome.replace('"wall', '"Wall').replace('develop', 'main'))
  it.each([
    [
      'expired',
      ['--key', key, '--chain', 'acme', '--action', action, '--now', '2026-11-30T12:01:00.040Z', receipt],
    ],
    ['expired', ['--key', key, '--chain', 'acme', '--action', action, receipt]],
    [
      'not_yet_valid',
      ['--key', key, '--chain', 'acme', '--action', action, '--now', '2026-11-30T11:59:00Z', receipt],
    ],
    ['wrong_chain', ['--key', key, '--chain', 'other', '--action', action, '--now', during, receipt]],
    ['wrong_action', ['--key', key, '--chain', 'acme', '--action', swapped, '--now', during, receipt]],
    ['wrong_agent', [...usual, '--agent', 'somebody', receipt]],
    [
      'untrusted_key',
      ['--key', '0'.repeat(64), '--chain', 'acme', '--action', action, '--now', during, receipt],
    ],
    ['bad_signature', [...usual, altered]],
    ['not_an_outcome', [...usual, aegis.file('open.json', open)]],
    ['malformed', [...usual, aegis.file('cut.json', outcome.slice(0, -1))]],
  ])('refuses with %s', async (reason, args) => {
    expect(await judge(...args)).toEqual({ code: 1, stdout: `refused ${reason}\n`, stderr: '' })
    expect((await judge(...args, '--json')).stdout).toBe(`{"valid":false,"reason":"${reason}"}\n`)
  })

  it.each([
    ['--key', ['--chain', 'acme', '--action', action, receipt]],
    ['--chain', ['--key', key, '--action', action, receipt]],
    ['--action', ['--key', key, '--chain', 'acme', receipt]],
    ['--now', [...usual.slice(0, 6), '--now', '2026-11-30T12:00:10', receipt]],
    ['--now', [...usual.slice(0, 6), '--now', 'yesterday', receipt]],
    ['--now', [...usual.slice(0, 6), '--now', '2026-02-30T12:00:00Z', receipt]],
    ['--now', [...usual.slice(0, 6), '--now', '2026-11-29T24:00:00Z', receipt]],
    ['--action', ['--key', key, '--chain', 'acme', '--action', '-', '-']],
    ["'extra'", [...usual, receipt, 'extra']],
    ["'file'", usual],
  ])('a wrong or missing %s is a usage error', async (named, args) => {
    const { code, stdout, stderr } = await judge(...args)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^error: [^\n]*\n$/)
    expect(stderr).toContain(named)
  })

  it.each([
    ['no JSON', '{'],
    ['a member too many', actionText.replace('{', '{"shell":"x",')],
    ['a number that JSON cannot keep', actionText.replace('"develop"', '12345678901234567890')],
    ['no tool', actionText.replace('"tool"', '"Tool"')],
    ['parameters that are no object', '{"tool":"a","action":"b","mutates_state":true,"parameters":[]}'],
  ])('an action with %s is a usage error that names the file', async (_, text) => {
    const file = aegis.file('wrong-action.json', text)
    const args = ['--key', key, '--chain', 'acme', '--action', file, '--now', during]
    const { code, stdout, stderr } = await judge(...args, receipt)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(`--action: ${file}`)
  })

  it('an unreadable file is exit 2', async () => {
    expect(await judge(...usual, 'missing.json')).toMatchObject({ code: 2, stdout: '' })
    const args = ['--key', key, '--chain', 'acme', '--action', 'missing.json', '--now', during]
    expect(await judge(...args, receipt)).toMatchObject({ code: 2, stdout: '' })
  })
})
