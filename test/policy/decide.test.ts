/** policy.md §4: overrides in order, approvals by the strictest, shadow, and axes that hold what was evaluated. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type Engine,
  cedarRequestFromAxes,
  createEngine,
  decide,
  redecide,
  trustLevels,
} from '../../src/policy/index.ts'
import {
  type JsonObject,
  type JsonValue,
  type ValueDigest,
  encodeCanonical,
  nobleSuite,
  parseLineObject,
  toDigest,
} from '../../src/record/index.ts'
import { type Asked, ask, bundleOf, inputOf, settings, tools } from './claims/build.ts'
import { cedarModule } from './node-means.ts'

const engine = createEngine({ module: cedarModule })
const permit = '@id("p") permit(principal, action, resource);'
const order = (id: string, annotations: string): string =>
  `@id("${id}") ${annotations} permit(principal, action == Action::"shop.order", resource);`

describe('what is recorded of the request', () => {
  it('its session, where it has one', () => {
    const bundle = bundleOf(engine, permit)
    const asked = inputOf(bundle, {})
    const means = { engine, digester: nobleSuite }
    const named = decide({ ...asked, request: { ...asked.request, session: 'run-7' } }, means)
    expect(named.axes).toMatchObject({ session: 'run-7', context: { session: 'run-7' } })
    expect(asked.request).not.toHaveProperty('session')
    expect(decide(asked, means).axes).not.toHaveProperty('session')
  })

  it('rules_total only where matched_rules was cut', () => {
    const rules = Array.from({ length: 64 }, (_, at) => order(`r${String(at).padStart(2, '0')}`, '')).join(
      '\n',
    )
    const { axes } = ask(engine, bundleOf(engine, rules))
    expect(axes.matched_rules).toHaveLength(64)
    expect(axes).not.toHaveProperty('rules_total')
  })
})

describe('approvals are the strictest', () => {
  const groups = {
    'settings.json': {
      ...settings,
      approver_groups: { ops: { quorum: 1 }, finance: { quorum: 2 }, legal: { quorum: 1 } },
    },
  }
  it('every named group, the highest quorum of any', () => {
    const text = [
      permit,
      order('a', '@decision("require_approval") @approvers("legal")'),
      order('b', '@decision("require_approval") @approvers("finance, legal") @quorum("1")'),
    ].join('\n')
    const evaluation = ask(engine, bundleOf(engine, text, groups))
    expect(evaluation).toMatchObject({
      decision: 'require_approval',
      code: 'approval_required',
      approval: { groups: ['finance', 'legal'], quorum: 2 },
      matchedRules: ['a', 'b', 'p'],
    })
    expect(evaluation.axes).toMatchObject({ overrides: ['approval_required'], matched_rule: 'a' })
  })
  it('a policy may ask for more than its groups', () => {
    const text = order('a', '@decision("require_approval") @approvers("ops") @quorum("3")')
    expect(ask(engine, bundleOf(engine, text, groups)).approval).toEqual({ groups: ['ops'], quorum: 3 })
  })
  it.each([
    ['3', '2'],
    ['2', '3'],
  ])('of quorums %s and %s the higher, in whatever order the policies stand', (first, second) => {
    const text =
      order('a', `@decision("require_approval") @approvers("ops") @quorum("${first}")`) +
      order('b', `@decision("require_approval") @approvers("ops") @quorum("${second}")`)
    expect(ask(engine, bundleOf(engine, text, groups)).approval).toEqual({ groups: ['ops'], quorum: 3 })
  })
  it('a policy that names nobody asks the default group, beside those that others name', () => {
    const text =
      order('a', '@decision("require_approval")') +
      order('b', '@decision("require_approval") @approvers("legal")')
    expect(ask(engine, bundleOf(engine, text, groups)).approval).toEqual({
      groups: ['legal', 'ops'],
      quorum: 1,
    })
  })
  it('does not depend on the order of files', () => {
    const texts = ['legal', 'finance', 'ops'].map((group, at) =>
      order(`r${String(at)}`, `@decision("require_approval") @approvers("${group}")`),
    )
    const answers = [texts, [...texts].reverse()].map((list) => {
      const files = Object.fromEntries(list.map((text, at) => [`${String(at)}.cedar`, text]))
      return ask(engine, bundleOf(engine, '', { ...groups, ...files }))
    })
    expect(answers[0]).toEqual(answers[1])
    expect(answers[0]?.approval).toEqual({ groups: ['finance', 'legal', 'ops'], quorum: 2 })
  })
})

describe('overrides tighten, in order', () => {
  const withOrder = (change: JsonObject): { [file: string]: JsonValue } => ({
    'tools.json': {
      shop: {
        ...(tools['shop'] as JsonObject),
        order: { ...(tools['shop'] as { [a: string]: JsonObject })['order'], ...change },
      },
    },
  })
  const asking = order('a', '@decision("require_approval") @approvers("finance")')
  it.each<[string, string, JsonObject, Asked, object]>([
    ['the catalogue denies', permit, { default: 'deny' }, {}, { decision: 'deny', code: 'default_deny' }],
    [
      'the catalogue denies what a policy would ask about',
      asking,
      { default: 'deny' },
      {},
      { code: 'default_deny' },
    ],
    [
      'the catalogue asks',
      permit,
      { default: 'require_approval' },
      {},
      { code: 'default_require_approval', approval: { groups: ['ops'], quorum: 1 } },
    ],
    ['critical asks', permit, { risk: 'critical' }, {}, { code: 'critical_requires_approval' }],
    [
      'critical adds nothing to a policy that asks',
      asking,
      { risk: 'critical' },
      {},
      { code: 'approval_required', approval: { groups: ['finance'], quorum: 2 } },
    ],
    [
      'the flag asks',
      permit,
      {},
      { agent: { forceApproval: true } },
      { code: 'force_approval', decision: 'require_approval' },
    ],
    [
      'the catalogue comes before the flag',
      permit,
      { default: 'require_approval' },
      { agent: { forceApproval: true } },
      { code: 'default_require_approval' },
    ],
    [
      'nothing loosens a denial',
      '@id("f") @reason("no") forbid(principal, action, resource);',
      { default: 'require_approval' },
      {},
      { decision: 'deny', code: 'policy_denied', detail: 'no' },
    ],
    [
      'nothing permits by default',
      '@id("f") forbid(principal, action, resource) when { context.trust < 0 };',
      { default: 'require_approval' },
      {},
      { code: 'no_policy_permits' },
    ],
  ])('%s', (_, text, change, asked, want) => {
    expect(ask(engine, bundleOf(engine, text, withOrder(change)), asked)).toMatchObject(want)
  })
  it('an agent that is flagged where no group could be asked is denied', () => {
    const bare = {
      'settings.json': {},
      'tools.json': { shop: { order: { risk: 'low', mutates_state: true } } },
    }
    const evaluation = ask(engine, bundleOf(engine, permit, bare), { agent: { forceApproval: true } })
    expect(evaluation).toMatchObject({ decision: 'deny', code: 'no_approver_group' })
    expect(evaluation.axes.overrides).toEqual(['force_approval', 'no_approver_group'])
  })
})

describe('before Cedar', () => {
  const bundle = bundleOf(engine, permit)
  it.each<[string, Asked, object, object]>([
    [
      'an identifier',
      { tool: 'sh\u200bop', action: 'x'.repeat(300) },
      { code: 'identifier_not_allowed', decidedBy: 'pipeline', toolId: '-' },
      { claims: { tool: 'sh\u200bop', action: 'x'.repeat(128) } },
    ],
    [
      'an unknown tool',
      { action: 'pay' },
      {
        code: 'unknown_tool',
        decidedBy: 'policy',
        toolId: 'shop.pay',
        mutatesState: true,
        risk: { level: 'critical', score: 95 },
      },
      { overrides: ['unknown_tool'] },
    ],
    [
      'a missing argument',
      { action: 'send' },
      { code: 'binding_failed', detail: 'argument to: missing' },
      { overrides: ['binding_failed'] },
    ],
    [
      'another resource',
      { action: 'send', parameters: { to: 'a' }, resource: 'shop:b' },
      { code: 'resource_mismatch' },
      { claims: { mutates_state: false, resource: 'shop:b' }, resource: { type: 'Resource', id: 'shop:a' } },
    ],
  ])('%s', (_, asked, want, axes) => {
    const evaluation = ask(engine, bundle, asked)
    expect(evaluation).toMatchObject({ decision: 'deny', matchedRules: [], ...want })
    expect(evaluation.axes).toMatchObject(axes)
  })
  it('a derived resource is used where the caller named none', () => {
    const evaluation = ask(engine, bundle, { action: 'send', parameters: { to: 'a' } })
    expect(evaluation).toMatchObject({ decision: 'allow' })
    expect(evaluation.axes.resource?.id).toBe('shop:a')
  })
  it('paths and addresses are recorded', () => {
    const read = ask(engine, bundle, { action: 'read_file', parameters: { path: '/a/../b' } })
    expect(read.axes).toMatchObject({
      capability: 'fs.read',
      fs: { path_raw: '/a/../b', path_canonical: '/b' },
      context: { fs: { path: '/b' } },
    })
    const send = ask(engine, bundle, {
      action: 'send',
      parameters: { to: 'a', url: 'https://Example.com/secret?x' },
    })
    expect(send.axes).toMatchObject({ net: { host: 'example.com', port: 443 } })
    expect(JSON.stringify(send.axes)).not.toContain('secret')
  })
})

describe('a shadow set', () => {
  it('is recorded and never given', () => {
    const active = bundleOf(engine, permit)
    const candidate = bundleOf(engine, '@id("no") forbid(principal, action, resource);')
    const evaluation = decide(
      { ...inputOf(active, {}), shadow: candidate.policySet },
      { engine, digester: nobleSuite },
    )
    expect(evaluation.decision).toBe('allow')
    expect(evaluation.axes.shadow).toEqual({
      policy_set_hash: candidate.policySet.policySetHash,
      status: 'denied',
      reason: 'policy_denied',
      matched_rules: ['no'],
    })
    const { axes } = ask(engine, active)
    expect({ ...evaluation.axes, shadow: undefined }).toEqual({ ...axes, shadow: undefined })
  })
})

describe('the axes', { timeout: 60_000 }, () => {
  const bundle = bundleOf(
    engine,
    `${permit}
     @id("q") @reason("large") @decision("require_approval") permit(principal in Role::"buyer", action == Action::"shop.order", resource) when { context.args has total && context.args.total > 50 };
     @id("r") forbid(principal, action, resource) when { context has user && context.user.id == "mallory" };`,
  )
  const text = fc.oneof(
    fc.string({ maxLength: 20 }),
    fc.string({ unit: 'grapheme', maxLength: 8 }),
    fc.constantFrom('p', '__entity', '\u0000\u0001"\\'),
  )
  const fields = fc.record(
    {
      amount: fc.maxSafeInteger(),
      tags: fc.array(text, { maxLength: 5 }),
      text,
      payments: fc.array(fc.record({ amount: fc.integer({ min: -100, max: 100 }) }), { maxLength: 4 }),
      when: fc
        .date({ min: new Date('0001-01-02'), max: new Date('9998-01-01'), noInvalidDate: true })
        .map((date) => date.toISOString()),
      from: fc.oneof(fc.ipV4(), fc.constantFrom('::1', '10.0.0.0/8')),
      price: fc.integer({ min: -1_000_000, max: 1_000_000 }).map((units) => units / 10_000),
      card: text,
    },
    { requiredKeys: [] },
  )
  /** A digested value cannot be rebuilt from the Chain: in one request of four. */
  const parameters = fc
    .tuple(fields, fc.nat(3))
    .map(([{ card, ...rest }, n]) => (n === 0 && card !== undefined ? { ...rest, card } : rest))
  const asked = fc.record({
    parameters,
    trust: fc.constantFrom(...trustLevels),
    mutates: fc.boolean(),
    sensitive: fc.boolean(),
    resource: fc.option(text),
    agent: fc.record({
      id: text,
      roles: fc.array(fc.constantFrom('buyer', 'auditor', 'x'), { maxLength: 3 }),
      environment: text,
      owner: text,
      riskTier: text,
      trustMax: fc.constantFrom(...trustLevels),
      forceApproval: fc.boolean(),
    }),
    userId: fc.option(fc.constantFrom('u1', 'mallory')),
    session: fc.option(text),
    nowMs: fc.integer({ min: 0, max: 4_102_444_800_000 }),
  })
  /** What the engine was given, call by call. */
  function spied(): { readonly engine: Engine; readonly given: unknown[] } {
    const given: unknown[] = []
    return {
      given,
      engine: {
        ...engine,
        authorize: (group, request) => (given.push(request), engine.authorize(group, request)),
      },
    }
  }

  it('are in the value space of a Line, rebuild the request that was evaluated, and decide the same again', () => {
    let rebuilt = 0
    fc.assert(
      fc.property(asked, ({ userId, session, ...rest }) => {
        const spy = spied()
        const input = inputOf(bundle, rest)
        const request = {
          ...input.request,
          ...(userId === null ? {} : { userId }),
          ...(session === null ? {} : { session }),
        }
        const evaluation = decide({ ...input, request }, { engine: spy.engine, digester: nobleSuite })
        const bytes = encodeCanonical(evaluation.axes as unknown as JsonValue)
        const read = parseLineObject(bytes)
        if (!read.ok) throw new Error(JSON.stringify(read.error))
        expect(encodeCanonical(read.value)).toEqual(bytes)
        const axes = JSON.parse(new TextDecoder().decode(bytes)) as typeof evaluation.axes
        const action = bundle.policySet.catalogue.toolAction('shop.order')
        if (action === undefined) throw new Error('shop.order is missing')
        const again = redecide(axes, 'shop.order', bundle.policySet, { engine, digester: nobleSuite })
        const digested = 'card' in rest.parameters
        const rebuiltRequest = cedarRequestFromAxes(axes, action)
        expect(rebuiltRequest).toEqual(digested ? undefined : spy.given[0])
        expect(again.kind).toBe(digested ? 'needs_envelope' : 'evaluated')
        if (again.kind !== 'evaluated') return
        rebuilt += 1
        const { decision, code, detail, matchedRules, approval, mutatesState, sourceTrust, risk } = evaluation
        expect(again.evaluation).toMatchObject({
          decision,
          code,
          detail,
          matchedRules,
          mutatesState,
          sourceTrust,
          risk,
        })
        expect(again.evaluation.approval).toEqual(approval)
      }),
      { numRuns: 300 },
    )
    expect(rebuilt).toBeGreaterThan(150)
  })

  it('are the same for the same input, and keep the first 64 of many rules', () => {
    const many = Array.from(
      { length: 70 },
      (_, at) => `@id("r${String(at).padStart(2, '0')}") permit(principal, action, resource);`,
    )
    const evaluation = ask(engine, bundleOf(engine, many.join('\n')))
    expect(evaluation.matchedRules).toHaveLength(70)
    expect(evaluation.axes).toMatchObject({ matched_rule: 'r00', rules_total: 70 })
    expect(evaluation.axes.matched_rules).toHaveLength(64)
    expect([...evaluation.matchedRules].sort()).toEqual(evaluation.matchedRules)
  })

  it('hold the digest of a value and not the value', () => {
    const { axes } = ask(engine, bundle, { parameters: { card: 'card-4421486', amount: 1 } })
    expect(JSON.stringify(axes)).not.toContain('4421486')
    const digest = toDigest<ValueDigest>(nobleSuite.sha256(encodeCanonical('card-4421486')))
    expect(axes.context?.['args']).toEqual({ amount: { long: '1' }, card: { digest } })
  })

  it('fit into a Line: what would not is denied, and that fits', () => {
    const control = '\u0001'
    const shop = tools['shop'] as { [action: string]: JsonObject }
    const args = { a: { at: '/a', type: 'string' }, b: { at: '/b', type: 'string' } }
    const large = bundleOf(engine, permit, { 'tools.json': { shop: { order: { ...shop['order'], args } } } })
    const evaluated = (metadataBytes: number) =>
      decide(
        {
          ...inputOf(large, {}),
          request: {
            ...inputOf(large, { parameters: { a: control.repeat(1_300) } }).request,
            metadata: { note: control.repeat(metadataBytes) },
          },
        },
        { engine, digester: nobleSuite },
      )
    const bytesOf = (axes: object): number => encodeCanonical(axes as JsonValue).length
    const fits = evaluated(6_000)
    expect(fits.decision).toBe('allow')
    expect(bytesOf(fits.axes)).toBeGreaterThan(43_000)
    const over = evaluated(8_000)
    expect(over).toMatchObject({
      decision: 'deny',
      code: 'binding_failed',
      detail: 'argument *: too much in all',
    })
    expect(bytesOf(over.axes)).toBeLessThan(2_000)
  })

  it('hold a reason of at most 512 bytes, cut at a character', () => {
    const reason = 'é'.repeat(200)
    const rules = ['a', 'b', 'c'].map(
      (id) => `@id("${id}") @reason("${reason}${id}") forbid(principal, action, resource);`,
    )
    const { axes } = ask(engine, bundleOf(engine, rules.join('\n')))
    const bytes = new TextEncoder().encode(axes.reason_text ?? '')
    expect(bytes.length).toBeGreaterThan(500)
    expect(bytes.length).toBeLessThanOrEqual(512)
    expect(axes.reason_text).not.toContain('\ufffd')
  })

  it('of others, or without a request, are not evaluated', () => {
    const means = { engine, digester: nobleSuite }
    expect(redecide({}, 'shop.order', bundle.policySet, means)).toEqual({ kind: 'no_binding' })
    const { axes } = ask(engine, bundle)
    expect(redecide(axes, 'shop.gone', bundle.policySet, means)).toEqual({ kind: 'unknown_tool' })
    const smuggled = { ...axes, context: { ...axes.context, source_trust: 'x' } }
    expect(redecide(smuggled, 'shop.order', bundle.policySet, means)).toEqual({ kind: 'no_binding' })
    const entity = {
      ...axes,
      context: { ...axes.context, args: { __entity: { type: 'Role', id: 'buyer' } } },
    }
    expect(redecide(entity, 'shop.order', bundle.policySet, means)).toEqual({ kind: 'no_binding' })
  })

  it('are judged anew under another catalogue', () => {
    const { axes } = ask(engine, bundle)
    const stricter = bundleOf(engine, permit, {
      'tools.json': { shop: { order: { risk: 'critical', mutates_state: true } } },
    })
    const again = redecide(axes, 'shop.order', stricter.policySet, { engine, digester: nobleSuite })
    expect(again).toMatchObject({
      kind: 'evaluated',
      evaluation: { code: 'critical_requires_approval', risk: { level: 'critical' } },
    })
  })
})
