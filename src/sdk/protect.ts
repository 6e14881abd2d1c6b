/**
 * What a protected function is and what may be said with each call of it (authorize.md §7). The arguments become one
 * plain object, and the function gets the frozen copy of it that was authorized: docs/decisions/0008-protect.md.
 */
import type { ToolCall } from '../record/index.ts'
import { freezeAction, readParameters } from './action.ts'
import type { Allowed, ApprovalRequired, UnverifiedRead } from './authorization.ts'
import { AegisActionError } from './errors.ts'
import type { UnverifiedReads } from './options.ts'
import type { ActionContext, Metadata } from './request.ts'

/** How an approval is waited for. */
export interface WaitingOptions {
  /** Ends asking and waiting, and is handed to the function; it does not stop one that runs. */
  readonly signal?: AbortSignal
  /**
   * Milliseconds to wait for an approval. Default and at most: until it can no longer be used. 0 asks once, and
   * throws `approval_pending` while nobody has decided.
   */
  readonly waitMs?: number
  /** Told once, when a human is needed and before the waiting; if it throws, nothing runs. */
  readonly onApproval?: (required: ApprovalRequired) => void | Promise<void>
}

/** Options of one run; those of a call win over those of `protect`, member by member. */
export interface RunOptions extends WaitingOptions {
  /** Members win one by one over those of `protect` and of the client. */
  readonly context?: ActionContext
  readonly metadata?: Metadata
  /** Told when the report could not be made; what the function returned or threw is not changed by that. */
  readonly onReportError?: (error: unknown) => void
  /** What a report says of an error. Default its class alone, never its message. At most 512 bytes. */
  readonly describeError?: (error: unknown) => string
  /** Takes the report over, so that the result need not wait for it: `(work) => ctx.waitUntil(work)` in a Worker. */
  readonly waitUntil?: (work: Promise<void>) => void
}

export interface ProtectOptions<P> extends RunOptions {
  /** E.g. `github`. */
  readonly tool: string
  /** E.g. `merge_pr`. */
  readonly action: string
  /** What it is done to; made from the frozen parameters where it depends on them. Default null. */
  readonly resource?: string | null | ((parameters: P) => string | null)
  /** Whether it changes anything. Default true, which is the stricter one. */
  readonly mutates?: boolean
}

/** What a protected function gets besides its parameters. */
export interface RunningCall<Reads extends UnverifiedReads | undefined = undefined> {
  /** Why it runs: with the receipt for the tool server, and the grant. */
  readonly decision: Reads extends undefined ? Allowed : Allowed | UnverifiedRead
  readonly signal: AbortSignal | undefined
}

/** A function that asks before it runs. */
export interface ProtectedFunction<Args extends readonly unknown[], R> {
  (...args: Args): Promise<Awaited<R>>
  /** The same function with options for the calls that are made through it. */
  with(options: RunOptions): (...args: Args) => Promise<Awaited<R>>
}

/**
 * `T` where JSON can hold it; a type that no value has where it cannot (a Date, a function, a BigInt): then a call does
 * not compile. What types cannot see is refused when it is called.
 */
export type Plain<T> = unknown extends T
  ? T
  : T extends string | number | boolean | null | undefined
    ? T
    : T extends bigint | symbol | ((...args: never[]) => unknown)
      ? never
      : { readonly [K in keyof T]: Plain<T[K]> }

/** The arguments of a function that takes one object, or none. */
export type OneObject<P> = unknown extends P
  ? [parameters?: Readonly<Record<string, never>>]
  : [parameters: Plain<P>]

/** What will be asked for: read now, once, before anything else can run. */
export function freezeCall<P>(
  options: ProtectOptions<P> & { readonly parameters?: ((...args: never[]) => unknown) | undefined },
  args: readonly unknown[],
): ToolCall {
  const { tool, action, resource, mutates, parameters: map } = options
  const parameters = readParameters(map === undefined ? onlyOne(args) : map(...(args as never[])))
  return freezeAction({
    tool,
    action,
    resource: (typeof resource === 'function' ? resource(parameters as P) : resource) ?? null,
    mutates: mutates ?? true,
    parameters,
  })
}

/** More arguments would reach the function without having been authorized, so there are none. */
function onlyOne(args: readonly unknown[]): unknown {
  if (args.length > 1) {
    throw new AegisActionError('$.parameters', 'are several arguments; give `parameters` to make one object')
  }
  return args.length === 0 ? {} : args[0]
}

/** A class and nothing else: messages hold what tools were given. */
export function classOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return typeof thrown
  const { name } = thrown.constructor
  return /^[\w$]{1,64}$/.test(name) ? name : 'Error'
}
