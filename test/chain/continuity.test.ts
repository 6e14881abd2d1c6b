/**
 * Continuity (authorize.md §5): an object that was restored from the past, or lost, and an archive whose head or segments
 * are others than were put. Refused or reported, never a silent fork; and a recovery goes on behind the archive's tail
 * under a key that was never used.
 */
import { beforeEach, describe, expect, it } from 'vitest'
import { highestEpoch } from '../../src/archive/public-keys.ts'
import type { AdmitResult } from '../../src/chain/draft.ts'
import type { MemoryStore } from '../../src/chain/memory-store.ts'
import { decodeUtf8, utf8 } from '../../src/record/index.ts'
import { ArchivedTenant, Lost } from '../harness/archived-tenant.ts'
import type { MemoryBucket } from '../harness/memory-archive.ts'
import { big, startFrom } from '../harness/nearly-full.ts'

/** Something in a Session of its own, published. */
async function publishOne(tenant: ArchivedTenant): Promise<AdmitResult> {
  const result = await tenant.admit()
  await tenant.do({ act: 'chain.seal' })
  await tenant.settle()
  return result
}

async function published(sessions: number): Promise<ArchivedTenant> {
  const tenant = await startFrom('new')
  for (let at = 0; at < sessions; at += 1) await publishOne(tenant)
  return tenant
}

function contentsOf({ segments, head, envelopes }: MemoryBucket): unknown {
  return { segments: [...segments], head, envelopes: [...envelopes.keys()].sort() }
}

/** Nothing is appended nor published any more. */
async function expectRefused(tenant: ArchivedTenant): Promise<void> {
  const [rows, archive] = [tenant.store.chainBytes(), contentsOf(tenant.bucket)]
  const behind = { kind: 'unavailable', code: 'behind_archive' }
  expect(await tenant.admit()).toEqual(behind)
  expect(await tenant.do({ act: 'tenant.freeze' })).toEqual(behind)
  expect(await tenant.do({ act: 'chain.seal' })).toEqual(behind)
  for (let turn = 0; turn < 5; turn += 1) await tenant.nextAlarm()
  expect(tenant.store.chainBytes()).toEqual(rows)
  expect(contentsOf(tenant.bucket)).toEqual(archive)
  expect(tenant.isBehind).toBe(true)
}

/** Recovers, and goes on: the whole Chain verifies under the keys that are made public. */
async function expectRecovered(tenant: ArchivedTenant): Promise<void> {
  const before = tenant.store.readTenant()
  const sessions = tenant.bucket.segments.size
  const kept = contentsOf(tenant.bucket)
  const recovered = await tenant.recover()
  expect(recovered.kind).toBe('done')
  expect(contentsOf(tenant.bucket)).toEqual(kept)
  const after = tenant.store.readTenant()
  expect(after).toMatchObject({ frozen: true })
  expect(after?.keyEpoch).toBeGreaterThan(before?.keyEpoch ?? -1)
  expect(after?.revision).toBeGreaterThanOrEqual(tenant.now)
  expect(tenant.store.readHead().head).toMatchObject({ state: 'open', sessionIndex: sessions })
  expect(await tenant.recover()).toMatchObject({ kind: 'refused', code: 'not_behind' })
  await tenant.do({ act: 'tenant.unfreeze' })
  await publishOne(tenant)
  expect(tenant.report().verdict).toBe('verified')
  tenant.bucket.checkUnchanged()
}

describe('on waking', () => {
  it('goes on where the archive does, whatever of publishing was cut off', async () => {
    for (const name of ['putSegment', 'replaceHead']) {
      for (const fault of ['lost_before', 'lost_after'] as const) {
        const tenant = await published(2)
        await tenant.admit()
        await tenant.do({ act: 'chain.seal' })
        let hit = 0
        tenant.fault = (_, called) => {
          if (called !== name || hit > 0) return undefined
          hit += 1
          return fault
        }
        await expect(tenant.alarm()).rejects.toThrow(Lost)
        expect((await tenant.admit()).kind).toBe('admitted')
        await tenant.settle()
        tenant.verifyPublished()
        expect([name, fault, tenant.isBehind]).toEqual([name, fault, false])
      }
    }
  })

  it('waits for one comparison, and for no other in that life', async () => {
    const tenant = await published(1)
    tenant.lose()
    const before = tenant.calls.length
    await Promise.all([tenant.admit(), tenant.admit(), tenant.admit()])
    await tenant.admit()
    expect(tenant.calls.slice(before)).toEqual(['readHead'])
  })

  it('puts a head right that is missing, or an older one of ours', async () => {
    for (const older of [undefined, 0, 1]) {
      const tenant = await published(1)
      const heads = [tenant.bucket.head]
      for (let at = 0; at < 2; at += 1) {
        await publishOne(tenant)
        heads.push(tenant.bucket.head)
      }
      const newest = tenant.bucket.head
      tenant.bucket.head = older === undefined ? undefined : heads[older]
      tenant.lose()
      expect((await tenant.admit()).kind).toBe('admitted')
      await tenant.nextAlarm()
      expect(tenant.bucket.head).toEqual(newest)
      await tenant.settle()
      tenant.verifyPublished()
    }
  })

  const heads: readonly (readonly [string, () => Promise<Uint8Array>])[] = [
    ['is not a Line', () => Promise.resolve(utf8('nothing\n'))],
    ['is empty', () => Promise.resolve(new Uint8Array())],
    [
      "is another tenant's",
      async () => {
        const other = new ArchivedTenant({ name: 'other' })
        await publishOne(other)
        return other.bucket.head ?? new Uint8Array()
      },
    ],
    [
      'is of the same tenant in another life',
      async () => {
        const other = new ArchivedTenant({})
        other.now += 1
        await publishOne(other)
        return other.bucket.head ?? new Uint8Array()
      },
    ],
    [
      'is no close',
      async () => {
        const tenant = await published(1)
        return utf8(`${decodeUtf8(tenant.chain).split('\n')[2] ?? ''}\n`)
      },
    ],
  ]
  it.each(heads)('refuses where the head in the archive %s, until it is put right', async (_, head) => {
    const tenant = await published(2)
    const own = tenant.bucket.head
    tenant.bucket.head = await head()
    tenant.lose()
    await expectRefused(tenant)
    // Judged again by each alarm.
    tenant.bucket.head = own
    await tenant.admit()
    tenant.now += 10 * 60_000
    await tenant.alarm()
    expect((await tenant.admit()).kind).toBe('admitted')
    await tenant.settle()
    tenant.verifyPublished()
  })
})

describe('a head that is replaced while the object lives', () => {
  it('is not overwritten: publishing stops, and nothing is appended any more', async () => {
    const tenant = await published(1)
    const other = new ArchivedTenant({})
    other.now += 1
    await publishOne(other)
    for (const head of [other.bucket.head ?? new Uint8Array(), utf8('nothing\n')]) {
      const alive = new ArchivedTenant({ ...tenant.snapshot, bucket: tenant.bucket })
      const own = tenant.bucket.head
      await alive.admit()
      await alive.do({ act: 'chain.seal' })
      alive.bucket.head = head
      await alive.alarm()
      expect(alive.bucket.head).toBe(head)
      expect(alive.log.map(({ event }) => event)).toContain('archive_behind')
      await expectRefused(alive)
      tenant.bucket.head = own
      tenant.bucket.segments.delete(1)
    }
  })
})

describe('an object that was restored from an earlier state', () => {
  let tenant: ArchivedTenant
  let past: MemoryStore

  beforeEach(async () => {
    tenant = await published(1)
    await tenant.admit()
    past = tenant.store.copy()
    for (let at = 0; at < 3; at += 1) await publishOne(tenant)
  })

  it('is refused, and recovered behind the archive with nothing published lost', async () => {
    tenant.lose(past)
    await expectRefused(tenant)
    await expectRecovered(tenant)
    // All that was acknowledged had been published.
    tenant.verifyPublished()
    expect(tenant.isBehind).toBe(false)
  })

  it('says how many rows were set aside, and keeps them', async () => {
    tenant.lose(past)
    const recovered = await tenant.recover()
    expect('line' in recovered && recovered.line).toContain('rows set aside: 1"')
    expect(tenant.store.readRows(1, 0)).toEqual([])
  })

  it('also when R2 was down while it woke: what it wrote then is refused a place and set aside', async () => {
    tenant.lose(past)
    tenant.down = true
    const forked = await tenant.admit()
    expect(forked.kind).toBe('admitted')
    tenant.now += 60_000
    await tenant.alarm()
    tenant.down = false
    tenant.now += 10 * 60_000
    await tenant.alarm()
    await expectRefused(tenant)
    await expectRecovered(tenant)
    expect(forked.kind === 'admitted' && decodeUtf8(tenant.chain).includes(forked.line)).toBe(false)
  })

  it('and whose head in the archive was taken back too, or is gone: its next segment finds the other one', async () => {
    for (const isGone of [true, false]) {
      const bucket = new ArchivedTenant({ ...tenant.snapshot }).bucket
      for (const [session, bytes] of tenant.bucket.segments) bucket.segments.set(session, bytes)
      bucket.head = isGone ? undefined : utf8(`${past.readPublication().published?.close ?? ''}\n`)
      const restored = new ArchivedTenant({ store: past, now: tenant.now, bucket })
      const segments = new Map(bucket.segments)
      expect((await restored.admit()).kind).toBe('admitted')
      await restored.do({ act: 'chain.seal' })
      await restored.alarm()
      expect(restored.store.readPublication().stopped).toBe('archive_conflict')
      expect(bucket.segments).toEqual(segments)
      await expectRecovered(restored)
      expect(restored.store.readPublication().stopped).toBeUndefined()
    }
  })

  it('twice to the same state never signs two Chains with one key', async () => {
    tenant.lose(past)
    await expectRecovered(tenant)
    tenant.bucket.keyEpoch = highestEpoch(tenant.trustStore)
    const first = tenant.store.readTenant()?.keyEpoch ?? -1
    tenant.lose(past)
    await expectRefused(tenant)
    await expectRecovered(tenant)
    expect(tenant.store.readTenant()?.keyEpoch).toBeGreaterThan(first)
  })

  it('recovered by two operators at once is recovered once', async () => {
    tenant.lose(past)
    const results = await Promise.all([tenant.recover(), tenant.recover()])
    expect(results.map((result) => ('code' in result ? result.code : result.kind)).sort()).toEqual([
      'done',
      'not_behind',
    ])
    await tenant.do({ act: 'tenant.unfreeze' })
    await publishOne(tenant)
    tenant.verifyPublished()
  })

  it('does not bring back Envelopes that were erased since', async () => {
    const [staged] = past.listEnvelopes(1)
    if (staged === undefined) throw new Error('nothing is staged')
    expect(tenant.bucket.envelopes.has(staged)).toBe(true)
    expect((await tenant.erase(staged)).kind).toBe('done')
    await tenant.settle()
    tenant.lose(past)
    await expectRecovered(tenant)
    expect(tenant.bucket.envelopes.has(staged)).toBe(false)
  })
})

describe('a repeat of a request whose Line was set aside', () => {
  it('is not answered with the Line that stands at its place now', async () => {
    const tenant = await published(1)
    const past = tenant.store.copy()
    await tenant.do({ act: 'agent.freeze', agentId: 'bot' })
    await tenant.do({ act: 'chain.seal' })
    await tenant.settle()
    tenant.lose(past)
    tenant.down = true
    // Unknown to the archive, Session 1 is filled anew to four times its size; the Call stands in Session 2.
    await tenant.admit()
    while (tenant.store.readHead().head.state !== 'closed') await tenant.admit(big)
    const asked = { requestId: 'asked', body: 'asked' }
    await tenant.admit()
    await tenant.admit(asked)
    tenant.down = false
    tenant.now += 60_000
    await tenant.alarm()
    expect((await tenant.recover()).kind).toBe('done')
    await tenant.do({ act: 'tenant.unfreeze' })
    for (let at = 0; at < 4; at += 1) await tenant.admit()
    const repeated = await tenant.admit(asked)
    expect(repeated).toEqual({ kind: 'unavailable', code: 'archive_failed' })
  })
})

describe('an object that has lost everything', () => {
  it('is recovered from its segments, with every key that signed them', async () => {
    const tenant = await published(1)
    await tenant.do({ act: 'signing_key.rotate', seedNumber: 0 })
    await publishOne(tenant)
    await tenant.do({ act: 'signing_key.rotate', seedNumber: 0 })
    await publishOne(tenant)
    const sessions = tenant.bucket.segments.size
    tenant.loseAll()
    const recovered = await tenant.recover()
    expect(recovered.kind).toBe('done')
    expect(tenant.store.readTenant()).toMatchObject({ keyEpoch: 3, frozen: true })
    expect(tenant.store.listSegments(-1, 100)).toHaveLength(sessions)
    await tenant.do({ act: 'chain.seal' })
    await tenant.settle()
    tenant.verifyPublished()
  })

  it('recovered by two operators at once is recovered once', async () => {
    const tenant = await published(2)
    tenant.loseAll()
    const results = await Promise.all([tenant.recover(), tenant.recover()])
    expect(results.map(({ kind }) => kind)).toEqual(['done', 'refused'])
    await tenant.do({ act: 'chain.seal' })
    await tenant.settle()
    tenant.verifyPublished()
  })

  it('without its head, from the segments alone', async () => {
    const tenant = await published(3)
    tenant.bucket.head = undefined
    tenant.loseAll()
    expect((await tenant.recover()).kind).toBe('done')
    await tenant.do({ act: 'chain.seal' })
    await tenant.settle()
    tenant.verifyPublished()
  })

  it('with nothing in the archive there is nothing to recover, and no table is made', async () => {
    const tenant = await startFrom('new')
    tenant.loseAll()
    expect(await tenant.recover()).toEqual({ kind: 'unauthorized' })
    expect(tenant.store.readTenant()).toBeUndefined()
  })
})

describe('a recovery', () => {
  it('where nothing is to recover is refused, and recorded', async () => {
    const tenant = await published(2)
    const refused = await tenant.recover()
    expect(refused).toMatchObject({ kind: 'refused', code: 'not_behind' })
    await tenant.do({ act: 'chain.seal' })
    await tenant.settle()
    tenant.verifyPublished()
  })

  it('between a segment and its head is refused too: the Session waits here', async () => {
    const tenant = await published(2)
    await tenant.admit()
    await tenant.do({ act: 'chain.seal' })
    tenant.fault = (_, name) => (name === 'replaceHead' ? 'before' : undefined)
    await tenant.alarm()
    tenant.fault = () => undefined
    expect(await tenant.recover()).toMatchObject({ kind: 'refused', code: 'not_behind' })
    await tenant.settle()
    tenant.verify()
  })

  const damage: readonly (readonly [string, (bucket: MemoryBucket) => Promise<void> | void])[] = [
    [
      'a head that a foreign key signed',
      async (bucket) => {
        const other = new ArchivedTenant({ name: 'other' })
        for (let at = 0; at < 5; at += 1) await publishOne(other)
        bucket.head = utf8(
          decodeUtf8(other.bucket.head ?? new Uint8Array()).replace(
            '"chain_id":"other"',
            '"chain_id":"acme"',
          ),
        )
      },
    ],
    ['a head that is no Line', (bucket) => void (bucket.head = utf8('nothing'))],
    ['a segment missing before the tail', (bucket) => void bucket.segments.delete(2)],
    ['the last segment missing', (bucket) => void bucket.segments.delete(bucket.segments.size - 1)],
    [
      'one byte changed in a segment before the tail',
      (bucket) => {
        const text = decodeUtf8(bucket.segments.get(2) ?? new Uint8Array())
        bucket.segments.set(2, utf8(text.replace('"decided_at":17', '"decided_at":16')))
      },
    ],
    [
      'an intent left out of a segment before the tail',
      (bucket) => {
        const lines = decodeUtf8(bucket.segments.get(2) ?? new Uint8Array()).split('\n')
        bucket.segments.set(2, utf8(lines.toSpliced(1, 1).join('\n')))
      },
    ],
    [
      'a segment of another life in its place',
      async (bucket) => {
        const other = new ArchivedTenant({})
        other.now += 1
        for (let at = 0; at < 3; at += 1) await publishOne(other)
        bucket.segments.set(2, other.bucket.segments.get(2) ?? new Uint8Array())
      },
    ],
    [
      'something behind the head that does not follow it',
      async (bucket) => {
        const other = new ArchivedTenant({})
        other.now += 1
        for (let at = 0; at < 5; at += 1) await publishOne(other)
        bucket.segments.set(4, other.bucket.segments.get(4) ?? new Uint8Array())
      },
    ],
  ]
  it.each(damage)('is refused over an archive with %s, and nothing is written', async (_, harm) => {
    const tenant = await published(1)
    const past = tenant.store.copy()
    for (let at = 0; at < 3; at += 1) await publishOne(tenant)
    expect(tenant.bucket.segments.size).toBe(4)
    await harm(tenant.bucket)
    tenant.lose(past)
    const rows = tenant.store.chainBytes()
    const archive = contentsOf(tenant.bucket)
    const refused = await tenant.recover()
    expect(refused).toEqual({ kind: 'unavailable', code: 'archive_not_ours' })
    expect(tenant.store.chainBytes()).toEqual(rows)
    expect(contentsOf(tenant.bucket)).toEqual(archive)
  })
})
