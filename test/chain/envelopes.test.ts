/**
 * Envelopes between the store and the archive (authorize.md §5): moved by the alarm, erased with a tombstone against
 * whatever may still arrive, gone with their Session when its time is over.
 */
import { beforeEach, describe, expect, it } from 'vitest'
import type { AdmitResult } from '../../src/chain/draft.ts'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { type RequestDigest, decodeUtf8, requestDigest, utf8 } from '../../src/record/index.ts'
import { type ArchivedTenant, Lost } from '../harness/archived-tenant.ts'
import { someNoon } from '../harness/memory-tenant.ts'
import { startFrom } from '../harness/nearly-full.ts'

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs

describe('an Envelope', () => {
  const digestOf = (result: AdmitResult): RequestDigest => {
    if (result.kind !== 'admitted') throw new Error(result.kind)
    return (JSON.parse(result.line) as { request_digest: RequestDigest }).request_digest
  }

  it('is in the archive within two minutes, Session open or not', async () => {
    const tenant = await startFrom('new')
    const digest = digestOf(await tenant.admit())
    const until = tenant.now + 2 * minuteMs
    while (await tenant.nextAlarm(until));
    expect(tenant.bucket.envelopes.has(digest)).toBe(true)
    expect(tenant.store.readHead().head.state).toBe('open')
  })

  describe('that is erased', () => {
    const request = utf8('{"the same":"bytes"}')
    const digest = requestDigest(request, nodeSuite)
    const same = { request, requestDigest: digest }
    let tenant: ArchivedTenant

    beforeEach(async () => {
      tenant = await startFrom('new')
      await tenant.admit(same)
      tenant.now += minuteMs
    })

    async function erase(): Promise<void> {
      expect((await tenant.erase(digest)).kind).toBe('done')
      expect((await tenant.erase(digest)).kind).toBe('unchanged')
    }

    const isThere = (): boolean => tenant.bucket.envelopes.has(digest)

    /** Whatever comes: alarms until nothing is due, and the same bytes again. */
    async function staysErased(): Promise<void> {
      await tenant.settle()
      expect(isThere()).toBe(false)
      const again = await tenant.admit(same)
      expect(again.kind === 'admitted' && again.line).toContain('"envelope":"erased"')
      await tenant.settle()
      expect(isThere()).toBe(false)
      expect(tenant.store.listErasing(10)).toEqual([])
      tenant.verifyPublished()
    }

    it('while it is staged never gets to the archive', async () => {
      await erase()
      await tenant.alarm()
      expect(isThere()).toBe(false)
      await staysErased()
    })

    it('while it is on its way is deleted again', async () => {
      let erased: Promise<void> | undefined
      tenant.during = (at) => {
        if (tenant.calls[at - 1] !== 'putEnvelope') return undefined
        erased ??= erase()
        return erased
      }
      await tenant.alarm()
      tenant.during = undefined
      expect(erased).toBeDefined()
      await staysErased()
    })

    it('in the archive is deleted there', async () => {
      await tenant.alarm()
      expect(isThere()).toBe(true)
      await erase()
      await staysErased()
    })

    it('and whose put arrives minutes after the deletion is deleted again', async () => {
      tenant.fault = (_, name) => (name === 'putEnvelope' ? 'late' : undefined)
      await tenant.alarm()
      tenant.fault = () => undefined
      await erase()
      await tenant.nextAlarm()
      tenant.now += 9 * minuteMs
      tenant.bucket.arrive()
      expect(isThere()).toBe(true)
      await staysErased()
    })

    it('stays so when the object is lost at any step', async () => {
      await tenant.alarm()
      await erase()
      tenant.fault = (_, name) => (name === 'deleteEnvelopes' ? 'lost_before' : undefined)
      await expect(tenant.alarm()).rejects.toThrow(Lost)
      tenant.fault = (_, name) => (name === 'deleteEnvelopes' ? 'lost_after' : undefined)
      await expect(tenant.nextAlarm()).rejects.toThrow(Lost)
      tenant.fault = () => undefined
      await staysErased()
    })
  })

  it('is deleted once more when a deletion was slow, since a put may have come behind it', async () => {
    const tenant = await startFrom('new')
    const digest = digestOf(await tenant.admit())
    tenant.now += minuteMs
    await tenant.alarm()
    await tenant.erase(digest)
    // One that begins before the time is over and ends behind it.
    tenant.during = (at) => {
      if (tenant.calls[at - 1] === 'deleteEnvelopes') tenant.now += 16 * minuteMs
    }
    await tenant.nextAlarm()
    tenant.during = undefined
    tenant.bucket.envelopes.set(digest, utf8('{}'))
    await tenant.settle()
    expect(tenant.bucket.envelopes.has(digest)).toBe(false)
  })

  it('whose time is over goes with its Session, and a Call says so before', async () => {
    const tenant = await startFrom('new')
    const digest = digestOf(await tenant.admit())
    await tenant.settle()
    const kept = tenant.bucket.envelopes.size
    expect(kept).toBeGreaterThan(1)
    tenant.now += 89 * dayMs
    await tenant.settle()
    const young = digestOf(await tenant.admit())
    await tenant.settle()
    expect(tenant.bucket.envelopes.has(digest)).toBe(true)
    tenant.now += 2 * dayMs
    tenant.fault = (_, name) => (name === 'deleteEnvelopes' ? 'before' : undefined)
    await tenant.alarm()
    tenant.fault = () => undefined
    await tenant.settle()
    expect(tenant.bucket.envelopes.has(digest)).toBe(false)
    expect(tenant.bucket.envelopes.has(young)).toBe(true)
    const said = decodeUtf8(tenant.chain).match(/"tool_id":"aegis\/envelope.erase"/g) ?? []
    expect(said).toHaveLength(2)
    tenant.verifyPublished()
  })

  it('of a Session that a clock set back ended early is not passed over', async () => {
    const tenant = await startFrom('new')
    await tenant.do({ act: 'chain.seal' })
    tenant.now += 3 * dayMs
    await tenant.settle()
    const late = digestOf(await tenant.admit())
    await tenant.do({ act: 'chain.seal' })
    tenant.now -= 2 * dayMs
    const early = digestOf(await tenant.admit())
    await tenant.do({ act: 'chain.seal' })
    // Asleep until the first and the third Session are over, and the second is not.
    tenant.now = someNoon + 92 * dayMs
    await tenant.settle()
    expect([tenant.bucket.envelopes.has(late), tenant.bucket.envelopes.has(early)]).toEqual([true, true])
    tenant.now += 3 * dayMs
    await tenant.settle()
    expect([tenant.bucket.envelopes.has(late), tenant.bucket.envelopes.has(early)]).toEqual([false, false])
    tenant.verifyPublished()
  })

  it('is not kept by the archive being away for longer than its time', async () => {
    const tenant = await startFrom('new')
    const digest = digestOf(await tenant.admit())
    tenant.fault = (_, name) => (name === 'putEnvelope' ? 'before' : undefined)
    await tenant.do({ act: 'chain.seal' })
    await tenant.alarm()
    tenant.now += 91 * dayMs
    await tenant.alarm()
    tenant.fault = () => undefined
    await tenant.settle()
    expect(tenant.bucket.envelopes.has(digest)).toBe(false)
    tenant.verifyPublished()
  })

  it('under whose name other bytes lie waits, is told of, and does not hold up the others', async () => {
    const tenant = await startFrom('new')
    const [one, two] = [digestOf(await tenant.admit()), digestOf(await tenant.admit())]
    tenant.bucket.envelopes.set(one, utf8('other'))
    tenant.now += minuteMs
    await tenant.alarm()
    expect(tenant.bucket.envelopes.has(two)).toBe(true)
    expect(tenant.store.readEnvelope(one)).toBeDefined()
    expect(tenant.log.at(-1)).toMatchObject({ event: 'envelope_conflict', facts: { detail: one } })
    tenant.bucket.envelopes.delete(one)
    await tenant.settle()
    tenant.verifyPublished()
  })
})
