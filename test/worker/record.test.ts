/** The record floor inside workerd: reading, canonical form, hash and signature agree with what the runtime brings. */
import { createHash, createPublicKey, verify } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { encodeCanonical, encodeHex, utf8, nobleSuite, parseBody } from '../../src/record/index.ts'

describe('src/record in workerd', () => {
  const body = parseBody(utf8('{ "b": [1.0, "\\u20ac"], "a": "\\u0007" }'))

  it('reads a body and writes its canonical form', () => {
    if (!body.ok) throw new Error(body.error.code)
    expect(new TextDecoder().decode(encodeCanonical(body.value))).toBe(String.raw`{"a":"\u0007","b":[1,"€"]}`)
  })

  it('hashes like node:crypto', () => {
    if (!body.ok) throw new Error(body.error.code)
    const bytes = encodeCanonical(body.value)
    expect(encodeHex(nobleSuite.sha256(bytes))).toBe(createHash('sha256').update(bytes).digest('hex'))
  })

  it('signs what node:crypto verifies, and refuses one changed bit', () => {
    const signer = nobleSuite.signer(new Uint8Array(32).fill(7))
    const message = utf8('a Line')
    const signature = signer.sign(message)
    const x = Buffer.from(signer.publicKey).toString('base64url')
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
    expect(verify(null, message, key, signature)).toBe(true)
    expect(nobleSuite.verify(signer.publicKey, message, signature)).toBe(true)
    signature[3] = (signature[3] ?? 0) ^ 4
    expect(nobleSuite.verify(signer.publicKey, message, signature)).toBe(false)
  })
})
