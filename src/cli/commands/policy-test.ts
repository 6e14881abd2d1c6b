/** `aegis policy test`: runs the cases of a bundle. A bundle with a finding that is an error has none to run. */
import { toAsciiJson } from '../../verify/index.ts'
import type { Command } from 'commander'
import { type CaseResult, runCases } from '../../policy/index.ts'
import { plural, requireBundle } from '../bundle.ts'
import { describeEnds, newCommand } from '../command.ts'
import { exitCodes, usageError } from '../exit-codes.ts'
import { Output, hasColour, printable, styled } from '../terminal.ts'

export function policyTestCommand(): Command {
  const command = newCommand('test')
    .summary('run the cases of a bundle')
    .description('Decides every request of cases/*.json and compares the answer with the expected one.')
    .argument('<dir>', 'folder of the bundle')
    .option('--json', 'print one JSON object')
    .option('-q, --quiet', 'print nothing where all is well')
    .action(run)
  return describeEnds(
    command,
    [
      '0  every case passed',
      '1  a case failed, there is none, or the bundle has an error; or a usage error',
      '2  the folder or a file in it could not be read',
    ],
    ['aegis policy test policies/default'],
  )
}

async function run(folder: string, flags: { readonly json?: true; readonly quiet?: true }): Promise<void> {
  const { bundle, means } = await requireBundle(folder)
  // Nothing that was asked is not everything that passed.
  if (bundle.cases.length === 0)
    throw usageError(`error: ${folder} has no cases; write some into cases/*.json`)
  const results = runCases(bundle, means)
  const failed = results.filter((result) => !result.passed).length
  if (failed > 0) process.exitCode = exitCodes.failed
  else if (flags.quiet === true) return
  const output = new Output()
  if (flags.json === true) {
    const { policySetHash } = bundle.policySet
    await output.write(
      toAsciiJson({
        policy_set_hash: policySetHash,
        passed: results.length - failed,
        failed,
        cases: results.map(caseObject),
      }),
    )
  } else await writeTable(output, results, failed)
  await output.flush()
}

function caseObject({ file, name, passed, problems, evaluation }: CaseResult): object {
  return {
    file,
    name,
    passed,
    problems,
    got: {
      decision: evaluation.decision,
      code: evaluation.code,
      matched_rules: evaluation.matchedRules,
      ...evaluation.approval,
    },
  }
}

async function writeTable(output: Output, results: readonly CaseResult[], failed: number): Promise<void> {
  const colour = hasColour(process.stdout)
  const width = Math.min(64, Math.max(...results.map(({ name }) => printable(name).length)))
  let file: string | undefined
  for (const result of results) {
    if (result.file !== file) {
      file = result.file
      await output.write(`${styled(printable(file), 'bold', colour)}\n`)
    }
    const { passed, evaluation } = result
    const mark = passed ? styled('pass', 'green', colour) : styled('FAIL', 'red', colour)
    const rules = evaluation.matchedRules.join(', ')
    const why = rules === '' ? evaluation.code : rules
    await output.write(
      `  ${mark}  ${printable(result.name).padEnd(width)}  ${evaluation.decision.padEnd(16)}  ${why}\n`,
    )
    for (const problem of result.problems) await output.write(`        ${printable(problem)}\n`)
    if (!passed) await output.write(`        reason: ${printable(evaluation.detail)}\n`)
  }
  const passed = results.length - failed
  const verdict = failed === 0 ? styled('passed', 'green', colour) : styled('FAILED', 'red', colour)
  await output.write(
    `${verdict}  ${plural(results.length, 'case')}: ${String(passed)} passed, ${String(failed)} failed\n`,
  )
}
