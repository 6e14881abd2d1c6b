/** What the floors that run in workerd take for granted of it (docs/decisions/0001). */
import { createHash, createPrivateKey, createPublicKey, sign, verify } from 'node:crypto'
import { describe, expect, it } from 'vitest'

describe('the runtime', () => {
  it('is workerd', () => {
    expect('WebSocketPair' in globalThis).toBe(true)
  })

  it('hashes synchronously with SHA-256 (FIPS 180-4, "abc")', () => {
    expect(createHash('sha256').update('abc').digest('hex')).toBe(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    )
  })

  it('signs and verifies Ed25519 synchronously (RFC 8032, test 1)', () => {
    const seed = '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60'
    const pkcs8 = Buffer.from(`302e020100300506032b657004220420${seed}`, 'hex')
    const privateKey = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' })
    const signature = sign(null, new Uint8Array(), privateKey)
    expect(signature.toString('hex')).toBe(
      'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
    )
    const publicKey = createPublicKey(privateKey)
    expect(verify(null, new Uint8Array(), publicKey, signature)).toBe(true)
    signature[0] = (signature[0] ?? 0) ^ 1
    expect(verify(null, new Uint8Array(), publicKey, signature)).toBe(false)
  })
})
