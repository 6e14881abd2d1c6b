/** What sealing and publishing cost in rows (STORAGE.md), and that a Call costs the same however much is published. */
import { describe, expect, it } from 'vitest'
import { SqlChainStore } from '../../../durable-objects/store.ts'
import { TenantArchive } from '../../../src/archive/tenant-archive.ts'
import { administer } from '../../../src/chain/administer.ts'
import { admit } from '../../../src/chain/admit.ts'
import { requestGenerationMs } from '../../../src/chain/ids.ts'
import { publishSessions } from '../../../src/chain/publish.ts'
import { nodeSuite } from '../../../src/crypto-node/index.ts'
import type { RequestDigest } from '../../../src/record/index.ts'
import { act } from '../../harness/drafts.ts'
import { chainContext } from '../../harness/memory-tenant.ts'
import { type RowCounts, counted } from './counted.ts'
import { type ObjectUnderTest, provision, testEnv } from './object.ts'
import { countRows, untilPublished } from './published.ts'

const range = (count: number): number[] => Array.from({ length: count }, (_, at) => at)
const minuteMs = 60_000

const seal = (object: ObjectUnderTest) => object.do({ act: 'chain.seal' }, 'adm')

function draw(count: number): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(count))
}

function difference(before: RowCounts, after: RowCounts): RowCounts {
  const grown = Object.entries(after.written).map(
    ([table, rows]) => [table, rows - (before.written[table] ?? 0)] as const,
  )
  return { written: Object.fromEntries(grown.filter(([, rows]) => rows > 0)), read: after.read - before.read }
}

describe('rows', () => {
  /** Of the Call that opens a Session, three in it, a repeat, and a seal; the object has been awake before. */
  async function costOf(object: ObjectUnderTest): Promise<RowCounts[]> {
    const drafts = ['warm', 'a', 'b', 'c', 'c'].map((requestId) =>
      object.draft('bot', { requestId, body: requestId }),
    )
    return object.inside(({ storage }) => {
      const faced = counted(storage)
      const store = new SqlChainStore(faced.storage)
      const context = () => chainContext(store, Date.now(), draw)
      const costs: RowCounts[] = []
      const measure = (work: () => unknown): void => {
        const before = faced.rows()
        work()
        costs.push(difference(before, faced.rows()))
      }
      administer(context(), act({ act: 'agent.freeze', agentId: 'nobody' }))
      administer(context(), act({ act: 'chain.seal' }))
      for (const asked of drafts) {
        measure(() => {
          const { kind } = admit(context(), asked)
          if (kind !== 'admitted' && kind !== 'repeated') throw new Error(kind)
        })
      }
      measure(() => administer(context(), act({ act: 'chain.seal' })))
      return costs
    })
  }

  it('of a Session that is published: each that goes, the index, the mark, and the deadline of retention', async () => {
    const object = await provision('rows-publish')
    await seal(object)
    await untilPublished(object)
    for (const at of range(7)) await object.admit('bot', { requestId: `r${String(at)}` })
    const rows = await object.inside(async ({ storage }) => {
      const faced = counted(storage)
      const context = chainContext(new SqlChainStore(faced.storage), Date.now(), draw)
      administer(context, act({ act: 'chain.seal' }))
      await storage.deleteAlarm()
      const sealed = faced.rows().written
      const archive = new TenantArchive(testEnv.CHAIN, testEnv.ENVELOPES, object.tenant, nodeSuite)
      const publishing = counted(storage)
      await publishSessions(
        () => chainContext(new SqlChainStore(publishing.storage), Date.now(), draw),
        archive,
      )
      return { sealed, published: publishing.rows().written }
    })
    expect(rows.sealed).toEqual({ head: 1, calls: 1, envelopes: 1, due: 2 })
    expect(rows.published).toEqual({ calls: 8, segments: 1, publication: 1 })
  })

  it('of an Envelope that is erased, of a task of the alarm, and of a row that is set aside', async () => {
    const object = await provision('rows-erase')
    const asked = object.draft('bot', { requestId: 'r' })
    await object.rpc.admit(asked)
    const rows = await object.inside(async ({ storage }, chain) => {
      const erasing = counted(storage)
      administer(
        chainContext(new SqlChainStore(erasing.storage), Date.now(), draw),
        act({ act: 'envelope.erase', digest: asked.requestDigest, found: true }),
      )
      await storage.deleteAlarm()
      await chain.alarm()
      const aside = counted(storage)
      const count = new SqlChainStore(aside.storage).setRowsAside(0, 1)
      return { erasing: erasing.rows().written, aside: aside.rows().written, count }
    })
    expect(rows.erasing).toEqual({
      head: 1,
      calls: 1,
      envelopes: 2,
      erased: 1,
      erasing: 1,
      due: 1,
    })
    expect(rows.aside).toEqual({ calls_aside: 2 * rows.count, calls: rows.count })
  })

  /** As after so many published Calls today: what they leave in the object, without their segments. */
  async function after(name: string, calls: number): Promise<ObjectUnderTest> {
    const object = await provision(name)
    await object.admit('bot', { requestId: 'first of its generation' })
    await seal(object)
    await untilPublished(object)
    await object.inside(({ storage }) => {
      const store = new SqlChainStore(storage)
      const last = calls / 1_000 - 1
      const [segment] = store.listSegments(-1, 1)
      const publication = store.readPublication()
      const head = store.readHead()
      if (segment === undefined || publication.published === undefined || head.head.state !== 'closed')
        throw new Error('nothing is published')
      const { published } = publication
      const closed = head.head
      store.transaction(() => {
        for (let sessionIndex = 1; sessionIndex <= last; sessionIndex += 1) {
          store.insertSegment({ ...segment, sessionIndex })
        }
        store.writePublication({ ...publication, published: { ...published, sessionIndex: last } })
        store.replaceHead(head, { ...head, head: { ...closed, sessionIndex: last } })
        const now = Date.now()
        for (let at = 0; at < calls; at += 1) {
          const digest = 'ab'.repeat(32) as RequestDigest
          const position = { sessionIndex: Math.floor(at / 1_000), seq: (at % 1_000) * 2 + 2 }
          store.insertRequest(
            'bot',
            'authorize',
            `old ${String(at)}`,
            { requestDigest: digest, ...position },
            now,
          )
          const grant = {
            grantId: `grt_${String(at)}`,
            callId: 'c',
            toolId: 't',
            requestDigest: digest,
            expiresAt: 1,
            reported: true,
          }
          store.insertGrant('bot', grant, now)
        }
      })
    })
    expect(await countRows(object, 'segments')).toBe(calls / 1_000)
    return object
  }

  it('of a Call are as many behind 50,000 published Calls as behind 1,000, read and written', async () => {
    // Not across the end of a generation of ids, whose table is made then.
    const left = requestGenerationMs - (Date.now() % requestGenerationMs)
    if (left < minuteMs) await new Promise((resolve) => setTimeout(resolve, left))
    const costs: RowCounts[][] = []
    for (const calls of [1_000, 50_000]) {
      const object = await after(`behind-${String(calls)}`, calls)
      costs.push(await costOf(object))
    }
    expect(costs[1]).toEqual(costs[0])
    const [opening, ordinary, , , repeat] = costs[0] ?? []
    expect(ordinary?.written).toEqual({
      head: 1,
      calls: 1,
      counters: 1,
      request_ids: 1,
      grants: 1,
      envelopes: 1,
    })
    // The Envelopes that wait had their deadline before.
    expect(opening?.written).toEqual({ ...ordinary?.written, due: 1 })
    expect(repeat?.written).toEqual({ head: 1, counters: 1 })
    expect(ordinary?.read).toBeLessThan(20)
  }, 120_000)
})
