/** What one isolate remembers of a thousand tenants: bounded, and evicted tenants still answer. */
import { describe, expect, it } from 'vitest'
import type { Current, TenantChainRpc } from '../../../durable-objects/rpc.ts'
import { CallerStates } from '../../../src/app/caller-states.ts'
import { PolicySets } from '../../../src/app/policy-sets.ts'
import { putBundle } from '../../../src/archive/bundles.ts'
import { nodeSuite } from '../../../src/crypto-node/index.ts'
import {
  type JsonObject,
  type PolicySetHash,
  encodeCanonical,
  parseBody,
  toDigest,
} from '../../../src/record/index.ts'
import { testEnv } from '../durable-objects/object.ts'
import { testBundle } from './test-bundle.ts'

const current = (tenant: string): Current => ({
  tenant,
  revision: 1,
  now: 0,
  key: { id: 'k', role: 'agent', subject: 's', secretHash: 'x', expiresAt: 1, revoked: false },
  agentsMayExplain: false,
})

describe('an isolate', () => {
  it('remembers so many callers and no more, and asks again for those it forgot', async () => {
    let asked = 0
    const states = new CallerStates(() => 0)
    const chainOf = (tenant: string) =>
      ({
        resolve: () => {
          asked += 1
          return Promise.resolve({ kind: 'resolved', current: current(tenant) })
        },
      }) as unknown as TenantChainRpc
    for (let tenant = 0; tenant < 6_000; tenant += 1) {
      const name = `t${String(tenant)}`
      await states.lookUp(chainOf(name), name, 'k')
    }
    expect([states.size, asked]).toEqual([5_000, 6_000])
    await states.lookUp(chainOf('t5999'), 't5999', 'k')
    expect(asked).toBe(6_000)
    const found = await states.lookUp(chainOf('t0'), 't0', 'k')
    expect(found).toMatchObject({ kind: 'known', state: { current: { tenant: 't0' } } })
    expect(asked).toBe(6_001)
  })

  it('looks again after 30 s', async () => {
    let now = 0
    let asked = 0
    const chain = {
      resolve: () => {
        asked += 1
        return Promise.resolve({ kind: 'resolved', current: current('t') })
      },
    } as unknown as TenantChainRpc
    const states = new CallerStates(() => now)
    for (const at of [0, 29_999, 30_000, 59_999, 60_000]) {
      now = at
      await states.lookUp(chain, 't', 'k')
    }
    expect(asked).toBe(3)
  })

  it('holds so many bytes of policy sets and no more', async () => {
    const sets = new PolicySets(testEnv.CHAIN, nodeSuite)
    // About 400 KB each: every policy has a long reason.
    const padding = Array.from(
      { length: 700 },
      (_, at) => `@id("p${String(at)}") @reason("${'x'.repeat(450)}") permit(principal, action, resource);`,
    ).join('\n')
    const heavy = parseBody(testBundle({ policies: padding }).bytes)
    if (!heavy.ok) throw new Error('not readable')
    const settings = heavy.value['settings'] as JsonObject
    for (let tenant = 0; tenant < 12; tenant += 1) {
      const name = `heavy${String(tenant)}`
      // Another set for each, without having Cedar validate every one.
      const bytes = encodeCanonical({
        ...heavy.value,
        settings: { ...settings, envelope_retention_days: tenant + 1 },
      })
      const policySetHash = toDigest<PolicySetHash>(nodeSuite.sha256(bytes))
      await putBundle(testEnv.CHAIN, name, policySetHash, bytes, nodeSuite)
      expect((await sets.get(name, policySetHash))?.policySetHash).toBe(policySetHash)
      expect(sets.heldBytes).toBeLessThanOrEqual(4 * 1_048_576)
    }
    expect(sets.heldBytes).toBeGreaterThan(2 * 1_048_576)
  }, 30_000)
})
