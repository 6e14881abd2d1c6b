/**
 * Chains whose keys and signatures lie where two honest readings of Ed25519 part (SPEC.md §5.5): points of small and
 * of mixed order, encodings that are not canonical, S at and beyond L. Made with a scalar that anyone may know.
 */
import { createHash } from 'node:crypto'
import { Point } from '@noble/ed25519'
import { Forge, type ForgeKey, sha256Hex } from '../harness/forge.ts'
import type { Input } from './inputs.ts'

const order = 2n ** 252n + 27742317777372353535851937790883648493n
/** Of order 8. */
const torsion = Point.fromHex('c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a')

/** The multiples of the point of order 8, from the neutral element on. */
const torsions: readonly Point[] = Array.from({ length: 8 }).reduce<Point[]>(
  (found) => [...found, found.length === 0 ? Point.ZERO : (found[found.length - 1] as Point).add(torsion)],
  [],
)

interface Signing {
  readonly scalar: bigint
  /** Multiple of the point of order 8 that the key has beside its own part, and R beside its. */
  readonly inKey: number
  readonly inR: number
  /** Whether the equation of step 5 holds; with the cofactor it holds always. */
  readonly holds: boolean
  /** Added to S after signing. */
  readonly addToS?: bigint
}

function craftedKey({ scalar, inKey, inR, holds, addToS = 0n }: Signing): ForgeKey {
  const key = plus(times(scalar), inKey).toBytes()
  return fromBytes(key, (message) => {
    for (let nonce = 1n; nonce < 500n; nonce += 1n) {
      const r = plus(times(nonce), inR).toBytes()
      const k = hashToScalar(r, key, message)
      const torsionIsRight = (8 - ((Number(k % 8n) * inKey) % 8)) % 8 === inR
      if (torsionIsRight !== holds) continue
      return toHex(r) + toHex(littleEndian(((nonce + k * scalar) % order) + addToS))
    }
    throw new Error('no nonce gives such a signature')
  })
}

function times(scalar: bigint): Point {
  return scalar === 0n ? Point.ZERO : Point.BASE.multiply(scalar)
}

function plus(point: Point, torsionTimes: number): Point {
  return point.add(torsions[torsionTimes] as Point)
}

function fromBytes(key: Uint8Array, sign: (message: Uint8Array) => string): ForgeKey {
  return { publicKey: toHex(key), keyId: sha256Hex(key), secret: new Uint8Array(32), sign }
}

function hashToScalar(...parts: readonly Uint8Array[]): bigint {
  const hash = createHash('sha512')
  for (const part of parts) hash.update(part)
  return fromLittleEndian(hash.digest()) % order
}

function fromLittleEndian(bytes: Uint8Array): bigint {
  return BigInt(`0x${toHex(bytes.slice().reverse())}`)
}

function littleEndian(value: bigint): Uint8Array {
  return Buffer.from(value.toString(16).padStart(64, '0'), 'hex').reverse()
}

function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

export function curveInputs(): Input[] {
  const scalar = 0x1234567890abcdef1234567890abcdefn
  const inputs: Input[] = []
  const add = (name: string, key: ForgeKey): void => {
    inputs.push({ name, files: [new Forge({ key }).open().close().file] })
  }
  for (const [inKey, inR, holds] of mixes()) {
    const name = `${String(inKey)} in the key, ${String(inR)} in R, ${holds ? 'holds' : 'with the cofactor only'}`
    add(name, craftedKey({ scalar, inKey, inR, holds }))
    add(`${name}, small key`, craftedKey({ scalar: 0n, inKey, inR, holds }))
  }
  const plain = { scalar, inKey: 0, inR: 0, holds: true }
  for (const more of [0n, 1n, order, 2n * order, 8n * order]) {
    add(`S and ${String(more)}`, craftedKey({ ...plain, addToS: more }))
  }
  const [good, key] = [craftedKey(plain), times(scalar).toBytes()]
  for (const r of oddEncodings()) {
    const s = (message: Uint8Array): string =>
      toHex(littleEndian((hashToScalar(r, key, message) * scalar) % order))
    add(`R ${toHex(r)}`, { ...good, sign: (message) => toHex(r) + s(message) })
    add(
      `key ${toHex(r)}, S 0`,
      fromBytes(r, () => toHex(r) + '0'.repeat(64)),
    )
    for (const [at, point] of torsions.entries()) {
      add(
        `key ${toHex(r)}, R ${String(at)}, S 0`,
        fromBytes(r, () => toHex(point.toBytes()) + '0'.repeat(64)),
      )
    }
  }
  return inputs
}

/** Which of the eight in key and R, and whether the equation can be made to hold. */
function mixes(): [inKey: number, inR: number, holds: boolean][] {
  const found: [number, number, boolean][] = []
  for (const inKey of [0, 1, 2, 4, 7]) {
    for (const inR of [0, 1, 2, 4, 6]) {
      const reachable = Array.from({ length: 8 }, (_, k) => (8 - ((k * inKey) % 8)) % 8)
      if (reachable.includes(inR)) found.push([inKey, inR, true])
      if (reachable.some((reached) => reached !== inR)) found.push([inKey, inR, false])
    }
  }
  return found
}

/** Points of small order, y at and beyond p, x = 0 with a sign, and y of no point. */
function oddEncodings(): Uint8Array[] {
  const p = 2n ** 255n - 19n
  const sign = 2n ** 255n
  const ys = [0n, 1n, 2n, 3n, 4n, p - 2n, p - 1n, p, p + 1n, p + 2n, p + 3n, p + 9n, p + 18n]
  const encodings = ys.flatMap((y) => [littleEndian(y), littleEndian(y + sign)])
  const hex = [...encodings, ...torsions.map((point) => point.toBytes())].map(toHex)
  return [...new Set(hex)].map((one) => Buffer.from(one, 'hex'))
}
