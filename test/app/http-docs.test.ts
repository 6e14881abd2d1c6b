/** The table of docs/http.md says what the OpenAPI document says, row by row. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { httpRows } from '../harness/http-table.ts'

/** Cells of each row, without the padding that the formatter puts in. */
function rows(): string[][] {
  return readFileSync(new URL('../../docs/http.md', import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => /^\| `[A-Z]+ \//.test(line))
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    )
}

const toText = (row: readonly string[]) => row.join(' | ')

describe('docs/http.md', () => {
  it('has one row a route, and each says what the document says (npm run docs writes them)', async () => {
    const described = await httpRows()
    expect(new Set(rows().map(toText))).toEqual(new Set(described.map(toText)))
    expect(rows()).toHaveLength(described.length)
  })
})
