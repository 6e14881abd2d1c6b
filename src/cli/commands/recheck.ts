/**
 * `aegis recheck` (SPEC.md §10): every recorded outcome under another policy set, or each under its own once more.
 * Executes nothing and checks no signature. Stdout is a function of the files, the sets and the Envelopes.
 */
import { type Command, Option } from 'commander'
import {
  type DifferenceName,
  MarkdownReport,
  differenceNames,
  recheckExitCode,
  rowJson,
  rowText,
  summaryJson,
  summaryText,
} from '../../recheck/index.ts'
import { describeEnds, integerBetween, newCommand, nonEmpty, once } from '../command.ts'
import { usageError } from '../exit-codes.ts'
import { differenceValues, timeValue } from '../recheck-options.ts'
import { recheckThreadsDefaultMax, runRecheck } from '../recheck-run.ts'
import { type RecheckSource, readOnePolicySet, requireFolder } from '../recheck-source.ts'
import { Output } from '../terminal.ts'

interface RecheckFlags {
  readonly policy?: string
  readonly policies?: string
  readonly envelopes?: string
  readonly json?: true
  readonly markdown?: true
  readonly changed?: true
  readonly since?: number
  readonly failOn?: readonly DifferenceName[]
  readonly threads?: number
}

const threadsMax = 64

/** @param workerUrl the built module of the threads. */
export function recheckCommand(workerUrl: URL): Command {
  const command = newCommand('recheck')
    .summary('what another policy set would have answered to recorded calls')
    .description(
      'Reads the files, in order, as one Chain and evaluates every outcome that a policy decided: under --policy, or\n' +
        'each under the set that it was recorded under. Nothing is executed, nothing is sent, no signature is checked:\n' +
        'aegis verify does that. - is standard input.',
    )
    .argument('<file...>', 'files of Lines; several are one Chain')
    .addOption(
      new Option('--policy <bundle>', "a bundle's folder, or a bundle object").argParser(once(nonEmpty)),
    )
    .addOption(
      new Option('--policies <dir>', 'folder of POLICY_SET_HASH.json: each outcome under its own').argParser(
        once(nonEmpty),
      ),
    )
    .addOption(
      new Option('--envelopes <dir>', 'folder of recorded requests, each named by its digest').argParser(
        once(nonEmpty),
      ),
    )
    .addOption(
      new Option('--since <time>', 'only outcomes decided then or later, RFC 3339').argParser(
        once(timeValue),
      ),
    )
    .option('--changed', 'rows only of what is not unchanged')
    .addOption(
      new Option('--fail-on <kinds>', `exit 1 only on these: ${differenceNames.join(',')}`).argParser(
        once(differenceValues),
      ),
    )
    .option('--json', 'an object a row, then the sums')
    .option('--markdown', 'a comment for a pull request')
    .addOption(
      new Option(
        '--threads <n>',
        `threads that evaluate (default: 1 for small inputs, else the processors, at most ${String(recheckThreadsDefaultMax)})`,
      ).argParser(once(integerBetween(1, threadsMax))),
    )
    .action(async (files: string[], flags: RecheckFlags) => {
      await run(files, flags, workerUrl)
    })
  return describeEnds(
    command,
    [
      '0  every outcome is unchanged',
      '1  a difference (with --fail-on: one of those); or a usage error, with nothing on stdout',
      '2  a file could not be opened or read',
      '3  an outcome cannot be rechecked, or a row is no Line (this outranks 1)',
    ],
    [
      'aegis recheck --policy policies/default chain.aarl',
      'aegis recheck --policies policies --envelopes envelopes segments/*.aarl',
      'aegis recheck --policy policies/default --markdown --fail-on newly_allowed chain.aarl > comment.md',
    ],
  )
}

async function run(files: readonly string[], flags: RecheckFlags, workerUrl: URL): Promise<void> {
  if (flags.json === true && flags.markdown === true) {
    throw usageError('error: --json and --markdown exclude each other: stdout is one report')
  }
  const { source, title } = await readSource(flags)
  const output = new Output()
  const { since, threads } = flags
  const setting = { files, source, since, threads, workerUrl, title: 'recheck', output }
  const markdown = new MarkdownReport()
  const toRow = flags.json === true ? rowJson : rowText
  let rows = 0
  try {
    const summary = await runRecheck(setting, (row) => {
      if (flags.markdown === true) {
        markdown.take(row)
        return undefined
      }
      if (flags.changed === true && row.kind === 'row' && row.verdict.verdict === 'unchanged') {
        return undefined
      }
      rows += 1
      return output.write(toRow(row))
    })
    if (flags.markdown === true) await output.write(markdown.text(title, summary))
    else if (flags.json === true) await output.write(summaryJson(summary))
    else await output.write(`${rows > 0 ? '\n' : ''}${summaryText(summary)}`)
    process.exitCode = recheckExitCode(summary.verdicts, flags.failOn ?? differenceNames, summary.broken > 0)
  } finally {
    await output.flush()
  }
}

/** Where sets and Envelopes are, and what a comment calls them. */
async function readSource({
  envelopes,
  policies,
  policy,
}: RecheckFlags): Promise<{ readonly source: RecheckSource; readonly title: string }> {
  if ((policy === undefined) === (policies === undefined)) {
    throw usageError('error: --policy or --policies is needed, and not both: under which set?')
  }
  if (envelopes !== undefined) requireFolder('--envelopes', envelopes)
  const kept = envelopes === undefined ? {} : { envelopes }
  if (policies !== undefined) {
    requireFolder('--policies', policies)
    return {
      source: { policySet: { kind: 'folder', folder: policies }, ...kept },
      title: 'each outcome under its own policy set',
    }
  }
  const { objectBytes, policySet } = await readOnePolicySet(policy ?? '')
  return {
    source: { policySet: { kind: 'one', objectBytes }, ...kept },
    title: `policy set \`${policySet.policySetHash}\``,
  }
}
