/** `aegis policy validate`: every finding of a bundle, with its place and what to do. Runs no case. */
import { toAsciiJson } from '../../verify/index.ts'
import type { Command } from 'commander'
import { hasErrors } from '../../policy/index.ts'
import { countFindings, findingObject, findingsText, plural, readBundleAt } from '../bundle.ts'
import { describeEnds, newCommand } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { Output, hasColour, printable, styled } from '../terminal.ts'

export function policyValidateCommand(): Command {
  const command = newCommand('validate')
    .summary('find what is wrong with a bundle')
    .description(
      'Reads the bundle in DIR and lists every finding. A bundle with an error is never run or pushed.',
    )
    .argument('<dir>', 'folder of the bundle')
    .option('--json', 'print one JSON object')
    .option('-q, --quiet', 'print nothing where all is well')
    .action(run)
  return describeEnds(
    command,
    [
      '0  no finding, or warnings only',
      '1  at least one error; or a usage error',
      '2  the folder or a file in it could not be read',
    ],
    ['aegis policy validate policies/default'],
  )
}

async function run(folder: string, flags: { readonly json?: true; readonly quiet?: true }): Promise<void> {
  const { bundle, findings } = await readBundleAt(folder)
  if (hasErrors(findings)) process.exitCode = exitCodes.failed
  else if (flags.quiet === true && findings.length === 0) return
  const output = new Output()
  const hash = bundle?.policySet.policySetHash
  if (flags.json === true) {
    await output.write(
      toAsciiJson({
        valid: bundle !== undefined,
        policy_set_hash: hash ?? null,
        findings: findings.map(findingObject),
      }),
    )
  } else {
    const colour = hasColour(process.stdout)
    await output.write(findingsText(folder, findings, colour))
    const verdict = bundle === undefined ? styled('invalid', 'red', colour) : styled('valid', 'green', colour)
    await output.write(`${verdict}  ${printable(folder)}: ${countFindings(findings)}\n`)
    if (bundle !== undefined) {
      const { catalogue, policies } = bundle.policySet
      const parts = [
        plural(catalogue.actions.size, 'action'),
        policies.size === 1 ? '1 policy' : `${String(policies.size)} policies`,
        plural(bundle.cases.length, 'case'),
      ]
      await output.write(`${parts.join(', ')}\npolicy_set_hash ${hash ?? ''}\n`)
    }
  }
  await output.flush()
}
