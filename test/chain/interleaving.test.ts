/** Property: whatever comes in whatever order, the Chain is one, dense, and verified; and an id means one thing. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AdmitResult } from '../../src/chain/draft.ts'
import { denial } from '../harness/drafts.ts'
import { linesOf } from '../harness/follower.ts'
import { MemoryTenant } from '../harness/memory-tenant.ts'

const agent = fc.constantFrom('a', 'b')
const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined })

const ask = fc.record({
  kind: fc.constant('ask' as const),
  agent,
  requestId: maybe(fc.constantFrom('r1', 'r2')),
  nonce: maybe(fc.constantFrom('n1', 'n2')),
  body: fc.constantFrom('x', 'y'),
  decision: fc.constantFrom('allow', 'deny', 'require_approval'),
  late: fc.constantFrom(0, 0, 0, 300_000, 300_001),
  old: fc.constantFrom(false, false, false, true),
})
const step = fc.oneof(
  { weight: 10, arbitrary: ask },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('act' as const),
      act: fc.constantFrom('agent.freeze' as const, 'agent.unfreeze' as const),
      agent,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      ms: fc.constantFrom(1, 1_000, 60_000, 86_400_000, -5_000),
    }),
  },
)

const tight = {
  agent_rate_per_s: 1,
  agent_burst: 6,
  tenant_rate_per_s: 2,
  tenant_burst: 9,
  agent_daily_quota: 12,
  refused_calls_per_minute: 3,
  pending_per_agent: 2,
}

function draftOf(one: typeof ask extends fc.Arbitrary<infer T> ? T : never, tenant: MemoryTenant) {
  const nonce = one.nonce === undefined ? {} : { nonce: one.nonce }
  const requestId = one.requestId === undefined ? {} : { requestId: one.requestId }
  const approval = { groups: ['leads'], quorum: 1 }
  const evaluation =
    one.decision === 'allow'
      ? {}
      : one.decision === 'deny'
        ? denial()
        : ({ decision: 'require_approval', code: 'approval_required', approval } as const)
  return {
    ...nonce,
    ...requestId,
    timestamp: tenant.now - one.late,
    body: one.body,
    evaluation,
    ...(one.old ? { revision: tenant.revision - 1 } : {}),
  }
}

function ensure(holds: boolean, what: string): void {
  if (!holds) throw new Error(`does not hold: ${what}`)
}

describe('any interleaving', () => {
  it('is one dense Chain with every answer in it, and nothing else', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 40 }), (steps) => {
        const tenant = new MemoryTenant({ settings: tight, agents: ['a', 'b'] })
        tenant.do({ act: 'group.change', group: 'leads', members: ['lead@example.com'] })
        const answered: string[] = []
        let expected = tenant.outcomes.length
        const known = new Map<string, { readonly body: string; readonly line: string; readonly at: number }>()
        for (const one of steps) {
          if (one.kind === 'wait') tenant.now += one.ms
          else if (one.kind === 'act') tenant.do({ act: one.act, agentId: one.agent })
          else {
            const frozen = tenant.store.readAgent(one.agent)?.frozen === true
            const result: AdmitResult = tenant.admit(one.agent, draftOf(one, tenant))
            ensure(!one.old || result.kind === 'stale', 'an old draft is stale')
            const id = one.requestId === undefined ? undefined : `${one.agent}/${one.requestId}`
            const before = id === undefined ? undefined : known.get(id)
            if (result.kind === 'admitted') {
              expected += 1
              answered.push(result.line)
              ensure(!frozen || result.line.includes('"agent_frozen"'), 'a frozen agent is denied')
              if (id !== undefined && !frozen) {
                // Within a day an id leads to its first answer; it may be forgotten only after that.
                ensure(
                  before === undefined || tenant.now - before.at >= 86_400_000,
                  'an id is forgotten late',
                )
                known.set(id, { body: one.body, line: result.line, at: tenant.now })
              }
            } else if (result.kind === 'limited' && result.callId !== undefined) expected += 1
            else if (result.kind === 'repeated') {
              ensure(before?.body === one.body && before.line === result.line, 'a repeat is the first answer')
            } else if (result.kind === 'conflict') {
              ensure(before !== undefined && before.body !== one.body, 'a conflict has another body')
            }
          }
        }
        expect(tenant.outcomes.length).toBe(expected)
        const lines = linesOf(tenant.chain)
        for (const line of answered) expect(lines[(JSON.parse(line) as { seq: number }).seq]).toBe(line)
        expect(new Set(answered).size).toBe(answered.length)
      }),
      { numRuns: 60 },
    )
  })
})
