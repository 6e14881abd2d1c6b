/**
 * The client of the authorizer (authorize.md §6, §7). `authorize` returns a decision or throws: there is no other way
 * out, so that code which runs a tool only on `kind === 'allowed'` fails closed. Holds the key where nothing prints it.
 */
import type { ToolCall } from '../record/index.ts'
import { type Action, type FrozenAction, freezeAction } from './action.ts'
import { checkAnswer } from './answer-check.ts'
import { type Answer, parseAnswer, parseProblem } from './answer.ts'
import type { HttpAnswer } from './attempt.ts'
import type { Decision, UnverifiedRead } from './authorization.ts'
import { type Moment, readClock } from './clock.ts'
import { AegisAnswerError, type AegisError, AegisStatusError, AegisUnreachableError } from './errors.ts'
import { exchange, parseRetryAfter, toSafeText } from './exchange.ts'
import { UsableGrant } from './grant.ts'
import { type AegisOptions, type SettledOptions, type UnverifiedReads, settleOptions } from './options.ts'
import { type ActionContext, type AuthorizeRequest, type Metadata, makeRequest } from './request.ts'

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

/**
 * @example
 * const aegis = new Aegis({ url, key })
 * const answer = await aegis.authorize({ tool: 'github', action: 'merge_pr', parameters: { base_branch: 'main' } })
 * if (answer.kind === 'allowed' && answer.grant.isUsable()) await merge(answer.action.parameters, answer.receipt)
 */
export class Aegis<Reads extends UnverifiedReads | undefined = undefined> {
  readonly #key: string
  readonly #options: SettledOptions

  /** @throws AegisOptionError for options that cannot work. */
  constructor(options: AegisOptions<Reads>) {
    this.#options = settleOptions(options)
    this.#key = options.key
  }

  /** The tenant that the key belongs to, and whose Chain the receipts stand in. */
  get tenant(): string {
    return this.#options.tenant
  }

  /**
   * Asks whether an action may run.
   *
   * @returns the decision; `allowed` carries a grant and a receipt for exactly this action.
   * @throws AegisActionError before anything is sent; AegisUnreachableError, AegisAbortedError, AegisStatusError or
   *   AegisAnswerError when there is no decision that can be believed. After any of them the tool must not run.
   */
  async authorize(action: Action, options: AuthorizeOptions = {}): Promise<AuthorizeResult<Reads>> {
    const settled = this.#options
    const frozen = freezeAction(action, settled.suite)
    const started = readClock(settled.clock)
    const request = makeRequest(
      {
        action: frozen,
        contexts: [settled.context, options.context],
        metadata: options.metadata,
        now: Math.trunc(started.wallMs),
        random: (count) => crypto.getRandomValues(new Uint8Array(count)),
        nonce: settled.nonce,
      },
      settled.suite,
    )
    try {
      const answer = await this.#exchange(request, started, options.signal)
      return this.#decide(frozen, request, started, answer)
    } catch (thrown) {
      const read = this.#unverifiedRead(thrown, frozen, request)
      if (read === undefined) throw thrown
      // The table exists, so `AuthorizeResult` has this member.
      return read as AuthorizeResult<Reads>
    }
  }

  #exchange(
    request: AuthorizeRequest,
    started: Moment,
    signal: AbortSignal | undefined,
  ): Promise<HttpAnswer> {
    const { endpoint, fetch, clock, timeoutMs, attemptTimeoutMs, attemptsMax } = this.#options
    return exchange({
      url: endpoint,
      key: this.#key,
      requestId: request.requestId,
      bytes: request.bytes,
      fetch,
      clock,
      timeoutMs,
      attemptTimeoutMs,
      attemptsMax,
      started,
      signal,
      fraction: Math.random,
    })
  }

  #decide(frozen: FrozenAction, request: AuthorizeRequest, started: Moment, http: HttpAnswer): Decision {
    if (http.status !== 200) throw this.#refusal(http)
    const { tenant, agentId, pins, suite, clock, clockSkewMs } = this.#options
    const answer = parseAnswer(http)
    checkAnswer(answer, {
      tenant,
      agentId,
      pins,
      suite,
      clockSkewMs,
      toolCall: frozen.toolCall,
      actionHash: frozen.actionHash,
      requestDigest: request.digest,
      sentAt: started.wallMs,
      now: clock.wallMs(),
    })
    const decided = {
      callId: answer.callId,
      reason: Object.freeze(answer.reason),
      risk: Object.freeze(answer.risk),
      matchedRules: answer.matchedRules,
      receipt: answer.receipt,
      action: frozen.toolCall,
      actionHash: frozen.actionHash,
      requestId: request.requestId,
    }
    switch (answer.decision) {
      case 'allow':
        return Object.freeze({ kind: 'allowed', ...decided, grant: this.#grant(answer, started) })
      case 'deny':
        return Object.freeze({ kind: 'denied', ...decided })
      case 'require_approval':
        if (answer.approval === undefined) throw new Error('checkAnswer lets no such answer through')
        return Object.freeze({
          kind: 'approval_required',
          ...decided,
          approval: Object.freeze(answer.approval),
        })
    }
  }

  #grant(answer: Answer, started: Moment): UsableGrant {
    const { grant, outcome } = answer
    if (grant === undefined) throw new Error('checkAnswer lets no such answer through')
    const { grantId, expiresAt, expiresInMs } = grant
    const members = { grantId, expiresAt, toolId: outcome.tool_id }
    const usable = new UsableGrant(members, expiresInMs, started, this.#options.clock)
    if (!usable.isUsable()) {
      throw new AegisAnswerError(
        'grant_expired',
        'the action was allowed, and the grant has ended since',
        answer,
      )
    }
    return usable
  }

  #refusal(http: HttpAnswer): AegisError {
    const said = parseProblem(http)
    const detail = said?.problem.detail
    const problem =
      said === undefined || detail === undefined
        ? said?.problem
        : { ...said.problem, detail: toSafeText(detail, this.#key) }
    return new AegisStatusError(http.status, problem, parseRetryAfter(http.retryAfter), {
      callId: said?.callId,
    })
  }

  /** Only where nobody answered, only a read, and only one that the caller listed. */
  #unverifiedRead(
    thrown: unknown,
    { toolCall, actionHash }: FrozenAction,
    { requestId }: AuthorizeRequest,
  ): UnverifiedRead | undefined {
    const nobody =
      thrown instanceof AegisUnreachableError || (thrown instanceof AegisStatusError && thrown.status >= 500)
    if (!nobody || !isListedRead(toolCall, this.#options.unverifiedReads)) return undefined
    return Object.freeze({ kind: 'unverified_read', action: toolCall, actionHash, requestId, error: thrown })
  }
}

function isListedRead(call: ToolCall, table: SettledOptions['unverifiedReads']): boolean {
  return !call.mutates_state && table?.get(call.tool)?.has(call.action) === true
}
