/**
 * Digests, keys and signatures as text: SHA-256 in 64 lowercase hex characters, one nominal type per meaning
 * (SPEC.md §3.1). Not for computing hashes: a `Digester` is passed in where one is needed.
 */

declare const brand: unique symbol

/** A string that was checked to be 64 lowercase hex characters and that means `Name` and nothing else. */
type Hex64<Name extends string> = string & { readonly [brand]: Name }

export type PrevHash = Hex64<'PrevHash'>
export type LineHash = Hex64<'LineHash'>
export type PolicySetHash = Hex64<'PolicySetHash'>
export type RequestDigest = Hex64<'RequestDigest'>
export type ResponseDigest = Hex64<'ResponseDigest'>
export type ActionHash = Hex64<'ActionHash'>
export type BindingHash = Hex64<'BindingHash'>
export type BindingsHash = Hex64<'BindingsHash'>
export type ValueDigest = Hex64<'ValueDigest'>
export type KeyId = Hex64<'KeyId'>
export type PublicKeyHex = Hex64<'PublicKeyHex'>
/** An Ed25519 signature, 128 lowercase hex characters. */
export type SignatureHex = string & { readonly [brand]: 'SignatureHex' }

/** Every digest type; the parameter of {@link parseDigest}. */
export type Digest =
  | PrevHash
  | LineHash
  | PolicySetHash
  | RequestDigest
  | ResponseDigest
  | ActionHash
  | BindingHash
  | BindingsHash
  | ValueDigest
  | KeyId
  | PublicKeyHex

/** `prev_hash` of the first Line of a Session (SPEC.md §5.1), and `policy_set_hash` before the first set. */
const zeroHash = '0'.repeat(64)
export const zeroPrevHash = zeroHash as PrevHash
export const noPolicySet = zeroHash as PolicySetHash

const lowerHex = '0123456789abcdef'
const hexPairs: readonly string[] = Array.from(
  { length: 256 },
  (_, byte) => lowerHex.charAt(byte >> 4) + lowerHex.charAt(byte & 15),
)

/** Bytes to lowercase hex. */
export function encodeHex(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += hexPairs[byte]
  return text
}

/** Lowercase hex to bytes; uppercase, an odd length or any other character is `undefined`, never repaired. */
export function decodeHex(text: string): Uint8Array | undefined {
  if (text.length % 2 !== 0) return undefined
  const bytes = new Uint8Array(text.length / 2)
  for (let at = 0; at < bytes.length; at += 1) {
    const high = hexValue(text.charCodeAt(2 * at))
    const low = hexValue(text.charCodeAt(2 * at + 1))
    if (high < 0 || low < 0) return undefined
    bytes[at] = (high << 4) | low
  }
  return bytes
}

function hexValue(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  if (code >= 0x61 && code <= 0x66) return code - 0x57
  return -1
}

/**
 * Reads a digest (or a public key) of the type that the caller's context gives it.
 *
 * @returns the digest, or `undefined` when the value is not a string of exactly 64 lowercase hex characters.
 * @example const hash: ActionHash | undefined = parseDigest<ActionHash>(body.action_hash)
 */
export function parseDigest<T extends Digest>(value: unknown): T | undefined {
  return typeof value === 'string' && isLowerHex(value, 64) ? (value as T) : undefined
}

/** Reads a signature: exactly 128 lowercase hex characters, else `undefined`. */
export function parseSignature(value: unknown): SignatureHex | undefined {
  return typeof value === 'string' && isLowerHex(value, 128) ? (value as SignatureHex) : undefined
}

/** A 32-byte SHA-256 output as the digest type that the caller names. Throws when it is not 32 bytes. */
export function toDigest<T extends Digest>(bytes: Uint8Array): T {
  if (bytes.length !== 32) throw new Error(`a digest has 32 bytes, not ${String(bytes.length)}`)
  return encodeHex(bytes) as T
}

function isLowerHex(text: string, length: number): boolean {
  if (text.length !== length) return false
  for (let at = 0; at < length; at += 1) if (hexValue(text.charCodeAt(at)) < 0) return false
  return true
}

/** A Line's hash as the `prev_hash` of the Line after it in the same Session (SPEC.md §5.1). */
export function toPrevHash(hash: LineHash): PrevHash {
  return hash as string as PrevHash
}
