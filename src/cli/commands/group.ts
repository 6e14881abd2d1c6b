/** `aegis group`: who is in the groups that a bundle asks for approvals. */
import type { Command } from 'commander'
import { type ActFlags, actEnds, addActOptions, inPath, runAct } from '../act.ts'
import { describeEnds, newCommand } from '../command.ts'
import { connect } from '../connection.ts'
import { usageError } from '../exit-codes.ts'
import { type ListFlags, addListOptions, listEnds, listEntries, printTable } from '../list-pages.ts'
import { cellText, shownText } from '../shown-text.ts'

export function groupCommand(): Command {
  return newCommand('group').summary('say who approves').addCommand(setCommand()).addCommand(listCommand())
}

function setCommand(): Command {
  const command = newCommand('set')
    .summary('say who is in a group, all of them')
    .description(
      'The members are exactly those named: whoever is not is no longer in it. They are subjects of approver keys,\n' +
        'compared without regard to the case of a to z.',
    )
    .argument('<group>', 'the group, as settings.json names it')
    .argument('[subject...]', 'its members')
    .option('--none', 'nobody: then what needs this group is denied')
  addActOptions(command).action(
    async (group: string, subjects: readonly string[], flags: ActFlags & { readonly none?: true }) => {
      if ((subjects.length === 0) !== (flags.none === true)) {
        throw usageError('error: --none: name the members, or say --none for a group without any, not both')
      }
      const path = `/v1/groups/${inPath(group)}`
      await runAct(flags, ['admin'], { method: 'PUT', path, body: { members: subjects } }, () => {
        const who = subjects.length === 0 ? 'nobody' : subjects.map(shownText).join(', ')
        return `group ${shownText(group)} is ${who}`
      })
    },
  )
  return describeEnds(command, actEnds, ['aegis group set approvers ada@example.com bob@example.com'])
}

function listCommand(): Command {
  const command = addListOptions(newCommand('list').summary('list groups and who is in them')).action(
    async (flags: ListFlags) => {
      const { client } = await connect(flags, ['admin', 'auditor'])
      await printTable(flags, listEntries(client, '/v1/groups', 'groups'), {
        columns: [
          { title: 'GROUP', width: 20 },
          { title: 'MEMBERS', width: 0 },
        ],
        name: (entry) => cellText(entry.text('name')),
        row: (entry) => [
          cellText(entry.text('name')),
          entry.texts('members').map(cellText).join(', ') || 'nobody',
        ],
      })
    },
  )
  return describeEnds(command, listEnds, ['aegis group list'])
}
