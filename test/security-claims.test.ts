/** SECURITY.md's claims point at tests: each file is there, and has a test, or a group of them, of that name. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const home = new URL('../', import.meta.url)
const page = readFileSync(new URL('SECURITY.md', home), 'utf8')

/** [claim, file, name of a test in it] for each pointer. */
function pointers(): [string, string, string][] {
  const found: [string, string, string][] = []
  for (const line of page.split('\n')) {
    const [, claim = '', held = ''] = line.split('|').map((cell) => cell.trim())
    const file = /^`(test\/[^`]+)`: /.exec(held)?.[1]
    if (file === undefined) continue
    for (const [, name = ''] of held.matchAll(/"([^"]+)"/g)) found.push([claim, file, name])
  }
  return found
}

it('has claims', () => {
  expect(pointers().length).toBeGreaterThan(15)
})

it.each(pointers())('%s: %s', (_claim, file, name) => {
  const source = readFileSync(new URL(file, home), 'utf8')
  const titles = [...source.matchAll(/\b(?:it|test|describe)(?:\.each\([^]*?\))?\(\s*(['"`])([^]*?)\1/g)].map(
    ([, , title = '']) => title,
  )
  expect(titles.filter((title) => title.includes(name)).length).toBeGreaterThan(0)
})
