/** `aegis agent`: an admin creates, changes, freezes, revokes and lists agents. Each act is a Call. */
import { type Command, Option } from 'commander'
import { sourceTrusts } from '../../protocol/index.ts'
import { toAsciiJson } from '../../verify/index.ts'
import { type ActFlags, actEnds, addActOptions, inPath, printAct, runAct } from '../act.ts'
import { type Members, ask } from '../answer-members.ts'
import { describeEnds, each, newCommand, nonEmpty, once, refuseValue } from '../command.ts'
import { connect } from '../connection.ts'
import { usageError } from '../exit-codes.ts'
import { fieldLines } from '../field-lines.ts'
import { type ListFlags, addListOptions, listEnds, listEntries, printTable } from '../list-pages.ts'
import { cellText, shownText } from '../shown-text.ts'
import { Output } from '../terminal.ts'

export function agentCommand(): Command {
  const command = newCommand('agent')
    .summary('create, change, freeze, revoke and list agents')
    .addCommand(createCommand())
    .addCommand(changeCommand())
  for (const act of ['freeze', 'unfreeze', 'revoke'] as const) command.addCommand(actCommand(act))
  return command.addCommand(listCommand()).addCommand(showCommand())
}

interface RecordFlags {
  readonly owner?: string
  readonly role?: readonly string[]
  readonly roles?: false
  readonly environment?: string
  readonly riskTier?: string
  readonly trustMax?: string
  readonly forceApproval?: boolean
}

function addRecordOptions(command: Command): Command {
  const text = (value: string): string => value
  return command
    .addOption(
      new Option('--owner <subject>', 'who answers for it; he approves nothing that it asks for').argParser(
        once(nonEmpty),
      ),
    )
    .addOption(new Option('--role <role>', 'a role of it; any number of times').argParser(each(nonEmpty)))
    .addOption(new Option('--environment <name>', 'where it runs').argParser(once(text)))
    .addOption(new Option('--risk-tier <name>', 'how risky it is').argParser(once(text)))
    .addOption(
      new Option(
        '--trust-max <trust>',
        `the best trust that its claims are believed up to: ${[...sourceTrusts].reverse().join(', ')}`,
      ).argParser(once(trustValue)),
    )
    .option('--force-approval', 'whatever it is allowed waits for people')
}

function trustValue(value: string): string {
  if ((sourceTrusts as readonly string[]).includes(value)) return value
  throw refuseValue(`It is one of ${[...sourceTrusts].reverse().join(', ')}.`)
}

/** The members that the flags name, as the API has them. */
function toRecord(flags: RecordFlags) {
  const roles = flags.role ?? (flags.roles === false ? [] : undefined)
  return {
    ...(flags.owner === undefined ? {} : { owner: flags.owner }),
    ...(flags.environment === undefined ? {} : { environment: flags.environment }),
    ...(flags.riskTier === undefined ? {} : { risk_tier: flags.riskTier }),
    ...(flags.trustMax === undefined ? {} : { trust_max: flags.trustMax }),
    ...(flags.forceApproval === undefined ? {} : { force_approval: flags.forceApproval }),
    ...(roles === undefined ? {} : { roles }),
  }
}

function createCommand(): Command {
  const command = newCommand('create')
    .summary('create an agent; it needs a key of its own')
    .argument('<id>', 'its id')
  addActOptions(addRecordOptions(command)).action(async (id: string, flags: ActFlags & RecordFlags) => {
    if (flags.owner === undefined) {
      throw usageError('error: --owner: name the person who answers for the agent')
    }
    const body = { id, ...toRecord(flags) }
    await runAct(
      flags,
      ['admin'],
      { method: 'POST', path: '/v1/agents', body },
      () => `agent ${shownText(id)} created, owned by ${shownText(flags.owner ?? '')}`,
    )
  })
  return describeEnds(command, actEnds, [
    'aegis agent create desk --owner ada@example.com --role assistant --trust-max semi_trusted_customer',
  ])
}

const recordMembers = ['owner', 'environment', 'risk_tier', 'trust_max', 'force_approval', 'roles'] as const

function changeCommand(): Command {
  const command = newCommand('change')
    .summary("change an agent's record; what no flag names stays")
    .description(
      'Reads the record, puts in what the flags name, and writes it as a whole. Without a difference nothing is sent.',
    )
    .argument('<id>', 'its id')
  addRecordOptions(command)
    .option('--no-roles', 'take all roles from it')
    .option('--no-force-approval', 'what it is allowed need not wait for people')
  addActOptions(command).action(change)
  return describeEnds(command, actEnds, [
    'aegis agent change desk --role assistant --role merger',
    'aegis agent change desk --trust-max untrusted_external --force-approval',
  ])
}

async function change(id: string, given: ActFlags & RecordFlags): Promise<void> {
  const wanted = toRecord(given)
  if (Object.keys(wanted).length === 0) {
    throw usageError(
      'error: --owner: nothing to change: give --owner, --role, --trust-max or another of the record',
    )
  }
  const { client } = await connect(given, ['admin'])
  const path = `/v1/agents/${inPath(id)}`
  const before = (await ask(client, { path })).object
  const kept = Object.fromEntries(recordMembers.map((name) => [name, before[name]]))
  const body: Readonly<Record<string, unknown>> = { ...kept, ...wanted }
  const changed = recordMembers.filter((name) => JSON.stringify(body[name]) !== JSON.stringify(before[name]))
  if (changed.length === 0) {
    await printUnchanged(given, `agent ${shownText(id)} has this record already`)
    return
  }
  const answer = await ask(client, { method: 'PUT', path, body })
  const what = changed.map((name) => `${name} ${shownText(JSON.stringify(body[name]))}`).join(', ')
  await printAct(given, answer, `agent ${shownText(id)} changed: ${what}`)
}

async function printUnchanged(flags: ActFlags, says: string): Promise<void> {
  if (flags.quiet === true) return
  const output = new Output()
  await output.write(flags.json === true ? toAsciiJson({ outcome: 'unchanged' }) : `unchanged  ${says}\n`)
  await output.flush()
}

const acts = {
  freeze: { summary: 'deny each of its calls, at once', says: 'is frozen' },
  unfreeze: { summary: 'let it go on', says: 'goes on' },
  revoke: { summary: 'deny each of its calls, for good', says: 'is revoked, for good' },
} as const

function actCommand(act: keyof typeof acts): Command {
  const { summary, says } = acts[act]
  const command = addActOptions(newCommand(act).summary(summary).argument('<id>', 'its id')).action(
    async (id: string, flags: ActFlags) => {
      const path = `/v1/agents/${inPath(id)}/${act}`
      await runAct(
        flags,
        ['admin'],
        { method: 'POST', path, repeatable: act !== 'revoke' },
        () => `agent ${shownText(id)} ${says}`,
      )
    },
  )
  return describeEnds(command, actEnds, [`aegis agent ${act} desk`])
}

function stateOf(entry: Members): string {
  if (entry.flag('revoked')) return 'revoked'
  return entry.flag('frozen') ? 'frozen' : 'live'
}

function listCommand(): Command {
  const command = addListOptions(newCommand('list').summary('list agents, with their last Calls')).action(
    async (flags: ListFlags) => {
      const { client } = await connect(flags, ['admin', 'auditor'])
      await printTable(flags, listEntries(client, '/v1/agents', 'agents'), {
        columns: [
          { title: 'AGENT', width: 20 },
          { title: 'STATE', width: 7 },
          { title: 'TRUST MAX', width: 22 },
          { title: 'LAST CALL (UTC)', width: 24 },
          { title: 'OWNER', width: 20 },
          { title: 'ROLES', width: 0 },
        ],
        name: (entry) => cellText(entry.text('id')),
        row: (entry) => [
          cellText(entry.text('id')),
          stateOf(entry),
          cellText(entry.text('trust_max')),
          cellText(entry.optionalText('last_call_at') ?? ''),
          cellText(entry.text('owner')),
          entry.texts('roles').map(cellText).join(' '),
        ],
      })
    },
  )
  return describeEnds(command, listEnds, ['aegis agent list', 'aegis agent list --json | jq -r .id'])
}

function showCommand(): Command {
  const command = addActOptions(newCommand('show').summary('one agent').argument('<id>', 'its id')).action(
    async (id: string, flags: ActFlags) => {
      const { client } = await connect(flags, ['admin', 'auditor'])
      const agent = await ask(client, { path: `/v1/agents/${inPath(id)}` })
      const output = new Output()
      await output.write(flags.json === true ? toAsciiJson(agent.object) : agentText(agent))
      await output.flush()
    },
  )
  return describeEnds(command, listEnds, ['aegis agent show desk'])
}

function agentText(agent: Members): string {
  return fieldLines([
    ['agent', shownText(agent.text('id'))],
    ['state', stateOf(agent)],
    ['owner', shownText(agent.text('owner'))],
    ['roles', agent.texts('roles').map(shownText).join(', ')],
    ['environment', shownText(agent.text('environment'))],
    ['risk tier', shownText(agent.text('risk_tier'))],
    ['trust max', shownText(agent.text('trust_max'))],
    [
      'approval',
      agent.flag('force_approval') ? 'forced: whatever it is allowed waits for people' : 'as policies say',
    ],
    ['last call', shownText(agent.optionalText('last_call_at') ?? 'none yet')],
  ])
}
