/**
 * Ed25519 over bytes, behind small synchronous interfaces, and the strict rules that every implementation here keeps
 * (SPEC.md §5.5): what is accepted is exactly what Dalek's `verify_strict` accepts. Not a key store: seeds come in as
 * arguments. `src/crypto-node` implements the same interfaces on `node:crypto`.
 */
import { Point, getPublicKey, hashes, sign } from '@noble/ed25519'
import { sha256, sha512 } from '@noble/hashes/sha2.js'
import { type KeyId, toDigest } from './digest.ts'

/** SHA-256: any bytes to 32 bytes. */
export interface Digester {
  sha256(bytes: Uint8Array): Uint8Array
}

export interface SignatureVerifier {
  /**
   * Strict Ed25519 verification.
   *
   * @param publicKey 32 bytes.
   * @param signature 64 bytes.
   * @returns whether the signature holds; malformed keys and signatures are `false`, never an exception.
   */
  verify(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean
}

/** Signs with one key that it holds. */
export interface Signer {
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  readonly keyId: KeyId
  /** RFC 8032 Ed25519, deterministic: 64 bytes. */
  sign(message: Uint8Array): Uint8Array
}

/** What a floor that hashes and checks is given: one implementation on noble, one on `node:crypto`. */
export interface CryptoSuite extends Digester, SignatureVerifier {
  /** @param seed the 32-byte secret of RFC 8032. */
  signer(seed: Uint8Array): Signer
}

/** `key_id` = SHA-256 of the 32 public-key bytes (SPEC.md §5.4). */
export function keyIdOf(publicKey: Uint8Array, digester: Digester): KeyId {
  return toDigest<KeyId>(digester.sha256(publicKey))
}

hashes.sha512 = sha512

/** The portable suite: pure JavaScript, runs everywhere, about fifteen times slower than `node:crypto`. */
export const nobleSuite: CryptoSuite = {
  sha256,
  verify(publicKey, message, signature) {
    if (!isStrictlyEncoded(publicKey, signature)) return false
    return equationHolds(publicKey, message, signature)
  },
  signer(seed) {
    const publicKey = getPublicKey(seed)
    return {
      publicKey,
      keyId: keyIdOf(publicKey, nobleSuite),
      sign: (message) => sign(message, seed),
    }
  },
}

/**
 * The part of strictness that is about encodings, and that libraries leave out: A and R are canonical (y < p, no
 * x = 0 with the sign bit) and not of small order, and S < L. Whether A and R are on the curve is left to the equation.
 */
export function isStrictlyEncoded(publicKey: Uint8Array, signature: Uint8Array): boolean {
  return (
    publicKey.length === 32 &&
    signature.length === 64 &&
    isStrictPoint(publicKey, 0) &&
    isStrictPoint(signature, 0) &&
    isReducedScalar(signature, 32)
  )
}

/** The cofactorless equation: the canonical encoding of [S]B − [k]A equals the bytes of R. */
function equationHolds(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  let a: Point
  try {
    a = Point.fromBytes(publicKey)
  } catch {
    return false // not on the curve
  }
  const hashed = new Uint8Array(64 + message.length)
  hashed.set(signature.subarray(0, 32), 0)
  hashed.set(publicKey, 32)
  hashed.set(message, 64)
  const k = toBigInt(sha512(hashed), 0, 64) % groupOrder
  const s = toBigInt(signature, 32, 64)
  // Nothing here is secret, so the variable-time multiplication is the right one.
  const computed = Point.BASE.multiply(s, false).add(a.negate().multiply(k, false)).toBytes()
  for (let at = 0; at < 32; at += 1) if (computed[at] !== signature[at]) return false
  return true
}

function toBigInt(bytes: Uint8Array, start: number, end: number): bigint {
  let value = 0n
  for (let at = end - 1; at >= start; at -= 1) value = (value << 8n) | BigInt(bytes[at] ?? 0)
  return value
}

/** L = 2^252 + 27742317777372353535851937790883648493. */
const groupOrder = 0x1000000000000000000000000000000014def9dea2f79cd65812631a5cf5d3edn
const groupOrderBytes = Uint8Array.from({ length: 32 }, (_, at) =>
  Number((groupOrder >> BigInt(8 * at)) & 255n),
)

function isReducedScalar(bytes: Uint8Array, start: number): boolean {
  for (let at = 31; at >= 0; at -= 1) {
    const have = bytes[start + at] ?? 0
    const limit = groupOrderBytes[at] ?? 0
    if (have !== limit) return have < limit
  }
  return false
}

function isStrictPoint(bytes: Uint8Array, start: number): boolean {
  return !isUnreducedY(bytes, start) && !isSmallOrder(bytes, start)
}

/** p = 2^255 − 19 is ed ff … ff 7f in little-endian bytes, so y ≥ p is visible in the bytes. */
function isUnreducedY(bytes: Uint8Array, start: number): boolean {
  if (((bytes[start + 31] ?? 0) & 0x7f) !== 0x7f || (bytes[start] ?? 0) < 0xed) return false
  for (let at = 1; at < 31; at += 1) if (bytes[start + at] !== 0xff) return false
  return true
}

/**
 * The y coordinates of the eight points of small order: 1, −1, 0, and the two of the points of order eight, each with
 * either sign bit. The sign bit on y = ±1 is the "x = 0 with the sign bit" encoding, refused by the same comparison.
 */
const smallOrderY: readonly Uint8Array[] = [
  littleEndian(1n),
  littleEndian(2n ** 255n - 20n),
  littleEndian(0n),
  littleEndian(0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n),
  littleEndian(0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n),
]

function littleEndian(value: bigint): Uint8Array {
  return Uint8Array.from({ length: 32 }, (_, at) => Number((value >> BigInt(8 * at)) & 255n))
}

function isSmallOrder(bytes: Uint8Array, start: number): boolean {
  return smallOrderY.some((y) => {
    for (let at = 0; at < 31; at += 1) if (bytes[start + at] !== y[at]) return false
    return ((bytes[start + 31] ?? 0) & 0x7f) === y[31]
  })
}
