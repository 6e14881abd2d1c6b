/** Bundles through the tenant's object: kept in R2 before the Call that names them, never overwritten, hashed on reading. */
import { describe, expect, it } from 'vitest'
import { TenantChain } from '../../../durable-objects/tenant-chain.ts'
import type { Bucket } from '../../../src/archive/bucket.ts'
import { getBundle, putBundle } from '../../../src/archive/bundles.ts'
import { bundlePath } from '../../../src/archive/paths.ts'
import { nodeSuite } from '../../../src/crypto-node/index.ts'
import { type PolicySetHash, toDigest, utf8 } from '../../../src/record/index.ts'
import { act, wideSettings } from '../../harness/drafts.ts'
import { outcomesOf } from '../../harness/follower.ts'
import { type ObjectUnderTest, bundleObject, provision, testEnv } from './object.ts'

const operator = { role: 'operator' } as const
const admin = { role: 'admin', keyId: 'adm' } as const
const hashOf = (bytes: Uint8Array): PolicySetHash => toDigest(nodeSuite.sha256(bytes))
const policyCall = (policySetHash: PolicySetHash) => ({
  ...act({ act: 'policy.push', policySetHash }),
  policySetHash,
})

async function lastAct(object: ObjectUnderTest) {
  const outcome = outcomesOf(await object.verified(), { administrative: true }).at(-1)
  return { tool: outcome?.tool_id, verdict: outcome?.policy.reason ?? outcome?.policy.status }
}

describe('a push', () => {
  it('keeps the bytes under their hash, says so in the Chain, and may be repeated', async () => {
    const object = await provision('push')
    const { bytes, policySetHash } = bundleObject({ agent_burst: 7 })
    for (const actor of [admin, operator]) {
      expect(await object.rpc.pushPolicy({ actor, bundle: bytes })).toMatchObject({
        kind: 'done',
        policySetHash,
        revision: object.revision,
      })
      expect(await lastAct(object)).toEqual({ tool: 'aegis/policy.push', verdict: 'allowed' })
    }
    expect(await getBundle(testEnv.CHAIN, 'push', policySetHash, nodeSuite)).toEqual({ kind: 'found', bytes })
    expect(await getBundle(testEnv.CHAIN, 'other', policySetHash, nodeSuite)).toEqual({ kind: 'absent' })
  })

  it('by nobody who may leaves no object', async () => {
    const object = await provision('push-refused')
    const { bytes, policySetHash } = bundleObject({ agent_burst: 8 })
    for (const keyId of ['bot', 'aud', 'nobody']) {
      expect(await object.rpc.pushPolicy({ actor: { role: 'admin', keyId }, bundle: bytes })).toEqual({
        kind: 'unauthorized',
      })
    }
    expect((await getBundle(testEnv.CHAIN, 'push-refused', policySetHash, nodeSuite)).kind).toBe('absent')
    expect(await object.rpc.pushPolicy({ actor: admin, bundle: new Uint8Array(1_048_577) })).toEqual({
      kind: 'too_large',
    })
  })

  it('over other bytes of that name overwrites nothing and writes no Line', async () => {
    const object = await provision('push-conflict')
    const { bytes, policySetHash } = bundleObject({ agent_burst: 9 })
    const path = bundlePath('push-conflict', policySetHash)
    await testEnv.CHAIN.put(path, 'something else')
    const before = await object.verified()
    expect(await object.rpc.pushPolicy({ actor: admin, bundle: bytes })).toEqual({
      kind: 'unavailable',
      code: 'archive_conflict',
    })
    expect(await (await testEnv.CHAIN.get(path))?.text()).toBe('something else')
    expect(await object.verified()).toEqual(before)
    expect(await object.rpc.activatePolicy(policyCall(policySetHash))).toEqual({
      kind: 'unavailable',
      code: 'archive_conflict',
    })
  })

  it('raced by another leaves one object', async () => {
    const { bytes, policySetHash } = bundleObject({ agent_burst: 10 })
    const puts = Array.from({ length: 8 }, () =>
      putBundle(testEnv.CHAIN, 'race', policySetHash, bytes, nodeSuite),
    )
    expect(new Set((await Promise.all(puts)).map(({ kind }) => kind))).toEqual(new Set(['kept']))
    await expect(putBundle(testEnv.CHAIN, 'race', policySetHash, utf8('{}'), nodeSuite)).rejects.toThrow(
      'under the hash of another',
    )
  })
})

describe('an activation', () => {
  it('takes its settings from the object, and makes older decisions stale', async () => {
    const object = await provision('activate')
    const draft = object.draft('bot')
    const revision = object.revision
    await object.activate({ agent_burst: 1, agent_rate_per_s: 1 })
    expect(object.revision).toBe(revision + 1)
    expect((await object.rpc.admit(draft)).kind).toBe('stale')
    const { policySetHash } = bundleObject({ agent_burst: 1, agent_rate_per_s: 1 })
    expect(await object.rpc.resolve('bot')).toMatchObject({ current: { policySetHash } })
    expect((await object.admit('bot')).kind).toBe('admitted')
    expect(await object.admit('bot')).toMatchObject({ kind: 'limited', limit: 'agent_rate' })
    await object.verified()
  })

  it.each([
    ['a bundle that was never pushed', undefined, 'not_found'],
    ['what is no bundle', utf8('[]'), 'bundle_invalid'],
    ['settings with a member missing', utf8('{"settings":{"agent_burst":1}}'), 'bundle_invalid'],
    [
      'a window that nonces would not outlive',
      bundleObject({ replay_window_ms: 900_001 }).bytes,
      'bundle_invalid',
    ],
  ])('of %s is refused, and recorded as refused', async (_, bytes, code) => {
    const name = `refused-${hashOf(bytes ?? utf8('never')).slice(0, 8)}`
    const object = await provision(name)
    const policySetHash = hashOf(bytes ?? utf8('never'))
    if (bytes !== undefined) await putBundle(testEnv.CHAIN, name, policySetHash, bytes, nodeSuite)
    const revision = object.revision
    const results = [
      await object.rpc.activatePolicy(policyCall(policySetHash)),
      await object.rpc.shadowPolicy(policyCall(policySetHash)),
    ]
    for (const result of results) expect(result).toMatchObject({ kind: 'refused', code, revision })
    expect(await lastAct(object)).toEqual({ tool: 'aegis/policy.shadow', verdict: code })
  })

  it('while R2 does not answer changes nothing', async () => {
    const object = await provision('r2-down')
    const before = await object.verified()
    const isDown = () => Promise.reject(new Error('R2 is down'))
    const down: Bucket = { get: isDown, head: isDown, put: isDown, delete: isDown }
    const { bytes, policySetHash } = bundleObject()
    const failed = { kind: 'unavailable', code: 'archive_failed' }
    await object.inside(async (state) => {
      const chain = new TenantChain(state, { ...testEnv, CHAIN: down })
      expect(await chain.pushPolicy({ actor: operator, bundle: bytes })).toEqual(failed)
      expect(await chain.activatePolicy(policyCall(policySetHash))).toEqual(failed)
    })
    expect(await object.verified()).toEqual(before)
  })

  it('of a shadow is seen by the next decision, and ends without a hash', async () => {
    const object = await provision('shadow')
    const { bytes, policySetHash } = bundleObject({ agent_burst: 11 })
    await object.rpc.pushPolicy({ actor: admin, bundle: bytes })
    const call = policyCall(policySetHash)
    expect((await object.rpc.shadowPolicy(call)).kind).toBe('done')
    expect(await object.rpc.resolve('bot')).toMatchObject({ current: { shadowHash: policySetHash } })
    const { actor, request, requestDigest } = call
    expect((await object.rpc.shadowPolicy({ actor, request, requestDigest })).kind).toBe('done')
    const resolved = await object.rpc.resolve('bot')
    expect(resolved.kind === 'resolved' && 'shadowHash' in resolved.current).toBe(false)
    await object.verified()
  })
})

describe('a put that is answered with an error', () => {
  it('although it took effect is done when it is repeated', async () => {
    const { bytes, policySetHash } = bundleObject(wideSettings)
    const flaky: Bucket = {
      get: (key) => testEnv.CHAIN.get(key),
      head: (key) => testEnv.CHAIN.head(key),
      delete: (keys) => testEnv.CHAIN.delete(keys),
      put: async (...put) => {
        await testEnv.CHAIN.put(...put)
        throw new Error('lost on the way back')
      },
    }
    await expect(putBundle(flaky, 'flaky', policySetHash, bytes, nodeSuite)).rejects.toThrow('lost')
    expect(await putBundle(testEnv.CHAIN, 'flaky', policySetHash, bytes, nodeSuite)).toEqual({ kind: 'kept' })
  })
})
