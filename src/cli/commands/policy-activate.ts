/** `aegis policy activate`, `rollback` and `shadow`: which policy sets of a tenant are evaluated. Each act is a Call. */
import type { Command } from 'commander'
import { type PolicySetHash, parseDigest } from '../../record/index.ts'
import { type ActFlags, actEnds, addActOptions, printAct, runAct } from '../act.ts'
import { type Members, ask } from '../answer-members.ts'
import { describeEnds, newCommand } from '../command.ts'
import { connect } from '../connection.ts'
import { usageError } from '../exit-codes.ts'
import type { HttpClient } from '../http-client.ts'
import { listEntries } from '../list-pages.ts'
import { cellText } from '../shown-text.ts'
import { warn } from '../terminal.ts'
import { policyShadowReportCommand } from './policy-shadow-report.ts'

/** Reads the hash that an argument must be. */
function requireHash(text: string): PolicySetHash {
  const hash = parseDigest<PolicySetHash>(text)
  if (hash !== undefined) return hash
  throw usageError(
    'error: <hash>: a policy_set_hash is 64 lowercase hex characters; aegis policy list has them',
  )
}

/** Puts a set in force and says what holds nevertheless. */
export async function activate(
  client: HttpClient,
  flags: ActFlags,
  hash: string,
  says: (hash: string) => string,
): Promise<void> {
  const answer = await ask(client, {
    method: 'POST',
    path: `/v1/policies/${hash}/activate`,
    repeatable: true,
  })
  if (answer.object['warnings'] !== undefined && flags.quiet !== true) {
    for (const warning of answer.list('warnings')) warn(warningText(warning))
  }
  await printAct(flags, answer, says(hash))
}

function warningText(warning: Members): string {
  if (warning.text('code') !== 'quorum_unreachable') return `warning: ${cellText(warning.text('code'))}`
  const [group, quorum, members] = [warning.text('group'), warning.count('quorum'), warning.count('members')]
  return (
    `warning: quorum_unreachable: the group ${cellText(group)} has ${String(members)} members, and ${String(quorum)} must approve: ` +
    'what needs it is denied (see aegis group set)'
  )
}

export function policyActivateCommand(): Command {
  const command = newCommand('activate')
    .summary('put a policy set in force')
    .description(
      'The next decision is made under it. What the deployment carries for the tenant can be named without a push.',
    )
    .argument('<hash>', 'its policy_set_hash')
  addActOptions(command).action(async (text: string, flags: ActFlags) => {
    const hash = requireHash(text)
    const { client } = await connect(flags, ['admin'])
    await activate(client, flags, hash, () => `policy set ${hash} is in force`)
  })
  return describeEnds(command, actEnds, ['aegis policy activate "$(aegis policy hash policies/default)"'])
}

export function policyRollbackCommand(): Command {
  const command = newCommand('rollback')
    .summary('put the policy set in force again that was before')
    .description(
      'Activates the set that was active before the one that is, whenever and by whomever that was. A second roll-back\n' +
        'goes forward again.',
    )
  addActOptions(command).action(rollBack)
  return describeEnds(command, actEnds, ['aegis policy rollback'])
}

async function rollBack(flags: ActFlags): Promise<void> {
  const { client } = await connect(flags, ['admin'])
  let active: string | undefined
  let previous: string | undefined
  for await (const entry of listEntries(client, '/v1/policies', 'policies')) {
    const hash = entry.matching('policy_set_hash', /^[0-9a-f]{64}$/)
    if (entry.flag('active')) active = hash
    else if (entry.object['previous'] === true) previous = hash
  }
  if (previous === undefined) {
    throw usageError('error: there is nothing to roll back to: no other policy set was active before')
  }
  await activate(
    client,
    flags,
    previous,
    (hash) => `policy set ${hash} is in force again, instead of ${active ?? 'none'}`,
  )
}

export function policyShadowCommand(): Command {
  const command = newCommand('shadow')
    .summary('evaluate another policy set beside the one in force')
    .description(
      'What the set would have answered stands in each Line beside what was; nobody is told, and nothing else changes.',
    )
    .argument('<hash>', 'its policy_set_hash, or: off')
    .addCommand(policyShadowReportCommand())
  addActOptions(command).action(async (text: string, flags: ActFlags) => {
    if (text === 'off') {
      const request = { method: 'DELETE', path: '/v1/policies/shadow' } as const
      await runAct(flags, ['admin'], request, () => 'no policy set is evaluated beside the one in force')
      return
    }
    const hash = requireHash(text)
    const request = { method: 'POST', path: `/v1/policies/${hash}/shadow`, repeatable: true } as const
    await runAct(flags, ['admin'], request, () => `policy set ${hash} is evaluated beside the one in force`)
  })
  return describeEnds(command, actEnds, [
    'aegis policy shadow "$(aegis policy hash new)"',
    'aegis policy shadow off',
  ])
}
