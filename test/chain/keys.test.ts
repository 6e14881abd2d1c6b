/** Keys of people: who confirms them, what they open before, records of version 1; and lists of what is administered. */
import { describe, expect, it } from 'vitest'
import type { AdministerResult, KeyFields } from '../../src/chain/acts.ts'
import { overview } from '../../src/chain/administer.ts'
import { leaveToRead, resolve } from '../../src/chain/consult.ts'
import { listAgents, listFrozenTools, listGroups, listKeys, readAgent } from '../../src/chain/listing.ts'
import { act, agentFields, keyFields } from '../harness/drafts.ts'
import { outcomesOf } from '../harness/follower.ts'
import { MemoryTenant } from '../harness/memory-tenant.ts'

/** A tenant with two admins, `adm` and `bo`. */
function twoAdmins(): MemoryTenant {
  const tenant = new MemoryTenant()
  tenant.do({ act: 'key.issue', key: keyFields('bo', { subject: 'bo@example.com' }) })
  return tenant
}

function issue(tenant: MemoryTenant, by: string, key: KeyFields): AdministerResult {
  return tenant.call(act({ act: 'key.issue', key }, by))
}

function confirm(tenant: MemoryTenant, by: string | undefined, keyId: string): AdministerResult {
  return tenant.call(act({ act: 'key.confirm', keyId }, by))
}

describe('the second admin', () => {
  it.each([
    ['admin', false],
    ['approver', false],
    ['auditor', true],
  ] as const)('a key of role %s is usable at once: %s', (role, confirmed) => {
    const tenant = twoAdmins()
    expect(issue(tenant, 'adm', keyFields('new', { role, subject: 'cy' }))).toMatchObject({ confirmed })
    expect(resolve(tenant.context(), 'new').kind).toBe(confirmed ? 'resolved' : 'unauthorized')
  })

  it('raises the revision by confirming, and is in the Chain with his key', () => {
    const tenant = twoAdmins()
    issue(tenant, 'adm', keyFields('new', { subject: 'cy' }))
    const { revision } = tenant
    expect(confirm(tenant, 'bo', 'new')).toMatchObject({ kind: 'done', revision: revision + 1 })
    expect(outcomesOf(tenant.chain, { administrative: true }).at(-1)).toMatchObject({
      tool_id: 'aegis/key.confirm',
      decision_axes: { actor: { role: 'admin', api_key: 'bo', subject: 'bo@example.com' } },
    })
    expect(tenant.admit('bot', { revision }).kind).toBe('stale')
    expect(resolve(tenant.context(), 'new').kind).toBe('resolved')
  })

  it('is not the issuer, not the holder, not the operator, and not a key that waits itself', () => {
    const tenant = twoAdmins()
    issue(tenant, 'adm', keyFields('new', { subject: 'BO@example.com' }))
    issue(tenant, 'bo', keyFields('other', { subject: 'cy' }))
    expect(confirm(tenant, 'adm', 'new')).toMatchObject({ code: 'confirmation_by_another' })
    expect(confirm(tenant, 'bo', 'new')).toMatchObject({ code: 'confirmation_by_another' })
    expect(confirm(tenant, undefined, 'new')).toMatchObject({ code: 'role_not_allowed' })
    expect(confirm(tenant, 'other', 'new').kind).toBe('unauthorized')
    expect(confirm(tenant, 'adm', 'other').kind).toBe('done')
    expect(confirm(tenant, 'other', 'new').kind).toBe('done')
    expect(confirm(tenant, 'other', 'new')).toMatchObject({ kind: 'unchanged' })
    expect(confirm(tenant, 'adm', 'nobody')).toMatchObject({ code: 'not_found' })
  })

  it('counts as long as his key can be used: not revoked, not expired, not waiting', () => {
    const tenant = new MemoryTenant()
    const needs = () => {
      const id = `probe-${String(tenant.revision)}`
      const result = issue(tenant, 'adm', keyFields(id, { role: 'approver', subject: 'lena' }))
      return 'confirmed' in result ? !(result.confirmed ?? true) : result
    }
    expect(needs()).toBe(false)
    tenant.do({ act: 'key.issue', key: keyFields('same', { subject: 'ADMIN@example.com' }) })
    expect(needs()).toBe(false)
    tenant.do({ act: 'key.issue', key: keyFields('bo', { subject: 'bo', expiresAt: tenant.now + 1000 }) })
    expect([needs(), counted(tenant)]).toEqual([true, 2])
    tenant.now += 1000
    expect([needs(), counted(tenant)]).toEqual([false, 1])
    tenant.do({ act: 'key.issue', key: keyFields('cy', { subject: 'cy' }) })
    expect(needs()).toBe(true)
    tenant.do({ act: 'key.revoke', keyId: 'cy' })
    expect(needs()).toBe(false)
  })

  function counted(tenant: MemoryTenant): number {
    const seen = overview(tenant.context())
    return seen.kind === 'overview' ? seen.admins : -1
  }

  it('is not needed for what the operator issues, nor for keys of version 1', () => {
    const tenant = twoAdmins()
    expect(tenant.do({ act: 'key.issue', key: keyFields('cy', { subject: 'cy' }) })).toMatchObject({
      confirmed: true,
    })
    tenant.store.writeKey({ ...keyFields('old', { subject: 'old' }), revoked: false })
    expect(leaveToRead(tenant.context(), 'old', ['admin']).kind).toBe('granted')
    expect(confirm(tenant, 'adm', 'old').kind).toBe('unchanged')
  })

  it('is not skipped by what a request brings along', () => {
    const tenant = twoAdmins()
    const smuggled = {
      ...keyFields('new', { subject: 'cy' }),
      confirmed: true,
      issuedBy: 'bo',
      revoked: false,
    }
    expect(issue(tenant, 'adm', smuggled)).toMatchObject({ confirmed: false })
    expect(tenant.store.readKey('new')).toMatchObject({ confirmed: false, issuedBy: 'admin@example.com' })
  })
})

describe('a key that is issued once', () => {
  it('is not issued again, and nothing is recorded of the repeat', () => {
    const tenant = new MemoryTenant()
    const once = act({ act: 'key.issue', key: keyFields('k', { role: 'auditor' }), once: true }, 'adm')
    expect(tenant.call(once).kind).toBe('done')
    const { length } = tenant.chain
    expect(tenant.call(once)).toEqual({ kind: 'unchanged', revision: tenant.revision })
    expect(tenant.chain.length).toBe(length)
  })
})

describe("the tenant's bucket", () => {
  const limited = { tenant_rate_per_s: 1, tenant_burst: 2 }

  it('pays for acts of admins; what only takes away goes on without, and so does the operator', () => {
    const tenant = new MemoryTenant({ settings: limited })
    tenant.now += 10_000
    const by = (what: Parameters<typeof act>[0]) => tenant.call(act(what, 'adm'))
    const create = (id: string) => by({ act: 'agent.create', agent: agentFields(id) })
    expect([create('a').kind, create('b').kind]).toEqual(['done', 'done'])
    const { length } = tenant.chain
    expect(create('c')).toEqual({ kind: 'limited', retryAfterMs: 1000 })
    expect(by({ act: 'chain.seal' }).kind).toBe('limited')
    expect(listAgents(tenant.context(), 'adm', '').kind).toBe('limited')
    expect(tenant.chain.length).toBe(length)
    expect(by({ act: 'tool.freeze', toolId: 'github.x' }).kind).toBe('done')
    expect(by({ act: 'agent.freeze', agentId: 'a' }).kind).toBe('done')
    expect(by({ act: 'agent.revoke', agentId: 'b' }).kind).toBe('done')
    expect(by({ act: 'key.revoke', keyId: 'aud' }).kind).toBe('done')
    expect(by({ act: 'tenant.freeze' }).kind).toBe('done')
    expect(by({ act: 'tool.unfreeze', toolId: 'github.x' }).kind).toBe('limited')
    expect(tenant.do({ act: 'tenant.unfreeze' }).kind).toBe('done')
    tenant.now += 1000
    expect(create('c').kind).toBe('done')
  })
})

describe('a tool', () => {
  it.each([
    'GitHub.read',
    'github',
    '.read',
    'github.',
    'a..b',
    'a//b.c',
    'aegis/x.y',
    'tool:x.y',
    'risk:x.y',
    'a b.c',
    '\u212ait.x',
  ])('is not frozen under the name %s, which no Call carries', (toolId) => {
    const tenant = new MemoryTenant()
    expect(tenant.do({ act: 'tool.freeze', toolId })).toMatchObject({ code: 'tool_id_invalid' })
    expect(tenant.store.listFrozenTools('', 10)).toEqual([])
  })

  it('may have dots and slashes in its name', () => {
    const tenant = new MemoryTenant()
    for (const toolId of ['mcp/files.v2.read', 'a:b-c.d_e', 'x.y']) {
      expect(tenant.do({ act: 'tool.freeze', toolId }).kind).toBe('done')
    }
    expect(listFrozenTools(tenant.context(), 'aud', 'b')).toMatchObject({
      entries: ['mcp/files.v2.read', 'x.y'],
    })
  })
})

describe('lists', () => {
  it('go by pages without a gap, for admins and auditors', () => {
    const tenant = new MemoryTenant({ agents: [] })
    const ids = Array.from({ length: 501 }, (_, at) => `agent-${String(at).padStart(3, '0')}`)
    for (const id of ids) tenant.store.writeAgent({ ...agentFields(id), frozen: false, revoked: false })
    const seen: string[] = []
    let after: string | undefined = ''
    let pages = 0
    while (after !== undefined) {
      const page = listAgents(tenant.context(), 'aud', after)
      if (page.kind !== 'list') throw new Error(page.kind)
      seen.push(...page.entries.map(({ id }) => id))
      after = page.next
      pages += 1
    }
    expect([seen, pages]).toEqual([ids, 3])
  })

  it('show when an agent last called, and no hash of a secret', () => {
    const tenant = new MemoryTenant()
    const agent = () => {
      const found = readAgent(tenant.context(), 'adm', 'bot')
      return found.kind === 'agent' ? found.agent : undefined
    }
    expect(agent()).not.toHaveProperty('lastCallAt')
    tenant.admit('bot')
    expect(agent()?.lastCallAt).toBe(tenant.now)
    expect(JSON.stringify(listKeys(tenant.context(), 'adm', ''))).not.toContain(keyFields('x').secretHash)
  })

  it('are for nobody else', () => {
    const tenant = new MemoryTenant()
    for (const list of [listAgents, listKeys, listGroups, listFrozenTools]) {
      expect(list(tenant.context(), 'bot', '').kind).toBe('unauthorized')
      expect(list(tenant.context(), 'nobody', '').kind).toBe('unauthorized')
      expect(list(tenant.context(), 'adm', '').kind).toBe('list')
    }
  })
})
