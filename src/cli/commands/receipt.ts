/**
 * `aegis receipt verify` (SPEC.md §7.12): may the holder of this receipt run this action now. Offline; whether it was
 * used before is not seen here.
 */
import { type Command, Option } from 'commander'
import { nodeSuite } from '../../crypto-node/index.ts'
import {
  type JsonObject,
  type ToolCall,
  describeFormatError,
  isJsonObject,
  lineBytesMax,
  parseBody,
} from '../../record/index.ts'
import { type ReceiptAnswer, escapeForReport, verifyReceipt, toAsciiJson } from '../../verify/index.ts'
import { describeEnds, newCommand, nonEmpty, once, refuseValue } from '../command.ts'
import { exitCodes, usageError } from '../exit-codes.ts'
import { readSmallFile } from '../input-files.ts'
import { type PinFlags, addPinOptions, readPins } from '../pin-options.ts'
import { Output, utcText } from '../terminal.ts'

interface ReceiptFlags extends PinFlags {
  readonly chain: string
  readonly action: string
  readonly agent?: string
  readonly now?: number
  readonly json?: true
  readonly quiet?: true
}

/** Above what the authorizer takes as a request body. */
const actionBytesMax = 1_000_000

export function receiptCommand(): Command {
  return newCommand('receipt').summary('check a receipt').addCommand(verifyReceiptCommand())
}

function verifyReceiptCommand(): Command {
  const command = newCommand('verify')
    .summary('may the holder of this receipt run this action now')
    .description(
      'Checks a receipt (a signed outcome Line, verbatim) against the action that is about to run.\n' +
        'It authorizes once: whoever runs the tool keeps each grant_id until it expires, which this command does not.',
    )
    .argument('<file>', 'the receipt; - is standard input')
  addPinOptions(command)
    .addOption(
      new Option('--chain <tenant>', 'the tenant whose receipts are honoured')
        .argParser(once(nonEmpty))
        .makeOptionMandatory(),
    )
    .addOption(
      new Option('--action <file>', 'the action as JSON: tool, action, resource, mutates_state, parameters')
        .argParser(once(nonEmpty))
        .makeOptionMandatory(),
    )
    .addOption(new Option('--agent <id>', 'only receipts of this agent').argParser(once(nonEmpty)))
    .addOption(
      new Option('--now <time>', 'RFC 3339 time to judge by (default: the clock)').argParser(once(parseTime)),
    )
    .option('--json', 'print one JSON object')
    .option('-q, --quiet', 'print nothing where all is well, and no progress')
    .action(run)
  return describeEnds(
    command,
    [
      '0  valid: the action may run now, once',
      '1  refused, with the reason; or a usage error, with nothing on stdout',
      '2  a file could not be opened or read',
    ],
    ['aegis receipt verify --key "$KEY" --chain acme --action action.json receipt.json'],
  )
}

/** RFC 3339 with a zone; `Date` alone would take a time without one as local, and 30 February as a day of March. */
function parseTime(value: string): number {
  const form =
    /^(?<day>\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/
  const day = form.exec(value)?.groups?.['day']
  const ms = day !== undefined && isDay(day) ? Date.parse(value) : Number.NaN
  if (Number.isNaN(ms)) throw refuseValue('A time is written like 2026-11-30T12:00:00Z.')
  return ms
}

function isDay(text: string): boolean {
  const date = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text)
}

async function run(file: string, flags: ReceiptFlags): Promise<void> {
  const keys = await readPins(flags)
  if (keys === undefined) {
    throw usageError('error: --key or --trust-store is needed: a receipt proves nothing without a pinned key')
  }
  if (flags.action === '-' && file === '-') throw usageError("error: --action and FILE cannot both be '-'")
  const action = parseAction(await readSmallFile('--action', flags.action, actionBytesMax), flags.action)
  // One byte more than a Line and its LF; a longer receipt is malformed like any other.
  const receipt = await readSmallFile('FILE', file, 16 * lineBytesMax)
  const question = {
    action,
    keys,
    chainId: flags.chain,
    now: flags.now ?? Date.now(),
    ...(flags.agent === undefined ? {} : { agentId: flags.agent }),
  }
  const answer = verifyReceipt(receipt, question, nodeSuite)
  process.exitCode = answer.valid ? exitCodes.ok : exitCodes.failed
  if (flags.quiet === true && process.exitCode === exitCodes.ok) return
  const output = new Output()
  await output.write(flags.json === true ? toJson(answer) : toText(answer))
  await output.flush()
}

/** Exactly the members that `action_hash` is made of; others are refused, so that no typing error goes unseen. */
function parseAction(bytes: Uint8Array, file: string): ToolCall {
  const read = parseBody(bytes)
  if (!read.ok) throw usageError(`error: --action: ${file}: ${describeFormatError(read.error)}`)
  const { tool, action, resource = null, mutates_state: mutatesState, parameters, ...others } = read.value
  const wrong = (what: string): Error => usageError(`error: --action: ${file}: ${what}`)
  const [other] = Object.keys(others)
  if (other !== undefined) throw wrong(`'${other}' is no member of an action`)
  if (typeof tool !== 'string') throw wrong('tool is not a string')
  if (typeof action !== 'string') throw wrong('action is not a string')
  if (resource !== null && typeof resource !== 'string') throw wrong('resource is neither a string nor null')
  if (typeof mutatesState !== 'boolean') throw wrong('mutates_state is not a boolean')
  if (!isJsonObject(parameters)) throw wrong('parameters is not an object')
  return { tool, action, resource, mutates_state: mutatesState, parameters: parameters satisfies JsonObject }
}

function toText(answer: ReceiptAnswer): string {
  if (!answer.valid) return `refused ${answer.reason}\n`
  return [
    'valid',
    `grant_id ${escapeForReport(answer.grantId)}`,
    `tool_id ${escapeForReport(answer.toolId)}`,
    `decided_at ${utcText(answer.decidedAt)}`,
    `expires_at ${utcText(answer.expiresAt)}`,
    '',
  ].join('\n')
}

function toJson(answer: ReceiptAnswer): string {
  if (!answer.valid) return toAsciiJson({ valid: false, reason: answer.reason })
  return toAsciiJson({
    valid: true,
    grant_id: answer.grantId,
    tool_id: answer.toolId,
    decided_at: answer.decidedAt,
    expires_at: answer.expiresAt,
  })
}
