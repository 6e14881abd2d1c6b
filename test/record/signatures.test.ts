/** Ed25519 as SPEC.md §5.5 says, the same in both suites. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { decodeHex, nobleSuite } from '../../src/record/index.ts'
import { check } from '../harness/properties.ts'
import { readCases } from '../harness/vector-files.ts'
import type { SignatureCase } from '../harness/vectors/ed25519.ts'

const bytes = (hex: string): Uint8Array => decodeHex(hex) ?? new Uint8Array(0)

describe('a signature of the vectors', () => {
  it.each(readCases<SignatureCase>('5/ed25519'))(
    '$name ($spec)',
    ({ public_key, message, signature, accept }) => {
      const parts = [bytes(public_key), bytes(message), bytes(signature)] as const
      expect([nodeSuite.verify(...parts), nobleSuite.verify(...parts)]).toEqual([accept, accept])
    },
  )
})

describe('the two suites', () => {
  const seed = fc.uint8Array({ minLength: 32, maxLength: 32 })
  const message = fc.uint8Array({ maxLength: 300 })

  it('sign the same bytes with the same key, and hash alike', () => {
    check(
      fc.property(seed, message, (secret, text) => {
        const [node, noble] = [nodeSuite.signer(secret), nobleSuite.signer(secret)]
        expect(Buffer.from(node.publicKey)).toEqual(Buffer.from(noble.publicKey))
        expect(node.keyId).toBe(noble.keyId)
        expect(Buffer.from(node.sign(text))).toEqual(Buffer.from(noble.sign(text)))
        expect(Buffer.from(nodeSuite.sha256(text))).toEqual(Buffer.from(nobleSuite.sha256(text)))
      }),
      { numRuns: 60 },
    )
  })

  it('agree on a good signature and on every change of it', () => {
    const flip = fc.integer({ min: 0, max: 96 * 8 - 1 })
    check(
      fc.property(seed, message, flip, (secret, text, bit) => {
        const signer = nodeSuite.signer(secret)
        const pair = Uint8Array.from([...signer.publicKey, ...signer.sign(text)])
        const both = (): boolean[] =>
          [nodeSuite, nobleSuite].map((suite) => suite.verify(pair.slice(0, 32), text, pair.slice(32)))
        expect(both()).toEqual([true, true])
        pair[bit >> 3] = (pair[bit >> 3] ?? 0) ^ (1 << (bit & 7))
        expect(both()).toEqual([false, false])
      }),
      { numRuns: 60 },
    )
  })

  it('agree on bytes that are no signature at all, and never throw', () => {
    check(
      fc.property(
        fc.uint8Array({ maxLength: 40 }),
        message,
        fc.uint8Array({ maxLength: 80 }),
        (key, text, sig) => {
          expect(nobleSuite.verify(key, text, sig)).toBe(nodeSuite.verify(key, text, sig))
        },
      ),
    )
    check(
      fc.property(seed, message, fc.uint8Array({ minLength: 64, maxLength: 64 }), (key, text, sig) => {
        expect(nobleSuite.verify(key, text, sig)).toBe(nodeSuite.verify(key, text, sig))
      }),
    )
  })
})
