/** The tables of docs/errors.md say what the code says. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { problemRows, reasonRows } from '../harness/error-catalogue.ts'

const page = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8')

/** Rows of the table under a heading, without the padding that the formatter puts in. */
function rowsUnder(heading: string): string[] {
  const [, section = ''] = page.split(`## ${heading}\n`)
  return section
    .split(/^## /m)[0]
    ?.split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2)
    .map((line) =>
      line
        .slice(1, -1)
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim())
        .join(' | '),
    ) as string[]
}

describe('docs/errors.md (npm run docs writes it)', () => {
  it('has every problem with its status', () => {
    expect(rowsUnder('Problems')).toEqual(problemRows().map((row) => row.join(' | ')))
  })

  it('has every reason of the pipeline', () => {
    expect(rowsUnder('Reasons of the pipeline')).toEqual(reasonRows().map((row) => row.join(' | ')))
  })
})
