/**
 * SPEC.md §10: whatever our writer recorded comes out as it was recorded under its own policy sets, also where the set, the
 * agent or the catalogue changed within one Chain, and whatever a person did with what was parked.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/record/index.ts'
import { bundleOf, settings, tools } from '../policy/claims/build.ts'
import { check } from '../harness/properties.ts'
import { recheck, verdictsOf } from '../harness/recheck.ts'
import {
  type RecordedCallOf,
  RecordedTenant,
  type TestCall,
  recheckEngine,
} from '../harness/recorded-tenant.ts'

const shop = tools['shop'] as JsonObject
const permits = `
  @id("browse") permit (principal, action in Action::"reading", resource);
  @id("order") permit (principal, action == Action::"shop.order", resource);
  @id("too-much") forbid (principal, action == Action::"shop.order", resource)
    when { context.args has amount && context.args.amount > 250 };
  @id("large") @decision("require_approval") @approvers("finance")
  permit (principal, action == Action::"shop.order", resource) when { context.args has amount && context.args.amount > 100 };
  @id("wipe") permit (principal, action == Action::"shop.wipe", resource);
  @id("send") permit (principal in Role::"mailer", action == Action::"shop.send", resource);`

/** Sets that differ in what they permit, whom they ask, and which tools and arguments there are. */
const bundles = [
  bundleOf(recheckEngine, permits),
  bundleOf(
    recheckEngine,
    `${permits} @id("no-cards") forbid (principal, action == Action::"shop.order", resource)
       when { context.args has card && context.args.card like "4*" };
     @id("night") forbid (principal, action in Action::"mutating", resource) when { context.now < datetime("2026-11-30T12:05:00Z") };`,
  ),
  bundleOf(recheckEngine, permits.replaceAll('"finance"', '"ops"').replaceAll('100', '10'), {
    'settings.json': { ...settings, approver_groups: { ops: { quorum: 2 }, finance: { quorum: 1 } } },
    'tools.json': {
      shop: {
        ...shop,
        order: {
          ...(shop['order'] as JsonObject),
          risk: 'high',
          args: { amount: { at: '/total', type: 'integer' }, card: { at: '/card', type: 'string' } },
        },
        send: { risk: 'low', mutates_state: false },
        fetch: { risk: 'low', mutates_state: false, args: { 'net.url': { at: '/url', required: true } } },
      },
    },
  }),
]

const text = fc.constantFrom('a', '4111', '5500', '', '\u0001"\\', 'déjà ☕', '__entity', 'x'.repeat(3_000))
const wildCall: fc.Arbitrary<TestCall> = fc
  .record(
    {
      tool: fc.constantFrom('shop', 'SHOP', 'shop', 'depot', 'sh\u200bop'),
      action: fc.constantFrom('browse', 'order', 'order', 'order', 'wipe', 'send', 'read_file', 'fetch'),
      parameters: fc.dictionary(
        fc.constantFrom(
          'amount',
          'total',
          'card',
          'text',
          'to',
          'path',
          'url',
          'from',
          'when',
          'price',
          'tags',
        ),
        fc.oneof(
          text,
          fc.integer({ min: -5, max: 300 }),
          fc.constantFrom('10.0.0.1', '/a/../b', 'https://example.com:8443/x', '2026-11-30', '1.5'),
          fc.array(text, { maxLength: 3 }),
        ),
        { noNullPrototype: true },
      ),
      resource: fc.constantFrom(null, 'shop:a', 'elsewhere'),
      mutatesState: fc.boolean(),
      sourceTrust: fc.constantFrom('unknown', 'semi_trusted_customer', 'trusted_internal_signed'),
      session: text,
      userId: text,
      metadata: fc.constant({ build: '7' }),
    },
    { requiredKeys: ['tool', 'action'] },
  )
  .map(({ session, userId, ...rest }) => ({
    ...rest,
    ...(session === undefined ? {} : { session: session.slice(0, 64) }),
    ...(userId === undefined ? {} : { userId: userId.slice(0, 64) }),
  }))

/** One that nothing is wrong with, so that policies get to decide. */
const plainCall: fc.Arbitrary<TestCall> = fc.record({
  tool: fc.constant('shop'),
  action: fc.constant('order'),
  parameters: fc
    .record(
      {
        amount: fc.integer({ min: 0, max: 300 }),
        total: fc.integer({ min: 0, max: 300 }),
        card: fc.constantFrom('4111', '5500'),
      },
      { noNullPrototype: true, requiredKeys: ['amount'] },
    )
    .map((parameters): JsonObject => parameters),
})
const mismatched: TestCall = { tool: 'shop', action: 'send', parameters: { to: 'a' }, resource: 'shop:b' }
const call = fc.oneof(
  { weight: 6, arbitrary: plainCall },
  { weight: 4, arbitrary: wildCall },
  { weight: 1, arbitrary: fc.constant(mismatched) },
)

type Step =
  | { readonly step: 'call'; readonly call: TestCall }
  | { readonly step: 'activate'; readonly bundle: number }
  | { readonly step: 'shadow'; readonly bundle: number | undefined }
  | { readonly step: 'agent'; readonly force: boolean; readonly trust: string }
  | { readonly step: 'freeze' | 'unfreeze' }
  | { readonly step: 'approve'; readonly votes: readonly string[] }
  | { readonly step: 'deny' | 'consume' }

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: fc.record({ step: fc.constant('call' as const), call }) },
    {
      weight: 2,
      arbitrary: fc.record({
        step: fc.constantFrom('activate' as const, 'shadow' as const),
        bundle: fc.nat(bundles.length - 1),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        step: fc.constant('agent' as const),
        force: fc.boolean(),
        trust: fc.constantFrom('semi_trusted_customer', 'trusted_internal_signed'),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        step: fc.constantFrom('freeze' as const, 'unfreeze' as const, 'unfreeze' as const),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        step: fc.constant('approve' as const),
        votes: fc.constantFrom(
          ['finance-1', 'finance-2'],
          ['finance-1'],
          ['ops-1'],
          ['ops-1', 'ops-2', 'finance-1', 'finance-2'],
        ),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        step: fc.constantFrom('deny' as const, 'consume' as const, 'consume' as const),
      }),
    },
  ),
  { minLength: 5, maxLength: 40 },
)

const order = (amount: number): Step => ({
  step: 'call',
  call: { tool: 'shop', action: 'order', parameters: { amount, total: amount } },
})
/** A life that chance seldom draws: approved, and asked for more by the time of its use. */
const insufficient: readonly Step[] = [
  order(50),
  order(260),
  order(150),
  { step: 'consume' },
  { step: 'approve', votes: ['finance-1', 'finance-2'] },
  { step: 'activate', bundle: 2 },
  { step: 'consume' },
  { step: 'activate', bundle: 0 },
  { step: 'consume' },
  { step: 'call', call: mismatched },
  { step: 'call', call: { ...mismatched, action: 'gone' } },
  { step: 'call', call: { ...mismatched, parameters: {} } },
  { step: 'call', call: { ...mismatched, resource: null, tool: ' shop' } },
  { step: 'shadow', bundle: 1 },
  order(50),
  { step: 'shadow', bundle: undefined },
  { step: 'freeze' },
  order(50),
]

function run(written: readonly Step[]): RecordedTenant {
  const recorded = new RecordedTenant(bundles[0] as (typeof bundles)[number], [
    { id: 'bot', roles: ['coder', 'mailer'] },
  ])
  const pending: RecordedCallOf[] = []
  for (const step of written) {
    try {
      perform(recorded, step, pending)
    } catch (thrown) {
      // A vote of someone who was not asked, a use of what nobody approved yet: not what is tested here.
      if (!(thrown instanceof Error && /^(approve|deny): /.test(thrown.message))) throw thrown
    }
  }
  recorded.verify()
  return recorded
}

function perform(recorded: RecordedTenant, step: Step, pending: RecordedCallOf[]): void {
  const [first] = pending
  switch (step.step) {
    case 'call': {
      const made = recorded.authorize(step.call)
      if (made.line.policy.status === 'pending_approval') pending.push(made)
      return
    }
    case 'activate':
      recorded.activate(bundles[step.bundle] as (typeof bundles)[number])
      return
    case 'shadow':
      recorded.shadow(step.bundle === undefined ? undefined : bundles[step.bundle])
      return
    case 'agent':
      recorded.change({ id: 'bot', forceApproval: step.force, trustMax: step.trust })
      return
    case 'freeze':
    case 'unfreeze':
      recorded.tenant.do({ act: `agent.${step.step}`, agentId: 'bot' })
      return
    case 'approve':
      if (first !== undefined) recorded.approve(first, step.votes)
      return
    case 'deny':
      if (first !== undefined) recorded.deny(first, 'finance-3')
      return
    case 'consume':
      if (first === undefined) return
      if (recorded.consume(first).policy.status === 'allowed') pending.shift()
      return
  }
}

describe('what our writer recorded', { timeout: 120_000 }, () => {
  it('is unchanged under its own policy sets, whatever changed within the Chain', () => {
    const seen = new Map<string, number>()
    check(
      fc.property(steps, (written) => {
        const recorded = run(written)
        const given = { under: recorded.objects, envelopes: recorded.envelopes }
        const done = recheck(recorded.chain, given)
        const changed = verdictsOf(done).filter((verdict) => !verdict.startsWith('unchanged '))
        expect(changed).toEqual([])
        // Not only the status: the policies and the code too.
        for (const { line, now, outsidePolicy } of done.rechecked) {
          const kind = `${outsidePolicy ? 'pipeline ' : ''}${line.was.reason ?? line.was.status ?? ''}${line.approvalRef === undefined ? '' : ' use'}${line.shadow === undefined ? '' : ' shadow'}`
          seen.set(kind, (seen.get(kind) ?? 0) + 1)
          if (now === undefined) continue
          expect(now.rules).toEqual(line.was.rules)
          expect(now.status === 'denied' ? now.code : undefined).toBe(line.was.reason)
        }
      }),
      { numRuns: 150, examples: [[insufficient]] },
    )
    // What was drawn reached what it is to reach.
    for (const kind of [
      'allowed',
      'allowed use',
      'pending_approval',
      'policy_denied',
      'no_policy_permits',
      'unknown_tool',
      'binding_failed',
      'resource_mismatch',
      'approval_insufficient use',
      'allowed shadow',
      'pipeline agent_frozen',
      'pipeline identifier_not_allowed',
      'pipeline not_approved use',
    ]) {
      expect([kind, seen.has(kind)]).toEqual([kind, true])
    }
  })
})
