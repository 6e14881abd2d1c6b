/** Sealing and publishing as it runs: real workerd, its SQLite and alarms, its R2; what is public is read from R2 alone. */
import { runDurableObjectAlarm } from 'cloudflare:test'
import { describe, expect, it, vi } from 'vitest'
import { TenantChain, type TenantChainEnv } from '../../../durable-objects/tenant-chain.ts'
import { SqlChainStore } from '../../../durable-objects/store.ts'
import { envelopePath, headPath, keysPath, segmentPath } from '../../../src/archive/paths.ts'
import { TenantArchive } from '../../../src/archive/tenant-archive.ts'
import { administer } from '../../../src/chain/administer.ts'
import { admit } from '../../../src/chain/admit.ts'
import { publishSessions } from '../../../src/chain/publish.ts'
import { sessionCallsMax } from '../../../src/chain/seal.ts'
import { nodeSuite } from '../../../src/crypto-node/index.ts'
import type { RequestDigest } from '../../../src/record/index.ts'
import { act } from '../../harness/drafts.ts'
import { linesOf } from '../../harness/follower.ts'
import { chainContext } from '../../harness/memory-tenant.ts'
import { counted } from './counted.ts'
import { FaultyBuckets, bucketFaults } from './faulty-bucket.ts'
import { ObjectUnderTest, provision, testEnv } from './object.ts'
import { countRows, readObject, readSegments, untilPublished, verifyPublished } from './published.ts'
import { dumpTables, loadTables } from './table-dump.ts'

const range = (count: number): number[] => Array.from({ length: count }, (_, at) => at)
const minuteMs = 60_000

const seal = (object: ObjectUnderTest) => object.do({ act: 'chain.seal' }, 'adm')

function draw(count: number): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(count))
}

describe('a Session', () => {
  it('is published by the alarm: segment, head, index; its rows go and the head stays to be read', async () => {
    const object = await provision('publish-one')
    const receipt = await object.admit('bot', { requestId: 'r' })
    await object.verified()
    const sealed = await seal(object)
    const head = await object.rpc.head('aud')
    await untilPublished(object)
    expect((await verifyPublished(object)).verdict).toBe('verified')
    expect(await countRows(object, 'calls')).toBe(0)
    expect(await object.rpc.head('aud')).toEqual(head)
    const [file = new Uint8Array()] = await readSegments(object)
    const lines = linesOf(file)
    for (const result of [receipt, sealed]) expect(lines).toContain('line' in result ? result.line : '')
    expect(head).toMatchObject({ line: lines.at(-1) })
    const stored = await testEnv.CHAIN.head(segmentPath('publish-one', 0))
    expect(stored?.httpMetadata?.contentType).toBe('application/jsonl; charset=utf-8')
    expect(stored?.checksums.sha256).toBeDefined()
  })

  it('is sealed with the thousandth Call, in whatever commit it comes', async () => {
    const object = await provision('publish-full', { settings: { envelope: 'off' } })
    for (const round of range(8)) {
      const asked = range(128).map((at) =>
        object.admit('bot', { requestId: `r${String(round)}-${String(at)}` }),
      )
      expect(new Set((await Promise.all(asked)).map(({ kind }) => kind))).toEqual(new Set(['admitted']))
    }
    await seal(object)
    await untilPublished(object)
    const index = await object.rpc.segments('aud', -1)
    const calls = index.kind === 'index' ? index.segments.map((segment) => segment.calls) : []
    expect(calls[0]).toBe(sessionCallsMax)
    expect(calls).toHaveLength(2)
    expect((await verifyPublished(object)).verdict).toBe('verified')
  })

  it('fifteen minutes old is sealed by the alarm', async () => {
    const object = await provision('publish-old')
    await object.admit('bot')
    await runDurableObjectAlarm(object.stub)
    expect(await object.rpc.segments('aud', -1)).toMatchObject({ segments: [], waiting: 0 })
    await object.inside(({ storage }) => {
      const aged = Date.now() - 15 * minuteMs
      storage.sql.exec("UPDATE head SET record = json_set(record, '$.openedAt', ?)", aged)
      storage.sql.exec("UPDATE due SET at = 1 WHERE name = 'seal'")
    })
    await runDurableObjectAlarm(object.stub)
    await untilPublished(object)
    expect((await verifyPublished(object)).verdict).toBe('verified')
  })
})

describe('the k-th request to R2', () => {
  /** Seals and publishes twice with an Envelope erased in between, as one object does it, through faulty buckets. */
  async function run(
    object: ObjectUnderTest,
    at: number,
    fault: (typeof bucketFaults)[number],
  ): Promise<number> {
    let requests = 0
    const worked = object.inside(async (state) => {
      const buckets = new FaultyBuckets(at, fault, () => {
        state.abort('lost by a test')
      })
      const env = { ...testEnv, CHAIN: buckets.CHAIN, ENVELOPES: buckets.ENVELOPES } as TenantChainEnv
      const chain = new TenantChain(state, env)
      for (const round of range(2)) {
        const asked = object.draft('bot', { requestId: `${object.tenant} ${String(round)}` })
        await chain.admit(asked)
        await chain.administer(act({ act: 'chain.seal' }, 'adm'))
        await chain.alarm()
        await chain.eraseEnvelope({ ...act({ act: 'tenant.freeze' }, 'adm'), digest: asked.requestDigest })
        requests = buckets.requests
      }
      await chain.alarm()
      requests = buckets.requests
    })
    await worked.catch(() => undefined)
    return requests
  }

  /** Every k is for test/chain/archive-faults.test.ts; here what only the real object adds, which is being lost. */
  const strides = { before: 5, after: 5, lost_before: 3, lost_after: 1 }

  it.each(bucketFaults)(
    'fails %s, k after k: all is published, and what was erased is gone',
    async (fault) => {
      const printed = vi.spyOn(console, 'error').mockReturnValue(undefined)
      const requests = await run(await provision(`faults-none-${fault.replace('_', '-')}`), 0, fault)
      expect(requests).toBeGreaterThan(20)
      for (let at = 1; at <= requests; at += strides[fault]) {
        const object = await provision(`faults-${fault.replace('_', '-')}-${String(at)}`)
        await run(object, at, fault)
        const before = await readObject(testEnv.CHAIN, segmentPath(object.tenant, 0))
        // What it had not done before it was lost, whoever asked asks again.
        const digests: RequestDigest[] = []
        for (const round of range(2)) {
          const asked = object.draft('bot', { requestId: `${object.tenant} ${String(round)} again` })
          expect((await object.rpc.admit(asked)).kind).toBe('admitted')
          digests.push(asked.requestDigest)
        }
        const erased = await object.rpc.eraseEnvelope({
          ...act({ act: 'tenant.freeze' }, 'adm'),
          digest: digests[0] as RequestDigest,
        })
        expect(erased.kind).toBe('done')
        await seal(object)
        await object.inside(({ storage }) =>
          storage.sql.exec("UPDATE due SET at = 1 WHERE name != 'retention'"),
        )
        await untilPublished(object)
        expect({ at, verdict: (await verifyPublished(object)).verdict }).toEqual({ at, verdict: 'verified' })
        expect(await countRows(object, 'calls')).toBe(0)
        expect(
          await testEnv.ENVELOPES.head(envelopePath(object.tenant, digests[0] as RequestDigest)),
        ).toBeNull()
        const after = await readObject(testEnv.CHAIN, segmentPath(object.tenant, 0))
        expect(before === undefined || Buffer.compare(before, after ?? new Uint8Array()) === 0).toBe(true)
      }
      printed.mockRestore()
    },
    120_000,
  )
})

describe('the alarm', () => {
  it('that never came is set again by the next request', async () => {
    const object = await provision('alarm-never')
    await object.admit('bot')
    await object.inside(({ storage }) => storage.deleteAlarm())
    await object.lose()
    expect(await object.inside(({ storage }) => storage.getAlarm())).toBeNull()
    await object.rpc.overview()
    expect(await object.inside(({ storage }) => storage.getAlarm())).not.toBeNull()
  })

  it('twice at once, and when nothing is due, does nothing more', async () => {
    const object = await provision('alarm-twice')
    await seal(object)
    await object.inside((_, chain) => Promise.all([chain.alarm(), chain.alarm()]))
    await object.inside((_, chain) => chain.alarm())
    await untilPublished(object)
    expect((await readSegments(object)).length).toBe(1)
    expect((await verifyPublished(object)).verdict).toBe('verified')
  })

  it('without a seed, or under older code, does not come at once again, and nothing is lost', async () => {
    const printed = vi.spyOn(console, 'error').mockReturnValue(undefined)
    const object = await provision('alarm-unconfigured')
    await seal(object)
    const { CHAIN, ENVELOPES } = testEnv
    for (const break_ of [false, true]) {
      const alarmAt = await object.inside(async (state) => {
        if (break_) state.storage.sql.exec('UPDATE schema SET version = version + 50')
        const env = break_ ? testEnv : { CHAIN, ENVELOPES }
        await new TenantChain(state, env).alarm()
        if (break_) state.storage.sql.exec('UPDATE schema SET version = version - 50')
        return state.storage.getAlarm()
      })
      expect(alarmAt).toBeGreaterThan(Date.now() + 4 * minuteMs)
    }
    printed.mockRestore()
    await untilPublished(object)
    expect((await verifyPublished(object)).verdict).toBe('verified')
  })

  it('of an object without tables is not set again', async () => {
    const object = new ObjectUnderTest('alarm-nobody')
    await object.inside(async ({ storage }, chain) => {
      await storage.setAlarm(Date.now() + minuteMs)
      await chain.alarm()
      expect(await storage.getAlarm()).toBeNull()
      const made = storage.sql.exec("SELECT name FROM sqlite_schema WHERE name NOT GLOB '_cf_*'")
      expect(made.toArray()).toEqual([])
    })
  })
})

describe('an object', () => {
  /** Drops everything and puts an earlier state in its place, as a restore of the platform does. */
  async function takeBack(object: ObjectUnderTest, past: string): Promise<void> {
    await object.inside(({ storage }) => {
      const tables = storage.sql
        .exec<{ name: string }>(
          "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB '_cf_*' AND name NOT GLOB 'sqlite_*'",
        )
        .toArray()
      for (const { name } of tables) storage.sql.exec(`DROP TABLE ${name}`)
      if (past !== '') loadTables(storage, past)
    })
    await object.lose()
  }

  it('that was restored shows and appends nothing, and is recovered behind R2 under another key', async () => {
    const printed = vi.spyOn(console, 'error').mockReturnValue(undefined)
    const object = await provision('restored')
    await seal(object)
    await untilPublished(object)
    const asked = object.draft('bot', { requestId: 'staged' })
    await object.rpc.admit(asked)
    const past = await object.inside(({ storage }) => dumpTables(storage.sql))
    await seal(object)
    await untilPublished(object)
    await takeBack(object, past)
    const behind = { kind: 'unavailable', code: 'behind_archive' }
    expect(await object.admit('bot')).toEqual(behind)
    expect(await seal(object)).toEqual(behind)
    expect(await object.rpc.head('aud')).toEqual(behind)
    expect(await object.rpc.live('aud')).toEqual(behind)
    expect(await object.rpc.segments('aud', -1)).toEqual(behind)
    expect(await object.rpc.segment('aud', 0)).toEqual(behind)
    expect(await object.rpc.envelope('aud', asked.requestDigest)).toEqual(behind)
    expect(await object.rpc.approvals('bot', { after: '' })).toEqual(behind)
    const call = act({ act: 'tenant.recover' })
    expect(await object.rpc.recover({ ...call, actor: { role: 'admin', keyId: 'adm' } })).toEqual({
      kind: 'unauthorized',
    })
    const recovered = await object.rpc.recover(call)
    expect(recovered.kind).toBe('done')
    expect(await object.rpc.overview()).toMatchObject({ frozen: true, keyEpoch: 1 })
    await seal(object)
    await untilPublished(object)
    expect((await verifyPublished(object)).verdict).toBe('verified')
    expect(await countRows(object, 'calls_aside')).toBe(1)
    printed.mockRestore()
  })

  it('that was lost is recovered and not created again, published or not', async () => {
    const lost = await provision('lost-published')
    await seal(lost)
    await untilPublished(lost)
    await takeBack(lost, '')
    expect(await lost.create()).toEqual({ kind: 'invalid', code: 'tenant_name_used' })
    const call = act({ act: 'tenant.recover' })
    expect((await lost.rpc.recover(call)).kind).toBe('done')
    expect(await lost.rpc.recover(call)).toMatchObject({ kind: 'refused', code: 'not_behind' })
    const index = await lost.inside(({ storage }) => new SqlChainStore(storage).listSegments(-1, 10))
    expect(index).toHaveLength(1)

    // Its keys were made public, and nothing else was.
    const early = new ObjectUnderTest('lost-early')
    const keys = JSON.stringify({
      keys: [{ public_key: '0'.repeat(64), key_id: '0'.repeat(64), key_epoch: 0, first_session: 0 }],
    })
    await testEnv.CHAIN.put(keysPath('lost-early'), keys)
    expect(await early.create()).toEqual({ kind: 'invalid', code: 'tenant_name_used' })
    expect(await early.rpc.recover(call)).toEqual({ kind: 'unauthorized' })
    expect(
      await early.inside(({ storage }) => storage.sql.exec('SELECT 1 FROM sqlite_schema').toArray()),
    ).toEqual([])
  })

  it("whose head in R2 is another tenant's appends nothing, and says to the operator that the archive is not its own", async () => {
    const printed = vi.spyOn(console, 'error').mockReturnValue(undefined)
    const [one, two] = [await provision('swapped-one'), await provision('swapped-two')]
    for (const object of [one, two]) {
      await seal(object)
      await untilPublished(object)
    }
    const foreign = await readObject(testEnv.CHAIN, headPath('swapped-two'))
    await testEnv.CHAIN.put(headPath('swapped-one'), foreign ?? new Uint8Array())
    await one.lose()
    expect(await one.admit('bot')).toEqual({ kind: 'unavailable', code: 'behind_archive' })
    const refused = await one.rpc.recover(act({ act: 'tenant.recover' }))
    expect(refused).toEqual({ kind: 'unavailable', code: 'archive_not_ours' })
    expect(await countRows(one, 'calls')).toBe(0)
    printed.mockRestore()
  })

  it('without room takes no Call, but seals and publishes what it has', async () => {
    const object = await provision('no-room')
    await object.admit('bot')
    await object.inside(async ({ storage }) => {
      administer(chainContext(new SqlChainStore(storage), Date.now(), draw), act({ act: 'chain.seal' }))
      // In the same turn, so that the object's own alarm does not come first.
      await storage.deleteAlarm()
      const full = counted(storage, { databaseSize: 8_000_000_000 })
      const store = new SqlChainStore(full.storage)
      const context = chainContext(store, Date.now(), draw)
      const refused = { kind: 'unavailable', code: 'storage_full' }
      expect(admit(context, object.draft('bot'))).toEqual(refused)
      expect(administer(context, act({ act: 'tenant.freeze' }))).toEqual(refused)
      const archive = new TenantArchive(testEnv.CHAIN, testEnv.ENVELOPES, 'no-room', nodeSuite)
      expect(await publishSessions(() => context, archive)).toEqual({ kind: 'all' })
    })
    expect((await object.admit('bot')).kind).toBe('admitted')
    await seal(object)
    await untilPublished(object)
    expect((await verifyPublished(object)).verdict).toBe('verified')
  })
})
