/**
 * The head that a reader holds from before (SPEC.md §7.8): a position and a hash, alone or with the signed Line that
 * they were taken from. Says what is wrong with a head; what an input says about it is the walk's to find.
 */
import {
  type CryptoSuite,
  type JsonObject,
  type LineHash,
  decodeHex,
  encodeCanonical,
  keyIdOf,
  parseDigest,
  parseSignature,
  toDigest,
} from '../record/index.ts'
import { signedLineTypes } from '../record/line.ts'
import type { HeldHead } from './held-head.ts'
import { type Pin, isPinned } from './pins.ts'
import type { Report } from './report.ts'
import { lineSignatureHolds, parseSingleLine } from './single-line.ts'

/** A head that came as a whole signed Line, so that there is more to check than its hash. */
export interface SignedHead extends HeldHead {
  readonly chainId: string | undefined
  readonly line: JsonObject
}

export type ParsedHead<T extends HeldHead> =
  { readonly ok: true; readonly head: T } | { readonly ok: false; readonly detail: string }

/** Whether a text means `SESSION:SEQ:LINE_HASH`, rightly or wrongly written, and not a file. */
export function isHeadText(text: string): boolean {
  return /^[0-9]+:[0-9]+:/.test(text)
}

/** Reads `SESSION:SEQ:LINE_HASH`. */
export function parseHeadText(text: string): ParsedHead<HeldHead> {
  const [sessionIndex, seq, hash, ...more] = text.split(':')
  const lineHash = parseDigest<LineHash>(hash)
  const at = { session_index: parseInteger(sessionIndex), seq: parseInteger(seq) }
  if (at.session_index === undefined || at.seq === undefined || more.length > 0) {
    return { ok: false, detail: 'SESSION and SEQ are integers without leading zeros' }
  }
  if (lineHash === undefined) return { ok: false, detail: 'LINE_HASH has 64 lowercase hex characters' }
  return { ok: true, head: { session_index: at.session_index, seq: at.seq, lineHash } }
}

function parseInteger(text: string | undefined): number | undefined {
  if (text === undefined || !/^(0|[1-9][0-9]*)$/.test(text)) return undefined
  const value = Number(text)
  return Number.isSafeInteger(value) ? value : undefined
}

/** Reads a file that holds one signed Line, with or without LF. Its signature is not checked yet. */
export function parseHeadLine(bytes: Uint8Array, suite: CryptoSuite): ParsedHead<SignedHead> {
  const line = parseSingleLine(bytes)
  if (line === undefined) return { ok: false, detail: 'it does not hold exactly one canonical Line' }
  const { line_type: type, schema_version: version, session_index: sessionIndex, chain_id: chainId } = line
  const { seq, signature, key_id: keyId } = line
  if (typeof type !== 'string' || !(signedLineTypes as readonly string[]).includes(type)) {
    return { ok: false, detail: 'its Line is not of a signed type' }
  }
  if (version !== 2) return { ok: false, detail: 'its schema_version is not 2' }
  if (typeof sessionIndex !== 'number' || typeof seq !== 'number') {
    return { ok: false, detail: 'its Line has no session_index' }
  }
  if (chainId !== undefined && typeof chainId !== 'string') {
    return { ok: false, detail: 'its chain_id is not a string' }
  }
  if (parseDigest(keyId) === undefined || parseSignature(signature) === undefined) {
    return { ok: false, detail: 'its Line is not signed' }
  }
  const lineHash = toDigest<LineHash>(suite.sha256(encodeCanonical(line)))
  return { ok: true, head: { session_index: sessionIndex, seq, lineHash, chainId, line } }
}

/** Whether a pinned key that holds for the head's Chain and Session signed it. */
export function isSignedByPin(head: SignedHead, pins: readonly Pin[], suite: CryptoSuite): boolean {
  return pins.some((pin) => {
    if (!isPinned([pin], pin.publicKey, head.chainId, head.session_index)) return false
    return isSignedBy(head, decodeHex(pin.publicKey), suite)
  })
}

function isSignedBy(head: SignedHead, publicKey: Uint8Array | undefined, suite: CryptoSuite): boolean {
  if (publicKey === undefined || keyIdOf(publicKey, suite) !== head.line['key_id']) return false
  return lineSignatureHolds(head.line, publicKey, suite)
}

/** What a finished walk knows of the input that a head was given for. */
export interface WalkedChain {
  readonly report: Report
  /** Of the first `open`. */
  readonly chainId: string | undefined
  /** Of the Session that the head names. */
  readonly headKey: Uint8Array | undefined
}

/**
 * Checks 2 and 3 of SPEC.md §7.8, which need the input: is this a head of that Chain at all.
 *
 * @returns why the head cannot be used, or `undefined`. A walk that ended before a check came up has its own verdict.
 */
export function findForeignHead(
  head: SignedHead,
  walked: WalkedChain,
  pinned: boolean,
  suite: CryptoSuite,
): string | undefined {
  const { report } = walked
  const first = report.firstSession
  if (first === undefined) return undefined
  if (walked.chainId !== head.chainId) return 'it belongs to another Chain'
  // Sessions of a walk are dense, so that their count tells whether this one's `open` was verified.
  const reached = head.session_index >= first && head.session_index - first < report.sessions
  if (pinned || !reached || isSignedBy(head, walked.headKey, suite)) return undefined
  return 'its signature does not hold under the key of that Session'
}
