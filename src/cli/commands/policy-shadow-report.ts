/** `aegis policy shadow report`: where a shadow differs from what was answered (docs/recheck.md). */
import { type Command, Option } from 'commander'
import {
  type DifferenceName,
  RowReader,
  differenceNames,
  recheckExitCode,
  rowJson,
  rowText,
} from '../../recheck/index.ts'
import { describeEnds, newCommand, once, refuseValue } from '../command.ts'
import { checkInputNames, closeInputs, openInputs, readChunks, totalBytes } from '../input-files.ts'
import { policyMeans } from '../policy-engine.ts'
import { Progress } from '../progress.ts'
import { differenceValues, timeValue } from '../recheck-options.ts'
import { type RowBatch, RowBatcher, readBatch } from '../row-batch.ts'
import { ShadowTally, shadowRowText } from '../shadow-tally.ts'
import { Output } from '../terminal.ts'

interface ShadowReportFlags {
  readonly set?: string
  readonly since?: number
  readonly failOn?: readonly DifferenceName[]
  readonly json?: true
}

export function policyShadowReportCommand(): Command {
  const command = newCommand('report')
    .summary('where the recorded shadow differs from what was answered')
    .description(
      'Reads the files, in order, as one Chain and compares what each Line answered with what its shadow holds. Nothing is\n' +
        'evaluated or sent, and no signature is checked: aegis verify does that. - is standard input.',
    )
    .argument('<file...>', 'files of Lines; several are one Chain')
    .addOption(
      new Option('--set <hash>', 'only where this policy set was the shadow').argParser(once(hashValue)),
    )
    .addOption(
      new Option('--since <time>', 'only outcomes decided then or later, RFC 3339').argParser(
        once(timeValue),
      ),
    )
    .addOption(
      new Option('--fail-on <kinds>', `exit 1 only on these: ${differenceNames.join(',')}`).argParser(
        once(differenceValues),
      ),
    )
    .option('--json', 'an object a row that differs, then the sums')
    .action(run)
  return describeEnds(
    command,
    [
      '0  the shadow answered as was answered, every time',
      '1  a difference (with --fail-on: one of those); or a usage error, with nothing on stdout',
      '2  a file could not be opened or read',
      '3  there is no shadow to compare, or something could not be read (this outranks 1)',
    ],
    [
      'aegis policy shadow report audit/segments/*.aarl audit/live.aarl',
      'aegis policy shadow report --set "$(aegis policy hash new)" --fail-on newly_allowed chain.aarl',
    ],
  )
}

function hashValue(value: string): string {
  if (/^[0-9a-f]{64}$/.test(value)) return value
  throw refuseValue('A policy_set_hash is 64 lowercase hex characters.')
}

async function run(files: readonly string[], flags: ShadowReportFlags): Promise<void> {
  checkInputNames(files)
  const inputs = await openInputs(files)
  const progress = new Progress('shadow report', totalBytes(inputs))
  // No set is known to this reader, so that it evaluates nothing.
  const nothing = { policySet: () => undefined, envelope: () => undefined }
  const { since } = flags
  const reader = new RowReader({ ...policyMeans(), ...nothing }, since === undefined ? {} : { since })
  const tally = new ShadowTally(flags.set)
  const output = new Output()
  const batcher = new RowBatcher()
  let rows = 0
  const report = async (batches: readonly RowBatch[]): Promise<void> => {
    for (const batch of batches) {
      for (const reading of readBatch(batch, reader)) {
        const row = tally.take(reading)
        if (row === undefined) continue
        rows += 1
        const text = row.kind === 'broken' ? rowText(row) : shadowRowText(row)
        await output.write(flags.json === true ? rowJson(row) : text)
      }
    }
  }
  try {
    let doneBytes = 0
    for (const input of inputs) {
      for await (const chunk of readChunks(input)) {
        batcher.push(chunk)
        doneBytes += chunk.length
        await report(batcher.take())
        progress.update(doneBytes)
        if (output.closed) break
      }
      if (output.closed) break
      batcher.endFile()
    }
    await report(batcher.take(true))
  } finally {
    progress.end()
    await closeInputs(inputs)
  }
  await output.write(flags.json === true ? tally.json : `${rows > 0 ? '\n' : ''}${tally.text}`)
  await output.flush()
  process.exitCode = recheckExitCode(tally.differences, flags.failOn ?? differenceNames, tally.incomplete)
}
