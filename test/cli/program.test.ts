/** The program as a whole: help, version, completion scripts, bugs without a stack trace. */
import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { buildCommand } from './command.ts'

const aegis = buildCommand()
const commands = [
  'verify',
  'inspect',
  'pull',
  'receipt verify',
  'policy init',
  'policy validate',
  'policy test',
  'policy hash',
  'policy schema',
  'policy explain',
  'policy coverage',
  'policy push',
  'policy shadow',
  'policy shadow report',
  'recheck',
  'try',
  'key derive',
  'seed new',
  'seed operator',
  'chain seal',
  'chain rotate-key',
  'chain head',
  'completion',
]

describe('aegis', () => {
  it('prints its version', async () => {
    expect(await aegis.run(['--version'])).toMatchObject({
      code: 0,
      stdout: `${manifest.version}\n`,
      stderr: '',
    })
  })

  it.each(commands)('%s has help with exit codes and examples', async (command) => {
    const { code, stdout, stderr } = await aegis.run([...command.split(' '), '--help'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(new RegExp(`^Usage: aegis ${command} `))
    expect(stdout).toMatch(/\nExit codes:\n {2}0 {2}/)
    expect(stdout).toMatch(/\nExamples:\n.*\baegis /)
  })

  it.each([[[]], [['key']], [['receipt']], [['policy']], [['seed']]])(
    '%j lists its commands on stderr, exit 1',
    async (args) => {
      const { code, stdout, stderr } = await aegis.run(args)
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toContain('Commands:')
    },
  )

  it('suggests the command that was meant', async () => {
    expect((await aegis.run(['verfiy'])).stderr).toContain('verify')
    expect((await aegis.run(['key', 'drive'])).stderr).toContain('derive')
  })
})

describe('aegis completion', () => {
  const complete = (script: string, words: readonly string[]): string[] => {
    const ask = `${script}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _aegis; printf '%s\\n' "\${COMPREPLY[@]}"`
    const { stdout } = spawnSync('bash', ['-c', ask, 'bash', ...words], { encoding: 'utf8' })
    return stdout.split('\n').filter((word) => word !== '')
  }

  it('completes in bash what the commands have', async () => {
    const { code, stdout: script } = await aegis.run(['completion', 'bash'])
    expect(code).toBe(0)
    expect(complete(script, ['aegis', ''])).toEqual(expect.arrayContaining(['verify', 'key', 'completion']))
    expect(complete(script, ['aegis', 've'])).toEqual(['verify'])
    expect(complete(script, ['aegis', 'key', ''])).toEqual(['derive'])
    expect(complete(script, ['aegis', 'key', 'derive', '--seed'])).toEqual(['--seed-file', '--seed-number'])
    expect(complete(script, ['aegis', 'verify', '--json', '--t'])).toEqual(['--trust-store', '--threads'])
    expect(complete(script, ['aegis', 'pull', '--p'])).toEqual(['--profile'])
    expect(complete(script, ['aegis', 'completion', ''])).toEqual(['bash', 'zsh', 'fish'])
    // Nothing: the shell goes on with file names.
    expect(complete(script, ['aegis', 'verify', 'cha'])).toEqual([])
  })

  it('has scripts for zsh and fish', async () => {
    const zsh = await aegis.run(['completion', 'zsh'])
    expect(zsh).toMatchObject({ code: 0, stdout: expect.stringMatching(/^#compdef aegis/) as string })
    const fish = await aegis.run(['completion', 'fish'])
    expect(fish.stdout).toContain(
      "complete -c aegis -n '__fish_seen_subcommand_from verify' -l trust-store -r -d ",
    )
    expect(fish.stdout).toContain(
      "-n '__fish_seen_subcommand_from key; and not __fish_seen_subcommand_from derive'",
    )
  })

  it('names the shells that it knows', async () => {
    const { code, stdout, stderr } = await aegis.run(['completion', 'tcsh'])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('bash, zsh, fish')
  })
})
