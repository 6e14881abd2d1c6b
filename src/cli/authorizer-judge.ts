/**
 * `aegis try --url`: the judge that asks a running authorizer, so that recorded calls become Calls of its record. The key
 * comes from the environment or a file, never from an argument, which other users of the machine could read.
 */
import { nodeSuite } from '../crypto-node/index.ts'
import type { Trust } from '../policy/index.ts'
import { Aegis, AegisActionError, AegisError, AegisOptionError, type Pin } from '../sdk/index.ts'
import { CliError, exitCodes, usageError } from './exit-codes.ts'
import { readSmallFile } from './input-files.ts'
import type { CallJudge, Judgement, RecordedCall } from './judged-calls.ts'

/** A key has 136 characters at most. */
const keyFileBytesMax = 1_024
/** A whole run waits for the authorizer rather than failing in the middle. */
const timeoutMs = 60_000

export interface AuthorizerFlags {
  readonly url: string
  readonly keyFile?: string
  /** Public keys that every receipt must be signed by; none given, signatures are not checked. */
  readonly pins?: readonly Pin[] | undefined
}

/** @throws CliError that names the flag, or `AEGIS_API_KEY`, and never holds the key. */
export async function authorizerJudge(flags: AuthorizerFlags, sourceTrust: Trust): Promise<CallJudge> {
  const aegis = makeClient(flags, await readApiKey(flags.keyFile), sourceTrust)
  return { judge: (call) => ask(aegis, call, flags.url) }
}

async function readApiKey(file: string | undefined): Promise<string> {
  if (file !== undefined) {
    return Buffer.from(await readSmallFile('--key-file', file, keyFileBytesMax))
      .toString('utf8')
      .trim()
  }
  const key = process.env['AEGIS_API_KEY'] ?? ''
  if (key === '')
    throw usageError("error: --url needs an agent's API key: set AEGIS_API_KEY, or give --key-file")
  return key
}

function makeClient({ url, keyFile, pins }: AuthorizerFlags, key: string, sourceTrust: Trust): Aegis {
  try {
    return new Aegis({
      url,
      key,
      suite: nodeSuite,
      timeoutMs,
      attemptsMax: 10,
      context: { sourceTrust },
      ...(pins === undefined ? {} : { verify: { keys: pins } }),
    })
  } catch (thrown) {
    if (!(thrown instanceof AegisOptionError)) throw thrown
    const source = keyFile === undefined ? 'AEGIS_API_KEY' : '--key-file'
    const flag = { key_invalid: source, url_invalid: '--url', option_invalid: '--key' }[thrown.code]
    throw usageError(`error: ${flag}: ${thrown.message}`)
  }
}

async function ask(aegis: Aegis, call: RecordedCall, url: string): Promise<Judgement> {
  const { action, mutatesState, parameters, resource, tool } = call
  try {
    const answer = await aegis.authorize({ tool, action, resource, mutates: mutatesState, parameters })
    const { tool_id: toolId } = JSON.parse(answer.receipt.line) as { readonly tool_id: string }
    return {
      toolId,
      decision: ({ allowed: 'allow', denied: 'deny', approval_required: 'require_approval' } as const)[
        answer.kind
      ],
      code: answer.reason.code,
      reason: answer.reason.detail,
      matchedRules: answer.matchedRules,
      ...(answer.kind === 'approval_required'
        ? { approval: { groups: answer.approval.groups, quorum: answer.approval.quorum } }
        : {}),
      callId: answer.callId,
      receipt: answer.receipt.line,
    }
  } catch (thrown) {
    if (thrown instanceof AegisActionError) throw new UnsendableCall(thrown.message)
    if (!(thrown instanceof AegisError)) throw thrown
    throw new CliError(`error: --url: ${url} gave no decision: ${thrown.message}`, exitCodes.unreadable)
  }
}

/** This one call has no exact form and was not sent; the others go on. */
export class UnsendableCall extends Error {}
