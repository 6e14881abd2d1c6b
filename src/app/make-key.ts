/**
 * API keys are made here, in the Worker (authorize.md §1): a random secret, a tag by the newest seed. The text goes into
 * one answer; what goes to the tenant's object is the SHA-256 of the secret.
 */
import { type KeyRole, formatApiKey, secretHash, toKeyId } from '../protocol/index.ts'
import { encodeCanonical } from '../record/index.ts'
import type { Services } from './services.ts'

export interface MadeKey {
  readonly id: string
  /** The whole key; never logged, never kept. */
  readonly text: string
  /** 64 hex. */
  readonly secretHash: string
}

/**
 * @param names where they are given, the id is derived from them, so that one request can make one key only.
 */
export function makeKey(
  services: Services,
  {
    role,
    tenant,
    names,
  }: { readonly role: KeyRole; readonly tenant: string; readonly names?: readonly string[] },
): MadeKey {
  const { config, digester, random } = services
  const [newest] = config.kind === 'configured' ? config.tagHmacs : []
  if (newest === undefined) throw new Error('a key was to be made without a seed')
  const secret = random(32)
  // Another shape than what tags are made of, which are texts of three: neither is ever the other.
  const id = toKeyId(
    names === undefined ? random(10) : newest(encodeCanonical(['id', tenant, ...names])).subarray(0, 10),
  )
  return {
    id,
    text: formatApiKey({ role, tenant, id }, secret, newest),
    secretHash: secretHash(secret, digester),
  }
}
