/** `aegis calls tail`: the last Calls, and then each as it is recorded, oldest first; a row each. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Command, Option } from 'commander'
import { toAsciiJson } from '../../verify/index.ts'
import type { Members } from '../answer-members.ts'
import { type CallFilterFlags, addFilterOptions, toQuery } from '../call-filter-options.ts'
import { headOfCalls, listCalls } from '../call-pages.ts'
import { describeEnds, integerBetween, newCommand, once } from '../command.ts'
import { connect } from '../connection.ts'
import { CliError, exitCodes } from '../exit-codes.ts'
import { type ListFlags, addListOptions, listEnds } from '../list-pages.ts'
import { Output, hasColour, styled, tableRow, tableTitles, warn } from '../terminal.ts'
import { callTable } from './calls-table.ts'

interface TailFlags extends ListFlags, CallFilterFlags {
  readonly lines?: number
  readonly interval?: number
}

const linesDefault = 10
const intervalDefaultSeconds = 2
/** Held between two looks; what exceeds it is said. */
const burstMax = 10_000

export function callsTailCommand(): Command {
  const command = addFilterOptions(
    newCommand('tail').summary('the last Calls, and then each as it is recorded'),
  )
    .addOption(
      new Option('-n, --lines <n>', `how many of the last (default: ${String(linesDefault)})`).argParser(
        once(integerBetween(0, 1_000)),
      ),
    )
    .addOption(
      new Option(
        '--interval <seconds>',
        `how often it looks (default: ${String(intervalDefaultSeconds)})`,
      ).argParser(once(integerBetween(1, 3_600))),
    )
  addListOptions(command).action(tail)
  return describeEnds(
    command,
    [...listEnds, 'It goes on until it is interrupted; a deployment that cannot be reached is asked again.'],
    ['aegis calls tail', 'aegis calls tail --decision deny --json'],
  )
}

async function tail(flags: TailFlags): Promise<void> {
  const { client } = await connect(flags, ['auditor'])
  const query = toQuery(flags)
  const output = new Output()
  const isTable = flags.json !== true && flags.quiet !== true
  if (isTable) await output.write(styled(tableTitles(callTable.columns), 'bold', hasColour(process.stdout)))
  // The head first: whatever is recorded after it comes with the next look, and nothing comes twice.
  let behind = await headOfCalls(client)
  const { sessionIndex, seq } = behind
  const before = `${String(sessionIndex)}:${String(seq + 1)}`
  const lines = flags.lines ?? linesDefault
  if (lines > 0)
    await print(flags, output, await gather(listCalls(client, { ...query, after: before }, lines)))
  while (!output.closed) {
    await output.flush()
    await sleep((flags.interval ?? intervalDefaultSeconds) * 1_000)
    try {
      const head = await headOfCalls(client)
      const upTo = { after: `${String(head.sessionIndex)}:${String(head.seq + 1)}` }
      const since = { behind: `${String(behind.sessionIndex)}:${String(behind.seq)}` }
      const calls = await gather(listCalls(client, { ...query, ...upTo, ...since }, burstMax + 1))
      if (calls.length > burstMax)
        warn(`aegis calls tail: more than ${String(burstMax)} came at once; the oldest are left out`)
      await print(flags, output, calls)
      behind = head
    } catch (error) {
      // What the deployment refuses stays refused; what it could not answer, it may next time.
      if (!(error instanceof CliError) || error.exitCode !== exitCodes.unreadable) throw error
      warn(error.message)
    }
  }
}

/** Oldest first. */
async function gather(calls: AsyncIterable<Members>): Promise<readonly Members[]> {
  const gathered: Members[] = []
  for await (const call of calls) gathered.push(call)
  return gathered.reverse()
}

async function print(flags: TailFlags, output: Output, calls: readonly Members[]): Promise<void> {
  for (const call of calls) {
    if (flags.json === true) await output.write(toAsciiJson(call.object))
    else if (flags.quiet === true) await output.write(`${callTable.name(call)}\n`)
    else await output.write(tableRow(callTable.columns, callTable.row(call)))
  }
}
