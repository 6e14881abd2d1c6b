/**
 * The bodies of answers, read strictly into types (authorize.md §2, §4, §5): duplicate members, another spelling of a
 * decision, a member of the wrong type are refused. Members that are not known are passed over. Says nothing about
 * whether an answer fits its request; that is answer-check.ts.
 */
import type { AuthorizeAnswer, Risk } from '../protocol/authorize-answer.ts'
import { type ApprovalStateName, approvalStates } from '../protocol/approval-states.ts'
import { parseInstant } from '../protocol/instant.ts'
import type { JsonObject, JsonValue } from '../record/json.ts'
import { isObject, readObject } from './answer-json.ts'
import type { ApprovalState, UnreportedGrants } from './approval.ts'
import { type HttpAnswer, isAnswerType, isProblemType } from './attempt.ts'
import { AegisAnswerError, type ErrorEvidence, type Problem } from './errors.ts'
import type { Hash } from './hash.ts'
import { type ReadReceipt, readReceipt } from './receipt.ts'

export interface AnsweredGrant {
  readonly grantId: string
  readonly expiresAt: number
  readonly expiresInMs: number
}

export interface AnsweredApproval {
  readonly approvalId: string
  readonly actionHash: string
  readonly bindingHash: string
  readonly groups: readonly string[]
  readonly quorum: number
  readonly approveBy: number
}

/** An answer with a receipt. */
export interface Receipted extends ReadReceipt {
  readonly callId: string
  /** `receipt.line_hash` as the server says it. */
  readonly claimedLineHash: string
}

/** A 200 of authorize or consume whose members have their types. */
export interface Answer extends Receipted {
  readonly decision: AuthorizeAnswer['decision']
  readonly reason: Readonly<AuthorizeAnswer['reason']>
  readonly risk: Readonly<Risk>
  readonly matchedRules: readonly string[]
  readonly grant: AnsweredGrant | undefined
  readonly approval: AnsweredApproval | undefined
}

/** @throws AegisAnswerError naming what is wrong; with the receipt where that much could be read. */
export async function parseAnswer(http: HttpAnswer, hash: Hash): Promise<Answer> {
  const body = readBody(http)
  const callId = readCallId(body['call_id'])
  const decision = body['decision']
  if (typeof decision !== 'string') throw malformed('decision', 'a string', { callId })
  if (decision !== 'allow' && decision !== 'deny' && decision !== 'require_approval') {
    throw new AegisAnswerError('unknown_decision', 'the decision is none that this client knows', { callId })
  }
  const receipted = await readReceipted(body, hash)
  const reader = new Members(receipted)
  const reason = reader.object(body, 'reason')
  const risk = reader.object(body, 'risk')
  const grant = reader.optional(body, 'grant')
  const approval = reader.optional(body, 'approval')
  return {
    ...receipted,
    decision,
    reason: {
      code: reader.text(reason, 'code'),
      detail: reason['detail'] === undefined ? '' : reader.text(reason, 'detail'),
    },
    risk: {
      level: reader.oneOf(risk, 'level', ['low', 'medium', 'high', 'critical']),
      score: reader.integer(risk, 'score'),
    },
    matchedRules: body['matched_rules'] === undefined ? [] : reader.texts(body, 'matched_rules'),
    grant: grant && {
      grantId: reader.text(grant, 'grant_id'),
      expiresAt: reader.time(grant, 'expires_at'),
      expiresInMs: reader.integer(grant, 'expires_in_ms'),
    },
    approval: approval && {
      approvalId: reader.text(approval, 'approval_id'),
      actionHash: reader.text(approval, 'action_hash'),
      bindingHash: reader.text(approval, 'binding_hash'),
      groups: reader.texts(approval, 'groups'),
      quorum: reader.integer(approval, 'quorum'),
      approveBy: reader.time(approval, 'approve_by'),
    },
  }
}

/** The 200 of a report. */
export function parseReportAnswer(http: HttpAnswer, hash: Hash): Promise<Receipted> {
  return readReceipted(readBody(http), hash)
}

/** The 200 of an approval's state. */
export function parseApprovalState(http: HttpAnswer): ApprovalState {
  const body = readBody(http)
  const reader = new Members({ callId: readCallId(body['call_id']) })
  const state = reader.text(body, 'state')
  if (!isState(state)) {
    throw new AegisAnswerError('unknown_state', 'the state is none that this client knows')
  }
  const reason = reader.optional(body, 'reason')
  return Object.freeze({
    approvalId: reader.text(body, 'approval_id'),
    state,
    callId: reader.text(body, 'call_id'),
    actionHash: reader.text(body, 'action_hash'),
    bindingHash: reader.text(body, 'binding_hash'),
    toolId: reader.text(body, 'tool_id'),
    groups: reader.texts(body, 'groups'),
    quorum: reader.integer(body, 'quorum'),
    approveBy: reader.time(body, 'approve_by'),
    useBy: body['use_by'] === undefined ? undefined : reader.time(body, 'use_by'),
    decidedAt: body['decided_at'] === undefined ? undefined : reader.time(body, 'decided_at'),
    reason:
      reason &&
      Object.freeze({
        code: reader.text(reason, 'code'),
        detail: reason['detail'] === undefined ? '' : reader.text(reason, 'detail'),
      }),
  })
}

/** The 200 of the grants that nobody reported. */
export function parseGrants(http: HttpAnswer): UnreportedGrants {
  const body = readBody(http)
  const reader = new Members({})
  const grants = reader.list(body, 'grants').map((item) => {
    const grant = reader.object({ item }, 'item')
    return Object.freeze({
      grantId: reader.text(grant, 'grant_id'),
      callId: reader.text(grant, 'call_id'),
      toolId: reader.text(grant, 'tool_id'),
      expiresAt: reader.time(grant, 'expires_at'),
    })
  })
  const next = body['next'] === undefined ? undefined : reader.text(body, 'next')
  return Object.freeze({ grants: Object.freeze(grants), next })
}

/** What a refusal says of itself; `undefined` when it is not a problem document that can be read. */
export function parseProblem(
  answer: HttpAnswer,
): { problem: Problem; callId: string | undefined } | undefined {
  const body = isProblemType(answer.contentType) ? readObject(answer.body) : undefined
  if (body === undefined) return undefined
  const { code, detail, state, call_id: callId } = body
  if (typeof code !== 'string' || !/^[a-z][a-z0-9_]{0,63}$/.test(code)) return undefined
  const problem = {
    code,
    ...(typeof detail === 'string' ? { detail } : {}),
    ...(isState(state) ? { state } : {}),
  }
  return { problem, callId: readCallId(callId) }
}

function isState(value: unknown): value is ApprovalStateName {
  return (approvalStates as readonly unknown[]).includes(value)
}

function readBody(http: HttpAnswer): JsonObject {
  if (!isAnswerType(http.contentType)) {
    throw new AegisAnswerError('not_json', 'the answer is not application/json')
  }
  const body = readObject(http.body)
  if (body === undefined) {
    throw new AegisAnswerError('answer_malformed', 'the answer is not one JSON object')
  }
  return body
}

/** Ids are the server's; one that is longer than any could be is not passed on. */
function readCallId(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && /^[\u0021-\u007e]{1,128}$/.test(value) ? value : undefined
}

async function readReceipted(body: JsonObject, hash: Hash): Promise<Receipted> {
  const callId = readCallId(body['call_id'])
  if (callId === undefined) throw malformed('call_id', 'an id')
  const receipt = body['receipt']
  const line = isObject(receipt) ? receipt['line'] : undefined
  if (!isObject(receipt) || line === undefined) {
    throw new AegisAnswerError('receipt_missing', 'the answer has no receipt', { callId })
  }
  const claimedLineHash = new Members({ callId }).text(receipt, 'line_hash')
  return { callId, claimedLineHash, ...(await readReceipt(line, hash, { callId })) }
}

/** Members of an answer by type; the first of another one is an error with what is known by then. */
class Members {
  readonly #evidence: ErrorEvidence

  constructor(evidence: ErrorEvidence) {
    this.#evidence = evidence
  }

  object(holder: JsonObject, name: string): JsonObject {
    const value = holder[name]
    return isObject(value) ? value : this.#refuse(name, 'an object')
  }

  optional(holder: JsonObject, name: string): JsonObject | undefined {
    return holder[name] === undefined ? undefined : this.object(holder, name)
  }

  text(holder: JsonObject, name: string): string {
    const value = holder[name]
    return typeof value === 'string' ? value : this.#refuse(name, 'a string')
  }

  list(holder: JsonObject, name: string): readonly JsonValue[] {
    const value = holder[name]
    return Array.isArray(value) ? (value as readonly JsonValue[]) : this.#refuse(name, 'an array')
  }

  texts(holder: JsonObject, name: string): readonly string[] {
    return Object.freeze(this.list(holder, name).map((item) => this.text({ [name]: item }, name)))
  }

  oneOf<T extends string>(holder: JsonObject, name: string, values: readonly T[]): T {
    return values.find((value) => value === holder[name]) ?? this.#refuse(name, `one of ${values.join(', ')}`)
  }

  integer(holder: JsonObject, name: string): number {
    const value = holder[name]
    return Number.isSafeInteger(value) && (value as number) >= 0
      ? (value as number)
      : this.#refuse(name, 'an integer from 0')
  }

  time(holder: JsonObject, name: string): number {
    return parseInstant(this.text(holder, name)) ?? this.#refuse(name, 'a time like 2026-11-30T12:00:00.000Z')
  }

  #refuse(name: string, wanted: string): never {
    throw malformed(name, wanted, this.#evidence)
  }
}

function malformed(name: string, wanted: string, evidence: ErrorEvidence = {}): AegisAnswerError {
  return new AegisAnswerError('answer_malformed', `${name} is not ${wanted}`, evidence)
}
