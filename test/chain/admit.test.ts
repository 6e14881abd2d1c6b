/** Steps 8 to 13 of authorize.md §3, one by one, over the store in memory. Every step verifies the Chain it left. */
import { describe, expect, it } from 'vitest'
import { nonceGenerationMs, replayWindowMaxMs, requestGenerationMs } from '../../src/chain/ids.ts'
import { noncesPerAgentMax } from '../../src/chain/limits.ts'
import { denial, keyFields, somePolicySet, wideSettings } from '../harness/drafts.ts'
import { linesOf } from '../harness/follower.ts'
import { MemoryTenant, admittedLine, verdictOf } from '../harness/memory-tenant.ts'

describe('an allow', () => {
  it('is two Lines, the second of which is the answer, and its Envelope', () => {
    const tenant = new MemoryTenant()
    const before = linesOf(tenant.chain).length
    const result = tenant.admit('bot', { requestId: 'r1', body: 'one' })
    const lines = linesOf(tenant.chain)
    expect(lines.length).toBe(before + 2)
    expect(lines.at(-1)).toBe(admittedLine(result))
    const outcome = JSON.parse(admittedLine(result)) as {
      grant_id: string
      request_digest: string
      capability: { grant: { expires_at: number; grant_id: string; action_hash: string } }
      action_hash: string
    }
    expect(outcome.capability.grant).toMatchObject({
      grant_id: outcome.grant_id,
      action_hash: outcome.action_hash,
      expires_at: tenant.now + wideSettings.grant_ttl_ms,
    })
    expect(tenant.store.readEnvelope(outcome.request_digest as never)).toBeDefined()
  })

  it('keeps no Envelope where settings say so, and the Line says that', () => {
    const tenant = new MemoryTenant({ settings: { envelope: 'off' } })
    tenant.admit('bot')
    expect(tenant.outcomes.at(-1)?.decision_axes.envelope).toBe('off')
  })

  it('is never of a tool that only our own code may write', () => {
    const tenant = new MemoryTenant()
    expect(() => tenant.admit('bot', { evaluation: { toolId: 'aegis/tenant.freeze' } })).toThrow('reserved')
  })
})

describe('the key', () => {
  it('is an agent key that lives', () => {
    const tenant = new MemoryTenant()
    tenant.do({
      act: 'key.issue',
      key: keyFields('brief', { agentId: 'bot', expiresAt: tenant.now + 1_000 }),
    })
    expect(tenant.admit('brief').kind).toBe('admitted')
    tenant.now += 1_000
    expect(tenant.admit('brief').kind).toBe('unauthorized')
    expect(tenant.admit('adm').kind).toBe('unauthorized')
    expect(tenant.admit('nobody').kind).toBe('unauthorized')
    tenant.do({ act: 'key.revoke', keyId: 'bot' })
    expect(tenant.admit('bot').kind).toBe('unauthorized')
  })
})

describe('the fence', () => {
  it('answers an older revision with the state to decide under, and appends nothing', () => {
    const tenant = new MemoryTenant()
    const revision = tenant.revision
    tenant.do({ act: 'tool.freeze', toolId: 'github.merge_pr' })
    const before = linesOf(tenant.chain).length
    const stale = tenant.admit('bot', { revision })
    expect(stale).toMatchObject({
      kind: 'stale',
      current: { revision: revision + 1, policySetHash: somePolicySet, agent: { id: 'bot' } },
    })
    expect(linesOf(tenant.chain).length).toBe(before)
  })

  it.each([
    [5_000, 'admitted'],
    [-5_000, 'admitted'],
    [5_001, 'stale'],
    [-5_001, 'stale'],
  ])('takes an evaluation that is %i ms off as %s', (off, kind) => {
    const tenant = new MemoryTenant()
    expect(tenant.admit('bot', { evaluatedAt: tenant.now - off }).kind).toBe(kind)
  })
})

describe('freezes', () => {
  it.each([
    [{ act: 'tenant.freeze' }, { act: 'tenant.unfreeze' }, 'tenant_frozen'],
    [{ act: 'agent.freeze', agentId: 'bot' }, { act: 'agent.unfreeze', agentId: 'bot' }, 'agent_frozen'],
    [
      { act: 'tool.freeze', toolId: 'github.create_issue' },
      { act: 'tool.unfreeze', toolId: 'github.create_issue' },
      'tool_frozen',
    ],
  ] as const)('%o denies until it is lifted, a recorded request_id too', (freeze, lift, code) => {
    const tenant = new MemoryTenant()
    const first = tenant.admit('bot', { requestId: 'r1', body: 'one' })
    tenant.do(freeze)
    expect(verdictOf(tenant.admit('bot', { requestId: 'r1', body: 'one' }))).toBe(code)
    expect(tenant.outcomes.at(-1)?.decision_axes.decided_by).toBe('pipeline')
    tenant.do(lift)
    expect(tenant.admit('bot', { requestId: 'r1', body: 'one' })).toMatchObject({
      kind: 'repeated',
      line: admittedLine(first),
    })
  })

  it('a revoked agent stays revoked', () => {
    const tenant = new MemoryTenant()
    tenant.do({ act: 'agent.revoke', agentId: 'bot' })
    expect(verdictOf(tenant.admit('bot'))).toBe('agent_revoked')
    expect(tenant.do({ act: 'agent.unfreeze', agentId: 'bot' })).toMatchObject({
      kind: 'refused',
      code: 'agent_revoked',
    })
    expect(verdictOf(tenant.admit('bot'))).toBe('agent_revoked')
  })
})

describe('limits', () => {
  it("an agent's bucket: recorded, told when to come back, and neither id nor nonce used up", () => {
    const tenant = new MemoryTenant({ settings: { agent_rate_per_s: 2, agent_burst: 1 } })
    expect(tenant.admit('bot').kind).toBe('admitted')
    const once = { requestId: 'r1', nonce: 'n1', timestamp: tenant.now, body: 'x' }
    const limited = tenant.admit('bot', once)
    expect(limited).toMatchObject({ kind: 'limited', limit: 'agent_rate', retryAfterMs: 500 })
    expect(tenant.outcomes.at(-1)?.policy).toEqual({ status: 'rate_limited', reason: 'rate_limited' })
    tenant.now += 499
    expect(tenant.admit('bot', once).kind).toBe('limited')
    tenant.now += 1
    expect(verdictOf(tenant.admit('bot', once))).toBe('allowed')
  })

  it("the tenant's bucket is shared, an agent's is not", () => {
    const tenant = new MemoryTenant({
      settings: { tenant_rate_per_s: 1, tenant_burst: 2, agent_burst: 1, agent_rate_per_s: 1 },
      agents: ['a', 'b', 'c'],
    })
    expect(tenant.admit('a').kind).toBe('admitted')
    expect(tenant.admit('a')).toMatchObject({ kind: 'limited', limit: 'agent_rate' })
    expect(tenant.admit('b').kind).toBe('admitted')
    expect(tenant.admit('c')).toMatchObject({ kind: 'limited', limit: 'tenant_rate' })
  })

  it('a daily quota ends with the UTC day', () => {
    const tenant = new MemoryTenant({ settings: { agent_daily_quota: 2 } })
    tenant.admit('bot')
    tenant.admit('bot')
    expect(tenant.admit('bot')).toMatchObject({
      kind: 'limited',
      limit: 'agent_day',
      retryAfterMs: 12 * 3_600_000,
    })
    tenant.now += 12 * 3_600_000 - 1
    expect(tenant.admit('bot').kind).toBe('limited')
    tenant.now += 1
    expect(tenant.admit('bot').kind).toBe('admitted')
  })

  it('a clock that goes back hands out no second quota and no tokens', () => {
    const tenant = new MemoryTenant({
      settings: { agent_daily_quota: 1, agent_burst: 1, agent_rate_per_s: 1 },
    })
    expect(tenant.admit('bot').kind).toBe('admitted')
    tenant.now -= 24 * 3_600_000
    expect(tenant.admit('bot').kind).toBe('limited')
    tenant.now += 24 * 3_600_000
    expect(tenant.admit('bot').kind).toBe('limited')
  })

  it('a repeat costs a token too', () => {
    const tenant = new MemoryTenant({ settings: { agent_burst: 2, agent_rate_per_s: 1 } })
    const same = { requestId: 'r1', body: 'x' }
    expect(tenant.admit('bot', same).kind).toBe('admitted')
    expect(tenant.admit('bot', same).kind).toBe('repeated')
    expect(tenant.admit('bot', same).kind).toBe('limited')
  })
})

describe('refused Calls past the cap', () => {
  it('leave no Line, and the next Line of that agent counts them', () => {
    const tenant = new MemoryTenant({ settings: { refused_calls_per_minute: 3 }, agents: ['bot', 'other'] })
    for (let at = 0; at < 3; at += 1) tenant.admit('bot', { evaluation: denial() })
    const lines = linesOf(tenant.chain).length
    for (let at = 0; at < 4; at += 1) {
      expect(tenant.admit('bot', { evaluation: denial(), requestId: `r${String(at)}` })).toEqual({
        kind: 'limited',
        limit: 'refused_calls',
        retryAfterMs: 60_000,
      })
    }
    expect(linesOf(tenant.chain).length).toBe(lines)
    expect(tenant.admit('other').kind).toBe('admitted')
    expect(tenant.outcomes.at(-1)?.decision_axes.suppressed).toBeUndefined()
    tenant.admit('bot')
    expect(tenant.outcomes.at(-1)?.decision_axes.suppressed).toBe(4)
    tenant.admit('bot')
    expect(tenant.outcomes.at(-1)?.decision_axes.suppressed).toBeUndefined()
    tenant.now += 60_000
    expect(tenant.admit('bot', { evaluation: denial() }).kind).toBe('admitted')
  })

  it('use up no room for nonces', () => {
    const tenant = new MemoryTenant({ settings: { refused_calls_per_minute: 1 } })
    tenant.admit('bot', { evaluation: denial() })
    for (let at = 0; at < 5; at += 1) {
      tenant.admit('bot', { evaluation: denial(), nonce: `n${String(at)}`, timestamp: tenant.now })
    }
    expect(tenant.store.readCounters('bot')?.nonces).toBe(0)
    tenant.admit('bot', { nonce: 'n0', timestamp: tenant.now })
    expect(tenant.store.readCounters('bot')?.nonces).toBe(1)
  })
})

describe('idempotency', () => {
  it('answers the same bytes with the same Line, other bytes with a conflict, each agent for itself', () => {
    const tenant = new MemoryTenant({ agents: ['a', 'b'] })
    const first = tenant.admit('a', { requestId: 'r1', body: 'x' })
    const lines = linesOf(tenant.chain).length
    expect(tenant.admit('a', { requestId: 'r1', body: 'x' })).toMatchObject({
      kind: 'repeated',
      line: admittedLine(first),
    })
    expect(tenant.admit('a', { requestId: 'r1', body: 'y' }).kind).toBe('conflict')
    expect(linesOf(tenant.chain).length).toBe(lines)
    expect(tenant.admit('b', { requestId: 'r1', body: 'y' }).kind).toBe('admitted')
  })

  it('remembers a denial of the policy as well', () => {
    const tenant = new MemoryTenant()
    const first = tenant.admit('bot', { requestId: 'r1', body: 'x', evaluation: denial() })
    expect(tenant.admit('bot', { requestId: 'r1', body: 'x' })).toMatchObject({
      kind: 'repeated',
      line: admittedLine(first),
    })
  })

  it.each([
    [requestGenerationMs - 1, 'repeated'],
    [-1, 'repeated'],
    [2 * requestGenerationMs, 'admitted'],
  ])('%i ms later it is %s', (later, kind) => {
    const tenant = new MemoryTenant()
    tenant.admit('bot', { requestId: 'r1', body: 'x' })
    tenant.now += later
    expect(tenant.admit('bot', { requestId: 'r1', body: 'x' }).kind).toBe(kind)
  })
})

describe('replay', () => {
  it.each([
    [300_000, 'allowed'],
    [-300_000, 'allowed'],
    [300_001, 'timestamp_out_of_window'],
    [-300_001, 'timestamp_out_of_window'],
  ])('a timestamp %i ms away is %s', (off, verdict) => {
    const tenant = new MemoryTenant()
    expect(verdictOf(tenant.admit('bot', { timestamp: tenant.now + off }))).toBe(verdict)
  })

  it('a nonce is used once by an agent, whatever its request_id', () => {
    const tenant = new MemoryTenant({ agents: ['a', 'b'] })
    const nonce = { nonce: 'n', timestamp: tenant.now }
    expect(verdictOf(tenant.admit('a', { ...nonce, requestId: 'r1' }))).toBe('allowed')
    expect(verdictOf(tenant.admit('a', { ...nonce, requestId: 'r2' }))).toBe('nonce_replayed')
    expect(verdictOf(tenant.admit('b', nonce))).toBe('allowed')
  })

  it('a nonce outlives its timestamp by the longest window that settings may name', () => {
    const tenant = new MemoryTenant({ settings: { replay_window_ms: replayWindowMaxMs } })
    const timestamp = tenant.now + replayWindowMaxMs
    tenant.admit('bot', { nonce: 'n', timestamp })
    tenant.now = timestamp + replayWindowMaxMs
    expect(verdictOf(tenant.admit('bot', { nonce: 'n', timestamp }))).toBe('nonce_replayed')
  })

  it("one agent's nonces are bounded, and do not bound another's", () => {
    const tenant = new MemoryTenant({ agents: ['a', 'b'] })
    tenant.admit('a', { nonce: 'first', timestamp: tenant.now })
    const counters = tenant.store.readCounters('a')
    if (counters === undefined) throw new Error('no counters')
    tenant.store.writeCounters({ ...counters, nonces: noncesPerAgentMax - 1 })
    expect(verdictOf(tenant.admit('a', { nonce: 'last', timestamp: tenant.now }))).toBe('allowed')
    const lines = linesOf(tenant.chain).length
    expect(tenant.admit('a', { nonce: 'more', timestamp: tenant.now })).toMatchObject({
      kind: 'limited',
      limit: 'nonces',
    })
    expect(linesOf(tenant.chain).length).toBe(lines)
    expect(tenant.admit('a').kind).toBe('admitted')
    expect(tenant.admit('b', { nonce: 'more', timestamp: tenant.now }).kind).toBe('admitted')
    tenant.now += 2 * nonceGenerationMs
    expect(tenant.admit('a', { nonce: 'more', timestamp: tenant.now }).kind).toBe('admitted')
  })
})

describe('a decision that needs people', () => {
  const approval = { groups: ['leads'], quorum: 1 }
  const asks = { decision: 'require_approval', code: 'approval_required', approval } as const

  it('waits, with the action frozen and bound', () => {
    const tenant = new MemoryTenant()
    tenant.do({ act: 'group.change', group: 'leads', members: ['Lead@Example.com'] })
    const line = JSON.parse(admittedLine(tenant.admit('bot', { evaluation: asks }))) as {
      policy: { approval_id: string }
      seq: number
      decision_axes: { approval: { binding_hash: string; groups: string[] } }
    }
    expect(tenant.store.readApproval(line.policy.approval_id)).toMatchObject({
      agentId: 'bot',
      state: 'pending',
      seq: line.seq,
      groups: ['leads'],
      bindingHash: line.decision_axes.approval.binding_hash,
    })
  })

  it.each([
    ['a group that is not there', ['nobody'], 1, []],
    ["only the agent's owner, however written", ['leads'], 1, ['OWNER@example.com']],
    ['fewer than the quorum', ['leads'], 2, ['a@example.com']],
    ['no group at all', [], 1, ['a@example.com']],
    ['a quorum of none', ['leads'], 0, ['a@example.com']],
  ] as const)('is denied with %s', (_, groups, quorum, members) => {
    const tenant = new MemoryTenant()
    tenant.do({ act: 'group.change', group: 'leads', members })
    expect(verdictOf(tenant.admit('bot', { evaluation: { ...asks, approval: { groups, quorum } } }))).toBe(
      'quorum_unreachable',
    )
  })

  it('folds ASCII and nothing else: KELVIN SIGN is not the letter k', () => {
    const tenant = new MemoryTenant()
    tenant.do({
      act: 'group.change',
      group: 'leads',
      members: ['\u212Aim@example.com', 'kim@example.com', 'KIM@example.com'],
    })
    expect(tenant.store.readGroup('leads')?.members).toEqual(['kim@example.com', '\u212Aim@example.com'])
  })

  it('is bounded for an agent and for the tenant', () => {
    const tenant = new MemoryTenant({
      settings: { pending_per_agent: 1, pending_per_tenant: 2 },
      agents: ['a', 'b', 'c'],
    })
    tenant.do({ act: 'group.change', group: 'leads', members: ['lead@example.com'] })
    expect(verdictOf(tenant.admit('a', { evaluation: asks }))).toBe('pending_approval')
    expect(verdictOf(tenant.admit('a', { evaluation: asks }))).toBe('too_many_pending')
    expect(verdictOf(tenant.admit('b', { evaluation: asks }))).toBe('pending_approval')
    expect(verdictOf(tenant.admit('c', { evaluation: asks }))).toBe('too_many_pending')
  })
})

describe('what cannot be recorded is not allowed', () => {
  it('a Line over 64 KiB, a full store', () => {
    const tenant = new MemoryTenant()
    const context = { body: 'x'.repeat(66_000) }
    expect(tenant.admit('bot', { evaluation: { axes: { decided_by: 'policy', context } } })).toEqual({
      kind: 'unavailable',
      code: 'line_too_long',
    })
    const asked = {
      axes: { decided_by: 'policy', context },
      decision: 'require_approval',
      code: 'approval_required',
      approval: { groups: ['ops'], quorum: 1 },
    } as const
    expect(tenant.admit('bot', { evaluation: asked }).kind).toBe('unavailable')
    // Both cost what a Call costs, and neither left an approval behind.
    expect(tenant.store.readCounters('bot')).toMatchObject({ day: { calls: 2 }, pendingApprovals: 0 })
    expect(tenant.store.readHead()).toMatchObject({ day: { calls: 2 }, pendingApprovals: 0 })
    tenant.store.room = false
    expect(tenant.admit('bot')).toEqual({ kind: 'unavailable', code: 'storage_full' })
  })
})
