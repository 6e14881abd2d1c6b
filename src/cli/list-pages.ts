/**
 * Lists of a deployment as commands: page after page, a row an entry, so that memory does not grow with the list. With
 * `--json` an object a row, with `--quiet` the names only, for scripts.
 */
import type { Command } from 'commander'
import { toAsciiJson } from '../verify/index.ts'
import { type Members, ask } from './answer-members.ts'
import { type ConnectionFlags, addConnectionOptions } from './connection.ts'
import { CliError, exitCodes } from './exit-codes.ts'
import type { HttpClient } from './http-client.ts'
import { type Column, Output, hasColour, styled, tableRow, tableTitles } from './terminal.ts'

export interface ListFlags extends ConnectionFlags {
  readonly json?: true
  readonly quiet?: true
}

export function addListOptions(command: Command): Command {
  return addConnectionOptions(command)
    .option('--json', 'print a JSON object a row')
    .option('-q, --quiet', 'print the names only, one a line')
}

export const listEnds = [
  '0  listed, also where there is nothing',
  '1  refused; or a usage error',
  '2  the deployment gave no usable answer',
] as const

/** Entries of all pages. A page that does not go on ends the list with an error, never in a circle. */
export async function* listEntries(
  client: HttpClient,
  path: string,
  member: string,
  query: Readonly<Record<string, string>> = {},
): AsyncGenerator<Members> {
  let after: string | undefined
  for (;;) {
    const search = new URLSearchParams({ ...query, ...(after === undefined ? {} : { after }) }).toString()
    const page = await ask(client, { path: search === '' ? path : `${path}?${search}` })
    const entries = page.list(member)
    yield* entries
    const next = page.optionalText('next')
    if (next === undefined) return
    if (next === after || entries.length === 0) {
      throw new CliError("error: the deployment's list does not go on behind a page", exitCodes.unreadable)
    }
    after = next
  }
}

export interface Table {
  readonly columns: readonly Column[]
  /** What names an entry; with `--quiet` it is all that is printed. */
  readonly name: (entry: Members) => string
  /** Cells; texts of others through {@link cellText}. */
  readonly row: (entry: Members) => readonly string[]
}

/** Prints entries as they come. @returns how many. */
export async function printTable(
  flags: ListFlags,
  entries: AsyncIterable<Members>,
  { columns, name, row }: Table,
): Promise<number> {
  const output = new Output()
  const isTable = flags.json !== true && flags.quiet !== true
  let count = 0
  for await (const entry of entries) {
    if (isTable && count === 0) {
      await output.write(styled(tableTitles(columns), 'bold', hasColour(process.stdout)))
    }
    count += 1
    if (flags.json === true) await output.write(toAsciiJson(entry.object))
    else if (flags.quiet === true) await output.write(`${name(entry)}\n`)
    else await output.write(tableRow(columns, row(entry)))
    if (output.closed) break
  }
  await output.flush()
  return count
}
