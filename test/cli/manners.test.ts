/** Manners of every command, found by walking the program's own help: none can be forgotten. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { buildCommand } from './command.ts'

const aegis = buildCommand()
/** Every command that does something, as words; and every group of them. */
const leaves: string[][] = []
const groups: string[][] = []
const helps = new Map<string, string>()

/** Reads help after help. */
async function walk(path: readonly string[]): Promise<void> {
  const { code, stdout, stderr } = await aegis.run([...path, '--help'])
  expect([path, code, stderr]).toEqual([path, 0, ''])
  helps.set(path.join(' '), stdout)
  const [, listed] = /\nCommands:\n([^]*?)(\n\n|$)/.exec(stdout) ?? []
  const names = [...(listed ?? '').matchAll(/^ {2}([a-z][a-z-]*)/gm)].map((match) => match[1] ?? '')
  // `policy shadow HASH` does something itself and has a command too.
  const takesArgument = /^Usage: .*</.test(stdout)
  if (listed === undefined || takesArgument) leaves.push([...path])
  else groups.push([...path])
  for (const name of names) await walk([...path, name])
}

beforeAll(async () => {
  await walk([])
}, 180_000)

describe('every command', () => {
  it('has help with exit codes and examples that name it', () => {
    expect(leaves.length).toBeGreaterThan(55)
    for (const path of leaves) {
      const help = helps.get(path.join(' ')) ?? ''
      expect(help).toMatch(new RegExp(`^Usage: aegis ${path.join(' ')} `))
      expect(help).toMatch(/\nExit codes:\n {2}0 {2}/)
      expect(help).toMatch(new RegExp(`\\nExamples:\\n[^]*\\baegis ${path.join(' ')}\\b`))
      expect(help).toContain('-q, --quiet')
      expect(help).toContain('-h, --help')
    }
  })

  it('refuses a flag that it does not know, names it, and says which was meant', async () => {
    for (const path of leaves) {
      const { code, stdout, stderr } = await aegis.run([...path, '--quite'])
      expect([path, code, stdout]).toEqual([path, 1, ''])
      // What must be given is asked for first.
      expect(stderr).toMatch(/unknown option '--quite' \(Did you mean --quiet\?\)|required option/)
    }
  }, 180_000)

  it('asks nothing where no terminal is: it ends, whatever it lacks', async () => {
    for (const path of leaves) {
      const child = aegis.start(path)
      child.stdin?.end()
      const code = await new Promise((resolve) => child.once('close', resolve))
      expect([path, code === 0 || code === 1 || code === 2]).toEqual([path, true])
    }
  }, 180_000)

  it('in a group that lacks its command lists them', async () => {
    for (const path of groups) {
      const { code, stdout, stderr } = await aegis.run(path)
      expect([path, code, stdout]).toEqual([path, 1, ''])
      expect(stderr).toContain('Commands:')
    }
  })

  it('that is misspelt is guessed', async () => {
    const misspelt = [
      ['tenat', 'tenant'],
      ['agent creat', 'create'],
      ['approvals aprove', 'approve'],
      ['policy rolback', 'rollback'],
      ['apikey isue', 'issue'],
      ['callz', 'calls'],
    ] as const
    for (const [words, meant] of misspelt) {
      const { code, stderr } = await aegis.run(words.split(' '))
      expect([words, code, stderr]).toEqual([words, 1, expect.stringMatching(`Did you mean ${meant}\\?`)])
    }
  })
})

describe('completion', () => {
  it('knows every command and every flag of each', async () => {
    const { stdout: script } = await aegis.run(['completion', 'bash'])
    const complete = (words: readonly string[]): string[] => {
      const ask = `${script}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _aegis; printf '%s\\n' "\${COMPREPLY[@]}"`
      const { stdout } = spawnSync('bash', ['-c', ask, 'bash', ...words], { encoding: 'utf8' })
      return stdout.split('\n').filter((word) => word !== '')
    }
    for (const path of groups.filter(({ length }) => length > 0)) {
      const own = [...leaves, ...groups].filter(
        (leaf) => leaf.length === path.length + 1 && path.every((word, at) => leaf[at] === word),
      )
      expect(complete(['aegis', ...path, ''])).toEqual(expect.arrayContaining(own.map((leaf) => leaf.at(-1))))
    }
    expect(complete(['aegis', 'approvals', 'deny', '--'])).toEqual(
      expect.arrayContaining(['--binding', '--reason', '--full', '--url', '--key-file', '--json', '--quiet']),
    )
    expect(complete(['aegis', 'apikey', 'issue', '--exp'])).toEqual(['--expires'])
  })
})

describe('--quiet', () => {
  it('says nothing where all is well', async () => {
    const folder = `${process.cwd()}/policies/default`
    for (const args of [
      ['policy', 'validate', folder],
      ['policy', 'test', folder],
    ]) {
      expect(await aegis.run([...args, '-q'])).toMatchObject({ code: 0, stdout: '', stderr: '' })
    }
  })

  it('leaves out notes and keeps what was asked for, and errors', async () => {
    const file = aegis.file('empty.aarl', '')
    const loud = await aegis.run(['inspect', file])
    const quiet = await aegis.run(['inspect', file, '-q'])
    expect([loud.stderr, quiet.stderr, quiet.stdout]).toEqual([
      'aegis inspect: nothing was verified; aegis verify does that\n',
      '',
      loud.stdout,
    ])
    expect((await aegis.run(['verify', '-q', file])).stdout).toContain('Indeterminate')
    expect((await aegis.run(['verify', '-q', 'nowhere'])).stderr).toContain('error:')
  })
})

describe('docs/cli.md', () => {
  const page = readFileSync('docs/cli.md', 'utf8')
  /** Of every command that talks to a deployment; they have a section of their own. */
  const everywhere = ['url', 'key-file', 'profile', 'config', 'timeout', 'help', 'quiet', 'version']

  it('has every command, and every flag where the command is', () => {
    const missing: string[] = []
    for (const path of leaves) {
      const name = `aegis ${path.join(' ')}`
      // A synopsis goes on in lines that are indented further.
      const synopses = [
        ...page.matchAll(new RegExp(`^ {4}(?:.*<\\()?${name}\\b.*(?:\\n {6,}.*)*`, 'gm')),
      ].map(([text]) => text)
      if (synopses.length === 0) missing.push(name)
      for (const [, flag] of (helps.get(path.join(' ')) ?? '').matchAll(/^ {2}(?:-\w, )?--([a-z-]+)/gm)) {
        if (flag === undefined || everywhere.includes(flag)) continue
        // `--json` is said once for all acts.
        if (flag === 'json' || synopses.some((text) => text.includes(`--${flag}`))) continue
        missing.push(`${name} --${flag}`)
      }
    }
    expect(missing).toEqual([])
  })
})
