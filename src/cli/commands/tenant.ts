/** `aegis tenant`: what the operator of a deployment does with tenants (authorize.md §1). Each act is a Call. */
import { type Command, Option } from 'commander'
import { formatInstant } from '../../protocol/index.ts'
import { toAsciiJson } from '../../verify/index.ts'
import { type ActFlags, actEnds, addActOptions, inPath, runAct } from '../act.ts'
import { ask } from '../answer-members.ts'
import { describeEnds, newCommand, nonEmpty, once } from '../command.ts'
import { connect } from '../connection.ts'
import { fieldLines } from '../field-lines.ts'
import { type ListFlags, addListOptions, listEnds, listEntries, printTable } from '../list-pages.ts'
import { type SecretFlags, addSecretOptions, issueSecret } from '../secret-output.ts'
import { cellText, shownText } from '../shown-text.ts'
import { Output } from '../terminal.ts'
import { timeValue } from '../when.ts'

export function tenantCommand(): Command {
  const command = newCommand('tenant')
    .summary("the operator's: create, list, freeze and recover tenants")
    .addCommand(createCommand())
    .addCommand(listCommand())
    .addCommand(showCommand())
  for (const act of ['freeze', 'unfreeze', 'recover'] as const) command.addCommand(actCommand(act))
  return command
}

interface CreateFlags extends ActFlags, SecretFlags {
  readonly admin: string
  readonly expires?: number
}

function createCommand(): Command {
  const command = newCommand('create')
    .summary('create a tenant, with its bundle and its first admin key')
    .description(
      'Creates the tenant with the policy bundle that the deployment carries for it, and issues the first admin key,\n' +
        'which is shown this once. A creation that was cut off is completed by a repeat. A name is used once, ever.',
    )
    .argument('<tenant>', 'its name: 2 to 39 of a-z, 0-9 and -, beginning with a letter')
    .addOption(
      new Option('--admin <subject>', 'whose the first admin key is, like ada@example.com')
        .argParser(once(nonEmpty))
        .makeOptionMandatory(),
    )
    .addOption(
      new Option('--expires <time>', 'when that key expires (default: 90 days from now)').argParser(
        once(timeValue('ahead')),
      ),
    )
  addActOptions(addSecretOptions(command)).action(create)
  return describeEnds(command, actEnds, [
    'AEGIS_OPERATOR_KEY="$(cat operator.key)" aegis tenant create acme --admin ada@example.com --out admin.key',
  ])
}

async function create(tenant: string, flags: CreateFlags): Promise<void> {
  const { client } = await connect(flags, ['operator'])
  const request = {
    method: 'POST',
    path: `/v1/tenants/${inPath(tenant)}/create`,
    body: {
      admin_subject: flags.admin,
      ...(flags.expires === undefined ? {} : { key_expires_at: formatInstant(flags.expires) }),
    },
  } as const
  await issueSecret(flags, client, request, 'admin_key', (answer) => {
    const parts = [
      `tenant ${shownText(tenant)} created with policy set ${shownText(answer.text('policy_set_hash'))}`,
      `admin key ${shownText(answer.text('key_id'))} of ${shownText(flags.admin)}`,
    ]
    return parts.join(', ')
  })
}

function listCommand(): Command {
  const command = addListOptions(newCommand('list').summary('list the tenants of the deployment')).action(
    async (flags: ListFlags) => {
      const { client } = await connect(flags, ['operator'])
      await printTable(flags, listEntries(client, '/v1/tenants', 'tenants'), {
        columns: [{ title: 'TENANT', width: 0 }],
        name: (entry) => cellText(entry.text('tenant')),
        row: (entry) => [cellText(entry.text('tenant'))],
      })
    },
  )
  return describeEnds(command, listEnds, ['aegis tenant list'])
}

function showCommand(): Command {
  const command = addActOptions(
    newCommand('show')
      .summary('one tenant: its state, its policy set, its admins')
      .argument('<tenant>', 'its name'),
  ).action(async (tenant: string, flags: ActFlags) => {
    const { client } = await connect(flags, ['operator'])
    const answer = await ask(client, { path: `/v1/tenants/${inPath(tenant)}` })
    const deployed = answer.members('deployed')
    const output = new Output()
    await output.write(
      flags.json === true
        ? toAsciiJson(answer.object)
        : fieldLines([
            ['tenant', shownText(answer.text('tenant'))],
            ['state', answer.flag('frozen') ? 'frozen: every call of its agents is denied' : 'serving'],
            ['created', shownText(answer.text('created_at'))],
            ['revision', String(answer.count('revision'))],
            ['policy set', shownText(answer.optionalText('policy_set_hash') ?? 'none: everything is denied')],
            [
              'deployed',
              `${shownText(deployed.text('policy_set_hash'))}${deployed.flag('active') ? ', in force' : ', not in force'}`,
            ],
            ['key epoch', String(answer.count('key_epoch'))],
            ['admins', `${String(answer.count('admins'))} with a key that may be used now`],
          ]),
    )
    await output.flush()
  })
  return describeEnds(command, listEnds, ['aegis tenant show acme'])
}

const acts = {
  freeze: { summary: 'deny every call of its agents, at once', says: 'is frozen', example: 'freeze acme' },
  unfreeze: { summary: 'let its agents go on', says: 'serves again', example: 'unfreeze acme' },
  recover: {
    summary: 'go on behind the archive, after a restore or a loss (docs/runbooks.md)',
    says: 'goes on behind its archive, frozen, under a new signing key',
    example: 'recover acme',
  },
} as const

function actCommand(act: keyof typeof acts): Command {
  const { summary, says, example } = acts[act]
  const command = addActOptions(newCommand(act).summary(summary).argument('<tenant>', 'its name')).action(
    async (tenant: string, flags: ActFlags) => {
      const path = `/v1/tenants/${inPath(tenant)}/${act}`
      await runAct(
        flags,
        ['operator'],
        { method: 'POST', path, repeatable: act !== 'recover' },
        () => `tenant ${shownText(tenant)} ${says}`,
      )
    },
  )
  return describeEnds(command, actEnds, [`aegis tenant ${example}`])
}
