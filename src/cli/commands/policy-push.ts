/** `aegis policy push`: a bundle's folder, validated and tested here, is kept by the deployment, and put in force. */
import type { Command } from 'commander'
import { runCases } from '../../policy/index.ts'
import { type ActFlags, actEnds, addActOptions, printAct } from '../act.ts'
import { ask } from '../answer-members.ts'
import { countFindings, findingsText, plural, requireBundle } from '../bundle.ts'
import { describeEnds, newCommand } from '../command.ts'
import { connect } from '../connection.ts'
import { usageError } from '../exit-codes.ts'
import { hasColour } from '../terminal.ts'
import { activate } from './policy-activate.ts'

interface PushFlags extends ActFlags {
  readonly activate?: true
  readonly untested?: true
}

export function policyPushCommand(): Command {
  const command = newCommand('push')
    .summary('hand a bundle to the deployment')
    .description(
      'Validates the bundle in DIR, decides its cases, and hands its object to the deployment, which validates it again.\n' +
        'Nothing is decided by it until it is activated: with --activate at once, else with aegis policy activate.',
    )
    .argument('<dir>', 'folder of the bundle')
    .option('--activate', 'put it in force too')
    .option('--untested', 'push it though a case fails, or there is none')
  addActOptions(command).action(push)
  return describeEnds(command, actEnds, [
    'aegis policy push policies/tenants/acme',
    'aegis policy push policies/tenants/acme --activate',
  ])
}

async function push(folder: string, flags: PushFlags): Promise<void> {
  const { bundle, means, findings } = await requireBundle(folder)
  if (findings.length > 0 && flags.quiet !== true) {
    process.stderr.write(findingsText(folder, findings, hasColour(process.stderr)))
    process.stderr.write(`${countFindings(findings)}\n`)
  }
  if (flags.untested !== true) {
    const results = runCases(bundle, means)
    const failed = results.filter((result) => result.problems.length > 0).length
    if (failed > 0 || results.length === 0) {
      const what = failed === 0 ? 'has no case' : `fails ${plural(failed, 'case')}`
      throw usageError(`error: ${folder} ${what}: see aegis policy test, or say --untested`)
    }
  }
  const { client } = await connect(flags, ['admin'])
  const { policySetHash } = bundle.policySet
  // Kept under its hash: a repeat keeps the same.
  const request = {
    method: 'POST',
    path: '/v1/policies',
    body: bundle.objectBytes,
    repeatable: true,
  } as const
  const answer = await ask(client, request)
  if (answer.text('policy_set_hash') !== policySetHash) {
    throw usageError(`error: the deployment names this bundle otherwise than by its hash ${policySetHash}`)
  }
  await printAct(flags, answer, `policy set ${policySetHash} pushed`)
  if (flags.activate === true)
    await activate(client, flags, policySetHash, (hash) => `policy set ${hash} is in force`)
}
