/** The commands of docs/recheck.md run as they stand there, end as it says, and print what it shows. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { buildCommand } from './command.ts'

const aegis = buildCommand()
const root = fileURLToPath(new URL('../..', import.meta.url))
const page = readFileSync(`${root}docs/recheck.md`, 'utf8')

interface Shown {
  readonly args: readonly string[]
  readonly exit: number
  /** The block of text behind the command. */
  readonly output?: string
}

/** Each `npx aegis …` line of a block of shell, and the output behind the block. */
function shownCommands(): readonly Shown[] {
  const blocks = [...page.matchAll(/```(\w+)\n([\s\S]*?)```/g)].map(([, kind, text = '']) => ({ kind, text }))
  return blocks.flatMap(({ kind, text }, at) => {
    if (kind !== 'sh') return []
    const next = blocks[at + 1]
    const lines = text.split('\n').filter((line) => line.startsWith('npx aegis '))
    return lines.map((line, number): Shown => {
      const matched = /^npx aegis (.*) # exit (\d)$/.exec(line)
      if (matched === null) throw new Error(`no exit code: ${line}`)
      const shown = next?.kind === 'text' && number === lines.length - 1 ? { output: next.text } : {}
      return { args: (matched[1] ?? '').split(' '), exit: Number(matched[2]), ...shown }
    })
  })
}

describe('docs/recheck.md', () => {
  const shown = shownCommands()

  it('has commands, and shows what some of them print', () => {
    expect(shown.length).toBeGreaterThan(6)
    expect(shown.filter(({ output }) => output !== undefined).length).toBeGreaterThan(1)
  })

  it.each(shown)('aegis $args', async ({ args, exit, output }) => {
    const { code, stderr, stdout } = await aegis.run(args, { cwd: `${root}examples/recheck` })
    expect({ code, stderr }).toEqual({ code: exit, stderr: '' })
    expect(stdout).toBe(output ?? stdout)
  })
})
