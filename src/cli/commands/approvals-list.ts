/** `aegis approvals list`: what waits for people, and with `--watch` what comes; a row each, never a redrawn screen. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Command, Option } from 'commander'
import { approvalStates } from '../../protocol/index.ts'
import { toAsciiJson } from '../../verify/index.ts'
import { idText } from '../act.ts'
import { type Members, ask } from '../answer-members.ts'
import { describeEnds, integerBetween, newCommand, once, refuseValue } from '../command.ts'
import { connect } from '../connection.ts'
import { CliError, exitCodes } from '../exit-codes.ts'
import type { HttpClient } from '../http-client.ts'
import {
  type ListFlags,
  type Table,
  addListOptions,
  listEnds,
  listEntries,
  printTable,
} from '../list-pages.ts'
import { cellText } from '../shown-text.ts'
import { Output, hasColour, styled, tableRow, tableTitles, warn } from '../terminal.ts'

interface ApprovalsFlags extends ListFlags {
  readonly status?: string
  readonly watch?: true
  readonly interval?: number
}

const intervalDefaultSeconds = 5

export function approvalsListCommand(): Command {
  const command = newCommand('list')
    .summary('list approvals; those that are pending unless told otherwise')
    .addOption(
      new Option('--status <state>', `${approvalStates.join(', ')}, or all (default: pending)`).argParser(
        once(statusValue),
      ),
    )
    .option('--watch', 'go on: a row for each that comes, and for each that changes')
    .addOption(
      new Option(
        '--interval <seconds>',
        `how often --watch looks (default: ${String(intervalDefaultSeconds)})`,
      ).argParser(once(integerBetween(1, 3_600))),
    )
  addListOptions(command).action(list)
  return describeEnds(command, listEnds, ['aegis approvals list', 'aegis approvals list --watch'])
}

function statusValue(value: string): string {
  if (value === 'all' || approvalStates.some((name) => name === value)) return value
  throw refuseValue(`It is one of ${approvalStates.join(', ')}, or all.`)
}

const table: Table = {
  columns: [
    { title: 'APPROVAL', width: 30 },
    { title: 'STATE', width: 9 },
    { title: 'APPROVE BY (UTC)', width: 24 },
    { title: 'TOOL', width: 20 },
    { title: 'AGENT', width: 14 },
    { title: 'GROUPS', width: 0 },
  ],
  name: (entry) => idText(entry.text('approval_id')),
  row: (entry) => [
    idText(entry.text('approval_id')),
    cellText(entry.text('state')),
    cellText(entry.text('approve_by')),
    cellText(entry.text('tool_id')),
    cellText(entry.optionalText('agent') ?? ''),
    entry.texts('groups').map(cellText).join(' '),
  ],
}

async function list(flags: ApprovalsFlags): Promise<void> {
  const { client } = await connect(flags, ['approver', 'admin', 'agent'])
  const query: Record<string, string> = flags.status === 'all' ? {} : { status: flags.status ?? 'pending' }
  if (flags.watch !== true) {
    await printTable(flags, listEntries(client, '/v1/approvals', 'approvals', query), table)
    return
  }
  await watch(client, flags, query)
}

/** At most as many as a tenant may have pending, and some that ended. */
const knownMax = 10_000

async function watch(
  client: HttpClient,
  flags: ApprovalsFlags,
  query: Readonly<Record<string, string>>,
): Promise<void> {
  const output = new Output()
  const isTable = flags.json !== true && flags.quiet !== true
  if (isTable) await output.write(styled(tableTitles(table.columns), 'bold', hasColour(process.stdout)))
  await output.flush()
  let known = new Map<string, string>()
  while (!output.closed) {
    const rows: Members[] = []
    try {
      known = await look(client, query, known, rows)
    } catch (error) {
      // What the deployment refuses stays refused; what it could not answer, it may next time.
      if (!(error instanceof CliError) || error.exitCode !== exitCodes.unreadable) throw error
      warn(error.message)
    }
    for (const row of rows) {
      if (flags.json === true) await output.write(toAsciiJson(row.object))
      else if (flags.quiet === true) await output.write(`${table.name(row)}\n`)
      else await output.write(tableRow(table.columns, table.row(row)))
    }
    await output.flush()
    await sleep((flags.interval ?? intervalDefaultSeconds) * 1_000)
  }
}

/** @returns what is listed now; `rows` receives what is new, and what became of those that are listed no more. */
async function look(
  client: HttpClient,
  query: Readonly<Record<string, string>>,
  known: ReadonlyMap<string, string>,
  rows: Members[],
): Promise<Map<string, string>> {
  const listed = new Map<string, string>()
  for await (const entry of listEntries(client, '/v1/approvals', 'approvals', query)) {
    const [id, state] = [entry.text('approval_id'), entry.text('state')]
    // Whoever lists more than that watches nothing: what is behind it would come again each time.
    if (listed.size >= knownMax) break
    listed.set(id, state)
    if (known.get(id) !== state) rows.push(entry)
  }
  for (const id of known.keys()) {
    if (!listed.has(id)) rows.push(await ask(client, { path: `/v1/approvals/${encodeURIComponent(id)}` }))
  }
  return listed
}
