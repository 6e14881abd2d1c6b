/**
 * The published entry `aegis-edge/sdk/claude-code-hook`: an HTTP endpoint for the hooks of Claude Code. `PreToolUse` asks
 * the authorizer and answers allow, deny or ask; `PostToolUse` and `PostToolUseFailure` report what came of it. Every
 * doubt is a deny with status 200, because Claude Code lets a tool run when its hook fails, unless the hook is configured
 * with `onFailure: "block"`, which docs/sdk.md says to do. What runs afterwards is Claude Code's to run.
 */
import { canonicalText } from '../record/jcs.ts'
import type { JsonObject } from '../record/json.ts'
import { type Action, freezeAction } from './action.ts'
import { isObject, readObject } from './answer-json.ts'
import type { Allowed, ApprovalRequired } from './authorization.ts'
import type { AegisClient, AuthorizeResult } from './client.ts'
import { AegisApprovalError, AegisDenied, AegisError, AegisOptionError } from './errors.ts'
import { toBytes } from './hash.ts'
import type { UnverifiedReads } from './options.ts'
import type { ActionContext } from './request.ts'

/** What Claude Code says of a tool call. */
export interface HookCall {
  readonly sessionId: string
  /** E.g. `Bash`, `Edit` or `mcp__github__merge_pr`. */
  readonly toolName: string
  readonly toolUseId: string
  readonly input: Readonly<Record<string, unknown>>
  readonly cwd: string
}

export interface HookOptions {
  /** What the hook sends as `Authorization: Bearer …`; at least 16 characters. Whoever has it asks in your name. */
  readonly token: string
  /** Default `{ tool: 'claude-code', action: toolName, parameters: input }`, which may change things. */
  readonly toAction?: (call: HookCall) => Action
  /** Default the session alone, so that where the wish came from counts as unknown. */
  readonly context?: (call: HookCall) => ActionContext
  /** Milliseconds to wait for an approval; less than the hook's `timeout`. Default 20,000. */
  readonly waitMs?: number
  /**
   * What is answered while nobody has approved. Default `deny`: the same call, made again, finds the same approval.
   * `ask` lets whoever sits at the terminal decide instead, who is not an approver: nothing records that.
   */
  readonly unapproved?: 'deny' | 'ask'
  readonly onApproval?: (required: ApprovalRequired) => void | Promise<void>
  readonly onReportError?: (error: unknown) => void
}

/** As much as a request to the authorizer may have. */
const bodyBytesMax = 1_048_576
/** Approvals and grants that are remembered; the oldest goes first. */
const keptMax = 1_000

/**
 * @returns a handler for `fetch`-shaped servers: Workers, Deno, Bun, Hono.
 * @throws AegisOptionError for a token that could be guessed.
 * @example
 * export default { fetch: claudeCodeHook(aegis, { token: env.HOOK_TOKEN }) }
 */
export function claudeCodeHook<Reads extends UnverifiedReads | undefined>(
  aegis: AegisClient<Reads>,
  options: HookOptions,
): (request: Request) => Promise<Response> {
  const { token, waitMs = 20_000, unapproved = 'deny', onApproval, onReportError } = options
  if (typeof token !== 'string' || token.length < 16) {
    throw new AegisOptionError('option_invalid', 'token has fewer than 16 characters')
  }
  const waiting = new Kept<ApprovalRequired>()
  const granted = new Kept<Allowed>()

  const decide = async (call: HookCall): Promise<Response> => {
    const action = options.toAction?.(call) ?? defaultAction(call)
    const context = options.context?.(call) ?? { session: call.sessionId }
    const key = `${call.sessionId} ${canonicalText(freezeAction(action) as unknown as JsonObject)}`
    // Asked anew, the same call would wait for another approval than the one that somebody may have given by now.
    const before = waiting.take(key)
    const decision: AuthorizeResult<Reads> =
      before === undefined ? await aegis.authorize(action, { context }) : before
    if (decision.kind === 'unverified_read') return answer('allow', 'a listed read, while nobody answers')
    try {
      const allowed = await aegis.settle(decision, {
        waitMs,
        ...(onApproval === undefined || before !== undefined ? {} : { onApproval }),
      })
      granted.set(call.toolUseId, allowed)
      return answer('allow', `${allowed.reason.code} (${allowed.callId})`)
    } catch (thrown) {
      if (decision.kind !== 'approval_required' || isOver(thrown)) throw thrown
      waiting.set(key, decision)
      if (!(thrown instanceof AegisApprovalError)) throw thrown
      const { approvalId, groups } = decision.approval
      return answer(
        unapproved,
        `${approvalId} waits for ${groups.join(' or ')}; try again once it is approved`,
      )
    }
  }

  const report = async (call: HookCall, failed: boolean): Promise<Response> => {
    const allowed = granted.take(call.toolUseId)
    if (allowed !== undefined) {
      const { callId, grant } = allowed
      const execution = failed
        ? ({ status: 'trap', message: 'the tool failed' } as const)
        : ({ status: 'success' } as const)
      await aegis.report({ callId, grantId: grant.grantId }, { execution }).catch((thrown: unknown) => {
        onReportError?.(thrown)
      })
    }
    return Response.json({})
  }

  return async (request) => {
    const known = isEqual(request.headers.get('authorization') ?? '', `Bearer ${token}`)
    if (!known || request.method !== 'POST') {
      await request.body?.cancel()
      return new Response(null, known ? { status: 405, headers: { allow: 'POST' } } : { status: 401 })
    }
    try {
      const body = await readBody(request)
      const event = body === undefined ? undefined : readObject(body)
      const call = event === undefined ? undefined : readCall(event)
      switch (call === undefined ? undefined : event?.['hook_event_name']) {
        case 'PreToolUse':
          return await decide(call as HookCall)
        case 'PostToolUse':
        case 'PostToolUseFailure':
          return await report(call as HookCall, event?.['hook_event_name'] === 'PostToolUseFailure')
        default:
          return answer('deny', 'this is no tool call that can be read')
      }
    } catch (thrown) {
      return answer('deny', describe(thrown))
    }
  }
}

function defaultAction({ toolName, input }: HookCall): Action {
  return { tool: 'claude-code', action: toolName, parameters: input }
}

function readCall(event: JsonObject): HookCall | undefined {
  const { session_id: sessionId, tool_name: toolName, tool_use_id: toolUseId, tool_input: input, cwd } = event
  if (typeof sessionId !== 'string' || typeof toolName !== 'string' || !isObject(input)) return undefined
  return {
    sessionId,
    toolName,
    toolUseId: typeof toolUseId === 'string' ? toolUseId : '',
    input,
    cwd: typeof cwd === 'string' ? cwd : '',
  }
}

function answer(permissionDecision: 'allow' | 'deny' | 'ask', reason: string): Response {
  return Response.json({
    hookSpecificOutput: {
      hookEventName: 'PreToolUse',
      permissionDecision,
      permissionDecisionReason: `aegis: ${reason}`,
    },
  })
}

/** For the model and the terminal: codes, and no text of others but what a policy says of its denial. */
function describe(thrown: unknown): string {
  if (thrown instanceof AegisDenied) return `denied, ${thrown.reason.code}`
  return thrown instanceof AegisError ? `no authority, ${thrown.code}` : 'no decision'
}

/** Whether an approval will never lead to anything; a failure that passes, and waiting, leave it open. */
function isOver(thrown: unknown): boolean {
  if (thrown instanceof AegisApprovalError) return thrown.code !== 'approval_pending'
  return thrown instanceof AegisDenied
}

/** `undefined` when it is too long; then it is not kept, nor left unread, which stalls the connection on some platforms. */
async function readBody(request: Request): Promise<Uint8Array | undefined> {
  if (Number(request.headers.get('content-length') ?? 0) > bodyBytesMax) {
    await request.body?.cancel()
    return undefined
  }
  const bytes = new Uint8Array(await request.arrayBuffer())
  return bytes.length > bodyBytesMax ? undefined : bytes
}

/** In a time that depends on the lengths only. */
function isEqual(left: string, right: string): boolean {
  const [a, b] = [toBytes(left), toBytes(right)]
  let difference = a.length ^ b.length
  for (let at = 0; at < a.length; at += 1) difference |= (a[at] ?? 0) ^ (b[at] ?? 0)
  return difference === 0
}

/** What is remembered until it is asked for, the latest few. */
class Kept<T> {
  readonly #values = new Map<string, T>()

  set(key: string, value: T): void {
    this.#values.set(key, value)
    const [oldest] = this.#values.keys()
    if (this.#values.size > keptMax && oldest !== undefined) this.#values.delete(oldest)
  }

  take(key: string): T | undefined {
    const value = this.#values.get(key)
    this.#values.delete(key)
    return value
  }
}
