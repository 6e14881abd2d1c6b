/**
 * `aegis policy push`: a bundle's folder, validated and tested here, is kept by the deployment, and put in force, if the
 * history says nothing against it.
 */
import type { Command } from 'commander'
import { runCases } from '../../policy/index.ts'
import { actEnds, addActOptions, printAct } from '../act.ts'
import { type GateFlags, addGateOptions, checkGateFlags, passGate } from '../activation-gate.ts'
import { ask } from '../answer-members.ts'
import { countFindings, findingsText, plural, requireBundle } from '../bundle.ts'
import { describeEnds, newCommand } from '../command.ts'
import { connect } from '../connection.ts'
import { usageError } from '../exit-codes.ts'
import { hasColour } from '../terminal.ts'
import { activate } from './policy-activate.ts'

interface PushFlags extends GateFlags {
  readonly untested?: true
}

/** @param recheckWorkerUrl the built module of the threads of a recheck. */
export function policyPushCommand(recheckWorkerUrl: URL): Command {
  const command = newCommand('push')
    .summary('hand a bundle to the deployment')
    .description(
      'Validates the bundle in DIR, decides its cases, and hands its object to the deployment, which validates it again.\n' +
        'Nothing is decided by it until it is activated: with --activate at once, else with aegis policy activate.\n' +
        'With a history, that is rechecked first, and shown: a bundle that newly allows recorded calls which change state\n' +
        'is neither pushed nor put in force unless --yes says so.',
    )
    .argument('<dir>', 'folder of the bundle')
    .option('--activate', 'put it in force too')
    .option('--untested', 'push it though a case fails, or there is none')
  addActOptions(addGateOptions(command)).action(async (folder: string, flags: PushFlags) => {
    await push(folder, flags, recheckWorkerUrl)
  })
  const ends = [...actEnds, '3  the history cannot be judged, so nothing was done']
  return describeEnds(command, ends, [
    'aegis policy push policies/tenants/acme',
    'aegis policy push policies/tenants/acme --activate',
    'aegis policy push policies/tenants/acme --activate --history audit/segments/*.aarl',
    'aegis policy push policies/tenants/acme --activate --auditor-key-file auditor.key',
  ])
}

async function push(folder: string, flags: PushFlags, recheckWorkerUrl: URL): Promise<void> {
  checkGateFlags(flags)
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
  const admin = await connect(flags, ['admin'])
  const { client } = admin
  const { policySetHash } = bundle.policySet
  await passGate(flags, { policySetHash, objectBytes: bundle.objectBytes }, admin, recheckWorkerUrl)
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
