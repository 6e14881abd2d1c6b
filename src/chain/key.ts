/**
 * Keys as they are checked in every transaction: by role, expiry, revocation and confirmation. Secrets are compared by
 * the Worker.
 */
import type { ChainContext } from './ports.ts'
import type { KeyRecord, Role } from './records.ts'

/** The key, when it may be used now in one of these roles. The check that every method of the object makes first. */
export function readLiveKey(
  context: ChainContext,
  keyId: string,
  roles: readonly Role[],
): KeyRecord | undefined {
  const key = context.store.readKey(keyId)
  if (key === undefined || !isLive(key, context.now)) return undefined
  return roles.includes(key.role) ? key : undefined
}

/** Whether anything may be done with a key now. */
export function isLive(key: KeyRecord, now: number): boolean {
  return !key.revoked && key.expiresAt > now && key.confirmed !== false
}
