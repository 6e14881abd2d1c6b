/** `aegis tool`: the kill switch of one tool, for all agents of the tenant. */
import type { Command } from 'commander'
import { type ActFlags, actEnds, addActOptions, inPath, runAct } from '../act.ts'
import { describeEnds, newCommand } from '../command.ts'
import { connect } from '../connection.ts'
import { type ListFlags, addListOptions, listEnds, listEntries, printTable } from '../list-pages.ts'
import { cellText, shownText } from '../shown-text.ts'

export function toolCommand(): Command {
  return newCommand('tool')
    .summary('freeze a tool for all agents')
    .addCommand(actCommand('freeze'))
    .addCommand(actCommand('unfreeze'))
    .addCommand(listCommand())
}

function actCommand(act: 'freeze' | 'unfreeze'): Command {
  const summary = act === 'freeze' ? 'deny every call of a tool, at once' : 'let a tool be called again'
  const command = addActOptions(
    newCommand(act)
      .summary(summary)
      .argument('<tool-id>', 'tool and action with a dot, like github.merge_pr'),
  ).action(async (toolId: string, flags: ActFlags) => {
    const path = `/v1/tools/${inPath(toolId)}/${act}`
    await runAct(
      flags,
      ['admin'],
      { method: 'POST', path, repeatable: true },
      () => `tool ${shownText(toolId)} ${act === 'freeze' ? 'is frozen' : 'may be called again'}`,
    )
  })
  return describeEnds(command, actEnds, [`aegis tool ${act} github.merge_pr`])
}

function listCommand(): Command {
  const command = addListOptions(newCommand('list').summary('list the tools that are frozen')).action(
    async (flags: ListFlags) => {
      const { client } = await connect(flags, ['admin', 'auditor'])
      await printTable(flags, listEntries(client, '/v1/tools', 'tools'), {
        columns: [{ title: 'FROZEN TOOL', width: 0 }],
        name: (entry) => cellText(entry.text('tool_id')),
        row: (entry) => [cellText(entry.text('tool_id'))],
      })
    },
  )
  return describeEnds(command, listEnds, ['aegis tool list'])
}
