/** `aegis policy list`: the policy sets that a tenant has, and which of them are evaluated. */
import type { Command } from 'commander'
import type { Members } from '../answer-members.ts'
import { describeEnds, newCommand } from '../command.ts'
import { connect } from '../connection.ts'
import { type ListFlags, addListOptions, listEnds, listEntries, printTable } from '../list-pages.ts'
import { cellText } from '../shown-text.ts'

export function policyListCommand(): Command {
  const command = addListOptions(
    newCommand('list').summary('list the policy sets of the tenant, and which are in force'),
  ).action(async (flags: ListFlags) => {
    const { client } = await connect(flags, ['admin', 'auditor'])
    await printTable(flags, listEntries(client, '/v1/policies', 'policies'), {
      columns: [
        { title: 'POLICY SET', width: 64 },
        { title: 'PUSHED (UTC)', width: 24 },
        { title: 'BYTES', width: 7 },
        { title: 'STATE', width: 0 },
      ],
      name: (entry) => cellText(entry.text('policy_set_hash')),
      row: (entry) => [
        cellText(entry.text('policy_set_hash')),
        cellText(entry.optionalText('pushed_at') ?? ''),
        String(entry.count('bytes')),
        statesOf(entry),
      ],
    })
  })
  return describeEnds(command, listEnds, ['aegis policy list'])
}

function statesOf(entry: Members): string {
  const states = ['active', 'shadow', 'previous', 'deployed'].filter((name) => entry.object[name] === true)
  return states.join(', ')
}
