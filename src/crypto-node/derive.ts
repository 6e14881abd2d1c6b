/**
 * Keys from the deployment's seed (SPEC.md §6.4): the Line key of a tenant and generation, the key of the tags in API
 * keys, and the secrets of webhooks. Not a reader of the environment: `AEGIS_SEED`'s text comes in as an argument.
 */
import { createHmac, hkdfSync } from 'node:crypto'
import { decodeHex, utf8 } from '../record/index.ts'

const lineKeySalt = 'aegis-edge/1 line-key'
const tagKeySalt = 'aegis-edge/1 key-id'
const webhookSalt = 'aegis-edge/1 webhook'

/** What `AEGIS_SEED` holds: seeds by number. The highest number is the one for new keys. */
export interface SeedSet {
  readonly current: number
  /** 32 bytes each. */
  readonly seeds: ReadonlyMap<number, Uint8Array>
}

export type ParsedSeeds =
  | { readonly kind: 'seeds'; readonly set: SeedSet }
  /** Says what is wrong by position, and never quotes the text: it is a secret. */
  | { readonly kind: 'invalid'; readonly detail: string }

/** Reads `n:hex[,n:hex…]`: n a decimal number without leading zeros, hex 64 lowercase characters. */
export function parseSeeds(text: string): ParsedSeeds {
  const seeds = new Map<number, Uint8Array>()
  for (const [at, part] of text.trim().split(',').entries()) {
    const match = /^(0|[1-9][0-9]{0,5}):([0-9a-f]{64})$/.exec(part)
    const seed = match?.[2] === undefined ? undefined : decodeHex(match[2])
    if (match === null || seed === undefined) {
      return {
        kind: 'invalid',
        detail: `entry ${String(at + 1)} is not N:HEX with 64 lowercase hex characters`,
      }
    }
    const number = Number(match[1])
    if (seeds.has(number)) return { kind: 'invalid', detail: `number ${String(number)} stands twice` }
    seeds.set(number, seed)
  }
  return { kind: 'seeds', set: { current: Math.max(...seeds.keys()), seeds } }
}

/**
 * The 32-byte Ed25519 seed of a tenant's Line key: HKDF-SHA-256(seed, salt `aegis-edge/1 line-key`, info).
 *
 * @param keyEpoch generation of the tenant's signing key, from 0.
 */
export function deriveLineKey(
  seed: Uint8Array,
  deployment: string,
  tenant: string,
  keyEpoch: number,
): Uint8Array {
  return hkdf(seed, lineKeySalt, [deployment, tenant, String(keyEpoch)])
}

/** The 32-byte HMAC key of the tags in API keys, one for each deployment. */
export function deriveTagKey(seed: Uint8Array, deployment: string): Uint8Array {
  return hkdf(seed, tagKeySalt, [deployment])
}

/** The 32-byte secret that signs what is sent to a group's webhook. */
export function deriveWebhookSecret(
  seed: Uint8Array,
  deployment: string,
  tenant: string,
  group: string,
): Uint8Array {
  return hkdf(seed, webhookSalt, [deployment, tenant, group])
}

/** info is the JSON array of the names, so that no two lists of names run into the same bytes. */
function hkdf(seed: Uint8Array, salt: string, names: readonly string[]): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', seed, salt, utf8(JSON.stringify(names)), 32))
}

/** HMAC-SHA-256: 32 bytes. */
export function hmacSha256(key: Uint8Array, message: Uint8Array): Uint8Array {
  return createHmac('sha256', key).update(message).digest()
}
