/** API keys: written, read back, refused when anything is off by a bit (authorize.md §1). */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { deriveTagKey, hmacSha256, nodeSuite } from '../../src/crypto-node/index.ts'
import {
  formatApiKey,
  formatOperatorKey,
  hasTrueTag,
  isSecretOf,
  keyRoles,
  parseApiKey,
  secretHash,
  toKeyId,
} from '../../src/protocol/index.ts'
import { encodeBase32, decodeBase32 } from '../../src/protocol/base32.ts'
import { encodeCanonical } from '../../src/record/index.ts'

const tagKey = deriveTagKey(new Uint8Array(32).fill(7), 'prod')
const hmac = (message: Uint8Array) => hmacSha256(tagKey, message)
const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
const secret = new Uint8Array(32).fill(0xab)
const id = toKeyId(new Uint8Array(10).fill(0x5c))
const key = formatApiKey({ role: 'agent', tenant: 'acme', id }, secret, hmac)

describe('base32', () => {
  it('decodes what it encodes, for every length', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (value) => {
        expect(decodeBase32(encodeBase32(value), value.length)).toEqual(value)
      }),
    )
  })

  it('reads one text for each value', () => {
    const text = encodeBase32(new Uint8Array(8).fill(255))
    expect(text).toHaveLength(13)
    // 65 bits for 64: the last bit is unused.
    expect(text.at(-1)).toBe('y')
    expect(decodeBase32(`${text.slice(0, -1)}z`, 8)).toBeUndefined()
    for (const other of [
      text.toUpperCase(),
      `${text}0`,
      text.slice(1),
      `${text.slice(1)}i`,
      `${text.slice(1)}=`,
    ]) {
      expect(decodeBase32(other, 8)).toBeUndefined()
    }
  })
})

describe('an API key', () => {
  it('has the parts that it should have', () => {
    expect(key).toMatch(
      /^aegis_agent_acme_[0-9a-hjkmnp-tv-z]{16}[0-9a-hjkmnp-tv-z]{13}_[0-9a-hjkmnp-tv-z]{52}$/,
    )
    const tag = encodeBase32(hmac(encodeCanonical(['agent', 'acme', id])).subarray(0, 8))
    expect(key).toContain(`_${id}${tag}_`)
  })

  it('is read back, for every role, tenant and secret', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...keyRoles),
        fc.stringMatching(/^[a-z][a-z0-9-]{1,38}$/),
        bytes(10),
        bytes(32),
        (role, tenant, rawId, rawSecret) => {
          const name = { role, tenant, id: toKeyId(rawId) }
          const parsed = parseApiKey(formatApiKey(name, rawSecret, hmac))
          if (parsed?.kind !== 'tenant') throw new Error('not read')
          expect(parsed).toMatchObject(name)
          expect(parsed.secret).toEqual(rawSecret)
          expect(hasTrueTag(parsed, hmac)).toBe(true)
        },
      ),
    )
  })

  it('is refused, or has a false tag or another secret, when any one character is another', () => {
    const accepted: string[] = []
    for (let at = 0; at < key.length; at += 1) {
      const other = key.slice(0, at) + (key[at] === 'b' ? 'c' : 'b') + key.slice(at + 1)
      const parsed = parseApiKey(other)
      const passes =
        parsed?.kind === 'tenant' &&
        hasTrueTag(parsed, hmac) &&
        isSecretOf(parsed.secret, secretHash(secret, nodeSuite), nodeSuite)
      if (passes) accepted.push(other)
    }
    expect(accepted).toEqual([])
  })

  it('has another tag in another deployment', () => {
    const parsed = parseApiKey(key)
    if (parsed?.kind !== 'tenant') throw new Error('not read')
    const elsewhere = deriveTagKey(new Uint8Array(32).fill(7), 'staging')
    expect(hasTrueTag(parsed, (message) => hmacSha256(elsewhere, message))).toBe(false)
  })

  it.each([
    '',
    'aegis',
    'aegis_agent_acme',
    key.toUpperCase(),
    ` ${key}`,
    `${key}\n`,
    `${key}_`,
    key.replace('acme', 'Acme'),
    key.replace('acme', 'a'),
    key.replace('acme', '1acme'),
    key.replace('acme', 'a'.repeat(40)),
    key.replace('agent', 'operator'),
    key.replace('agent', 'owner'),
    key.replace('aegis', 'eagis'),
    // The last character of a secret has four unused bits.
    `${key.slice(0, -1)}z`,
    'x'.repeat(5000),
  ])('is not %j', (text) => {
    expect(parseApiKey(text)).toBeUndefined()
  })

  it('of the operator has a secret and nothing else', () => {
    expect(parseApiKey(formatOperatorKey(secret))).toEqual({ kind: 'operator', secret })
    expect(parseApiKey(`${formatOperatorKey(secret)}_x`)).toBeUndefined()
  })

  it('is never written out of wrong parts', () => {
    expect(() => formatApiKey({ role: 'agent', tenant: 'a_b', id }, secret, hmac)).toThrow('wrong parts')
    expect(() => formatApiKey({ role: 'agent', tenant: 'acme', id: 'x' }, secret, hmac)).toThrow(
      'wrong parts',
    )
    expect(() => formatApiKey({ role: 'agent', tenant: 'acme', id }, new Uint8Array(31), hmac)).toThrow(
      'wrong parts',
    )
    expect(() => formatOperatorKey(new Uint8Array(33))).toThrow('32 bytes')
    expect(() => toKeyId(new Uint8Array(9))).toThrow('10 bytes')
  })
})
