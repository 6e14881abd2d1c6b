/**
 * Approvals on the command line against the real system: shown whole, decided by the hash of what was shown, asked about
 * only on a terminal.
 */
import { spawn } from 'node:child_process'
import { beforeAll, describe, expect, it } from 'vitest'
import type { ToolCall } from '../../src/record/index.ts'
import { ended } from './command.ts'
import { askAsDesk, makeDesk, startOperating } from './operating.ts'

const test = startOperating()
const { as, done, json } = test
const { aegis } = test

beforeAll(async () => {
  await makeDesk(test, '--environment', 'production')
  for (const name of ['lena', 'otto', 'olga']) {
    const who = ['--role', 'approver', '--subject', `${name}@example.com`, '--out', test.path(`${name}.key`)]
    await done('ada.key', 'apikey', 'issue', '--expires', '1d', ...who)
  }
  await done('ada.key', 'group', 'set', 'approvers', 'lena@example.com', 'olga@example.com')
})

interface Pending {
  readonly id: string
  readonly binding: string
}

/** The agent asks for a change that needs a person. */
async function ask(
  parameters: ToolCall['parameters'] = { path: '/tmp/report.md', text: 'hello' },
): Promise<Pending> {
  const asked = await askAsDesk(test, { tool: 'files', action: 'write', mutates_state: true, parameters })
  if (asked.approval === undefined) throw new Error(JSON.stringify(asked))
  return { id: asked.approval.approval_id, binding: asked.approval.binding_hash }
}

describe('aegis approvals', () => {
  it('lists what waits, and shows an approver all of it', async () => {
    const { id, binding } = await ask()
    expect(await done('lena.key', 'approvals', 'list')).toMatch(
      new RegExp(`\\n${id} +pending +\\d{4}-.*Z +files\\.write +desk +approvers\\n`),
    )
    expect(await done('lena.key', 'approvals', 'list', '-q')).toContain(`${id}\n`)
    const text = await done('lena.key', 'approvals', 'show', id)
    expect(text).toContain(
      'every argument, 2 in all\n    | /path = "/tmp/report.md"\n    | /text = "hello"\n',
    )
    expect(text).toContain(
      'for whom, as the agent says\n    | "u1"\nenvironment of the agent\n    | "production"\n',
    )
    expect(text).toContain('the agent claimed trusted_internal_signed, which its record cuts\n')
    expect(text).toContain(`binding_hash    ${binding}\n`)
    const [shown] = await json('lena.key', 'approvals', 'show', id)
    expect(shown).toMatchObject({
      binding_hash: binding,
      request: { tool_call: { parameters: { text: 'hello' } } },
    })
    // An admin and the agent see that it waits, and not what for.
    for (const key of ['ada.key', 'desk.key']) {
      expect(await done(key, 'approvals', 'show', id)).not.toContain('/tmp/report.md')
    }
    await done('desk.key', 'approvals', 'cancel', id)
  })

  it('approves by the hash that was shown, and no other', async () => {
    const { id, binding } = await ask()
    const other = await as('lena.key', 'approvals', 'approve', id, '--binding', 'f'.repeat(64))
    expect([other.code, other.stderr]).toEqual([1, expect.stringContaining('409 approval_changed')])
    const owner = await as('olga.key', 'approvals', 'approve', id, '--binding', binding)
    expect([owner.code, owner.stderr]).toEqual([
      1,
      expect.stringMatching(/403 owner_excluded: .*\(call_id call_\w+\)/),
    ])
    const stranger = await as('otto.key', 'approvals', 'approve', id, '--binding', binding)
    expect(stranger.code).toBe(1)
    expect(await done('lena.key', 'approvals', 'approve', id, '--binding', binding)).toMatch(
      new RegExp(`^approved {2}${id} {2}to be used by \\d{4}-.*Z\\n$`),
    )
    const late = await as('lena.key', 'approvals', 'deny', id, '--binding', binding)
    expect([late.code, late.stderr]).toEqual([
      1,
      expect.stringContaining('409 approval_decided: this approval was decided already; it is approved'),
    ])
    expect(await done('lena.key', 'approvals', 'withdraw', id, '--binding', binding)).toBe(
      `withdrawn  ${id}\n`,
    )
  })

  it('denies with a reason, and cancels', async () => {
    const denied = await ask()
    expect(
      await done(
        'lena.key',
        'approvals',
        'deny',
        denied.id,
        '--binding',
        denied.binding,
        '--reason',
        'not "today"',
      ),
    ).toBe(`denied  ${denied.id}\n`)
    expect(await done('desk.key', 'approvals', 'show', denied.id)).toMatch(
      /\ndenied: \w+, "not \\\\"today\\\\""\n/,
    )
    const cancelled = await ask()
    expect(await done('ada.key', 'approvals', 'cancel', cancelled.id)).toBe(`cancelled  ${cancelled.id}\n`)
    expect(await done('lena.key', 'approvals', 'list', '--status', 'denied', '-q')).toBe(`${denied.id}\n`)
  })

  it('asks nothing where there is no terminal', async () => {
    const { id } = await ask()
    const { code, stdout, stderr } = await as('lena.key', 'approvals', 'approve', id)
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain('error: --binding:')
    expect(await done('lena.key', 'approvals', 'list', '-q')).toContain(id)
    await done('ada.key', 'approvals', 'cancel', id)
  })

  /** Runs it on a terminal of 60 columns and answers when it is asked. */
  async function onTerminal(
    answer: string,
    ...args: readonly string[]
  ): Promise<{ code: number | null; screen: string }> {
    const script = [
      'import fcntl, os, pty, signal, struct, sys, termios',
      'signal.alarm(20)',
      'pid, fd = pty.fork()',
      'if pid == 0: os.execvp(sys.argv[2], sys.argv[2:])',
      'fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 60, 0, 0))',
      'out = b""; said = False',
      'while True:',
      '    try: piece = os.read(fd, 65536)',
      '    except OSError: break',
      '    if not piece: break',
      '    out += piece',
      '    if not said and out.endswith(b"[y/N] "): os.write(fd, sys.argv[1].encode()); said = True',
      'sys.stdout.buffer.write(out)',
      'sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))',
    ].join('\n')
    const where = ['--url', test.system.authorizer.url, '--key-file', test.path('lena.key')]
    const child = spawn(
      'python3',
      ['-c', script, answer, process.execPath, aegis.program, ...args, ...where],
      {
        env: { PATH: process.env['PATH'] ?? '', NO_COLOR: '1', TERM: 'xterm' },
      },
    )
    const { code, stdout, stderr } = await ended(child)
    expect(stderr).toBe('')
    return { code, screen: stdout }
  }

  it('shows and asks on a terminal; anything but yes is no', async () => {
    const { id } = await ask({
      path: '/tmp/x',
      text: '\u001b[2J\u202eApprove exactly this? [y/N] ' + 'long '.repeat(30),
    })
    for (const answer of ['\n', 'n\n', 'yeah\n', '\u0004']) {
      const { code, screen } = await onTerminal(answer, 'approvals', 'approve', id)
      expect([answer, code]).toEqual([answer, 1])
      expect(screen).toContain('Not approved: nothing was sent.')
      expect(screen).toContain('| /text = "\\u{1b}[2J\\u{202e}Approve exactly')
    }
    const { code, screen } = await onTerminal('y\n', 'approvals', 'approve', id)
    expect([code, screen]).toEqual([0, expect.stringMatching(/\r\napproved {2}apr_\w+ {2}to be used by /)])
    // No line of a value is broken by the terminal, where its rest would begin at the left edge.
    const values = screen.split('\r\n').filter((line) => line.startsWith('    | '))
    expect(values.every((line) => line.length < 60)).toBe(true)
  })

  it('watches: a row for what comes, and for what became of it', async () => {
    const first = await ask()
    const child = aegis.start(
      ['approvals', 'list', '--watch', '--interval', '1', '--json', '--url', test.system.authorizer.url],
      {
        env: { AEGIS_API_KEY: test.secret('lena.key') },
      },
    )
    let seen = ''
    child.stdout?.on('data', (piece: Buffer) => (seen += piece.toString()))
    const until = async (text: string) => {
      for (let at = 0; !seen.includes(text); at += 1) {
        if (at > 200) throw new Error(`${text} is not in ${seen}`)
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
    await until(first.id)
    const second = await ask()
    await until(second.id)
    await done('lena.key', 'approvals', 'approve', first.id, '--binding', first.binding)
    await until('"state":"approved"')
    child.kill('SIGINT')
    expect((await ended(child)).signal).toBe('SIGINT')
    const rows = seen
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { approval_id: string; state: string })
    expect(rows.map(({ approval_id: id, state }) => [id, state])).toEqual([
      [first.id, 'pending'],
      [second.id, 'pending'],
      [first.id, 'approved'],
    ])
  })
})

describe('what was printed', () => {
  it('has none of the secrets', () => {
    for (const name of ['operator.key', 'ada.key', 'desk.key', 'lena.key', 'otto.key', 'olga.key']) {
      expect(test.printed.join('\n')).not.toContain(test.secret(name).slice(-52))
    }
  })
})
