/**
 * The end of a segment, and of a Chain in the archive: the `close` that a further Session would name. What lies in the
 * archive is not ours until a key of this tenant signed it. Not a verifier of Chains: that is src/verify, for others.
 */
import {
  type CryptoSuite,
  type KeyId,
  type LineHash,
  decodeHex,
  decodeUtf8,
  encodeCanonical,
  parseLineObject,
  parseSignature,
  toDigest,
  utf8,
} from '../record/index.ts'

const lf = 0x0a

/** A `close` as it lies in the archive. */
export interface ArchivedTail {
  readonly sessionIndex: number
  readonly seq: number
  readonly lineHash: LineHash
  readonly keyId: KeyId
  /** The Line, verbatim. */
  readonly close: string
}

/** From the bytes of a `close`, with or without its LF; `undefined` when they are not one of this Chain. */
export function readClose(bytes: Uint8Array, chainId: string, suite: CryptoSuite): ArchivedTail | undefined {
  const line = bytes.at(-1) === lf ? bytes.subarray(0, -1) : bytes
  const parsed = parseLineObject(line)
  if (!parsed.ok) return undefined
  const { line_type: type, chain_id: chain, session_index: index, seq, key_id: keyId } = parsed.value
  if (type !== 'close' || chain !== chainId) return undefined
  if (typeof index !== 'number' || typeof seq !== 'number' || typeof keyId !== 'string') return undefined
  const lineHash = toDigest<LineHash>(suite.sha256(line))
  return {
    sessionIndex: index,
    seq,
    lineHash,
    keyId: keyId as KeyId,
    close: decodeUtf8(line),
  }
}

/** Whether the `close` was signed by this key (SPEC.md §5.2). */
export function isSignedBy({ close }: ArchivedTail, publicKey: Uint8Array, suite: CryptoSuite): boolean {
  const parsed = parseLineObject(utf8(close))
  if (!parsed.ok) return false
  const { signature: text, ...unsigned } = parsed.value
  const signature = typeof text === 'string' ? parseSignature(text) : undefined
  const bytes = signature === undefined ? undefined : decodeHex(signature)
  return bytes !== undefined && suite.verify(publicKey, encodeCanonical(unsigned), bytes)
}
