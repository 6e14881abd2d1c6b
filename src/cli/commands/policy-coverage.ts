/** `aegis policy coverage`: what a recorded history says of a bundle (docs/recheck.md). */
import { type Command, Option } from 'commander'
import { PolicyCoverage } from '../../recheck/index.ts'
import { requireBundle } from '../bundle.ts'
import { describeEnds, newCommand, nonEmpty, once } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { runRecheck } from '../recheck-run.ts'
import { requireFolder } from '../recheck-source.ts'
import { Output } from '../terminal.ts'

interface CoverageFlags {
  readonly envelopes?: string
  readonly json?: true
}

/** @param workerUrl the built module of the threads of a recheck. */
export function policyCoverageCommand(workerUrl: URL): Command {
  const command = newCommand('coverage')
    .summary('which policies of a bundle a recorded history needs')
    .description(
      'Evaluates every recorded outcome under the bundle and counts which policies decided it: what never fired, what no\n' +
        'policy decided, which tools nobody used. Nothing is executed, and no signature is checked.',
    )
    .argument('<dir>', 'folder of the bundle')
    .argument('<file...>', 'files of Lines; several are one Chain')
    .addOption(
      new Option('--envelopes <dir>', 'folder of recorded requests, each named by its digest').argParser(
        once(nonEmpty),
      ),
    )
    .option('--json', 'print one JSON object')
    .action(async (folder: string, files: string[], flags: CoverageFlags) => {
      await run(folder, files, flags, workerUrl)
    })
  return describeEnds(
    command,
    [
      '0  every outcome was evaluated',
      '1  the bundle has an error; or a usage error',
      '2  the folder or a file could not be read',
      '3  an outcome could not be evaluated, or a row is no Line; the rest is counted',
    ],
    ['aegis policy coverage policies/default chain.aarl'],
  )
}

async function run(
  folder: string,
  files: readonly string[],
  flags: CoverageFlags,
  workerUrl: URL,
): Promise<void> {
  const { envelopes } = flags
  if (envelopes !== undefined) requireFolder('--envelopes', envelopes)
  const { bundle } = await requireBundle(folder)
  const coverage = new PolicyCoverage(bundle.policySet)
  const output = new Output()
  const source = {
    policySet: { kind: 'one', objectBytes: bundle.objectBytes },
    ...(envelopes === undefined ? {} : { envelopes }),
  } as const
  const summary = await runRecheck({ files, source, workerUrl, title: 'coverage', output }, (row) => {
    if (row.kind === 'row') coverage.take(row)
  })
  await output.write(flags.json === true ? coverage.json : coverage.text)
  await output.flush()
  if (coverage.incomplete || summary.broken > 0) process.exitCode = exitCodes.indeterminate
}
