/** `aegis verify` beyond the vectors: flags, files, streams, and what stdout must not depend on. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, openSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { buildChain } from '../harness/chain.ts'
import { Forge, forgeKey } from '../harness/forge.ts'
import { vectorPath } from '../harness/vector-files.ts'
import { buildCommand, ended } from './command.ts'

const aegis = buildCommand()
const chain = buildChain({ seed: 1, sessions: 3, callsPerSession: 4, rotate: true, approvals: true })
const chainFile = aegis.file('chain.aarl', chain.bytes)
const trustFile = aegis.file('trust.json', chain.trustStore)
const files = chain.files.map((bytes, at) => aegis.file(`session-${String(at)}.aarl`, bytes))
const lastLine = chain.lines[chain.lines.length - 1]
if (lastLine === undefined) throw new Error('an empty Chain')
const headFile = aegis.file('head.aarl', lastLine.bytes)
const headText = `${String(chain.head.session_index)}:${String(chain.head.seq)}:${chain.head.lineHash}`
const last = `session ${String(chain.head.session_index)} seq ${String(chain.head.seq)}`
const firstKey = chain.keys[0]
if (firstKey === undefined) throw new Error('a Chain without a key')

const report = (first: string, complete = 'completeness not proven'): string =>
  [first, ...chain.keys.map((key) => `key_id ${key.keyId}`), `coverage ${last}`, complete, ''].join('\n')

describe('aegis verify', () => {
  it('says Verified (unpinned) and exits with 0', async () => {
    expect(await aegis.run(['verify', chainFile])).toEqual({
      code: 0,
      signal: null,
      stdout: report('Verified (unpinned)'),
      stderr: '',
    })
  })

  it('reads several files as one Chain, and standard input among them', async () => {
    const [first = '', second = '', third = ''] = files
    expect((await aegis.run(['verify', first, second, third])).stdout).toBe(report('Verified (unpinned)'))
    const piped = await aegis.run(['verify', first, '-', third], { input: chain.files[1] ?? '' })
    expect(piped).toMatchObject({ code: 0, stdout: report('Verified (unpinned)') })
    const turned = await aegis.run(['verify', second, first, third])
    expect(turned.code).toBe(1)
    expect(turned.stdout).toMatch(/^Tampered session_tail_mismatch at session 2 seq 0\n/)
  })

  it('joins files without a last LF', async () => {
    const bare = chain.files.map((bytes, at) => aegis.file(`bare-${String(at)}.aarl`, bytes.subarray(0, -1)))
    expect((await aegis.run(['verify', ...bare])).stdout).toBe(report('Verified (unpinned)'))
  })

  it('pins every key it is given, by either flag', async () => {
    const keys = chain.keys.flatMap((key) => ['--key', key.publicKey])
    expect((await aegis.run(['verify', ...keys, chainFile])).stdout).toBe(report('Verified (pinned)'))
    const stored = await aegis.run(['verify', '--trust-store', trustFile, chainFile])
    expect(stored).toMatchObject({ code: 0, stdout: report('Verified (pinned)'), stderr: '' })
    const one = await aegis.run(['verify', '--key', firstKey.publicKey, files[0] ?? ''])
    expect(one.stdout).toMatch(new RegExp(`^Verified \\(pinned to ${firstKey.keyId}\\)\n`))
  })

  it('refuses a key that is not pinned', async () => {
    const other = forgeKey(9).publicKey
    const { code, stdout } = await aegis.run(['verify', '--key', other, chainFile])
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: 'Tampered untrusted_key at session 0 seq 0\ncoverage none\ncompleteness not proven\n',
    })
  })

  it('takes an empty trust store as a pin that nothing satisfies, and says so', async () => {
    const store = aegis.file('none.json', '{"keys":[]}')
    expect(await aegis.run(['verify', '--trust-store', store, chainFile])).toEqual({
      code: 1,
      signal: null,
      stdout: 'Tampered untrusted_key at session 0 seq 0\ncoverage none\ncompleteness not proven\n',
      stderr: `--trust-store: ${store} holds no key\n`,
    })
  })

  it('is complete to a head, given as text or as a signed Line, pinned or not', async () => {
    const complete = report('Verified (unpinned)', `complete to ${last}`)
    expect((await aegis.run(['verify', '--head', headText, chainFile])).stdout).toBe(complete)
    expect((await aegis.run(['verify', '--head', headFile, chainFile])).stdout).toBe(complete)
    const pinned = await aegis.run(['verify', '--head', headFile, '--trust-store', trustFile, chainFile])
    expect(pinned.stdout).toBe(report('Verified (pinned)', `complete to ${last}`))
  })

  it('misses a head that the input does not reach', async () => {
    const short = await aegis.run(['verify', '--head', headFile, files[0] ?? ''])
    expect(short.code).toBe(3)
    expect(short.stdout).toMatch(/^Indeterminate before_head at session 0 /)
  })

  it('finds a fork against a head', async () => {
    const fork = new Forge({ key: forgeKey(7) }).session().session()
    const held = new Forge({ key: forgeKey(7) }).session().open({ opened_at: 5 })
    const file = aegis.file('fork.aarl', fork.file)
    const head = aegis.file('fork.head', held.rows[held.rows.length - 1] ?? '')
    const { code, stdout } = await aegis.run(['verify', '--head', head, file])
    expect(code).toBe(1)
    expect(stdout).toMatch(/^Tampered forked at session 1 seq 0\n/)
  })

  it('verifies the example of SPEC.md section 11 as it says there', async () => {
    const args = [
      '--trust-store',
      vectorPath('11/final.trust.json'),
      '--head',
      vectorPath('11/final.head.aarl'),
    ]
    const { code, stdout } = await aegis.run(['verify', ...args, vectorPath('11/final.aarl')])
    expect(code).toBe(0)
    expect(stdout).toContain('Verified (pinned)\n')
    expect(stdout).toContain('complete to session 1 seq 4\n')
  })
})

describe('a head that cannot be used is a usage error with nothing on stdout', () => {
  const fails = async (head: string, ...more: string[]): Promise<string> => {
    const { code, stdout, stderr } = await aegis.run(['verify', '--head', head, ...more, chainFile])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^error: .*--head.*\n$/)
    return stderr
  }

  it('of another Chain, whatever the verdict would be', async () => {
    const other = buildChain({ seed: 1, tenant: 'other', sessions: 1 })
    const line = other.lines[other.lines.length - 1]?.bytes ?? ''
    expect(await fails(aegis.file('other.head', line))).toContain('another Chain')
    const tampered = aegis.file('tampered.aarl', chain.bytes.slice().fill(0x78, -40, -20))
    const { code, stdout } = await aegis.run(['verify', '--head', aegis.file('o.head', line), tampered])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  })

  it('signed by another key', async () => {
    const forged = new Forge({ key: forgeKey(9), chain: chain.tenant }).open()
    const file = aegis.file('forged.head', forged.rows[0] ?? '')
    expect(await fails(file)).toContain('signature')
    expect(await fails(file, '--key', firstKey.publicKey)).toContain('no pinned key')
  })

  it('that is not one signed Line', async () => {
    const [open, intent] = chain.lines
    expect(await fails(aegis.file('two.head', chain.files[0] ?? ''))).toContain('exactly one canonical Line')
    expect(await fails(aegis.file('empty.head', ''))).toContain('exactly one canonical Line')
    expect(await fails(aegis.file('intent.head', intent?.bytes ?? ''))).toContain('signed type')
    expect(
      await fails(aegis.file('torn.head', (open?.bytes ?? new Uint8Array(2)).subarray(0, 100))),
    ).toContain('exactly one canonical Line')
    expect(await fails(aegis.file('long.head', 'x'.repeat(70_000)))).toContain('longer than')
  })

  it.each([
    '0:0:00',
    '0:01:' + '0'.repeat(64),
    '0:0:' + 'A'.repeat(64),
    '0:0:' + '0'.repeat(64) + ':1',
    '',
    '-',
  ])('written as %j', async (text) => {
    expect(await fails(text)).toContain('--head')
  })
})

describe('usage errors: exit 1, nothing on stdout, one line that names what is wrong', () => {
  const key = '0'.repeat(64)
  it.each([
    ['no file', ['verify'], "'file'"],
    ['an unknown flag', ['verify', '--kez', key, 'x'], '--kez'],
    ['an unknown flag behind the files', ['verify', 'x', '--strict'], '--strict'],
    ['a flag without its value', ['verify', 'x', '--key'], '--key'],
    ['a short key', ['verify', '--key', 'ab', 'x'], '--key'],
    ['a long key', ['verify', '--key', `${key}0`, 'x'], '64 lowercase hex characters (this: 65)'],
    ['a key in capitals', ['verify', '--key', 'A'.repeat(64), 'x'], '--key'],
    ['a key that is no hex', ['verify', '--key', 'g'.repeat(64), 'x'], '--key'],
    ['an empty key', ['verify', '--key=', 'x'], '--key'],
    ['two trust stores', ['verify', '--trust-store', 'a', '--trust-store', 'b', 'x'], '--trust-store'],
    ['two heads', ['verify', '--head', `0:0:${key}`, '--head', `0:0:${key}`, 'x'], '--head'],
    ['a trust store on standard input', ['verify', '--trust-store', '-', 'x'], '--trust-store'],
    ['no thread', ['verify', '--threads', '0', 'x'], '--threads'],
    ['half a thread', ['verify', '--threads', '1.5', 'x'], '--threads'],
    ['standard input twice', ['verify', '-', '-'], 'standard input'],
    ['an empty file name', ['verify', ''], 'FILE'],
    ['an unknown command', ['verfy', 'x'], "'verfy'"],
    ['an unknown flag of the program', ['--bogus'], '--bogus'],
  ])('%s', async (_, args, named) => {
    const { code, stdout, stderr } = await aegis.run(args)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(named)
    expect(stderr).toMatch(/^error: [^\n]*\n$/)
  })

  it.each([
    ['empty', ''],
    ['not JSON', '{"keys":['],
    ['an array', '[]'],
    ['without keys', '{}'],
    ['with a key in capitals', `{"keys":[{"public_key":"${'A'.repeat(64)}"}]}`],
    ['with a short key', '{"keys":[{"public_key":"ab"}]}'],
    ['with a member twice', '{"keys":[],"keys":[]}'],
  ])('a trust store: %s', async (_, text) => {
    const store = aegis.file('wrong.json', text)
    const { code, stdout, stderr } = await aegis.run(['verify', '--trust-store', store, chainFile])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^error: --trust-store: [^\n]*\n$/)
  })

  it('are found before any file is opened', async () => {
    const { code, stderr } = await aegis.run(['verify', '--key', 'ab', 'there-is-no-such-file'])
    expect(code).toBe(1)
    expect(stderr).not.toContain('there-is-no-such-file')
  })
})

describe('an input that cannot be read: exit 2, nothing on stdout, one line that names it', () => {
  const fails = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await aegis.run(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^error: [^\n]*\n$/)
    return stderr
  }

  it('is missing', async () => {
    expect(await fails('verify', 'missing.aarl')).toContain('missing.aarl: there is no such file')
    expect(await fails('verify', chainFile, 'missing.aarl')).toContain('missing.aarl')
    expect(await fails('verify', '--trust-store', 'missing.json', chainFile)).toContain(
      '--trust-store: missing.json',
    )
    expect(await fails('verify', '--head', 'missing.aarl', chainFile)).toContain('--head: missing.aarl')
  })

  it('is a directory', async () => {
    const directory = `${aegis.folder}/directory`
    mkdirSync(directory)
    expect(await fails('verify', directory)).toContain(`${directory}: it is a directory`)
    expect(await fails('verify', '--trust-store', directory, chainFile)).toContain('--trust-store')
  })

  it('is a directory on standard input', async () => {
    const child = spawn(process.execPath, [aegis.program, 'verify', '-'], {
      stdio: [openSync('.', 'r'), 'pipe', 'pipe'],
    })
    const { code, stdout, stderr } = await ended(child)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('standard input: it is a directory')
  })

  it('has a name that a terminal would obey', async () => {
    expect(await fails('verify', 'a\u001b[31mred\nVerified (unpinned)')).toContain(
      'a\\u{1b}[31mred\\u{a}Verified (unpinned)',
    )
  })
})

describe('stdout is a function of the bytes, the pins and the head', () => {
  const tampered = chain.bytes.slice()
  // A digit of the last signature but one: far behind what the first threads look at.
  const at = Buffer.from(tampered).lastIndexOf('"signature":"', tampered.length - 1_500) + 20
  tampered[at] = tampered[at] === 0x30 ? 0x31 : 0x30
  const tamperedFile = aegis.file('one-digit.aarl', tampered)

  it.each(['1', '2', '3', '8'])('with %s threads', async (threads) => {
    for (const file of [chainFile, tamperedFile]) {
      for (const form of [[], ['--json']]) {
        const plain = await aegis.run(['verify', '--threads', '1', ...form, file])
        const spread = await aegis.run(['verify', '--threads', threads, ...form, file])
        expect(spread).toEqual(plain)
      }
    }
  })

  it.each([
    { LANG: 'C', LC_ALL: 'C', TZ: 'UTC' },
    { LANG: 'tr_TR.UTF-8', LC_ALL: 'tr_TR.UTF-8', TZ: 'Asia/Kathmandu' },
    { LANG: 'ar_EG.UTF-8', LC_ALL: 'ar_EG.UTF-8', TZ: 'America/St_Johns' },
    { NO_COLOR: '1' },
    { FORCE_COLOR: '1', CLICOLOR_FORCE: '1', TERM: 'xterm-256color' },
  ])('in the environment %o', async (env: Record<string, string>) => {
    const plain = await aegis.run(['verify', '--json', tamperedFile])
    expect(plain.code).toBe(1)
    expect(await aegis.run(['verify', '--json', tamperedFile], { env })).toEqual(plain)
  })

  it('however standard input is cut', async () => {
    const child = aegis.start(['verify', '-'])
    const end = ended(child)
    for (let from = 0; from < chain.bytes.length; from += 1_009) {
      if (child.stdin?.write(chain.bytes.subarray(from, from + 1_009)) === false)
        await once(child.stdin, 'drain')
      await new Promise((resolve) => setImmediate(resolve))
    }
    child.stdin?.end()
    expect(await end).toMatchObject({ code: 0, stdout: report('Verified (unpinned)') })
  })
})

describe('a hostile file', () => {
  const forge = (): Forge => new Forge({ key: forgeKey(7) })

  it('cannot write a line of the report, nor reach the terminal', async () => {
    const callId =
      'x\n\u001b]0;owned\u0007\u009b31m\u202e\u2028\\Verified (pinned)\r\ncomplete to session 9 seq 9'
    const file = aegis.file('escape.aarl', forge().open().intent(callId).file)
    const { code, stdout } = await aegis.run(['verify', file])
    expect(code).toBe(3)
    expect(stdout).toMatch(/^[\n\u0020-\u007e]*$/)
    const lines = stdout.split('\n')
    expect(lines[0]).toBe('Indeterminate unanchored_tail at session 0 seq 1')
    expect(lines.filter((line) => line.startsWith('in_flight x\\u{a}\\u{1b}]0;owned'))).toHaveLength(1)
    expect(lines.filter((line) => /^(Verified|complete )/.test(line))).toEqual([])
    const json = await aegis.run(['verify', '--json', file])
    expect(json.stdout).toMatch(/^[\u0020-\u007e]*\n$/)
    expect((JSON.parse(json.stdout) as { in_flight: string[] }).in_flight).toEqual([callId.slice(0, 128)])
  })

  it.each([
    ['NUL', '\u0000\n', 'Tampered malformed_line at line 1'],
    ['a byte order mark', `\ufeff{}\n{}\n`, 'Tampered not_canonical at line 1'],
    ['CRLF', '{}\r\n', 'Tampered not_canonical at line 1'],
    ['invalid UTF-8', Uint8Array.of(0x22, 0xff, 0x22, 0x0a, 0x7b, 0x7d, 0x0a), 'Tampered not_utf8 at line 1'],
    ['a cut character at the end', Uint8Array.of(0x22, 0xc3), 'Indeterminate torn_final_line at line 1'],
    ['blank lines only', '\n\n\n', 'Indeterminate empty_chain at line 0'],
    ['nothing', '', 'Indeterminate empty_chain at line 0'],
  ])('of %s gets a verdict', async (name, bytes, first) => {
    const broken = typeof bytes === 'string' && name === 'NUL' ? `${bytes}{}\n` : bytes
    const { code, stdout, stderr } = await aegis.run(['verify', aegis.file('hostile.aarl', broken)])
    expect(code).toBe(first.startsWith('Tampered') ? 1 : 3)
    expect(stdout.split('\n')[0]).toBe(first)
    expect(stderr).toBe('')
  })

  it('of one huge line costs no memory', async () => {
    const child = aegis.start(['verify', '-'])
    const end = ended(child)
    const piece = new Uint8Array(1 << 20).fill(0x61)
    child.stdin?.on('error', () => undefined)
    // No end is needed to refuse it: the command stops reading long before 64 MB, and whoever writes then has no reader.
    for (let count = 0; count < 64 && child.exitCode === null; count += 1) {
      if (child.stdin?.write(piece) === false)
        await Promise.race([once(child.stdin, 'drain').catch(() => undefined), end])
    }
    child.stdin?.end('\n')
    const { code, stdout } = await end
    expect(code).toBe(1)
    expect(stdout).toMatch(/^Tampered line_too_long at line 1\n/)
  })

  it('is not read further than its first fault', async () => {
    const child = aegis.start(['verify', '-'])
    const end = ended(child)
    child.stdin?.on('error', () => undefined)
    child.stdin?.write('{}\n'.repeat(100_000))
    // Standard input stays open: only a command that stops reading ends.
    expect(await end).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^Tampered member_invalid/) as string,
    })
  })
})

describe('the streams', () => {
  it('a reader that is gone changes neither exit code nor stderr', async () => {
    const child = aegis.start(['verify', chainFile])
    child.stdout?.destroy()
    const { code, stderr } = await ended(child)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  })

  it('an interrupt ends it by the signal, with nothing on stdout', async () => {
    const child = aegis.start(['verify', '-'])
    const end = ended(child)
    child.stdin?.write(chain.files[0] ?? '')
    await new Promise((resolve) => setTimeout(resolve, 300))
    child.kill('SIGINT')
    expect(await end).toEqual({ code: null, signal: 'SIGINT', stdout: '', stderr: '' })
  })
})
