/**
 * Whether a receipt is signed by a key that the caller pinned (SPEC.md §7.12). The part of the client that needs
 * signatures; `UnverifiedAegis` does without it.
 */
import type { CryptoSuite, PublicKeyHex, ToolCall } from '../record/index.ts'
import { parseDigest } from '../record/digest.ts'
import { type Pin, isSignedByPin, parseHeadLine, verifyReceipt } from '../verify/index.ts'
import { AegisOptionError } from './errors.ts'
import type { Hash } from './hash.ts'

/** What is known of who signed; each client brings its own. */
export interface Trust {
  readonly hash: Hash
  /** @returns why a Line must not be believed, `undefined` when it may be. */
  refuse(line: Uint8Array, claim: Claim): string | undefined
}

/** What the Line is held against. */
export interface Claim {
  readonly tenant: string
  readonly agentId: string | undefined
  /** Of an allow: it must pass what a tool server will ask of it. */
  readonly allowed: { readonly action: ToolCall; readonly decidedAt: number } | undefined
}

/** @param pins `undefined`: no key was pinned, and no signature is checked. */
export function trustOf(pins: readonly Pin[] | undefined, suite: CryptoSuite): Trust {
  return {
    hash: (bytes) => suite.sha256(bytes),
    refuse(line, { tenant, agentId, allowed }) {
      if (pins === undefined) return undefined
      if (allowed !== undefined) {
        const { action, decidedAt } = allowed
        // Time is judged in answer-check.ts, with this client's tolerance.
        const question = { action, now: decidedAt, keys: pins, chainId: tenant }
        const verified = verifyReceipt(
          line,
          agentId === undefined ? question : { ...question, agentId },
          suite,
        )
        return verified.valid ? undefined : `the receipt fails: ${verified.reason}`
      }
      const held = parseHeadLine(line, suite)
      return held.ok && isSignedByPin(held.head, pins, suite) ? undefined : 'no pinned key signed the receipt'
    },
  }
}

/** @throws AegisOptionError for no key at all: a pin that nothing satisfies is a mistake here. */
export function parsePins(option: string, keys: readonly (string | Pin)[]): readonly Pin[] {
  if (!Array.isArray(keys) || keys.length === 0) {
    throw new AegisOptionError('option_invalid', `${option} holds no key`)
  }
  return keys.map((key: string | Pin, at) => {
    const pin = typeof key === 'string' ? undefined : key
    const publicKey = parseDigest<PublicKeyHex>(pin === undefined ? key : pin.publicKey)
    if (publicKey === undefined) {
      throw new AegisOptionError(
        'option_invalid',
        `${option}[${String(at)}] is not 64 lowercase hex characters`,
      )
    }
    return { ...pin, publicKey }
  })
}
