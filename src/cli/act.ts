/**
 * Acts of an operator or an admin as commands: one request, one line of what came of it. A refusal is the error of the
 * request, with its code and its Call. Not for lists: list-pages.ts.
 */
import type { Command } from 'commander'
import { toAsciiJson } from '../verify/index.ts'
import { type Members, ask } from './answer-members.ts'
import { type Connection, type ConnectionFlags, addConnectionOptions, connect } from './connection.ts'
import type { ClientRequest } from './http-client.ts'
import { Output } from './terminal.ts'

export interface ActFlags extends ConnectionFlags {
  readonly json?: true
  readonly quiet?: true
}

/** Gives a command the flags that {@link runAct} takes. */
export function addActOptions(command: Command): Command {
  return addConnectionOptions(command)
    .option('--json', 'print one JSON object')
    .option('-q, --quiet', 'print nothing where all is well')
}

/** How an act that every one of these commands may end, for its help. */
export const actEnds = [
  '0  done, or unchanged: it was so already',
  '1  refused, with the code and the Call; or a usage error',
  '2  the deployment gave no usable answer',
] as const

export type ActRequest = Pick<ClientRequest, 'method' | 'path' | 'body' | 'repeatable'>

/**
 * Does it and says so.
 *
 * @param says what is so now, in words: `agent bot is frozen`. Names in it are shown with shown-text.ts.
 */
export async function runAct(
  flags: ActFlags,
  roles: readonly Connection['role'][],
  request: ActRequest,
  says: (answer: Members) => string,
): Promise<Members> {
  const { client } = await connect(flags, roles)
  const answer = await ask(client, request)
  await printAct(flags, answer, says(answer))
  return answer
}

/** One line, or the answer as JSON; nothing with `--quiet`. */
export async function printAct(flags: ActFlags, answer: Members, says: string): Promise<void> {
  const outcome = answer.text('outcome')
  if (flags.quiet === true) return
  const output = new Output()
  await output.write(flags.json === true ? toAsciiJson(answer.object) : `${actLine(answer, outcome, says)}\n`)
  await output.flush()
}

function actLine(answer: Members, outcome: string, says: string): string {
  const callId = answer.optionalText('call_id')
  const parts = [
    outcome === 'unchanged' ? 'unchanged' : 'done',
    says,
    `revision ${String(answer.count('revision'))}`,
    ...(callId === undefined ? [] : [idText(callId)]),
  ]
  return parts.join('  ')
}

/** An id of ours; whatever else a deployment says it is, is not shown. */
export function idText(id: string): string {
  return /^[a-z]+_[0-9a-z]{1,64}$/.test(id) ? id : '(an id that is none)'
}

/** A name as it stands in a path. */
export function inPath(name: string): string {
  return encodeURIComponent(name)
}
