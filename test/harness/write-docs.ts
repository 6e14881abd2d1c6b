/** `npm run docs`: writes the tables in docs/ that are made from the code. Prettier then lines their columns up. */
import { readFileSync, writeFileSync } from 'node:fs'
import { problemRows, reasonRows } from './error-catalogue.ts'
import { httpRows } from './http-table.ts'

/** Puts rows into the table of a page that has these columns. */
function writeTable(page: string, columns: readonly string[], rows: readonly (readonly string[])[]): void {
  const file = new URL(`../../docs/${page}`, import.meta.url)
  const lines = readFileSync(file, 'utf8').split('\n')
  const cells = (line: string) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim())
      .join('|')
  const start = lines.findIndex((line) => line.startsWith('|') && cells(line) === columns.join('|'))
  if (start < 0) throw new Error(`docs/${page} has no table of ${columns.join(', ')}`)
  let end = start
  while (lines[end]?.startsWith('|') === true) end += 1
  const table = [columns, columns.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`)
  lines.splice(start, end - start, ...table)
  writeFileSync(file, lines.join('\n'))
}

writeTable('http.md', ['route', 'role', 'body', 'answer', 'codes'], await httpRows())
writeTable('errors.md', ['status', 'code', 'what it says'], problemRows())
writeTable('errors.md', ['code', 'what it says'], reasonRows())
