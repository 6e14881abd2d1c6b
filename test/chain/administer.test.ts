/** Administrative Calls: each leaves its two Lines, refused ones too, and whoever decided before is told so. */
import { describe, expect, it } from 'vitest'
import type { Act, AdministerResult } from '../../src/chain/acts.ts'
import { createTenant } from '../../src/chain/administer.ts'
import { readChainSettings, settingsBeforeFirstBundle } from '../../src/chain/settings.ts'
import { parseSettings, settingsObject } from '../../src/policy/settings.ts'
import { utf8 } from '../../src/record/index.ts'
import { act, agentFields, keyFields, somePolicySet, wideSettings } from '../harness/drafts.ts'
import { linesOf, outcomesOf } from '../harness/follower.ts'
import { MemoryTenant, tenantRecord } from '../harness/memory-tenant.ts'

/** Every act that changes what a decision reads. */
const raising: readonly Act[] = [
  { act: 'tenant.freeze' },
  { act: 'tenant.unfreeze' },
  { act: 'agent.create', agent: agentFields('new') },
  { act: 'agent.change', agent: agentFields('bot', { trustMax: 'unknown' }) },
  { act: 'agent.freeze', agentId: 'bot' },
  { act: 'agent.unfreeze', agentId: 'bot' },
  { act: 'agent.revoke', agentId: 'bot' },
  { act: 'tool.freeze', toolId: 'github.merge_pr' },
  { act: 'tool.unfreeze', toolId: 'github.merge_pr' },
  { act: 'group.change', group: 'leads', members: ['lead@example.com'] },
  { act: 'key.issue', key: keyFields('second') },
  { act: 'key.revoke', keyId: 'aud' },
  { act: 'policy.activate', policySetHash: somePolicySet, settings: wideSettings },
  { act: 'policy.shadow', policySetHash: somePolicySet },
  { act: 'policy.shadow', policySetHash: undefined },
]

describe('the fence', () => {
  it.each(raising.map((what) => [what.act, what] as const))(
    'after %s an evaluation from before is stale',
    (_, what) => {
      const tenant = new MemoryTenant()
      const { revision } = tenant
      expect(tenant.do(what)).toMatchObject({ kind: 'done', revision: revision + 1 })
      expect(tenant.admit('bot', { revision }).kind).toBe('stale')
      expect(tenant.admit('bot').kind).toBe('admitted')
    },
  )

  it('a push changes nothing that a decision reads, a refused act nothing at all', () => {
    const tenant = new MemoryTenant()
    const { revision } = tenant
    expect(tenant.do({ act: 'policy.push', policySetHash: somePolicySet })).toMatchObject({ revision })
    expect(tenant.do({ act: 'agent.freeze', agentId: 'nobody' })).toMatchObject({ kind: 'refused', revision })
    expect(tenant.admit('bot', { revision }).kind).toBe('admitted')
  })
})

describe('an act', () => {
  it.each<[string, Act, string]>([
    ['of an agent that is not there', { act: 'agent.freeze', agentId: 'nobody' }, 'not_found'],
    ['of an agent that is there', { act: 'agent.create', agent: agentFields('bot') }, 'already_exists'],
    ['of a key that is not there', { act: 'key.revoke', keyId: 'nobody' }, 'not_found'],
    ['of a key that is there', { act: 'key.issue', key: keyFields('adm') }, 'already_exists'],
    ['of a key for nobody', { act: 'key.issue', key: keyFields('k', { subject: '' }) }, 'subject_required'],
    [
      'of a key without an agent',
      { act: 'key.issue', key: keyFields('k', { role: 'agent' }) },
      'agent_required',
    ],
    ['of a key of no agent', { act: 'key.issue', key: keyFields('k', { agentId: 'nobody' }) }, 'not_found'],
    [
      'of a key with an agent it may not have',
      { act: 'key.issue', key: keyFields('k', { agentId: 'bot', role: 'admin' }) },
      'role_not_allowed',
    ],
    [
      'of a group with an empty subject',
      { act: 'group.change', group: 'leads', members: ['a', ''] },
      'group_members_invalid',
    ],
  ])('%s is refused and recorded', (_, what, code) => {
    const tenant = new MemoryTenant()
    expect(tenant.do(what)).toMatchObject({ kind: 'refused', code })
    const outcome = outcomesOf(tenant.chain, { administrative: true }).at(-1)
    expect(outcome).toMatchObject({
      tool_id: `aegis/${what.act}`,
      policy: { status: 'denied', reason: code },
      execution: { status: 'host_denied', reason: code },
      decision_axes: { decided_by: 'admin', actor: { role: 'operator' } },
    })
  })

  it('of an admin names him and his key; of another role, a revoked or an expired key it is none', () => {
    const tenant = new MemoryTenant()
    const by = (keyId: string): AdministerResult => tenant.call(act({ act: 'tenant.freeze' }, keyId))
    expect(by('adm').kind).toBe('done')
    expect(outcomesOf(tenant.chain, { administrative: true }).at(-1)?.decision_axes).toMatchObject({
      actor: { role: 'admin', api_key: 'adm', subject: 'admin@example.com' },
    })
    tenant.do({ act: 'key.issue', key: keyFields('brief', { expiresAt: tenant.now + 1 }) })
    expect(by('brief').kind).toBe('done')
    tenant.now += 1
    const lines = linesOf(tenant.chain).length
    for (const keyId of ['brief', 'aud', 'bot', 'nobody']) expect(by(keyId).kind).toBe('unauthorized')
    expect(linesOf(tenant.chain).length).toBe(lines)
    tenant.do({ act: 'key.revoke', keyId: 'adm' })
    expect(by('adm').kind).toBe('unauthorized')
  })

  it('that changed nothing because it was revoked before says so', () => {
    const tenant = new MemoryTenant()
    tenant.do({ act: 'key.revoke', keyId: 'adm' })
    expect(tenant.do({ act: 'key.revoke', keyId: 'adm' })).toMatchObject({ code: 'key_revoked' })
    tenant.do({ act: 'agent.revoke', agentId: 'bot' })
    expect(tenant.do({ act: 'key.issue', key: keyFields('k', { agentId: 'bot' }) })).toMatchObject({
      code: 'agent_revoked',
    })
  })

  it('keeps its Envelope, or its Line says that there is none', () => {
    const tenant = new MemoryTenant()
    const call = act({ act: 'tenant.freeze' })
    tenant.call(call)
    expect(tenant.store.readEnvelope(call.requestDigest)).toEqual(call.request)
    const off = new MemoryTenant({ settings: { envelope: 'off' } })
    off.call(call)
    expect(off.store.readEnvelope(call.requestDigest)).toBeUndefined()
    expect(outcomesOf(off.chain, { administrative: true }).at(-1)?.decision_axes.envelope).toBe('off')
  })

  it('is written nowhere when the store is full', () => {
    const tenant = new MemoryTenant()
    tenant.store.room = false
    expect(tenant.do({ act: 'tenant.freeze' })).toEqual({ kind: 'unavailable', code: 'storage_full' })
    expect(tenant.store.readTenant()?.frozen).toBe(false)
  })

  it('a tenant is created once', () => {
    const tenant = new MemoryTenant()
    const request = { request: utf8('{}'), requestDigest: 'ab'.repeat(32) as never }
    expect(createTenant(tenant.context(), tenantRecord('acme'), request)).toEqual({ kind: 'exists' })
  })
})

describe('the settings in a bundle object', () => {
  const standard = settingsObject(
    parseSettings({}, () => {
      throw new Error('the standard settings have a finding')
    }),
  )

  it('are read under the names that the policy writes, and its standard ones are those without a bundle', () => {
    expect(readChainSettings(standard)).toEqual(settingsBeforeFirstBundle)
  })

  it('are refused when any member of the writer is missing or of another type', () => {
    const accepted = Object.keys(settingsBeforeFirstBundle).flatMap((name) => {
      const without = Object.fromEntries(Object.entries(standard).filter(([other]) => other !== name))
      const wrong = ['x', 0, -1, 1.5, null].map((value) => ({ ...standard, [name]: value }))
      return [without, ...wrong].filter((settings) => readChainSettings(settings) !== undefined)
    })
    expect(accepted).toEqual([])
    expect(readChainSettings({ ...standard, replay_window_ms: 900_001 })).toBeUndefined()
    expect(readChainSettings(undefined)).toBeUndefined()
  })
})
