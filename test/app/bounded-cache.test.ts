/** What an isolate remembers stays within its budget, and a burst on something cold asks once. */
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { BoundedCache, SharedLoads } from '../../src/app/bounded-cache.ts'

describe('a bounded cache', () => {
  it('never weighs more than it may, whatever is put into it (property)', () => {
    const entry = fc.tuple(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), fc.nat(15))
    fc.assert(
      fc.property(fc.array(entry), (entries) => {
        const cache = new BoundedCache<number>(20)
        for (const [key, weight] of entries) {
          cache.set(key, weight, weight)
          expect(cache.weight).toBeLessThanOrEqual(20)
          expect(cache.get(key)).toBe(weight)
        }
        const held = ['a', 'b', 'c', 'd', 'e', 'f'].map((key) => cache.get(key) ?? 0)
        expect(held.reduce((sum, weight) => sum + weight, 0)).toBe(cache.weight)
      }),
    )
  })

  it('lets go of what was used longest ago', () => {
    const cache = new BoundedCache<number>(2)
    cache.set('a', 1)
    cache.set('b', 2)
    cache.get('a')
    cache.set('c', 3)
    expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([1, undefined, 3])
  })

  it('does not keep what is heavier than its budget, nor an older value in its place', () => {
    const cache = new BoundedCache<number>(2)
    cache.set('a', 1)
    cache.set('a', 2, 3)
    expect([cache.get('a'), cache.size, cache.weight]).toEqual([undefined, 0, 0])
  })
})

describe('shared loads', () => {
  it('run once for all that wait, and again for the next', async () => {
    const loads = new SharedLoads<number>()
    let ran = 0
    const load = () => Promise.resolve(++ran)
    expect(await Promise.all([1, 2, 3].map(() => loads.run('k', load)))).toEqual([1, 1, 1])
    expect(await loads.run('k', load)).toBe(2)
    expect(await loads.run('other', load)).toBe(3)
  })

  it('fail for all that wait, and are not remembered', async () => {
    const loads = new SharedLoads<number>()
    const failing = () => Promise.reject(new Error('down'))
    const waiting = [loads.run('k', failing), loads.run('k', failing)]
    const settled = await Promise.allSettled(waiting)
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(await loads.run('k', () => Promise.resolve(1))).toBe(1)
  })

  it('that never settle, because their request was cancelled, hold nobody up for long', async () => {
    vi.useFakeTimers()
    try {
      const loads = new SharedLoads<number>()
      void loads.run('k', () => new Promise(() => undefined))
      const joined = loads.run('k', () => Promise.resolve(2))
      await vi.advanceTimersByTimeAsync(2_000)
      expect(await joined).toBe(2)
      expect(await loads.run('k', () => Promise.resolve(3))).toBe(3)
    } finally {
      vi.useRealTimers()
    }
  })
})
