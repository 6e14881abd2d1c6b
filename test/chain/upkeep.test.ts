/**
 * Sealing and publishing (authorize.md §5) over an archive that fails in every way it can, with requests beside it and
 * objects that are lost at any step. After each run the whole Chain, segments and rows, is judged by src/verify under the
 * keys with their Sessions; everything acknowledged is in it, everything is published in the end, nothing is overwritten.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { administer } from '../../src/chain/administer.ts'
import { sessionAgeMaxMs, sessionCallsMax } from '../../src/chain/seal.ts'
import { utf8 } from '../../src/record/index.ts'
import type { ArchivedTenant } from '../harness/archived-tenant.ts'
import { act } from '../harness/drafts.ts'
import { archiveFaults } from '../harness/memory-archive.ts'
import { someNoon } from '../harness/memory-tenant.ts'
import { big, callsOf, startFrom } from '../harness/nearly-full.ts'

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs

describe('a Session ends', () => {
  it('with the thousandth Call, and the next Line opens another', async () => {
    const tenant = await startFrom('calls')
    for (let at = 0; at < 5; at += 1) await tenant.admit()
    expect(tenant.store.readHead().head).toMatchObject({ state: 'open', sessionIndex: 1 })
    await tenant.settle()
    tenant.verifyPublished()
    expect(callsOf(tenant)).toEqual([1_000, 2])
  })

  it('with the Call that reaches 4 MiB', async () => {
    const tenant = await startFrom('bytes')
    for (let at = 0; at < 4; at += 1) await tenant.admit(big)
    expect(tenant.store.readHead().head).toMatchObject({ sessionIndex: 1 })
    await tenant.settle()
    tenant.verifyPublished()
    const [first] = tenant.bucket.segments.values()
    expect(first?.length).toBeGreaterThanOrEqual(4 * 1_048_576)
    expect(first?.length).toBeLessThan(4 * 1_048_576 + 3 * 65_536)
  })

  it('fifteen minutes after its open, and not before', async () => {
    const tenant = await startFrom('new')
    await tenant.alarm()
    tenant.now = someNoon + sessionAgeMaxMs - 1
    await tenant.alarm()
    expect(tenant.store.readHead().head.state).toBe('open')
    tenant.now += 1
    await tenant.alarm()
    expect(tenant.store.readHead().head.state).toBe('closed')
    tenant.verifyPublished()
  })

  it('on demand, with the Call that asked; asked again there is nothing to seal', async () => {
    const tenant = await startFrom('new')
    expect((await tenant.do({ act: 'chain.seal' })).kind).toBe('done')
    expect((await tenant.do({ act: 'chain.seal' })).kind).toBe('unchanged')
    await tenant.settle()
    tenant.verifyPublished()
    expect(tenant.bucket.segments.size).toBe(1)
  })

  it('never while nothing was written: an idle tenant stays at its close', async () => {
    const tenant = await startFrom('new')
    await tenant.settle()
    tenant.now += 100 * minuteMs
    await tenant.alarm()
    await tenant.alarm()
    tenant.verifyPublished()
    expect(tenant.bucket.segments.size).toBe(1)
  })
})

describe('the triggers together', () => {
  type Ask = 'admit' | 'admit_big' | 'seal' | 'rotate' | 'deny' | 'erase'
  type Step =
    | { readonly kind: 'ask'; readonly ask: Ask }
    | { readonly kind: 'time'; readonly ms: number }
    /** With what is asked while each of its calls of the archive is under way. */
    | { readonly kind: 'alarm'; readonly twice: boolean; readonly during: readonly Ask[] }
    | { readonly kind: 'lose' }
  const ask: fc.Arbitrary<Ask> = fc.oneof(
    { weight: 6, arbitrary: fc.constant('admit' as const) },
    { weight: 2, arbitrary: fc.constant('admit_big' as const) },
    { weight: 2, arbitrary: fc.constant('seal' as const) },
    { weight: 1, arbitrary: fc.constant('rotate' as const) },
    { weight: 1, arbitrary: fc.constant('deny' as const) },
    { weight: 1, arbitrary: fc.constant('erase' as const) },
  )
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 6, arbitrary: ask.map((one): Step => ({ kind: 'ask', ask: one })) },
    {
      weight: 2,
      arbitrary: fc
        .constantFrom(0, 1, 1_000, minuteMs, sessionAgeMaxMs, -5_000)
        .map((ms): Step => ({ kind: 'time', ms })),
    },
    {
      weight: 4,
      arbitrary: fc
        .record({ twice: fc.boolean(), during: fc.array(ask, { maxLength: 6 }) })
        .map((given): Step => ({ kind: 'alarm', ...given })),
    },
    { weight: 1, arbitrary: fc.constant<Step>({ kind: 'lose' }) },
  )

  async function perform(tenant: ArchivedTenant, one: Ask): Promise<void> {
    switch (one) {
      case 'admit':
        await tenant.admit()
        return
      case 'admit_big':
        await tenant.admit(big)
        return
      case 'deny':
        await tenant.admit({ evaluation: { decision: 'deny', code: 'policy_denied' } })
        return
      case 'seal':
        await tenant.do({ act: 'chain.seal' })
        return
      case 'rotate':
        await tenant.do({ act: 'signing_key.rotate', seedNumber: 0 })
        return
      case 'erase': {
        const [digest] = tenant.store.listEnvelopes(1)
        if (digest !== undefined) await tenant.do({ act: 'envelope.erase', digest, found: true })
      }
    }
  }

  it('in any order, with requests beside every call of the archive: one dense Chain, whole', async () => {
    const kinds = new Set<string>()
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('new', 'new', 'new', 'calls', 'bytes'),
        fc.array(step, { minLength: 3, maxLength: 25 }),
        async (start, steps) => {
          const tenant = await startFrom(start)
          for (const one of steps) {
            switch (one.kind) {
              case 'ask':
                await perform(tenant, one.ask)
                break
              case 'time':
                tenant.now += one.ms
                break
              case 'lose':
                tenant.lose()
                break
              case 'alarm': {
                const asks = [...one.during]
                tenant.during = async () => {
                  const next = asks.shift()
                  if (next !== undefined) await perform(tenant, next)
                }
                await Promise.all(one.twice ? [tenant.alarm(), tenant.alarm()] : [tenant.alarm()])
                tenant.during = undefined
              }
            }
          }
          tenant.verify()
          await tenant.settle()
          tenant.verifyPublished()
          for (const calls of callsOf(tenant)) kinds.add(calls === sessionCallsMax ? 'full' : 'other')
          for (const calls of callsOf(tenant)) expect(calls).toBeLessThanOrEqual(sessionCallsMax)
        },
      ),
      { numRuns: 100 },
    )
    expect([...kinds].sort()).toEqual(['full', 'other'])
  }, 120_000)

  it('while a tenant is so busy that Sessions follow each other, Envelopes are moved all the same', async () => {
    const tenant = await startFrom('new')
    const staged = (): number => tenant.store.listEnvelopes(10_000).length
    for (let second = 0; second < 180; second += 1) {
      tenant.now += 1_000
      await tenant.admit()
      await tenant.do({ act: 'chain.seal' })
      // The alarm is always a little late, and the next Session has begun.
      await tenant.admit()
      if ((tenant.alarmAt ?? Infinity) <= tenant.now) await tenant.alarm()
    }
    expect(staged()).toBeLessThan(4 * 70)
  })

  it('a request between any two steps of an alarm, on a clock that stands still: what it closes is published', async () => {
    let isThere = true
    let at = 0
    while (isThere) {
      at += 1
      const tenant = await startFrom('new')
      await tenant.do({ act: 'chain.seal' })
      let steps = 0
      tenant.between = () => {
        steps += 1
        if (steps !== at) return
        administer(tenant.context(), act({ act: 'agent.freeze', agentId: 'bot' }))
        administer(tenant.context(), act({ act: 'chain.seal' }))
      }
      await tenant.alarm()
      tenant.between = undefined
      await tenant.settle()
      tenant.verifyPublished()
      isThere = steps >= at
    }
    expect(at).toBeGreaterThan(15)
  })

  it('a task that failed after a long time waits from then on', async () => {
    const tenant = await startFrom('new')
    await tenant.do({ act: 'chain.seal' })
    let failedAt = 0
    tenant.during = () => {
      tenant.now += 20_000
    }
    // The second reading of the head: the first one is the comparison.
    tenant.fault = (at, name) => {
      if (name !== 'readHead' || at === 1) return undefined
      failedAt = tenant.now
      return 'before'
    }
    await tenant.alarm()
    expect(failedAt).toBeGreaterThan(0)
    const publish = tenant.store.listDue().find(({ name }) => name === 'publish')
    expect(publish).toEqual({ name: 'publish', at: failedAt + 1_000, attempts: 1 })
    tenant.during = undefined
    tenant.fault = () => undefined
    await tenant.settle()
    tenant.verifyPublished()
  })
})

describe('R2', () => {
  it('down for ten minutes of traffic, then back: decisions go on, and all is published in order', async () => {
    const tenant = await startFrom('new')
    await tenant.settle()
    tenant.down = true
    const end = tenant.now + 10 * minuteMs
    while (tenant.now < end) {
      await tenant.admit()
      if (tenant.acknowledged.length % 5 === 0) await tenant.do({ act: 'chain.seal' })
      const next = tenant.now + 7_000
      while (await tenant.nextAlarm(next));
      tenant.now = next
    }
    tenant.verify()
    expect(tenant.bucket.segments.size).toBe(1)
    const outcomes = tenant.acknowledged.length
    tenant.down = false
    await tenant.settle()
    tenant.verifyPublished()
    expect(tenant.bucket.segments.size).toBeGreaterThan(10)
    expect(outcomes).toBeGreaterThan(90)
  })

  it('down while the object wakes: it serves without the comparison, and seals only at four times the size', async () => {
    const tenant = await startFrom('calls')
    tenant.down = true
    tenant.lose()
    for (let at = 0; at < 10; at += 1) expect((await tenant.admit()).kind).toBe('admitted')
    tenant.now += 20 * minuteMs
    await tenant.alarm()
    expect(tenant.store.readHead().head).toMatchObject({ state: 'open', sessionIndex: 0 })
    tenant.down = false
    await tenant.settle()
    tenant.verifyPublished()
    expect(callsOf(tenant)[0]).toBeGreaterThan(sessionCallsMax)
  })

  it('that never answers any task: each waits longer, up to five minutes, and none is forgotten', async () => {
    const tenant = await startFrom('new')
    await tenant.do({ act: 'chain.seal' })
    tenant.down = true
    const waits: number[] = []
    for (let turn = 0; turn < 40; turn += 1) {
      const before = tenant.now
      await tenant.nextAlarm()
      waits.push(tenant.now - before)
    }
    expect(Math.max(...waits)).toBeGreaterThan(100_000)
    for (const due of tenant.store.listDue()) expect(due.at - tenant.now).toBeLessThanOrEqual(5 * minuteMs)
    tenant.down = false
    await tenant.settle()
    tenant.verifyPublished()
  })

  it('with other bytes where a segment belongs: publishing stops, is told, and goes on once they are moved', async () => {
    const tenant = await startFrom('new')
    const foreign = utf8('something else\n')
    tenant.bucket.segments.set(0, foreign)
    await tenant.do({ act: 'chain.seal' })
    await tenant.alarm()
    expect(tenant.log.at(-1)).toMatchObject({ event: 'archive_conflict', facts: { sessionIndex: 0 } })
    expect(tenant.store.readPublication().stopped).toBe('archive_conflict')
    for (let turn = 0; turn < 20; turn += 1) await tenant.nextAlarm()
    expect(tenant.bucket.segments.get(0)).toBe(foreign)
    expect(tenant.bucket.head).toBeUndefined()
    expect((await tenant.admit()).kind).toBe('admitted')
    tenant.bucket.segments.delete(0)
    await tenant.settle()
    expect(tenant.store.readPublication().stopped).toBeUndefined()
    tenant.verifyPublished()
  })
})

describe('the alarm', () => {
  it('late by days, and twice at once, does it once', async () => {
    const tenant = await startFrom('new')
    await tenant.admit()
    tenant.now += 3 * dayMs
    await Promise.all([tenant.alarm(), tenant.alarm()])
    await tenant.settle()
    tenant.verifyPublished()
    expect(tenant.calls.filter((name) => name === 'putSegment')).toHaveLength(1)
  })

  it('that comes once more for what is done already does nothing', async () => {
    const tenant = await startFrom('new')
    await tenant.do({ act: 'chain.seal' })
    await tenant.alarm()
    const before = tenant.calls.length
    for (let turn = 0; turn < 3; turn += 1) await tenant.alarm()
    expect(tenant.calls.length).toBe(before)
  })

  it('never throws, whatever the archive does', async () => {
    for (const fault of archiveFaults.slice(0, 4)) {
      const tenant = await startFrom('new')
      await tenant.do({ act: 'chain.seal' })
      tenant.fault = () => fault
      for (let turn = 0; turn < 7; turn += 1) expect(await tenant.nextAlarm()).toBe(true)
      tenant.fault = () => undefined
      tenant.bucket.arrive()
      await tenant.settle()
      tenant.verifyPublished()
    }
  })
})
