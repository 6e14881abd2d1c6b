/**
 * One agent's connection to its authorizer: sends requests, and makes decisions of answers that fit them (authorize.md §6).
 * Holds the key where nothing prints it. Not for what is done with a decision; that is client.ts.
 */
import type { ToolCall } from '../record/index.ts'
import type { FrozenAction } from './action.ts'
import { type Asked, type Expectation, checkAnswer } from './answer-check.ts'
import { type Answer, parseAnswer, parseProblem } from './answer.ts'
import type { HttpAnswer } from './attempt.ts'
import type { Allowed, ApprovalRequired, Decision, UnverifiedRead } from './authorization.ts'
import { type Moment, readClock } from './clock.ts'
import { AegisAnswerError, AegisApprovalError, AegisStatusError, AegisUnreachableError } from './errors.ts'
import { exchange, parseRetryAfter, toSafeText } from './exchange.ts'
import { UsableGrant } from './grant.ts'
import { hexHash } from './hash.ts'
import { type ClientOptions, type SettledOptions, settleOptions } from './options.ts'
import { at, textAt } from './receipt.ts'
import { type OutgoingRequest, newId } from './request.ts'
import type { Trust } from './trust.ts'
import { endOf } from './wait.ts'

export const random = (count: number): Uint8Array => crypto.getRandomValues(new Uint8Array(count))

interface Sending {
  /** Below `/v1/`. */
  readonly path: string
  readonly signal: AbortSignal | undefined
  readonly timeoutMs?: number
}

export class Connection {
  readonly options: SettledOptions
  readonly trust: Trust
  readonly #key: string
  /** What each grant is for, until something runs under it: a grant is for one run. */
  readonly #unused = new WeakMap<UsableGrant, ToolCall>()

  /** @throws AegisOptionError for options that cannot work. */
  constructor(options: ClientOptions, trust: Trust) {
    this.options = settleOptions(options)
    this.trust = trust
    this.#key = options.key
  }

  /** @returns whatever came, also a refusal. */
  post(request: OutgoingRequest, started: Moment, sending: Sending): Promise<HttpAnswer> {
    return this.#exchange(request, started, sending, this.options.attemptsMax)
  }

  /** @returns a 200. @throws AegisStatusError for anything else. */
  async get(sending: Sending, attemptsMax: number): Promise<HttpAnswer> {
    const request = { requestId: newId('req', random), bytes: undefined }
    const http = await this.#exchange(request, readClock(this.options.clock), sending, attemptsMax)
    if (http.status !== 200) throw this.refusal(http)
    return http
  }

  #exchange(
    { requestId, bytes }: Pick<OutgoingRequest, 'requestId'> & { readonly bytes: Uint8Array | undefined },
    started: Moment,
    { path, signal, timeoutMs }: Sending,
    attemptsMax: number,
  ): Promise<HttpAnswer> {
    const { base, fetch, clock, random: fraction, attemptTimeoutMs } = this.options
    return exchange({
      url: base + path,
      key: this.#key,
      requestId,
      bytes,
      fetch,
      clock,
      timeoutMs: timeoutMs ?? this.options.timeoutMs,
      attemptTimeoutMs,
      attemptsMax,
      started,
      signal,
      fraction,
    })
  }

  /** What a receipt must be about to be the answer to a request. */
  async asked(request: OutgoingRequest, started: Moment): Promise<Asked> {
    const { tenant, agentId, clock, clockSkewMs } = this.options
    const { trust } = this
    const requestDigest = await hexHash(trust.hash, request.bytes)
    return { tenant, agentId, requestDigest, trust, clockSkewMs, sentAt: started.wallMs, now: clock.wallMs() }
  }

  /** The decision that a 200 is, if it fits. @throws AegisAnswerError, AegisStatusError. */
  async decide(
    { toolCall, actionHash }: FrozenAction,
    request: OutgoingRequest,
    started: Moment,
    http: HttpAnswer,
    consumed?: Expectation['consumed'],
  ): Promise<Decision> {
    if (http.status !== 200) throw this.refusal(http)
    const answer = await parseAnswer(http, this.trust.hash)
    checkAnswer(answer, { ...(await this.asked(request, started)), toolCall, actionHash, consumed })
    const { callId, matchedRules, receipt } = answer
    const decided = {
      callId,
      reason: Object.freeze(answer.reason),
      risk: Object.freeze(answer.risk),
      matchedRules,
      receipt,
      action: toolCall,
      actionHash,
      requestId: request.requestId,
    }
    switch (answer.decision) {
      case 'allow':
        return Object.freeze({ kind: 'allowed', ...decided, grant: this.#grant(answer, toolCall, started) })
      case 'deny':
        return Object.freeze({ kind: 'denied', ...decided })
      case 'require_approval': {
        if (answer.approval === undefined) throw new Error('checkAnswer lets no such answer through')
        const useWithinMs = Number(at(answer.outcome, 'decision_axes', 'approval', 'use_within_ms'))
        const approval = Object.freeze({ ...answer.approval, useWithinMs })
        return Object.freeze({ kind: 'approval_required', ...decided, approval })
      }
    }
  }

  #grant(answer: Answer, toolCall: ToolCall, started: Moment): UsableGrant {
    const { grant, outcome } = answer
    if (grant === undefined) throw new Error('checkAnswer lets no such answer through')
    const { grantId, expiresAt, expiresInMs } = grant
    const members = { grantId, expiresAt, toolId: textAt(outcome, 'tool_id') }
    const usable = new UsableGrant(members, expiresInMs, started, this.options.clock)
    if (!usable.isUsable()) throw expired(answer)
    this.#unused.set(usable, toolCall)
    return usable
  }

  /** What may run now, once, under the grant of a decision. @throws AegisAnswerError when nothing may. */
  spend(decision: Allowed): ToolCall {
    const { grant } = decision
    const toolCall = this.#unused.get(grant)
    if (toolCall === undefined) {
      throw new AegisAnswerError('grant_used', 'the grant was used', decision)
    }
    this.#unused.delete(grant)
    if (!grant.isUsable()) throw expired(decision)
    return toolCall
  }

  /** The error for a status that is no decision. */
  refusal(http: HttpAnswer): AegisStatusError {
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

  /** The error for a consume that was refused: how the approval ended, where the server tells. */
  lost(http: HttpAnswer, required: ApprovalRequired): AegisStatusError | AegisApprovalError {
    const refusal = this.refusal(http)
    const { approval, receipt } = required
    const state = refusal.problem?.state
    const ended = (name: Parameters<typeof endOf>[0]): AegisApprovalError =>
      endOf(name, { ...required, callId: refusal.callId ?? required.callId })
    switch (refusal.status === 409 ? refusal.problem?.code : undefined) {
      case 'already_consumed':
        return ended('consumed')
      case 'not_approved':
        return ended(state === undefined || state === 'approved' ? 'pending' : state)
      case 'expired':
        return ended(state === 'lapsed' ? 'lapsed' : 'expired')
      case 'hash_mismatch':
        return new AegisApprovalError('approval_hash_mismatch', approval, {
          callId: refusal.callId,
          receipt,
        })
      default:
        return refusal
    }
  }

  /** Only where nobody answered, only a read, and only one that the caller listed. */
  unverifiedRead(
    thrown: unknown,
    { toolCall, actionHash }: FrozenAction,
    { requestId }: OutgoingRequest,
  ): UnverifiedRead | undefined {
    const nobody =
      thrown instanceof AegisUnreachableError || (thrown instanceof AegisStatusError && thrown.status >= 500)
    if (!nobody || !isListedRead(toolCall, this.options.unverifiedReads)) return undefined
    return Object.freeze({ kind: 'unverified_read', action: toolCall, actionHash, requestId, error: thrown })
  }
}

function expired(evidence: Pick<Answer, 'callId' | 'receipt'>): AegisAnswerError {
  return new AegisAnswerError('grant_expired', 'the grant has ended', evidence)
}

function isListedRead(call: ToolCall, table: SettledOptions['unverifiedReads']): boolean {
  return !call.mutates_state && table?.get(call.tool)?.has(call.action) === true
}
