/**
 * API keys (authorize.md §1): `aegis_<role>_<tenant>_<id><tag>_<secret>` and the operator's `aegis_operator_<secret>`.
 * The tag lets a Worker refuse a made-up tenant or key before it asks anyone. Pure: the HMAC comes in as an argument.
 * Not for who a key belongs to, nor whether it still counts: the tenant's object knows.
 */
import { type Digester, encodeCanonical, encodeHex, isTenantName } from '../record/index.ts'
import { decodeBase32, encodeBase32 } from './base32.ts'

export const keyRoles = ['agent', 'approver', 'auditor', 'admin'] as const
export type KeyRole = (typeof keyRoles)[number]

/** HMAC-SHA-256 under the deployment's tag key: 32 bytes. */
export type TagHmac = (message: Uint8Array) => Uint8Array

/** What a key says of itself; public, unlike its secret. */
export interface KeyName {
  readonly role: KeyRole
  readonly tenant: string
  /** 16 characters of base32: 10 random bytes. */
  readonly id: string
}

export type ParsedApiKey =
  | ({ readonly kind: 'tenant'; readonly tag: Uint8Array; readonly secret: Uint8Array } & KeyName)
  | { readonly kind: 'operator'; readonly secret: Uint8Array }

const keyIdBytes = 10
const keySecretBytes = 32
const tagBytes = 8

/** `aegis_approver_` + 39 + `_` + 29 + `_` + 52: nothing longer is worth splitting. */
const keyTextMax = 136

/** Reads a key; `undefined` for anything that this module would not have written. */
export function parseApiKey(text: string): ParsedApiKey | undefined {
  if (text.length > keyTextMax) return undefined
  const parts = text.split('_')
  if (parts[0] !== 'aegis') return undefined
  if (parts.length === 3 && parts[1] === 'operator') {
    const secret = decodeBase32(parts[2] ?? '', keySecretBytes)
    return secret === undefined ? undefined : { kind: 'operator', secret }
  }
  const [, roleName, tenant, idAndTag, secretText] = parts
  const role = keyRoles.find((name) => name === roleName)
  if (parts.length !== 5 || role === undefined) return undefined
  if (tenant === undefined || !isTenantName(tenant) || idAndTag === undefined) return undefined
  const id = idAndTag.slice(0, 16)
  const tag = decodeBase32(idAndTag.slice(16), tagBytes)
  const secret = decodeBase32(secretText ?? '', keySecretBytes)
  if (decodeBase32(id, keyIdBytes) === undefined || tag === undefined || secret === undefined)
    return undefined
  return { kind: 'tenant', role, tenant, id, tag, secret }
}

/**
 * Writes a key out, once: what is kept of it is {@link secretHash}.
 *
 * @param secret 32 random bytes.
 * @throws Error when a part is not what {@link parseApiKey} would read back.
 */
export function formatApiKey(name: KeyName, secret: Uint8Array, hmac: TagHmac): string {
  const tag = encodeBase32(keyTag(name, hmac))
  const text = `aegis_${name.role}_${name.tenant}_${name.id}${tag}_${encodeBase32(secret)}`
  if (parseApiKey(text) === undefined) throw new Error('an API key of wrong parts')
  return text
}

/** The operator's key: its secret is the deployment's, and there is one. */
export function formatOperatorKey(secret: Uint8Array): string {
  const text = `aegis_operator_${encodeBase32(secret)}`
  if (parseApiKey(text) === undefined) throw new Error('an operator secret has 32 bytes')
  return text
}

/** The id of a new key, from 10 random bytes. */
export function toKeyId(random: Uint8Array): string {
  if (random.length !== keyIdBytes) throw new Error('a key id is made of 10 bytes')
  return encodeBase32(random)
}

/** Whether the deployment made this key's name; in constant time. */
export function hasTrueTag(key: KeyName & { readonly tag: Uint8Array }, hmac: TagHmac): boolean {
  return equalBytes(key.tag, keyTag(key, hmac))
}

/** The first 8 bytes of the HMAC over canonical `[role, tenant, id]`. */
function keyTag({ role, tenant, id }: KeyName, hmac: TagHmac): Uint8Array {
  return hmac(encodeCanonical([role, tenant, id])).subarray(0, tagBytes)
}

/** What is kept at rest instead of a secret: the SHA-256 of its 32 bytes, 64 hex. */
export function secretHash(secret: Uint8Array, digester: Digester): string {
  return encodeHex(digester.sha256(secret))
}

/** Whether a secret is the one that a hash was kept of; the same work whatever differs. */
export function isSecretOf(secret: Uint8Array, keptHash: string, digester: Digester): boolean {
  const hash = secretHash(secret, digester)
  return equalBytes(toBytes(hash), toBytes(keptHash))
}

/** Compares in a time that depends on the lengths only. */
function equalBytes(left: Uint8Array, right: Uint8Array): boolean {
  let difference = left.length ^ right.length
  for (let at = 0; at < left.length; at += 1) difference |= (left[at] ?? 0) ^ (right[at] ?? 0)
  return difference === 0
}

function toBytes(ascii: string): Uint8Array {
  return Uint8Array.from(ascii, (character) => character.charCodeAt(0))
}
