/**
 * `aegis calls`: what agents and administrators did, for an auditor who wants to look and not to prove. Nothing is
 * verified here but the hash of a Call that is shown: `aegis pull` and `aegis verify` are for proof.
 */
import { createHash } from 'node:crypto'
import { type Command, Option } from 'commander'
import { decodeLine, isKnownLine, parseLineObject, utf8 } from '../../record/index.ts'
import { toAsciiJson } from '../../verify/index.ts'
import type { Members } from '../answer-members.ts'
import { callText } from '../call-text.ts'
import { type CallFilterFlags, addFilterOptions, toQuery } from '../call-filter-options.ts'
import { findCall, listCalls } from '../call-pages.ts'
import { describeEnds, integerBetween, newCommand, once } from '../command.ts'
import { type ConnectionFlags, addConnectionOptions, connect } from '../connection.ts'
import { CliError, unreadable, usageError } from '../exit-codes.ts'
import { type ListFlags, addListOptions, listEnds, printTable } from '../list-pages.ts'
import { terminalColumns } from '../shown-text.ts'
import { Output } from '../terminal.ts'
import { timeValue } from '../when.ts'
import { callTable } from './calls-table.ts'
import { callsTailCommand } from './calls-tail.ts'

export function callsCommand(): Command {
  return newCommand('calls')
    .summary('look through what agents and administrators did')
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(callsTailCommand())
}

interface ListCallsFlags extends ListFlags, CallFilterFlags {
  readonly since?: number
  readonly until?: number
  readonly limit?: number
  readonly all?: true
}

const limitDefault = 100

function listCommand(): Command {
  const command = newCommand('list')
    .summary('list Calls, newest first')
    .description(
      'Over the open Session and everything that is published. A filter keeps the Calls whose value is exactly the one\n' +
        'given; several must all hold. Times are UTC.',
    )
  addFilterOptions(command)
    .addOption(
      new Option('--since <time>', 'decided then or later: a time, or a span like 24h').argParser(
        once(timeValue('ago')),
      ),
    )
    .addOption(
      new Option('--until <time>', 'decided before: a time, or a span like 1h').argParser(
        once(timeValue('ago')),
      ),
    )
    .addOption(
      new Option('--limit <n>', `how many at most (default: ${String(limitDefault)})`).argParser(
        once(integerBetween(1, 1_000_000_000)),
      ),
    )
    .option('--all', 'every one there is')
  addListOptions(command).action(list)
  return describeEnds(command, listEnds, [
    'aegis calls list',
    'aegis calls list --decision deny --since 24h --agent desk',
    'aegis calls list --all --json | jq -r .call_id',
  ])
}

async function list(flags: ListCallsFlags): Promise<void> {
  if (flags.all === true && flags.limit !== undefined) {
    throw usageError('error: --all: it contradicts --limit')
  }
  const { client } = await connect(flags, ['auditor'])
  const { since, until } = flags
  const query = {
    ...toQuery(flags),
    ...(since === undefined ? {} : { since: new Date(since).toISOString() }),
    ...(until === undefined ? {} : { until: new Date(until).toISOString() }),
  }
  const limit = flags.all === true ? Number.POSITIVE_INFINITY : (flags.limit ?? limitDefault)
  await printTable(flags, listCalls(client, query, limit), callTable)
}

interface ShowCallFlags extends ConnectionFlags {
  readonly json?: true
  readonly line?: true
  readonly full?: true
  readonly quiet?: true
}

function showCommand(): Command {
  const command = newCommand('show')
    .summary('explain one Call: what was asked, what was derived, which rules, what came of it')
    .description(
      'Shows what the signed outcome Line says, and Lines behind it that are about the Call. What others wrote stands\n' +
        'behind a bar, with characters that are not seen as \\u{HEX}. The newest Calls are found first.',
    )
    .argument('<call-id>', 'its id: call_…')
    .option('--line', 'print the outcome Line alone, verbatim: its receipt')
    .option('--full', 'show long values whole')
  addConnectionOptions(command).option('--json', 'print one JSON object').action(show)
  return describeEnds(
    command,
    [
      '0  shown',
      '1  there is no such Call, or it was refused; or a usage error',
      '2  the deployment gave no usable answer',
    ],
    [
      'aegis calls show call_je73722msz1467qpafn85z7jfv',
      'aegis calls show call_je73722msz1467qpafn85z7jfv --line > receipt.json',
    ],
  )
}

async function show(id: string, flags: ShowCallFlags): Promise<void> {
  if (!/^call_[0-9a-z]{26}$/.test(id)) {
    throw usageError('error: <call-id>: it is call_ and 26 characters; aegis calls list has them')
  }
  if (flags.json === true && flags.line === true) throw usageError('error: --line: it contradicts --json')
  const { client } = await connect(flags, ['auditor'])
  const found = await findCall(client, id)
  const text = checkedOutcome(found, id)
  const output = new Output()
  if (flags.line === true) await output.write(`${text}\n`)
  else if (flags.json === true) await output.write(toAsciiJson(found.object))
  else await output.write(explain(found, text, flags.full === true))
  await output.flush()
}

/** The Line that is shown is the one whose hash is shown. */
function checkedOutcome(found: Members, id: string): string {
  const text = found.text('outcome')
  const hash = createHash('sha256').update(text).digest('hex')
  if (hash === found.text('line_hash') && found.members('call').text('call_id') === id) return text
  throw new CliError(
    `error: what the deployment shows for ${id} does not hang together: verify the Chain with aegis pull`,
  )
}

function explain(found: Members, text: string, full: boolean): string {
  const object = parseLineObject(utf8(text))
  const read = object.ok ? decodeLine(object.value) : undefined
  if (read?.ok !== true || !isKnownLine(read.value) || read.value.line_type !== 'outcome') {
    throw unreadable('error: what the deployment shows is no outcome Line')
  }
  return callText(read.value, {
    call: found.members('call'),
    lineHash: found.text('line_hash'),
    related: found.texts('related'),
    isComplete: found.flag('related_complete'),
    look: { columns: terminalColumns(), full },
  })
}
