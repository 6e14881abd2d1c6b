/**
 * What a client of the authorizer can do (authorize.md §6, §7). `authorize` returns a decision or throws: there is no other
 * way out, so that code which runs a tool only on `kind === 'allowed'` fails closed; `protect` is that code. What is known
 * of who signed comes in as a `Trust`: the published clients are `Aegis` and `UnverifiedAegis`.
 */
import type { ToolCall } from '../record/index.ts'
import { canonicalText } from '../record/jcs.ts'
import { type Action, freezeAction, hashAction } from './action.ts'
import { checkReport } from './answer-check.ts'
import { parseApprovalState, parseGrants, parseReportAnswer } from './answer.ts'
import type { ApprovalState, UnreportedGrants } from './approval.ts'
import type { Allowed, ApprovalRequired, Decision, Denied, UnverifiedRead } from './authorization.ts'
import { elapsedMs, readClock, untilAborted } from './clock.ts'
import { Connection, random } from './connection.ts'
import { AegisAbortedError, AegisActionError, AegisDenied, AegisStatusError, type Receipt } from './errors.ts'
import { frozenCopy } from './frozen-copy.ts'
import { toBytes } from './hash.ts'
import type { ClientOptions, UnverifiedReads } from './options.ts'
import {
  type OneObject,
  type Plain,
  type ProtectOptions,
  type ProtectedFunction,
  type RunOptions,
  type RunningCall,
  type WaitingOptions,
  classOf,
  freezeCall,
} from './protect.ts'
import { readReceipt, textAt } from './receipt.ts'
import { type ActionContext, type Metadata, makeConsume, makeRequest, newId } from './request.ts'
import type { Trust } from './trust.ts'
import { usefulMs, waitForApproval } from './wait.ts'

export interface SignalOptions {
  readonly signal?: AbortSignal
}

export interface AuthorizeOptions {
  /** Ends waiting and sending; a Call that arrived may be recorded all the same. */
  readonly signal?: AbortSignal
  readonly context?: ActionContext
  readonly metadata?: Metadata
}

/** `unverified_read` can come only from a client that was made with `allowUnverifiedReads`. */
export type AuthorizeResult<Reads extends UnverifiedReads | undefined> = Reads extends undefined
  ? Decision
  : Decision | UnverifiedRead

/** What came of a grant, as it is recorded (SPEC.md §4.3, §4.10). */
export interface Outcome {
  readonly execution:
    | { readonly status: 'success' }
    | { readonly status: 'trap'; readonly message: string }
    | { readonly status: 'resource_exceeded'; readonly kind: string }
    | { readonly status: 'host_denied'; readonly reason: string }
  /** SHA-256 of what the tool answered, 64 hex. */
  readonly responseDigest?: string
  /** How long it ran, integer ms. */
  readonly wallMs?: number
}

/** How long the result of a tool is kept back for its report, retries included. */
const reportTimeoutMs = 5_000

export abstract class AegisClient<Reads extends UnverifiedReads | undefined = undefined> {
  readonly #connection: Connection

  /** @throws AegisOptionError for options that cannot work. */
  protected constructor(options: ClientOptions<Reads>, trust: Trust) {
    this.#connection = new Connection(options, trust)
  }

  /** The tenant that the key belongs to, and whose Chain the receipts stand in. */
  get tenant(): string {
    return this.#connection.options.tenant
  }

  /**
   * Asks whether an action may run.
   *
   * @returns the decision; `allowed` carries a grant and a receipt for exactly this action.
   * @throws AegisActionError before anything is sent; AegisUnreachableError, AegisAbortedError, AegisStatusError or
   *   AegisAnswerError when there is no decision that can be believed. After any of them the tool must not run.
   */
  async authorize(action: Action, options: AuthorizeOptions = {}): Promise<AuthorizeResult<Reads>> {
    return this.#authorize(freezeAction(action), [options.context], options)
  }

  /**
   * Makes a function ask before it runs. Its one argument is copied, frozen, hashed and authorized; where a human must
   * approve, it waits and consumes the approval; then the function is called with that copy, and what came of it is
   * reported. Whatever goes wrong before the call, the function does not run, and the promise is rejected.
   *
   * @example
   * const merge = aegis.protect(
   *   ({ branch }: { branch: string }, call) => github.merge(branch, call.decision),
   *   { tool: 'github', action: 'merge_pr' },
   * )
   * await merge({ branch: 'main' })
   */
  protect<P, R>(
    fn: (parameters: P, call: RunningCall<Reads>) => R,
    options: ProtectOptions<P> & { readonly parameters?: undefined },
  ): ProtectedFunction<OneObject<P>, R>
  /** The same for any arguments: `parameters` makes one object of them, and the function gets that object's copy. */
  protect<Args extends readonly unknown[], P, R>(
    fn: (parameters: P, call: RunningCall<Reads>) => R,
    options: ProtectOptions<P> & { readonly parameters: (...args: Args) => Plain<P> },
  ): ProtectedFunction<Args, R>
  protect<P, R>(
    fn: (parameters: P, call: RunningCall<Reads>) => R,
    options: ProtectOptions<P> & { readonly parameters?: ((...args: never[]) => unknown) | undefined },
  ): ProtectedFunction<unknown[], R> {
    const run = async (args: readonly unknown[], own: RunOptions): Promise<Awaited<R>> => {
      // Before anything is awaited: afterwards the caller may change his objects.
      const toolCall = freezeCall(options, args)
      const merged = { ...options, ...own }
      const decision = await this.#authorize(toolCall, [options.context, own.context], merged)
      return this.#run(decision, fn, merged)
    }
    return Object.assign((...args: unknown[]) => run(args, {}), {
      with:
        (own: RunOptions) =>
        (...args: unknown[]) =>
          run(args, own),
    })
  }

  /**
   * Runs a function under a decision of before: waits for the approval where one is needed, consumes it, and goes on
   * as `protect` does. A decision is for one run. An `approval_required` may have been stored as JSON meanwhile.
   */
  async resume<P, R>(
    decision: Decision,
    fn: (parameters: P, call: RunningCall<Reads>) => R,
    options: RunOptions = {},
  ): Promise<Awaited<R>> {
    return this.#run(decision, fn, options)
  }

  /**
   * The authority that a decision comes to: an allow itself, or, once its approval was given and consumed, that one. For
   * whoever runs the tool elsewhere; it then has to report the grant too.
   *
   * @throws AegisDenied, AegisApprovalError; and as `authorize`.
   */
  async settle(decision: Decision, options: WaitingOptions = {}): Promise<Allowed> {
    // Only an unverified read stays one, and that is no Decision.
    return (await this.#authority(decision, options)) as Allowed
  }

  /** Where an approval stands. @throws AegisStatusError with status 404 when it is not this agent's. */
  async approval(approvalId: string, options: SignalOptions = {}): Promise<ApprovalState> {
    return this.#poll(approvalId, options.signal, this.#connection.options.attemptsMax)
  }

  /**
   * Uses an approval, once: the action is decided again under today's policies.
   *
   * @returns `allowed` with a grant and a receipt that refers to the approval, or `denied`.
   * @throws AegisApprovalError when it is not approved, was used, or is over; and as `authorize`.
   */
  async consume(required: ApprovalRequired, options: SignalOptions = {}): Promise<Allowed | Denied> {
    const { trust, options: settled } = this.#connection
    const { approvalId, bindingHash } = required.approval
    const toolCall = frozenCopy(required.action, '$.action', 1) as unknown as ToolCall
    const frozen = await hashAction(toolCall, trust.hash)
    const { outcome } = await readReceipt(required.receipt.line, trust.hash, required)
    const asks = textAt(outcome, 'policy', 'approval_id') === approvalId
    if (!asks || outcome['action_hash'] !== frozen.actionHash) {
      throw new AegisActionError('$.action', 'is not the one that the approval is for')
    }
    const request = makeConsume({ action_hash: frozen.actionHash, binding_hash: bindingHash }, random)
    const started = readClock(settled.clock)
    const sending = { path: `${approvalPath(approvalId)}/consume`, signal: options.signal }
    const http = await this.#connection.post(request, started, sending)
    if (http.status !== 200) throw this.#connection.lost(http, required)
    const answer = await this.#connection.decide(frozen, request, started, http, {
      approvalId,
      callId: required.callId,
      requestDigest: textAt(outcome, 'request_digest'),
    })
    if (answer.kind === 'approval_required') throw new Error('checkAnswer lets no such answer through')
    return answer
  }

  /**
   * Says what came of a grant, once. `protect` does it by itself.
   *
   * @returns the receipt of the report.
   * @throws AegisStatusError with `problem.code` `already_reported`, `report_too_late` or `not_found`; and as `authorize`.
   */
  async report(
    of: { readonly callId: string; readonly grantId: string },
    { execution, responseDigest, wallMs }: Outcome,
    options: SignalOptions = {},
  ): Promise<{ readonly callId: string; readonly receipt: Receipt }> {
    const { callId, grantId } = of
    const body = frozenCopy(
      {
        call_id: callId,
        grant_id: grantId,
        execution,
        ...(responseDigest === undefined ? {} : { response_digest: responseDigest }),
        ...(wallMs === undefined ? {} : { wall_ms: wallMs }),
      },
      '$report',
    )
    const { trust, options: settled } = this.#connection
    const request = { requestId: newId('req', random), bytes: toBytes(canonicalText(body)) }
    const started = readClock(settled.clock)
    const timeoutMs = Math.min(settled.timeoutMs, reportTimeoutMs)
    const http = await this.#connection.post(request, started, {
      path: 'reports',
      signal: options.signal,
      timeoutMs,
    })
    if (http.status !== 200) throw this.#connection.refusal(http)
    const answer = await parseReportAnswer(http, trust.hash)
    const { status } = execution
    checkReport(answer, await this.#connection.asked(request, started), { callId, grantId, status })
    return Object.freeze({ callId: answer.callId, receipt: answer.receipt })
  }

  /** Grants of this agent that ended without a report; the rest comes with `after`. */
  async unreportedGrants(
    options: SignalOptions & { readonly after?: string } = {},
  ): Promise<UnreportedGrants> {
    const { after, signal } = options
    const page = after === undefined ? '' : `&after=${encodeURIComponent(after)}`
    const sending = { path: `grants?unreported=true${page}`, signal }
    return parseGrants(await this.#connection.get(sending, this.#connection.options.attemptsMax))
  }

  async #authorize(
    toolCall: ToolCall,
    contexts: readonly (ActionContext | undefined)[],
    { signal, metadata }: AuthorizeOptions,
  ): Promise<AuthorizeResult<Reads>> {
    const connection = this.#connection
    const { clock, context, nonce } = connection.options
    const started = readClock(clock)
    const make = makeRequest({
      contexts: [context, ...contexts],
      metadata,
      now: Math.trunc(started.wallMs),
      random,
      nonce,
    })
    const frozen = await hashAction(toolCall, connection.trust.hash)
    const request = make(frozen)
    try {
      const http = await connection.post(request, started, { path: 'authorize', signal })
      return await connection.decide(frozen, request, started, http)
    } catch (thrown) {
      const read = connection.unverifiedRead(thrown, frozen, request)
      if (read === undefined) throw thrown
      // The table exists, so `AuthorizeResult` has this member.
      return read as AuthorizeResult<Reads>
    }
  }

  async #run<P, R>(
    decision: Decision | UnverifiedRead,
    fn: (parameters: P, call: RunningCall<Reads>) => R,
    options: RunOptions,
  ): Promise<Awaited<R>> {
    const authority = await this.#authority(decision, options)
    const { signal } = options
    if (signal?.aborted === true) throw new AegisAbortedError()
    // An unverified read comes only from a client whose type has it.
    const call = Object.freeze({ decision: authority, signal }) as RunningCall<Reads>
    const run = async ({ parameters }: ToolCall): Promise<Awaited<R>> => await fn(parameters as P, call)
    if (authority.kind === 'unverified_read') return run(authority.action)
    const action = this.#connection.spend(authority)
    const { clock } = this.#connection.options
    const started = readClock(clock)
    const report = (execution: Outcome['execution']): Promise<void> =>
      this.#report(authority, { execution, wallMs: Math.trunc(elapsedMs(clock, started)) }, options)
    let result: Awaited<R>
    try {
      result = await run(action)
    } catch (thrown) {
      await report({ status: 'trap', message: describe(thrown, options) })
      throw thrown
    }
    await report({ status: 'success' })
    return result
  }

  /** What may run. @throws AegisDenied, AegisApprovalError. */
  async #authority(
    decision: Decision | UnverifiedRead,
    options: WaitingOptions,
  ): Promise<Allowed | UnverifiedRead> {
    switch (decision.kind) {
      case 'allowed':
      case 'unverified_read':
        return decision
      case 'denied':
        throw new AegisDenied(decision)
      case 'approval_required': {
        const { clock, clockSkewMs, random: fraction } = this.#connection.options
        const { signal, onApproval } = options
        await untilAborted(Promise.resolve(onApproval?.(decision)), signal)
        await waitForApproval({
          required: decision,
          waitMs: Math.min(
            options.waitMs ?? Number.POSITIVE_INFINITY,
            usefulMs(decision.approval, clock.wallMs(), clockSkewMs),
          ),
          poll: (approvalId) => this.#poll(approvalId, signal, 1),
          clock,
          random: fraction,
          signal,
        })
        return this.#authority(await this.consume(decision, signal === undefined ? {} : { signal }), options)
      }
    }
  }

  async #poll(
    approvalId: string,
    signal: AbortSignal | undefined,
    attemptsMax: number,
  ): Promise<ApprovalState> {
    return parseApprovalState(
      await this.#connection.get({ path: approvalPath(approvalId), signal }, attemptsMax),
    )
  }

  /** Never rejects: what a tool returned or threw does not depend on its report. */
  async #report({ callId, grant }: Allowed, outcome: Outcome, options: RunOptions): Promise<void> {
    const work = this.report({ callId, grantId: grant.grantId }, outcome).then(
      () => undefined,
      (thrown: unknown) => {
        // Nobody else reports this grant, so that an earlier attempt of ours arrived.
        if (thrown instanceof AegisStatusError && thrown.problem?.code === 'already_reported') return
        options.onReportError?.(thrown)
      },
    )
    const done = work.catch(ignore)
    if (options.waitUntil === undefined) return done
    try {
      options.waitUntil(done)
    } catch {
      // A Worker whose time is over; the report goes on as long as it may.
    }
  }
}

function ignore(): void {
  // What a callback throws is its own affair.
}

/** @throws AegisActionError for what is no id, and could lead to another path. */
function approvalPath(approvalId: string): string {
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(approvalId)) throw new AegisActionError('$.approvalId', 'is not an id')
  return `approvals/${approvalId}`
}

/** The reported message: at most 512 bytes, whatever the caller's function gives. */
function describe(thrown: unknown, { describeError = classOf }: RunOptions): string {
  try {
    // Three bytes of UTF-8 a unit at most; half a pair has none, and may be what the cut leaves.
    return String(describeError(thrown))
      .slice(0, 170)
      .replaceAll(/\p{Surrogate}/gu, '\u{fffd}')
  } catch {
    return classOf(thrown)
  }
}
