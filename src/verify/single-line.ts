/**
 * One Line by itself, outside a walk: a receipt or a held head (SPEC.md §7.8, §7.12). The row steps of SPEC.md §7.3 and
 * the signature over it; where it stands in a Chain is not judged here.
 */
import {
  type JsonObject,
  type SignatureVerifier,
  decodeHex,
  encodeCanonical,
  isCanonical,
  lineBytesMax,
  parseDigest,
  parseLineObject,
  parseSignature,
} from '../record/index.ts'

/**
 * Steps 1 to 6 of SPEC.md §7.3.
 *
 * @param bytes one Line; one LF at the end is allowed.
 * @returns its members, or `undefined` when a step fails.
 */
export function parseSingleLine(bytes: Uint8Array): JsonObject | undefined {
  const row = bytes[bytes.length - 1] === 0x0a ? bytes.subarray(0, -1) : bytes
  if (row.length > lineBytesMax) return undefined
  const read = parseLineObject(row)
  if (!read.ok) return undefined
  if (!isCanonical(read.value, row)) return undefined
  const { line_type: type, seq, prev_hash: prevHash } = read.value
  if (typeof type !== 'string' || typeof seq !== 'number' || parseDigest(prevHash) === undefined)
    return undefined
  return read.value
}

/** The signing input is the canonical form without `signature` (SPEC.md §5.2). */
export function lineSignatureHolds(
  line: JsonObject,
  publicKey: Uint8Array,
  verifier: SignatureVerifier,
): boolean {
  const { signature, ...signed } = line
  const bytes = decodeHex(parseSignature(signature) ?? '')
  return bytes !== undefined && verifier.verify(publicKey, encodeCanonical(signed), bytes)
}
