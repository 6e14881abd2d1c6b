/**
 * Receipts (SPEC.md §7): may the holder of this signed outcome Line run this action now. Offline and fail-closed: one
 * answer is yes, every other one names the check that failed. Single use is the checker's to keep, by `grant_id`.
 */
import {
  type CryptoSuite,
  type OutcomeLine,
  type ToolCall,
  actionHash,
  decodeHex,
  encodeCanonical,
  isKnownLine,
  keyIdOf,
  parseLine,
} from '../record/index.ts'
import { isPinned } from './pins.ts'
import type { Pin } from './pins.ts'

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

export type ReceiptRefusal =
  | 'malformed'
  | 'not_an_outcome'
  | 'other_chain'
  | 'untrusted_key'
  | 'bad_signature'
  | 'not_allowed'
  | 'administrative'
  | 'other_agent'
  | 'other_action'
  | 'not_yet_valid'
  | 'expired'

export type ReceiptAnswer =
  | {
      readonly valid: true
      readonly outcome: OutcomeLine
      readonly grantId: string
      readonly expiresAt: number
    }
  | { readonly valid: false; readonly reason: ReceiptRefusal; readonly detail?: string }

/** Clocks of writer and checker may differ by this much. */
const clockSkewMaxMs = 60_000

/**
 * @param line the receipt: the verbatim bytes of the outcome Line, without LF.
 * @returns `valid` only when the Line proves authorization of exactly this action, not yet expired, under a pinned key.
 */
export function verifyReceipt(
  line: Uint8Array,
  question: ReceiptQuestion,
  suite: CryptoSuite,
): ReceiptAnswer {
  const read = parseLine(line)
  if (!read.ok) return refuse('malformed', `${read.error.path} ${read.error.code}`)
  if (!isKnownLine(read.value) || read.value.line_type !== 'outcome') return refuse('not_an_outcome')
  const outcome = read.value
  if (outcome.chain_id !== question.chainId || outcome.session_index === undefined)
    return refuse('other_chain')
  const key = findKey(outcome, question, suite)
  if (key === undefined) return refuse('untrusted_key')
  if (!signatureHolds(outcome, key, suite)) return refuse('bad_signature')
  const { policy, capability, execution } = outcome
  if (policy.status !== 'allowed' || capability.status !== 'granted' || execution.status !== 'delegated') {
    return refuse('not_allowed')
  }
  const { grant } = capability
  if (outcome.tool_id.startsWith('aegis/') || grant.tool_id.startsWith('aegis/'))
    return refuse('administrative')
  if (grant.tool_id !== outcome.tool_id || grant.grant_id !== outcome.grant_id)
    return refuse('malformed', 'grant')
  if (question.agentId !== undefined && outcome.agent_id !== question.agentId) return refuse('other_agent')
  if (grant.action_hash === undefined || grant.action_hash !== actionHash(question.action, suite)) {
    return refuse('other_action')
  }
  if (outcome.decided_at === undefined || grant.expires_at === undefined) return refuse('malformed', 'times')
  if (outcome.decided_at > question.now + clockSkewMaxMs) return refuse('not_yet_valid')
  if (question.now >= grant.expires_at) return refuse('expired')
  return { valid: true, outcome, grantId: grant.grant_id, expiresAt: grant.expires_at }
}

function refuse(reason: ReceiptRefusal, detail?: string): ReceiptAnswer {
  return { valid: false, reason, ...(detail === undefined ? {} : { detail }) }
}

function findKey(
  outcome: OutcomeLine,
  question: ReceiptQuestion,
  suite: CryptoSuite,
): Uint8Array | undefined {
  for (const pin of question.keys) {
    const publicKey = decodeHex(pin.publicKey)
    if (publicKey === undefined || keyIdOf(publicKey, suite) !== outcome.key_id) continue
    if (isPinned([pin], pin.publicKey, question.chainId, outcome.session_index ?? 0)) return publicKey
  }
  return undefined
}

/** The signing input is the canonical form without `signature`; the Line was canonical, so this is its own bytes. */
function signatureHolds(outcome: OutcomeLine, publicKey: Uint8Array, suite: CryptoSuite): boolean {
  const { signature, ...rest } = outcome
  const bytes = decodeHex(signature)
  if (bytes === undefined) return false
  return suite.verify(publicKey, encodeCanonical(rest as never), bytes)
}
