/**
 * The other end: whoever runs a tool for an agent checks the receipt that the agent hands over (SPEC.md §7.12), offline,
 * against the action that is about to run. Single use is the tool server's to keep, by `grantId` until `expiresAt`.
 */
import { type CryptoSuite, encodeUtf8, nobleSuite } from '../record/index.ts'
import { type Pin, type ReceiptAnswer, verifyReceipt as verifyReceiptBytes } from '../verify/index.ts'
import { type Action, freezeAction } from './action.ts'
import { AegisActionError } from './errors.ts'
import { parsePins } from './trust.ts'

export interface ReceiptCheck {
  /** What is about to run, in the same form as it was authorized. */
  readonly action: Action
  /** The tenant whose receipts are honoured. */
  readonly tenant: string
  /** Its public keys, 64 hex or with the Sessions they hold for. */
  readonly keys: readonly (string | Pin)[]
  /** Where given, only this agent's receipts. */
  readonly agentId?: string
  /** Integer ms since the epoch. Default this machine's clock. */
  readonly now?: number
  readonly suite?: CryptoSuite
}

/**
 * @param receipt `receipt.line` of an answer, as text or bytes.
 * @returns `valid` only when it proves that exactly this action was authorized, and has not ended.
 * @throws AegisOptionError when no key, or something that is not a key, is given.
 * @example
 * const checked = verifyReceipt(line, { action, tenant: 'acme', keys: [publicKey] })
 * if (!checked.valid || !(await spend(checked.grantId, checked.expiresAt))) return refuse()
 */
export function verifyReceipt(receipt: string | Uint8Array, check: ReceiptCheck): ReceiptAnswer {
  const suite = check.suite ?? nobleSuite
  const keys = parsePins('keys', check.keys)
  const bytes = typeof receipt === 'string' ? encodeUtf8(receipt) : receipt
  if (bytes === undefined) return { valid: false, reason: 'malformed' }
  try {
    const toolCall = freezeAction(check.action)
    const { agentId } = check
    const question = { action: toolCall, now: check.now ?? Date.now(), keys, chainId: check.tenant }
    return verifyReceiptBytes(bytes, agentId === undefined ? question : { ...question, agentId }, suite)
  } catch (thrown) {
    // An action without an exact form was never authorized.
    if (thrown instanceof AegisActionError) return { valid: false, reason: 'wrong_action' }
    throw thrown
  }
}
