/** The record that a tenant begins with, and the public keys of its generations: what both take from the seeds. */
import type { PublicKeys } from '../src/archive/public-keys.ts'
import type { ChainStore } from '../src/chain/ports.ts'
import type { TenantRecord } from '../src/chain/records.ts'
import { settingsBeforeFirstBundle } from '../src/chain/settings.ts'
import { encodeHex } from '../src/record/index.ts'
import type { LineKeys } from './line-keys.ts'

export function freshTenant(tenant: string, now: number, keys: LineKeys): TenantRecord {
  const seedNumber = keys.currentSeed
  return {
    tenant,
    deployment: keys.deployment,
    createdAt: now,
    revision: 0,
    keyEpoch: 0,
    seedNumber,
    keys: [{ keyEpoch: 0, seedNumber, firstSession: 0 }],
    frozen: false,
    settings: settingsBeforeFirstBundle,
  }
}

/** Every generation with the Sessions that it signs; without those whose seed is gone, which were made public before. */
export function publicKeysOf(store: ChainStore, keys: LineKeys): PublicKeys {
  const tenant = store.readTenant()
  if (tenant === undefined) throw new Error('the tenant does not exist')
  const entries = tenant.keys.map((generation, at) => {
    if (!keys.hasSeed(generation.seedNumber)) return undefined
    const signer = keys.publicKeyOf(tenant, generation)
    const next = tenant.keys[at + 1]
    return {
      public_key: encodeHex(signer.publicKey),
      key_id: signer.keyId,
      key_epoch: generation.keyEpoch,
      first_session: generation.firstSession,
      ...(next === undefined ? {} : { last_session: next.firstSession - 1 }),
    }
  })
  return {
    chain_id: tenant.tenant,
    deployment: tenant.deployment,
    keys: entries.filter((entry) => entry !== undefined),
  }
}
