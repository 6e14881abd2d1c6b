/** RFC 8032 and ed25519-speccheck inside workerd; vitest.config.ts brings the files, which a Worker cannot read. */
import { describe, expect, inject, it } from 'vitest'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { decodeHex, encodeHex, nobleSuite } from '../../src/record/index.ts'
import type { SharedSignatures } from '../harness/shared-signatures.ts'

const bytes = (hex: string): Uint8Array => decodeHex(hex) ?? new Uint8Array(0)
const { speccheck, rfc8032 }: SharedSignatures = inject('sharedSignatures')

describe('in workerd', () => {
  it.each([
    ['node', nodeSuite],
    ['noble', nobleSuite],
  ] as const)('%s accepts number 3 of speccheck and refuses all others', (_, suite) => {
    const answers = speccheck.map(({ pub_key, message, signature }) =>
      suite.verify(bytes(pub_key), bytes(message), bytes(signature)),
    )
    expect(answers).toEqual(Array.from({ length: 12 }, (__, at) => at === 3))
  })

  it('both suites sign and verify as RFC 8032 does', () => {
    expect(rfc8032).toHaveLength(5)
    for (const { secret_key, public_key, message, signature } of rfc8032) {
      for (const suite of [nodeSuite, nobleSuite]) {
        const signer = suite.signer(bytes(secret_key))
        expect(encodeHex(signer.publicKey)).toBe(public_key)
        expect(encodeHex(signer.sign(bytes(message)))).toBe(signature)
        expect(suite.verify(signer.publicKey, bytes(message), bytes(signature))).toBe(true)
      }
    }
  })
})
