/**
 * Signatures on which honest verifiers disagree (SPEC.md §5.5), each made here from its reason: small order, mixed
 * order, encodings that are not canonical, S beyond L. Valid ones stand beside them.
 */
import { createHash } from 'node:crypto'
import { Point } from '@noble/ed25519'
import { forgeKey } from '../forge.ts'

export interface SignatureCase {
  readonly name: string
  readonly spec: string
  /** All three in hex. */
  readonly public_key: string
  readonly message: string
  readonly signature: string
  readonly accept: boolean
  readonly why: string
}

const groupOrder = 2n ** 252n + 27742317777372353535851937790883648493n
const fieldPrime = 2n ** 255n - 19n
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

function little(value: bigint): Uint8Array {
  return Uint8Array.from({ length: 32 }, (_, at) => Number((value >> BigInt(8 * at)) & 255n))
}

function toInteger(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).reverse().toString('hex') || '0'}`)
}

/** k of step 4, over the bytes as they are. */
function challenge(r: Uint8Array, a: Uint8Array, message: Uint8Array): bigint {
  return toInteger(createHash('sha512').update(r).update(a).update(message).digest()) % groupOrder
}

/** A point of order 8, and one of order 2. */
const order8 = Point.fromHex('26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05')
const order2 = Point.fromHex(hex(little(fieldPrime - 1n)))
const secret = 0x1234567890abcdef1234567890abcdef1234567890abcdefn
const nonce = 0x0fedcba987654321fedcba987654321fedcba987654321n
const key = Point.BASE.multiply(secret)

/** S = r + k·a for whatever A and R are claimed: the signature of someone who knows a and r. */
function sign(a: Uint8Array, r: Uint8Array, message: Uint8Array): bigint {
  return (nonce + challenge(r, a, message) * secret) % groupOrder
}

/** The first message `message-N` whose k satisfies the condition. */
function messageFor(a: Uint8Array, r: Uint8Array, wanted: (k: bigint) => boolean): Uint8Array {
  for (let at = 0; at < 10_000; at += 1) {
    const message = Buffer.from(`message-${String(at)}`)
    if (wanted(challenge(r, a, message))) return message
  }
  throw new Error('no such message')
}

function made(
  name: string,
  why: string,
  accept: boolean,
  a: Uint8Array,
  r: Uint8Array,
  s: bigint,
  message: Uint8Array,
): SignatureCase {
  const signature = hex(r) + hex(little(s))
  return { name, spec: '5.5', public_key: hex(a), message: hex(message), signature, accept, why }
}

const base = forgeKey(7)
const plain = Buffer.from('a Line')
const a = key.toBytes()
const r = Point.BASE.multiply(nonce).toBytes()
const s = sign(a, r, plain)

function mixedKey(name: string, why: string, accept: boolean, wanted: (k: bigint) => boolean): SignatureCase {
  const mixed = key.add(order8).toBytes()
  const message = messageFor(mixed, r, wanted)
  return made(name, why, accept, mixed, r, sign(mixed, r, message), message)
}

function mixedR(): SignatureCase {
  const mixed = Point.BASE.multiply(nonce).add(order8).toBytes()
  const why = 'R has a part of small order: holds only when multiplied by the cofactor (step 5)'
  return made('mixed-r', why, false, a, mixed, sign(a, mixed, plain), plain)
}

/** Both carry the point of order 2, and k is odd, so that the two cancel without a cofactor. */
function mixedBoth(): SignatureCase {
  const mixedA = key.add(order2).toBytes()
  const mixedRBytes = Point.BASE.multiply(nonce).add(order2).toBytes()
  const message = messageFor(mixedA, mixedRBytes, (k) => k % 2n === 1n)
  const why = 'A and R have the same part of order 2, k is odd: the equation of step 5 holds as it stands'
  return made('mixed-a-and-r', why, true, mixedA, mixedRBytes, sign(mixedA, mixedRBytes, message), message)
}

const smallOrder = [
  ['1', 1n, 0],
  ['1-with-sign', 1n, 1],
  ['minus-1', fieldPrime - 1n, 0],
  ['minus-1-with-sign', fieldPrime - 1n, 1],
  ['0', 0n, 0],
  ['0-with-sign', 0n, 1],
  ['order-8', toInteger(order8.toBytes()), 0],
  ['order-8-with-sign', toInteger(order8.toBytes()), 1],
  ['order-8-other', fieldPrime - toInteger(order8.toBytes()), 0],
  ['order-8-other-with-sign', fieldPrime - toInteger(order8.toBytes()), 1],
  ['p', fieldPrime, 0],
  ['p-with-sign', fieldPrime, 1],
  ['p-plus-1', fieldPrime + 1n, 0],
  ['p-plus-1-with-sign', fieldPrime + 1n, 1],
] as const

function encoded(y: bigint, sign: number): Uint8Array {
  const bytes = little(y)
  bytes[31] = (bytes[31] ?? 0) | (sign << 7)
  return bytes
}

/** A of small order, R = r·B, S = r: with k·A = O, which some message gives, the equation holds. */
function smallKey(name: string, y: bigint, bit: number): SignatureCase {
  const bytes = encoded(y, bit)
  const message = messageFor(bytes, r, (k) => k % 8n === 0n)
  return made(
    `small-order-a-${name}`,
    'A is of small order, or not canonical (steps 2, 3)',
    false,
    bytes,
    r,
    nonce,
    message,
  )
}

/** R of small order, k·A with S = k·a: the rest of the equation is R = O up to the cofactor. */
function smallR(name: string, y: bigint, bit: number): SignatureCase {
  const bytes = encoded(y, bit)
  const s0 = (challenge(bytes, a, plain) * secret) % groupOrder
  return made(
    `small-order-r-${name}`,
    'R is of small order, or not canonical (steps 2, 3)',
    false,
    a,
    bytes,
    s0,
    plain,
  )
}

export const signatureCases: readonly SignatureCase[] = [
  {
    name: 'valid-rfc-8032',
    spec: '5.5',
    public_key: base.publicKey,
    message: hex(plain),
    signature: base.sign(plain),
    accept: true,
    why: 'an ordinary signature',
  },
  {
    name: 'valid-empty-message',
    spec: '5.5',
    public_key: base.publicKey,
    message: '',
    signature: base.sign(Buffer.alloc(0)),
    accept: true,
    why: 'an ordinary signature',
  },
  made('valid-made-by-hand', 'an ordinary signature', true, a, r, s, plain),
  made('other-message', 'step 5', false, a, r, s, Buffer.from('another Line')),
  made('s-plus-l', 'S + L solves the same equation (step 1)', false, a, r, s + groupOrder, plain),
  made('s-plus-2-l', 'S + 2L solves the same equation (step 1)', false, a, r, s + 2n * groupOrder, plain),
  made('s-is-l', 'step 1', false, a, r, groupOrder, plain),
  made(
    's-is-l-minus-1',
    'S is in range, the equation does not hold (step 5)',
    false,
    a,
    r,
    groupOrder - 1n,
    plain,
  ),
  made('s-is-0', 'step 5', false, a, r, 0n, plain),
  made('s-all-ones', 'step 1', false, a, r, 2n ** 256n - 1n, plain),
  made(
    'r-with-other-sign',
    'step 5',
    false,
    a,
    encoded(toInteger(r) % 2n ** 255n, 1 - (toInteger(r) >> 255n === 1n ? 1 : 0)),
    s,
    plain,
  ),
  made('a-no-point', 'y = 2 is on no point (step 2)', false, little(2n), r, s, plain),
  made('r-no-point', 'y = 2 is on no point (step 2)', false, a, little(2n), s, plain),
  made('a-largest-y', 'y ≥ p (step 2)', false, little(2n ** 255n - 1n), r, s, plain),
  mixedKey(
    'mixed-a-that-cancels',
    'A has a part of order 8, 8 divides k: step 5 holds as it stands',
    true,
    (k) => k % 8n === 0n,
  ),
  mixedKey(
    'mixed-a',
    'A has a part of order 8: holds only when multiplied by the cofactor (step 5)',
    false,
    (k) => k % 8n !== 0n,
  ),
  mixedR(),
  mixedBoth(),
  ...smallOrder.map(([name, y, bit]) => smallKey(name, y, bit)),
  ...smallOrder.map(([name, y, bit]) => smallR(name, y, bit)),
]
