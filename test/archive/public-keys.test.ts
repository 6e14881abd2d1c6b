/** `keys/<tenant>.json`: what was once made public stays, whoever writes it again, and it always reads as a trust store. */
import { beforeEach, describe, expect, it } from 'vitest'
import { LineKeys } from '../../durable-objects/line-keys.ts'
import { publicKeysOf } from '../../durable-objects/new-tenant.ts'
import { keysPath } from '../../src/archive/paths.ts'
import { type PublicKeys, highestEpoch, putPublicKeys } from '../../src/archive/public-keys.ts'
import { MemoryStore } from '../../src/chain/memory-store.ts'
import type { LineKeyRecord } from '../../src/chain/records.ts'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { utf8 } from '../../src/record/index.ts'
import { parseTrustStore } from '../../src/verify/index.ts'
import { InMemoryBucket } from '../harness/memory-bucket.ts'
import { tenantRecord } from '../harness/memory-tenant.ts'

const seeds = { both: `0:${'07'.repeat(32)},1:${'08'.repeat(32)}`, later: `1:${'08'.repeat(32)}` }
const path = keysPath('acme')

function keysOf(generations: readonly LineKeyRecord[], seed = seeds.both): PublicKeys {
  const store = new MemoryStore()
  const tenant = { ...tenantRecord('acme'), keys: generations }
  store.createTenant(tenant, {
    head: { state: 'empty', chainId: 'acme' },
    openedAt: 0,
    calls: 0,
    bytes: 0,
    bucket: { tokens: 0, at: 0 },
    day: { day: 0, calls: 0 },
    pendingApprovals: 0,
  })
  return publicKeysOf(store, new LineKeys({ AEGIS_SEED: seed, AEGIS_DEPLOYMENT: 'test' }))
}

const first = { keyEpoch: 0, seedNumber: 0, firstSession: 0 }
const second = { keyEpoch: 1, seedNumber: 0, firstSession: 5 }
const third = { keyEpoch: 2, seedNumber: 1, firstSession: 9 }

let bucket: InMemoryBucket

beforeEach(() => {
  bucket = new InMemoryBucket()
})

const put = (keys: PublicKeys): Promise<void> => putPublicKeys(bucket, keys, nodeSuite)

/** `EPOCH FIRST LAST` of each key, as a verifier reads the object. */
function stored(): string[] {
  const bytes = bucket.objects.get(path) ?? new Uint8Array()
  const pins = parseTrustStore(bytes)
  if (!pins.ok) throw new Error(`no trust store: ${pins.error.code} ${pins.error.path}`)
  const { keys } = JSON.parse(new TextDecoder().decode(bytes)) as PublicKeys
  expect(pins.value.map((pin) => String(pin.publicKey))).toEqual(keys.map((key) => key.public_key))
  return keys.map(
    (key) => `${String(key.key_epoch)} ${String(key.first_session)} ${String(key.last_session)}`,
  )
}

describe('the public keys of a tenant', () => {
  it('grow with each generation, the last one without an end', async () => {
    await put(keysOf([first]))
    expect(stored()).toEqual(['0 0 undefined'])
    await put(keysOf([first, second]))
    expect(stored()).toEqual(['0 0 4', '1 5 undefined'])
  })

  it('keep a generation that a restored object has forgotten', async () => {
    await put(keysOf([first, second]))
    await put(keysOf([first, { ...third, firstSession: 12 }]))
    expect(stored()).toEqual(['0 0 4', '1 5 11', '2 12 undefined'])
  })

  it('keep a generation whose seed leaked and is gone', async () => {
    await put(keysOf([first, second]))
    await put(keysOf([first, second, third], seeds.later))
    expect(stored()).toEqual(['0 0 4', '1 5 8', '2 9 undefined'])
  })

  it('leave out a generation that never signed a Session of this Chain', async () => {
    await put(keysOf([first, second]))
    await put(keysOf([first, { ...third, firstSession: 5 }]))
    expect(stored()).toEqual(['0 0 4', '2 5 undefined'])
  })

  it('are not taken back by an object that knows fewer', async () => {
    await put(keysOf([first, second, third]))
    const before = bucket.objects.get(path)
    await put(keysOf([first]))
    expect(bucket.objects.get(path)).toEqual(before)
  })

  it('are written over what is no list of keys', async () => {
    for (const text of [
      '',
      'null',
      '{"keys":7}',
      '{"keys":[null,{"key_epoch":3}]}',
      '{"keys":[{"key_epoch":1e15}]}',
    ]) {
      bucket.objects.set(path, utf8(text))
      await put(keysOf([first]))
      expect(stored()).toEqual(['0 0 undefined'])
    }
  })

  it('never name a generation that a recovery could not count up to', () => {
    const entry = { public_key: '0'.repeat(64), key_id: '0'.repeat(64), first_session: 0 }
    const of = (epoch: number): number =>
      highestEpoch(utf8(JSON.stringify({ keys: [{ ...entry, key_epoch: epoch }] })))
    expect([of(7), of(100_001), of(1e15), of(-1), of(0.5)]).toEqual([7, -1, -1, -1, -1])
  })
})
