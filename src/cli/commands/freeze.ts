/** `aegis freeze`: an admin pulls the plug of his own tenant, in one command. */
import type { Command } from 'commander'
import { actEnds, type ActFlags, addActOptions, runAct } from '../act.ts'
import { describeEnds, newCommand } from '../command.ts'

export function freezeCommand(): Command {
  const command = newCommand('freeze')
    .summary('pull the plug: deny every call of every agent of your tenant')
    .description(
      'Each decision after the answer is a denial, and goes on when the tenant is at its limits. Only the operator\n' +
        'unfreezes: aegis tenant unfreeze. One agent or one tool: aegis agent freeze, aegis tool freeze.',
    )
  addActOptions(command).action(async (flags: ActFlags) => {
    const request = { method: 'POST', path: '/v1/freeze', repeatable: true } as const
    await runAct(flags, ['admin'], request, () => 'the tenant is frozen: every call of its agents is denied')
  })
  return describeEnds(command, actEnds, ['aegis freeze'])
}
