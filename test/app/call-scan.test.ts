/**
 * Calls out of 50,000, in 50 published Sessions of some 3 MB each: what one request reads and what it holds is bounded,
 * the last hundred are one Session away, and a whole scan finds every one. How long it takes: bench/calls.ts.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { scanCalls } from '../../src/app/call-scan.ts'
import { SessionReader } from '../../src/app/session-reader.ts'
import { PublishedCalls, callsPerSession, sessionCount } from '../harness/published-calls.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** What is alive now; MB. */
function heldMb(): number {
  collectGarbage()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return (heapUsed + arrayBuffers) / 1e6
}

describe('a scan of 50,000 Calls', () => {
  it('finds the last hundred in one Session', async () => {
    const published = new PublishedCalls()
    const reader = new SessionReader(published.means, published.head)
    const result = await scanCalls(reader, { filter: {}, limit: 100 })
    if (result.kind !== 'calls') throw new Error(result.kind)
    expect(result.calls.map(({ call_id: id }) => id)).toEqual(published.newestIds(100))
    expect([published.opened, reader.sessions]).toEqual([1, 1])
    expect(result.next).toEqual({ sessionIndex: sessionCount - 1, seq: result.calls.at(-1)?.seq })
  })

  it('is whole, page by page, and never holds more than a Session and a page', async () => {
    const published = new PublishedCalls()
    const before = heldMb()
    let peakMb = 0
    published.onOpen = () => {
      if (published.opened % 5 === 0) peakMb = Math.max(peakMb, heldMb() - before)
    }
    let count = 0
    let requests = 0
    let after: { readonly sessionIndex: number; readonly seq: number } | undefined
    do {
      const reader = new SessionReader(published.means, published.head)
      const result = await scanCalls(reader, {
        filter: {},
        limit: 1_000,
        ...(after === undefined ? {} : { before: after }),
      })
      if (result.kind !== 'calls') throw new Error(result.kind)
      count += result.calls.length
      requests += 1
      expect(reader.bytes).toBeLessThan(24 * 1_048_576)
      after = result.next
    } while (after !== undefined)
    expect(count).toBe(sessionCount * callsPerSession)
    expect([requests, published.opened]).toEqual([sessionCount, sessionCount])
    // 150 MB were read. A Session as bytes, as text and as rows, and a page of a thousand, are some 20.
    expect(peakMb).toBeGreaterThan(0)
    expect(peakMb).toBeLessThan(40)
  }, 60_000)

  it('for what hardly anybody did reads no more in a request than it may, and says where to go on', async () => {
    const published = new PublishedCalls()
    let after: { readonly sessionIndex: number; readonly seq: number } | undefined
    const found: string[] = []
    let requests = 0
    do {
      const reader = new SessionReader(published.means, published.head)
      const result = await scanCalls(reader, {
        filter: { agent: 'rare' },
        limit: 100,
        ...(after === undefined ? {} : { before: after }),
      })
      if (result.kind !== 'calls') throw new Error(result.kind)
      found.push(...result.calls.map(({ call_id: id }) => id))
      expect(reader.bytes).toBeLessThan(24 * 1_048_576)
      requests += 1
      after = result.next
    } while (after !== undefined)
    expect(found).toEqual(published.rareIds())
    expect(requests).toBeGreaterThan(5)
  }, 60_000)

  it('of a time opens the Sessions of that time only', async () => {
    const published = new PublishedCalls()
    const { openedAt, closedAt } = published.factsOf(10)
    const reader = new SessionReader(published.means, published.head)
    const filter = { since: openedAt, until: closedAt + 1 }
    const result = await scanCalls(reader, { filter, limit: 1_000 })
    if (result.kind !== 'calls') throw new Error(result.kind)
    expect(result.calls).toHaveLength(callsPerSession)
    expect(new Set(result.calls.map(({ session_index: at }) => at))).toEqual(new Set([10]))
    expect(published.opened).toBeLessThanOrEqual(2)
  })

  it('gives nothing of an object that is not the one that was published', async () => {
    const published = new PublishedCalls()
    published.altered = sessionCount - 1
    const reader = new SessionReader(published.means, published.head)
    expect(await scanCalls(reader, { filter: {}, limit: 1 })).toEqual({
      kind: 'unavailable',
      code: 'segment_altered',
    })
  })
})
