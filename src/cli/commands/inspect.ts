/**
 * `aegis inspect`: a row a Line, for people. Shows what a file says and verifies nothing, and says so on stderr. A row
 * that is no Line is shown as such, and does not end the listing.
 */
import { type Command, Option } from 'commander'
import { parseLineObject } from '../../record/index.ts'
import { escapeForReport, toAsciiJson } from '../../verify/index.ts'
import { RowSplitter } from '../../verify/rows.ts'
import { type RowFault, classifyRow } from '../../verify/scan.ts'
import { describeEnds, newCommand, nonEmpty, once } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { checkInputNames, closeInputs, openInputs, readChunks } from '../input-files.ts'
import { type LineSummary, LineSummariser, toListedJson } from '../line-summary.ts'
import { Output, hasColour, note, styled, tableRow, tableTitles, utcText, warn } from '../terminal.ts'

interface InspectFlags {
  readonly call?: string
  readonly tool?: string
  readonly agent?: string
  readonly status?: string
  readonly json?: true
}

const columns = [
  { title: 'SESSION', width: 7 },
  { title: 'SEQ', width: 5 },
  { title: 'TIME (UTC)', width: 24 },
  { title: 'TYPE', width: 8 },
  { title: 'STATUS', width: 16 },
  { title: 'TOOL', width: 20 },
  { title: 'AGENT', width: 14 },
  { title: 'CALL', width: 31 },
  { title: 'REASON', width: 0 },
] as const

export function inspectCommand(): Command {
  const command = newCommand('inspect')
    .summary('show the Lines of a file, a row each; verifies nothing')
    .description(
      'Lists what the files say, in order, times in UTC. Nothing is verified: aegis verify does that.\n' +
        'A filter keeps the Lines whose value is exactly the one given; several filters must all hold.',
    )
    .argument('<file...>', 'files of Lines; - is standard input')
    .addOption(filterOption('--call <id>', 'Lines of this Call, reports about it included'))
    .addOption(filterOption('--tool <id>', 'Lines of this tool_id'))
    .addOption(filterOption('--agent <id>', 'Lines of this agent_id'))
    .addOption(
      filterOption(
        '--status <status>',
        'allowed, denied, rate_limited, pending_approval, or approved of a decision',
      ),
    )
    .option('--json', 'a JSON object a Line (docs/cli.md)')
    .action(run)
  return describeEnds(
    command,
    [
      '0  every row was read as a Line',
      '1  usage error',
      '2  a file could not be opened or read',
      '3  at least one row is no Line; it is listed as broken',
    ],
    ['aegis inspect chain.aarl', 'aegis inspect --status denied --json segments/*.aarl | jq .line'],
  )
}

function filterOption(flags: string, description: string): Option {
  return new Option(flags, description).argParser(once(nonEmpty))
}

async function run(files: readonly string[], flags: InspectFlags): Promise<void> {
  checkInputNames(files)
  const inputs = await openInputs(files)
  const output = new Output()
  const listing = new Listing(flags)
  try {
    note('aegis inspect: nothing was verified; aegis verify does that')
    if (flags.json !== true) await output.write(listing.titles)
    for (const input of inputs) {
      for await (const chunk of readChunks(input)) {
        listing.push(chunk)
        await output.write(listing.take())
        // Nobody reads any more: the rest of the files says nothing to anybody.
        if (output.closed) return
      }
      listing.endFile()
      await output.write(listing.take())
    }
    await output.flush()
  } finally {
    await closeInputs(inputs)
  }
  if (listing.broken > 0) {
    process.exitCode = exitCodes.indeterminate
    warn(`aegis inspect: rows that are no Lines: ${String(listing.broken)}`)
  }
}

/** From bytes to the text of rows. */
class Listing {
  readonly #flags: InspectFlags
  readonly #colour = hasColour(process.stdout)
  readonly #summariser = new LineSummariser()
  readonly #rows: RowSplitter
  #text: string[] = []
  #row = 0
  broken = 0

  constructor(flags: InspectFlags) {
    this.#flags = flags
    this.#rows = new RowSplitter({
      row: (bytes, start, end) => {
        this.#takeRow(bytes.subarray(start, end))
      },
      longRow: () => {
        this.#takeRow(undefined)
      },
    })
  }

  get titles(): string {
    return styled(tableTitles(columns), 'bold', this.#colour)
  }

  push(chunk: Uint8Array): void {
    this.#rows.push(chunk)
  }

  endFile(): void {
    this.#rows.endRow()
  }

  take(): string {
    const text = this.#text.join('')
    this.#text = []
    return text
  }

  #takeRow(bytes: Uint8Array | undefined): void {
    this.#row += 1
    if (bytes === undefined) return this.#addBroken('line_too_long')
    const read = parseLineObject(bytes)
    if (!read.ok) return this.#addBroken(classifyRow(bytes))
    const summary = this.#summariser.summarise(read.value)
    if (!matches(summary, this.#flags)) return
    if (this.#flags.json === true) this.#text.push(toAsciiJson(toListedJson(this.#row, summary)))
    else this.#text.push(this.#toRow(summary))
  }

  /** Whatever the filters: what cannot be read may be what was looked for. */
  #addBroken(reason: RowFault | 'line_too_long'): void {
    this.broken += 1
    if (this.#flags.json === true) {
      this.#text.push(toAsciiJson({ row: this.#row, broken: reason }))
      return
    }
    const text = `row ${String(this.#row)} is no Line: ${reason}\n`
    this.#text.push(styled(text, 'red', this.#colour))
  }

  #toRow(summary: LineSummary): string {
    const shown = (value: string | undefined): string =>
      value === undefined || value === '' ? '-' : escapeForReport(value)
    const row = tableRow(columns, [
      summary.sessionIndex === undefined ? '-' : String(summary.sessionIndex),
      summary.seq === undefined ? '-' : String(summary.seq),
      summary.time === undefined ? '-' : utcText(summary.time),
      shown(summary.type),
      shown(summary.status),
      shown(summary.toolId),
      shown(summary.agentId),
      shown(summary.callId ?? summary.approvalId),
      summary.reason === undefined ? '' : escapeForReport(summary.reason),
    ])
    if (summary.status === 'denied' || summary.status === 'rate_limited') {
      return styled(row, 'yellow', this.#colour)
    }
    return row
  }
}

function matches(summary: LineSummary, flags: InspectFlags): boolean {
  const { call, tool, agent, status } = flags
  return (
    (call === undefined || summary.callId === call || summary.callRef === call) &&
    (tool === undefined || summary.toolId === tool) &&
    (agent === undefined || summary.agentId === agent) &&
    (status === undefined || summary.status === status)
  )
}
