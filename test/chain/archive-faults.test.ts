/**
 * The k-th call of the archive fails, for every k and in every way: a life with everything in it that touches the
 * archive, judged at its end from public bytes.
 */
import { describe, expect, it } from 'vitest'
import { sessionCallsMax } from '../../src/chain/seal.ts'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { type RequestDigest, requestDigest, utf8 } from '../../src/record/index.ts'
import { type ArchivedTenant, Lost } from '../harness/archived-tenant.ts'
import type { DraftGiven } from '../harness/drafts.ts'
import { type ArchiveFault, archiveFaults } from '../harness/memory-archive.ts'
import { type Start, callsOf, startFrom } from '../harness/nearly-full.ts'

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs

/** One life with everything in it that touches the archive. */
async function live(tenant: ArchivedTenant): Promise<void> {
  const again = async <T>(work: () => Promise<T>): Promise<T> => {
    for (let attempt = 0; attempt < 6; attempt += 1) {
      try {
        return await work()
      } catch (thrown) {
        if (!(thrown instanceof Lost) && !(thrown instanceof Error && thrown.message.startsWith('R2')))
          throw thrown
      }
    }
    throw new Error('it fails for good')
  }
  const settle = (): Promise<void> => again(() => tenant.settle())
  const admit = async (given: DraftGiven = {}): Promise<RequestDigest> => {
    const result = await again(() => tenant.admit(given))
    if (result.kind !== 'admitted') throw new Error(JSON.stringify(result))
    return (JSON.parse(result.line) as { request_digest: RequestDigest }).request_digest
  }
  // By Calls.
  const digests: RequestDigest[] = []
  for (let at = 0; at < 4; at += 1) digests.push(await admit({ body: `first ${String(at)}` }))
  tenant.now += minuteMs
  await again(() => tenant.alarm())
  // On demand, and a Session waits while another is open.
  await again(() => tenant.do({ act: 'chain.seal' }))
  digests.push(await admit({ body: 'second' }))
  await settle()
  // By age, with another key.
  await again(() => tenant.do({ act: 'signing_key.rotate', seedNumber: 0 }))
  digests.push(await admit({ body: 'third' }))
  await settle()
  // One erased that is in the archive, one that is staged, and the same bytes again.
  await again(() => tenant.erase(digests[0] as RequestDigest))
  const request = utf8('{"the same":"bytes"}')
  const same = { request, requestDigest: requestDigest(request, nodeSuite) }
  const staged = await admit(same)
  await again(() => tenant.erase(staged))
  await admit(same)
  await settle()
  expect(tenant.bucket.envelopes.has(digests[0] as RequestDigest)).toBe(false)
  expect(tenant.bucket.envelopes.has(staged)).toBe(false)
  // Their time is over.
  tenant.now += 91 * dayMs
  await settle()
  // Taken back to the past once everything is in the archive, and recovered.
  const past = tenant.store.copy()
  await admit({ body: 'fifth' })
  await settle()
  tenant.bucket.arrive()
  tenant.lose(past)
  const recovered = await again(async () => {
    const result = await tenant.recover()
    // Recovered before the object was lost again: the answer was not heard.
    if (result.kind === 'refused' && result.code === 'not_behind') return result
    if (result.kind !== 'done') throw new Error(JSON.stringify(result))
    return result
  })
  expect(['done', 'refused']).toContain(recovered.kind)
  await again(() => tenant.do({ act: 'tenant.unfreeze' }))
  await admit({ body: 'sixth' })
  await settle()
}

/** Sealed by Calls where that is cheap enough, otherwise on demand at the same place. */
const startOf = (fault: ArchiveFault | undefined): Start =>
  fault === undefined || fault === 'lost_before' ? 'calls' : 'new'

describe('a call of the archive', () => {
  it('is made of every kind, in a life without faults', async () => {
    const tenant = await startFrom(startOf(undefined))
    await live(tenant)
    tenant.verifyPublished()
    expect(callsOf(tenant)[0]).toBe(sessionCallsMax)
    expect([...new Set(tenant.calls)].sort()).toEqual([
      'deleteEnvelopes',
      'hasEnvelope',
      'putEnvelope',
      'putSegment',
      'readHead',
      'readKeyEpoch',
      'readSegment',
      'replaceHead',
    ])
  })

  it.each(archiveFaults)(
    'fails %s, for every k: nothing is lost, doubled or overwritten, all is published',
    async (fault) => {
      let isThere = true
      let failAt = 0
      while (isThere) {
        failAt += 1
        const tenant = await startFrom(startOf(fault))
        tenant.fault = (at) => (at === failAt ? fault : undefined)
        await live(tenant).catch((cause: unknown) => {
          throw new Error(`call ${String(failAt)} fails ${fault}`, { cause })
        })
        tenant.bucket.arrive()
        await tenant.settle()
        tenant.verifyPublished()
        isThere = tenant.calls.length >= failAt
      }
      expect(failAt).toBeGreaterThan(40)
    },
    240_000,
  )
})
