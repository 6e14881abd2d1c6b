/** `npm run docs`: writes the tables in docs/ that are made from the code. Prettier then lines their columns up. */
import { readFileSync, writeFileSync } from 'node:fs'
import { httpRows } from './http-table.ts'

const page = new URL('../../docs/http.md', import.meta.url)

const [before = '', after = ''] = readFileSync(page, 'utf8').split(/(?:^\|.*\n)+(?=\nAny other path)/m)
const header = ['route', 'role', 'body', 'answer', 'codes']
const rows = [header, header.map(() => '---'), ...(await httpRows())]
writeFileSync(page, `${before}${rows.map((row) => `| ${row.join(' | ')} |\n`).join('')}${after}`)
