/**
 * Receipts (SPEC.md §7.12): may the holder of this signed outcome Line run this action now. Offline and fail-closed:
 * one answer is yes, every other one names the first check that failed. Single use is the checker's to keep, by
 * `grant_id`.
 */
import {
  type ActionHash,
  type CryptoSuite,
  type JsonObject,
  type JsonValue,
  type ToolCall,
  actionPreimage,
  decodeHex,
  isJsonObject,
  keyIdOf,
  parseBody,
  toDigest,
} from '../record/index.ts'
import { type Pin, isPinned } from './pins.ts'
import { lineSignatureHolds, parseSingleLine } from './single-line.ts'

export interface ReceiptQuestion {
  /** What is about to run: the hash is recomputed from it. */
  readonly action: ToolCall
  /** The checker's clock, integer ms since the epoch. */
  readonly now: number
  /** Keys that the checker pinned for `chainId`. */
  readonly keys: readonly Pin[]
  /** The tenant whose receipts are honoured. */
  readonly chainId: string
  /** Where given, only this agent's receipts. */
  readonly agentId?: string
}

export const receiptRefusals = [
  'malformed',
  'not_an_outcome',
  'wrong_chain',
  'untrusted_key',
  'bad_signature',
  'not_granted',
  'reserved_tool',
  'wrong_agent',
  'wrong_action',
  'not_yet_valid',
  'expired',
] as const
export type ReceiptRefusal = (typeof receiptRefusals)[number]

export type ReceiptAnswer =
  | {
      readonly valid: true
      readonly grantId: string
      readonly toolId: string
      /** Integer ms since the epoch. */
      readonly decidedAt: number
      readonly expiresAt: number
      /** Every member of the Line. */
      readonly outcome: JsonObject
    }
  | { readonly valid: false; readonly reason: ReceiptRefusal }

/** Clocks of writer and checker may differ by this much. */
const clockSkewMaxMs = 60_000

/**
 * @param receipt the verbatim bytes of the outcome Line; one LF at the end is allowed.
 * @returns `valid` only when the Line proves authorization of exactly this action, not yet expired, under a pinned key.
 */
export function verifyReceipt(
  receipt: Uint8Array,
  question: ReceiptQuestion,
  suite: CryptoSuite,
): ReceiptAnswer {
  const line = parseSingleLine(receipt)
  if (line === undefined) return refuse('malformed')
  if (line['line_type'] !== 'outcome' || line['schema_version'] !== 2) return refuse('not_an_outcome')
  if (line['chain_id'] !== question.chainId) return refuse('wrong_chain')
  const publicKey = findKey(line, question, suite)
  if (publicKey === undefined) return refuse('untrusted_key')
  if (!lineSignatureHolds(line, publicKey, suite)) return refuse('bad_signature')
  const grant = grantOf(line)
  if (grant === undefined) return refuse('not_granted')
  const toolId = line['tool_id']
  if (typeof toolId !== 'string' || toolId.startsWith('aegis/')) return refuse('reserved_tool')
  if (question.agentId !== undefined && line['agent_id'] !== question.agentId) return refuse('wrong_agent')
  if (!isActionHash(grant.members['action_hash'], question.action, suite)) return refuse('wrong_action')
  // Asked so that a `now` that is no number is neither late nor early enough.
  const decidedAt = line['decided_at']
  if (typeof decidedAt !== 'number' || !(decidedAt <= question.now + clockSkewMaxMs))
    return refuse('not_yet_valid')
  const expiresAt = grant.members['expires_at']
  if (typeof expiresAt !== 'number' || !(question.now < expiresAt)) return refuse('expired')
  return { valid: true, grantId: grant.id, toolId, decidedAt, expiresAt, outcome: line }
}

function refuse(reason: ReceiptRefusal): ReceiptAnswer {
  return { valid: false, reason }
}

function findKey(line: JsonObject, question: ReceiptQuestion, suite: CryptoSuite): Uint8Array | undefined {
  const sessionIndex = line['session_index']
  for (const pin of question.keys) {
    const ranged = pin.firstSession !== undefined || pin.lastSession !== undefined
    if (ranged && typeof sessionIndex !== 'number') continue
    const index = typeof sessionIndex === 'number' ? sessionIndex : 0
    if (!isPinned([pin], pin.publicKey, question.chainId, index)) continue
    const publicKey = decodeHex(pin.publicKey)
    if (publicKey !== undefined && keyIdOf(publicKey, suite) === line['key_id']) return publicKey
  }
  return undefined
}

/** The grant of an outcome that gave authority and left the running to its holder; `undefined` for any other. */
function grantOf(line: JsonObject): { readonly id: string; readonly members: JsonObject } | undefined {
  const { policy, capability, execution } = line
  if (!hasStatus(policy, 'allowed') || !hasStatus(execution, 'delegated')) return undefined
  if (!hasStatus(capability, 'granted')) return undefined
  const grant = capability['grant']
  if (!isJsonObject(grant) || typeof grant['grant_id'] !== 'string') return undefined
  return { id: grant['grant_id'], members: grant }
}

function hasStatus(value: JsonValue | undefined, status: string): value is JsonObject {
  return isJsonObject(value) && value['status'] === status
}

function isActionHash(recorded: JsonValue | undefined, action: ToolCall, suite: CryptoSuite): boolean {
  let preimage: Uint8Array
  try {
    preimage = actionPreimage(action)
  } catch {
    return false // an action without a canonical form was never authorized
  }
  // What the rules of §6.1 refuse has no hash, even where a canonical form could be written.
  return parseBody(preimage).ok && recorded === toDigest<ActionHash>(suite.sha256(preimage))
}
