/** A Line from members that were changed: in canonical form, and signed again where a key is given. */
import { type JsonValue, encodeCanonical } from '../../src/record/index.ts'
import { type ForgeKey, type Members, signingInput } from './forge.ts'

export function resign(members: Members, key?: ForgeKey): Uint8Array {
  const signature = key === undefined ? members['signature'] : key.sign(signingInput(members))
  return encodeCanonical({ ...members, signature } as unknown as Record<string, JsonValue>)
}
