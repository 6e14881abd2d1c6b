/**
 * `aegis approvals`: people see what waits for them, approve exactly what was shown, or deny it (authorize.md §4). What a
 * person is shown is made in approval-review.ts; nothing is ever asked where no terminal is.
 */
import { createInterface } from 'node:readline/promises'
import { type Command, Option } from 'commander'
import { toAsciiJson } from '../../verify/index.ts'
import { type ActFlags, addActOptions, idText } from '../act.ts'
import { type Members, ask } from '../answer-members.ts'
import { findForeignHash, isReview, reviewText, stateText } from '../approval-review.ts'
import { describeEnds, newCommand, once, refuseValue } from '../command.ts'
import { type Connection, connect } from '../connection.ts'
import { CliError, usageError } from '../exit-codes.ts'
import { cellText, terminalColumns } from '../shown-text.ts'
import { Output } from '../terminal.ts'
import { approvalsListCommand } from './approvals-list.ts'

export function approvalsCommand(): Command {
  const command = newCommand('approvals')
    .summary('see what waits for a person; approve, deny, withdraw, cancel')
    .addCommand(approvalsListCommand())
    .addCommand(showCommand())
  for (const act of ['approve', 'deny', 'withdraw'] as const) command.addCommand(decideCommand(act))
  return command.addCommand(cancelCommand())
}

interface ShowFlags extends ActFlags {
  readonly full?: true
}

function showCommand(): Command {
  const command = newCommand('show')
    .summary('everything that is needed to judge one approval')
    .description(
      'Who asks and for whom, the whole action with every argument, what policies read of it, the rule that asked and\n' +
        'why, what approving grants, and the hashes, computed here from what is shown. What others wrote stands behind a\n' +
        'bar, with characters that are not seen as \\u{HEX}. Whoever is no approver of its groups sees its state.',
    )
    .argument('<approval-id>', 'its id: apr_…')
    .option('--full', 'show long values whole')
  addActOptions(command).action(async (id: string, flags: ShowFlags) => {
    const connection = await connect(flags, ['approver', 'admin', 'agent'])
    const approval = await fetchApproval(connection, id)
    await print(flags, approval)
  })
  return describeEnds(command, ends, ['aegis approvals show apr_je73722msz1467qpafn85z7jfv'])
}

const ends = [
  '0  done, or shown',
  '1  refused, with the code and the state; not approved by the person; hashes of something else; or a usage error',
  '2  the deployment gave no usable answer',
] as const

/** Fetches it and holds its hashes against what would be shown. */
async function fetchApproval({ client, tenant }: Connection, id: string): Promise<Members> {
  const approval = await ask(client, { path: pathOf(id) })
  if (approval.text('approval_id') !== id) {
    throw new CliError('error: the deployment answered with another approval than was asked for')
  }
  const foreign = isReview(approval) ? findForeignHash(approval, tenant ?? '') : undefined
  if (foreign === undefined) return approval
  throw new CliError(
    `error: ${foreign} of ${id} is not that of what the deployment shows: do not approve it, and tell your administrators`,
  )
}

function pathOf(id: string): string {
  if (/^apr_[0-9a-z]{26}$/.test(id)) return `/v1/approvals/${id}`
  throw usageError('error: <approval-id>: it is apr_ and 26 characters; aegis approvals list has them')
}

async function print(flags: ShowFlags, approval: Members): Promise<void> {
  const output = new Output()
  await output.write(flags.json === true ? toAsciiJson(approval.object) : textOf(flags, approval))
  await output.flush()
}

function textOf(flags: ShowFlags, approval: Members): string {
  const now = Date.now()
  if (isReview(approval)) {
    return reviewText(approval, { columns: terminalColumns(), full: flags.full === true, now })
  }
  const agent = approval.optionalText('agent')
  return [
    stateText(approval, now),
    agent === undefined ? '' : `agent ${cellText(agent)}\n`,
    `tool ${cellText(approval.text('tool_id'))}\n`,
    'The action itself is shown to approvers of its groups, for as long as something can become of it.\n',
  ].join('')
}

interface DecideFlags extends ShowFlags {
  readonly binding?: string
  readonly reason?: string
}

const acts = {
  approve: {
    summary: 'approve exactly what was shown',
    question: 'Approve exactly this?',
    not: 'Not approved',
  },
  deny: { summary: 'deny it; one denial decides', question: 'Deny this?', not: 'Not denied' },
  withdraw: {
    summary: 'withdraw an approval that was not used yet',
    question: 'Withdraw the approval of this?',
    not: 'Not withdrawn',
  },
} as const

function decideCommand(act: keyof typeof acts): Command {
  const command = newCommand(act)
    .summary(acts[act].summary)
    .description(
      'Takes the binding_hash that aegis approvals show printed. Without it, on a terminal, it shows what is to be judged\n' +
        'and asks; without a terminal nothing is asked, and nothing done.',
    )
    .argument('<approval-id>', 'its id: apr_…')
    .addOption(
      new Option('--binding <hash>', 'the binding_hash of what was shown').argParser(once(bindingValue)),
    )
  if (act === 'deny') {
    command.addOption(
      new Option('--reason <text>', 'why, in at most 512 bytes; it stands in the record for good').argParser(
        once((value) => value),
      ),
    )
  }
  command.option('--full', 'show long values whole')
  addActOptions(command).action(async (id: string, flags: DecideFlags) => {
    await decide(id, flags, act)
  })
  return describeEnds(command, ends, [
    `aegis approvals ${act} apr_je73722msz1467qpafn85z7jfv`,
    `aegis approvals ${act} apr_je73722msz1467qpafn85z7jfv --binding "$HASH"${act === 'deny' ? ' --reason "not today"' : ''}`,
  ])
}

function bindingValue(value: string): string {
  if (/^[0-9a-f]{64}$/.test(value)) return value
  throw refuseValue('It is 64 lowercase hex characters, as aegis approvals show prints them.')
}

async function decide(id: string, flags: DecideFlags, act: keyof typeof acts): Promise<void> {
  const path = pathOf(id)
  const isAsked = flags.binding === undefined
  if (isAsked && (!hasPerson() || flags.json === true)) {
    throw usageError(
      'error: --binding: name the binding_hash that aegis approvals show printed; nothing is asked without a terminal, or with --json',
    )
  }
  const connection = await connect(flags, ['approver'])
  let binding = flags.binding
  if (binding === undefined) {
    const approval = await fetchApproval(connection, id)
    await print(flags, approval)
    if (!isReview(approval)) throw new CliError(`error: ${id} has nothing left to be judged`)
    if (!(await confirm(acts[act].question))) throw new CliError(`${acts[act].not}: nothing was sent.`)
    binding = approval.matching('binding_hash', /^[0-9a-f]{64}$/)
  }
  const body = { binding_hash: binding, ...(flags.reason === undefined ? {} : { reason: flags.reason }) }
  // A vote counts once, whoever sends it twice.
  const answer = await ask(connection.client, {
    method: 'POST',
    path: `${path}/${act}`,
    body,
    repeatable: true,
  })
  await printState(flags, answer)
}

/** A person at a terminal, who sees what is printed. */
function hasPerson(): boolean {
  return process.stdin.isTTY && process.stdout.isTTY
}

/** Anything but yes is no; so is the end of the input. */
async function confirm(question: string): Promise<boolean> {
  // The terminal's own line editing: nothing of ours is drawn over what was shown.
  const reader = createInterface({ input: process.stdin, output: process.stdout, terminal: false })
  const ended = new Promise<string>((resolve) => {
    reader.once('close', () => {
      resolve('')
    })
  })
  try {
    const answer = await Promise.race([reader.question(`${question} [y/N] `), ended])
    return /^y(es)?$/i.test(answer.trim())
  } finally {
    reader.close()
  }
}

function cancelCommand(): Command {
  const command = newCommand('cancel')
    .summary('cancel what is pending: for the agent that asked, or an admin')
    .argument('<approval-id>', 'its id: apr_…')
  addActOptions(command).action(async (id: string, flags: ActFlags) => {
    const path = `${pathOf(id)}/cancel`
    const { client } = await connect(flags, ['agent', 'admin'])
    await printState(flags, await ask(client, { method: 'POST', path }))
  })
  return describeEnds(command, ends, ['aegis approvals cancel apr_je73722msz1467qpafn85z7jfv'])
}

async function printState(flags: ActFlags, approval: Members): Promise<void> {
  if (flags.quiet === true) return
  const output = new Output()
  await output.write(flags.json === true ? toAsciiJson(approval.object) : stateLine(approval))
  await output.flush()
}

function stateLine(approval: Members): string {
  const state = approval.text('state')
  const votes = approval.object['votes'] === undefined ? [] : approval.list('votes')
  const useBy = approval.optionalText('use_by')
  const more =
    state === 'pending'
      ? `  ${String(votes.length)} of ${String(approval.count('quorum'))} have approved`
      : state === 'approved' && useBy !== undefined
        ? `  to be used by ${cellText(useBy)}`
        : ''
  return `${cellText(state)}  ${idText(approval.text('approval_id'))}${more}\n`
}
