/**
 * The body of a 200 and of a problem, read strictly into types (authorize.md §2): duplicate members, another spelling of
 * a decision, a member of the wrong type are refused. Members that are not known are passed over. Says nothing about
 * whether the answer fits the request; that is answer-check.ts.
 */
import {
  type JsonObject,
  type JsonValue,
  type OutcomeLine,
  describeFormatError,
  encodeHex,
  encodeUtf8,
  isJsonObject,
  isKnownLine,
  nobleSuite,
  parseBody,
  parseLine,
} from '../record/index.ts'
import type { AuthorizeAnswer, Risk } from '../protocol/authorize-answer.ts'
import { parseInstant } from '../protocol/instant.ts'
import { type HttpAnswer, isAnswerType, isProblemType } from './attempt.ts'
import { AegisAnswerError, type ErrorEvidence, type Problem, type Receipt } from './errors.ts'

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

/** A 200 whose members have their types. */
export interface Answer {
  readonly decision: AuthorizeAnswer['decision']
  readonly callId: string
  readonly reason: Readonly<AuthorizeAnswer['reason']>
  readonly risk: Readonly<Risk>
  readonly matchedRules: readonly string[]
  readonly grant: AnsweredGrant | undefined
  readonly approval: AnsweredApproval | undefined
  readonly receipt: Receipt
  /** `receipt.line_hash` as the server says it. */
  readonly claimedLineHash: string
  readonly lineBytes: Uint8Array
  readonly outcome: OutcomeLine
}

/** @throws AegisAnswerError naming what is wrong; with the receipt where that much could be read. */
export function parseAnswer(answer: HttpAnswer): Answer {
  if (!isAnswerType(answer.contentType)) {
    throw new AegisAnswerError('not_json', 'the answer is not application/json')
  }
  const read = parseBody(answer.body)
  if (!read.ok) throw new AegisAnswerError('answer_malformed', describeFormatError(read.error))
  const body = read.value
  const callId = readCallId(body['call_id'])
  const decision = body['decision']
  if (typeof decision !== 'string') throw malformed('$.decision', 'a string', { callId })
  if (decision !== 'allow' && decision !== 'deny' && decision !== 'require_approval') {
    throw new AegisAnswerError('unknown_decision', 'the decision is none that this client knows', { callId })
  }
  if (callId === undefined) throw malformed('$.call_id', 'a string')
  const { claimedLineHash, lineBytes, receipt, outcome } = readReceipt(body['receipt'], callId)
  const evidence = { callId, receipt }
  const reason = readObject(body['reason'], '$.reason', evidence)
  const risk = readObject(body['risk'], '$.risk', evidence)
  return {
    decision,
    callId,
    reason: {
      code: readText(reason['code'], '$.reason.code', evidence),
      detail: reason['detail'] === undefined ? '' : readText(reason['detail'], '$.reason.detail', evidence),
    },
    risk: {
      level: readLevel(risk['level'], evidence),
      score: readInteger(risk['score'], '$.risk.score', evidence),
    },
    matchedRules:
      body['matched_rules'] === undefined
        ? []
        : readTexts(body['matched_rules'], '$.matched_rules', evidence),
    grant: body['grant'] === undefined ? undefined : readGrant(body['grant'], evidence),
    approval: body['approval'] === undefined ? undefined : readApproval(body['approval'], evidence),
    receipt,
    claimedLineHash,
    lineBytes,
    outcome,
  }
}

/** What a refusal says of itself; `undefined` when it is not a problem document that can be read. */
export function parseProblem(
  answer: HttpAnswer,
): { problem: Problem; callId: string | undefined } | undefined {
  if (!isProblemType(answer.contentType)) return undefined
  const read = parseBody(answer.body)
  if (!read.ok) return undefined
  const { code, detail, call_id: callId } = read.value
  if (typeof code !== 'string' || !/^[a-z][a-z0-9_]{0,63}$/.test(code)) return undefined
  const problem = typeof detail === 'string' ? { code, detail } : { code }
  return { problem, callId: readCallId(callId) }
}

/** Ids are the server's; one that is longer than any could be is not passed on. */
function readCallId(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && /^[\u0021-\u007e]{1,128}$/.test(value) ? value : undefined
}

function readReceipt(
  value: JsonValue | undefined,
  callId: string,
): Pick<Answer, 'receipt' | 'claimedLineHash' | 'lineBytes' | 'outcome'> {
  if (value === undefined || value === null) {
    throw new AegisAnswerError('receipt_missing', 'the answer has no receipt', { callId })
  }
  const members = readObject(value, '$.receipt', { callId })
  const { line } = members
  if (line === undefined) throw new AegisAnswerError('receipt_missing', 'the receipt has no line', { callId })
  const claimedLineHash = readText(members['line_hash'], '$.receipt.line_hash', { callId })
  const lineBytes = typeof line === 'string' ? encodeUtf8(line) : undefined
  if (typeof line !== 'string' || lineBytes === undefined)
    throw malformed('$.receipt.line', 'a string', { callId })
  const parsed = parseLine(lineBytes)
  if (!parsed.ok) {
    const message = `the receipt is not a Line: ${describeFormatError(parsed.error)}`
    throw new AegisAnswerError('receipt_malformed', message, { callId })
  }
  const outcome = parsed.value
  if (!isKnownLine(outcome) || outcome.line_type !== 'outcome') {
    throw new AegisAnswerError('receipt_malformed', 'the receipt is not an outcome Line', { callId })
  }
  const receipt: Receipt = Object.freeze({ line, lineHash: encodeHex(nobleSuite.sha256(lineBytes)) })
  return { receipt, claimedLineHash, lineBytes, outcome }
}

function readGrant(value: JsonValue, evidence: ErrorEvidence): AnsweredGrant {
  const members = readObject(value, '$.grant', evidence)
  return {
    grantId: readText(members['grant_id'], '$.grant.grant_id', evidence),
    expiresAt: readTime(members['expires_at'], '$.grant.expires_at', evidence),
    expiresInMs: readInteger(members['expires_in_ms'], '$.grant.expires_in_ms', evidence),
  }
}

function readApproval(value: JsonValue, evidence: ErrorEvidence): AnsweredApproval {
  const members = readObject(value, '$.approval', evidence)
  return {
    approvalId: readText(members['approval_id'], '$.approval.approval_id', evidence),
    actionHash: readText(members['action_hash'], '$.approval.action_hash', evidence),
    bindingHash: readText(members['binding_hash'], '$.approval.binding_hash', evidence),
    groups: readTexts(members['groups'], '$.approval.groups', evidence),
    quorum: readInteger(members['quorum'], '$.approval.quorum', evidence),
    approveBy: readTime(members['approve_by'], '$.approval.approve_by', evidence),
  }
}

function readObject(value: JsonValue | undefined, path: string, evidence: ErrorEvidence): JsonObject {
  if (!isJsonObject(value)) throw malformed(path, 'an object', evidence)
  return value
}

function readText(value: JsonValue | undefined, path: string, evidence: ErrorEvidence): string {
  if (typeof value !== 'string') throw malformed(path, 'a string', evidence)
  return value
}

function readTexts(value: JsonValue | undefined, path: string, evidence: ErrorEvidence): readonly string[] {
  if (!Array.isArray(value)) throw malformed(path, 'an array', evidence)
  return Object.freeze(
    (value as readonly JsonValue[]).map((item, at) => readText(item, `${path}[${String(at)}]`, evidence)),
  )
}

function readInteger(value: JsonValue | undefined, path: string, evidence: ErrorEvidence): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw malformed(path, 'an integer from 0', evidence)
  }
  return value
}

const levels: readonly Risk['level'][] = ['low', 'medium', 'high', 'critical']

function readLevel(value: JsonValue | undefined, evidence: ErrorEvidence): Risk['level'] {
  const level = levels.find((name) => name === value)
  if (level === undefined) throw malformed('$.risk.level', `one of ${levels.join(', ')}`, evidence)
  return level
}

function readTime(value: JsonValue | undefined, path: string, evidence: ErrorEvidence): number {
  const ms = typeof value === 'string' ? parseInstant(value) : undefined
  if (ms === undefined) throw malformed(path, 'a time like 2026-11-30T12:00:00.000Z', evidence)
  return ms
}

function malformed(path: string, wanted: string, evidence: ErrorEvidence = {}): AegisAnswerError {
  return new AegisAnswerError('answer_malformed', `${path} is not ${wanted}`, evidence)
}
