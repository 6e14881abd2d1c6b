/**
 * `aegis apikey`: the bearer keys with which agents, people and auditors call the API. Named apart from `aegis key`, which
 * is about the keys that sign Lines: the two must never be taken for each other (docs/cli.md).
 */
import { type Command, Option } from 'commander'
import { type KeyRole, formatInstant, keyRoles } from '../../protocol/index.ts'
import { type ActFlags, actEnds, addActOptions, inPath, runAct } from '../act.ts'
import type { Members } from '../answer-members.ts'
import { describeEnds, newCommand, nonEmpty, once, refuseValue } from '../command.ts'
import { connect } from '../connection.ts'
import { usageError } from '../exit-codes.ts'
import { type ListFlags, addListOptions, listEnds, listEntries, printTable } from '../list-pages.ts'
import { type SecretFlags, addSecretOptions, issueSecret } from '../secret-output.ts'
import { cellText, shownText } from '../shown-text.ts'
import { timeValue } from '../when.ts'

export function apikeyCommand(): Command {
  return newCommand('apikey')
    .summary('issue, confirm, revoke and list API keys (signing keys: aegis key)')
    .addCommand(issueCommand())
    .addCommand(actCommand('confirm'))
    .addCommand(actCommand('revoke'))
    .addCommand(listCommand())
}

interface IssueFlags extends ActFlags, SecretFlags {
  readonly role: KeyRole
  readonly subject: string
  readonly agent?: string
  readonly envelopes?: true
  readonly expires: number
  readonly tenant?: string
}

function issueCommand(): Command {
  const command = newCommand('issue')
    .summary('issue a key; it is shown this once')
    .description(
      'A key of an approver or an admin waits until an admin of another subject confirms it, once the tenant has two.\n' +
        'With --tenant the operator issues an admin key, which needs no confirmation.',
    )
    .addOption(
      new Option('--role <role>', `what it may do: ${keyRoles.join(', ')}`)
        .argParser(once(roleValue))
        .makeOptionMandatory(),
    )
    .addOption(
      new Option('--subject <subject>', 'whose it is: a person, like ada@example.com, or a program')
        .argParser(once(nonEmpty))
        .makeOptionMandatory(),
    )
    .addOption(
      new Option('--expires <time>', 'when it expires: a time, or a span like 90d')
        .argParser(once(timeValue('ahead')))
        .makeOptionMandatory(),
    )
    .addOption(new Option('--agent <id>', 'of role agent: which one').argParser(once(nonEmpty)))
    .option('--envelopes', 'of role auditor: may read the bytes of requests too')
    .addOption(
      new Option('--tenant <tenant>', 'as the operator: an admin key of this tenant').argParser(
        once(nonEmpty),
      ),
    )
  addActOptions(addSecretOptions(command)).action(issue)
  return describeEnds(command, actEnds, [
    'aegis apikey issue --role agent --agent desk --subject desk-prod --expires 90d --out desk.key',
    'aegis apikey issue --role approver --subject ada@example.com --expires 2027-01-01T00:00:00Z --out ada.key',
    'aegis apikey issue --tenant acme --role admin --subject eve@example.com --expires 30d --out eve.key',
  ])
}

function roleValue(value: string): KeyRole {
  const role = keyRoles.find((name) => name === value)
  if (role !== undefined) return role
  throw refuseValue(`It is one of ${keyRoles.join(', ')}.`)
}

async function issue(flags: IssueFlags): Promise<void> {
  const { role, subject, agent, envelopes, tenant } = flags
  if ((role === 'agent') !== (agent !== undefined)) {
    throw usageError('error: --agent: it names the agent of a key of role agent, and goes with no other role')
  }
  if (tenant !== undefined && role !== 'admin') {
    throw usageError('error: --tenant: the operator issues admin keys; these issue all others')
  }
  const { client } = await connect(flags, tenant === undefined ? ['admin'] : ['operator'])
  const request = {
    method: 'POST',
    path: tenant === undefined ? '/v1/keys' : `/v1/tenants/${inPath(tenant)}/keys`,
    body: {
      role,
      subject,
      expires_at: formatInstant(flags.expires),
      ...(agent === undefined ? {} : { agent }),
      ...(envelopes === undefined ? {} : { envelopes }),
    },
  } as const
  await issueSecret(flags, client, request, 'key', (answer) => sayIssued(flags, answer))
}

function sayIssued({ role, subject, expires }: IssueFlags, answer: Members): string {
  const id = shownText(answer.text('key_id'))
  const waits = answer.flag('confirmed')
    ? ''
    : `; it opens nothing until another admin runs: aegis apikey confirm ${id}`
  return `${role} key ${id} of ${shownText(subject)} issued, until ${formatInstant(expires)}${waits}`
}

const acts = {
  confirm: { summary: "confirm another admin's new key of an approver or an admin", says: 'may be used' },
  revoke: { summary: 'revoke a key, for good', says: 'is revoked, for good' },
} as const

function actCommand(act: keyof typeof acts): Command {
  const { summary, says } = acts[act]
  const command = addActOptions(
    newCommand(act).summary(summary).argument('<key-id>', 'its id, of 16 characters'),
  ).action(async (id: string, flags: ActFlags) => {
    refuseWholeKey(id)
    const path = `/v1/keys/${inPath(id)}/${act}`
    await runAct(flags, ['admin'], { method: 'POST', path }, () => `key ${shownText(id)} ${says}`)
  })
  return describeEnds(command, actEnds, [`aegis apikey ${act} 0123456789abcdef`])
}

/** A whole key in an argument is a secret that others could read by now; it is not shown again. */
function refuseWholeKey(id: string): void {
  if (!id.startsWith('aegis_')) return
  throw usageError(
    'error: <key-id>: that is a whole key, and not its id: give the first 16 characters behind its tenant; others may have read it here: revoke it',
  )
}

function listCommand(): Command {
  const command = addListOptions(newCommand('list').summary('list keys, without their secrets')).action(
    async (flags: ListFlags) => {
      const { client } = await connect(flags, ['admin', 'auditor'])
      await printTable(flags, listEntries(client, '/v1/keys', 'keys'), {
        columns: [
          { title: 'KEY', width: 16 },
          { title: 'ROLE', width: 8 },
          { title: 'STATE', width: 11 },
          { title: 'EXPIRES (UTC)', width: 24 },
          { title: 'SUBJECT', width: 24 },
          { title: 'AGENT', width: 16 },
          { title: 'ISSUED BY', width: 0 },
        ],
        name: (entry) => cellText(entry.text('key_id')),
        row: (entry) => [
          cellText(entry.text('key_id')),
          cellText(entry.text('role')),
          keyState(entry, Date.now()),
          cellText(entry.text('expires_at')),
          cellText(entry.text('subject')),
          cellText(entry.optionalText('agent') ?? ''),
          cellText(entry.optionalText('issued_by') ?? 'operator'),
        ],
      })
    },
  )
  return describeEnds(command, listEnds, ['aegis apikey list'])
}

function keyState(entry: Members, now: number): string {
  if (entry.flag('revoked')) return 'revoked'
  if (Date.parse(entry.text('expires_at')) <= now) return 'expired'
  return entry.flag('confirmed') ? 'live' : 'unconfirmed'
}
