/**
 * The published entry `aegis-edge/sdk/ai`: tools of the Vercel AI SDK 7 that ask before they run. Nothing is imported
 * from that package: its types are met by shape, and test/sdk/ai.test.ts holds this against the real one. The message
 * history, which a browser may hold, decides nothing here: an approval counts when the authorizer says so.
 */
import type { ToolCall } from '../record/index.ts'
import { canonicalText } from '../record/jcs.ts'
import type { JsonObject } from '../record/json.ts'
import type { Allowed, ApprovalRequired } from './authorization.ts'
import type { AegisClient } from './client.ts'
import { AegisError, AegisOptionError } from './errors.ts'
import type { UnverifiedReads } from './options.ts'
import { type RunOptions, freezeCall } from './protect.ts'

/** What a tool is for the authorizer. */
export interface ToolAction {
  /** Default the one of the options. */
  readonly tool?: string
  /** Default the tool's name in the set. */
  readonly action?: string
  readonly resource?: string | null | ((input: Readonly<Record<string, unknown>>) => string | null)
  /** Default true. */
  readonly mutates?: boolean
}

/** Where approvals that are waited for are kept between two requests, by the id of the tool call. */
export interface ApprovalStore {
  get(toolCallId: string): Promise<ApprovalRequired | undefined>
  set(toolCallId: string, required: ApprovalRequired): Promise<void>
  delete(toolCallId: string): Promise<void>
}

export interface ProtectToolsOptions<Name extends string> extends Omit<RunOptions, 'signal'> {
  /** What the authorizer calls this set, e.g. `crm`. */
  readonly tool: string
  /** Of the tools whose action is not just their name. */
  readonly actions?: Readonly<Partial<Record<Name, ToolAction>>>
  /** Tools that do not run here (of the browser, or of the provider), and that nobody asks about. */
  readonly unprotected?: readonly Name[]
  /** Default this process's memory, for as long as the set is kept. */
  readonly store?: ApprovalStore
}

/** A status of `toolApproval`. */
export type ToolApprovalAnswer =
  | { readonly type: 'not-applicable' }
  | { readonly type: 'approved'; readonly reason?: string }
  | { readonly type: 'denied'; readonly reason?: string }
  | { readonly type: 'user-approval'; readonly reason?: string }

export interface ProtectedTools<Tools> {
  /** The same tools; each asks by itself, so that they are safe without `toolApproval` too. */
  readonly tools: Tools
  /**
   * For `generateText`, `streamText` or an agent: decides before the call, and stops with an approval request while a
   * human is needed. Without it a tool waits inside its call.
   */
  readonly toolApproval: (options: {
    readonly toolCall: { readonly toolCallId: string; readonly toolName: string; readonly input: unknown }
  }) => Promise<ToolApprovalAnswer>
}

interface ExecuteOptions {
  readonly toolCallId: string
  readonly abortSignal?: AbortSignal | undefined
}
type Execute = (input: unknown, options: ExecuteOptions) => unknown

/** Allows that no call came for; each is usable for a minute at most. */
const heldMax = 1_000

/**
 * Protects a set of tools. Make one for each conversation: what is waited for, and the context, belong to it.
 *
 * @throws AegisOptionError for a tool that does not run here and is not listed as unprotected.
 * @example
 * const { tools, toolApproval } = protectTools(aegis, { merge }, { tool: 'github' })
 * await generateText({ model, prompt, tools, toolApproval })
 */
export function protectTools<
  Tools extends Readonly<Record<string, object>>,
  Reads extends UnverifiedReads | undefined,
>(
  aegis: AegisClient<Reads>,
  tools: Tools,
  options: ProtectToolsOptions<Extract<keyof Tools, string>>,
): ProtectedTools<Tools> {
  const { tool, actions = {}, unprotected = [], store = memoryStore(), ...runOptions } = options
  const allowed = new Map<string, Allowed>()

  const toolCallOf = (name: string, input: unknown): ToolCall => {
    const own: ToolAction | undefined = Object.hasOwn(actions, name)
      ? (actions as Readonly<Record<string, ToolAction>>)[name]
      : undefined
    return freezeCall({ tool, action: name, ...own }, [input])
  }

  /** The decision that was made for this very action, if one was; an allow is given out once. */
  const take = async (
    toolCallId: string,
    toolCall: ToolCall,
  ): Promise<Allowed | ApprovalRequired | undefined> => {
    const held = allowed.get(toolCallId) ?? (await store.get(toolCallId))
    if (held === undefined || !isSame(held.action, toolCall)) return undefined
    return held.kind === 'allowed' && !held.grant.isUsable() ? undefined : held
  }

  const toolApproval: ProtectedTools<Tools>['toolApproval'] = async ({ toolCall: asked }) => {
    const { toolCallId, toolName, input } = asked
    if ((unprotected as readonly string[]).includes(toolName)) return { type: 'not-applicable' }
    try {
      const toolCall = toolCallOf(toolName, input)
      const held = await take(toolCallId, toolCall)
      const decision = held ?? (await aegis.authorize(toAction(toolCall), runOptions))
      switch (decision.kind) {
        case 'allowed':
          if (allowed.size >= heldMax) allowed.clear()
          allowed.set(toolCallId, decision)
          return { type: 'approved', reason: decision.reason.code }
        case 'approval_required': {
          if (held === undefined) await store.set(toolCallId, decision)
          const { groups, approvalId } = decision.approval
          return { type: 'user-approval', reason: `${approvalId} waits for ${groups.join(' or ')}` }
        }
        case 'denied':
          return { type: 'denied', reason: decision.reason.code }
        case 'unverified_read':
          // Its own call asks again, and is let through or not.
          return { type: 'not-applicable' }
      }
    } catch (thrown) {
      if (!(thrown instanceof AegisError)) throw thrown
      return { type: 'denied', reason: `no decision: ${thrown.code}` }
    }
  }

  const wrap = (name: string, original: object): object => {
    if (unprotected.some((open) => open === name)) return original
    const execute: unknown = 'execute' in original ? original.execute : undefined
    if (typeof execute !== 'function') {
      throw new AegisOptionError('option_invalid', `the tool ${name} has no execute: list it as unprotected`)
    }
    const run = async (
      input: unknown,
      call: ExecuteOptions,
      emit: (value: unknown) => void,
    ): Promise<unknown> => {
      const toolCall = toolCallOf(name, input)
      const signal = call.abortSignal
      const own: RunOptions = { ...runOptions, ...(signal === undefined ? {} : { signal }) }
      const held = await take(call.toolCallId, toolCall)
      allowed.delete(call.toolCallId)
      await store.delete(call.toolCallId)
      const decision = held ?? (await aegis.authorize(toAction(toolCall), own))
      return aegis.resume(
        // An unverified read is let through by a client that was told to, and `resume` knows it.
        decision as Allowed,
        async (parameters) => drain((execute as Execute).call(original, parameters, call), emit),
        own,
      )
    }
    const isStream = Object.prototype.toString.call(execute) === '[object AsyncGeneratorFunction]'
    const wrapped = isStream
      ? (input: unknown, call: ExecuteOptions) => streamed((emit) => run(input, call, emit))
      : (input: unknown, call: ExecuteOptions) => run(input, call, () => undefined)
    return { ...original, execute: wrapped }
  }

  const wrapped = Object.fromEntries(Object.entries(tools).map(([name, own]) => [name, wrap(name, own)]))
  return { tools: wrapped as Tools, toolApproval }
}

function toAction({ mutates_state: mutates, ...rest }: ToolCall): Parameters<AegisClient['authorize']>[0] {
  return { ...rest, mutates }
}

function isSame(left: ToolCall, right: ToolCall): boolean {
  return canonicalText(left as unknown as JsonObject) === canonicalText(right as unknown as JsonObject)
}

/** The last value of an iterable, each told as it comes; anything else as it is. */
async function drain(result: unknown, emit: (value: unknown) => void): Promise<unknown> {
  if (typeof result !== 'object' || result === null || !(Symbol.asyncIterator in result)) return result
  let last: unknown
  for await (const value of result as AsyncIterable<unknown>) {
    last = value
    emit(value)
  }
  return last
}

/** What a run tells, as a stream that ends, or fails, as the run does: its report is made by then. */
async function* streamed(start: (emit: (value: unknown) => void) => Promise<unknown>): AsyncGenerator {
  const values: unknown[] = []
  let ended = false
  let wake = (): void => undefined
  const done = start((value) => {
    values.push(value)
    wake()
  }).finally(() => {
    ended = true
    wake()
  })
  // Whoever reads on gets the error below; whoever stops reading does not want it.
  done.catch(() => undefined)
  for (;;) {
    while (values.length > 0) yield values.shift()
    if (ended) break
    await new Promise<void>((resolve) => {
      wake = resolve
      if (ended || values.length > 0) resolve()
    })
  }
  await done
}

function memoryStore(): ApprovalStore {
  const kept = new Map<string, ApprovalRequired>()
  return {
    get: async (toolCallId) => kept.get(toolCallId),
    set: async (toolCallId, required) => void kept.set(toolCallId, required),
    delete: async (toolCallId) => void kept.delete(toolCallId),
  }
}
