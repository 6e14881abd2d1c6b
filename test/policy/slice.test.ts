/**
 * policy.md §5: sliced and unsliced answers are equal, over generated bundles and requests, and the order of
 * policies changes nothing. 20,000 pairs of answers: 250 bundles of up to 24 policies, 80 requests each.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type PolicySet, createEngine } from '../../src/policy/index.ts'
import { actionGroups, contextOf, principalOf, toCedarRequest } from '../../src/policy/request.ts'
import { sliceFor, wholeSet } from '../../src/policy/slice.ts'
import { type JsonObject, nobleSuite } from '../../src/record/index.ts'
import { composePolicySet } from '../../src/policy/policy-set.ts'
import { type ToolAction, parseCatalogue } from '../../src/policy/catalogue.ts'
import { parseSettings } from '../../src/policy/settings.ts'
import { caseAgent, caseNowMs, trustLevels } from '../../src/policy/index.ts'
import { cedarModule } from './node-means.ts'

const engine = createEngine({ module: cedarModule })
const silent = (): void => undefined

const catalogue = parseCatalogue(
  Object.fromEntries(
    ['a', 'b', 'c'].map((tool, at) => [
      tool,
      Object.fromEntries(
        ['x', 'y', 'z'].map((action, n) => [
          action,
          {
            risk: ['low', 'medium', 'high', 'critical'][(at + n) % 4] as string,
            mutates_state: n > 0,
            args: { amount: { at: '/amount', type: 'integer' }, tag: { at: '/tag', type: 'string' } },
          },
        ]),
      ),
    ]),
  ),
  nobleSuite,
  silent,
)
const actions = [...catalogue.actions.values()]
const settings = parseSettings({ approver_groups: { ops: { quorum: 1 } }, default_group: 'ops' }, silent)

const names = [
  ...actions.map((action) => action.toolId),
  'mutating',
  'reading',
  'risk:low',
  'risk:critical',
  'tool:a',
  'tool:b',
  'tool:none',
  'no.action',
]
const entity = (id: string): JsonObject => ({ type: 'Action', id })
const head = fc.oneof(
  { weight: 1, arbitrary: fc.constant({ op: 'All' }) },
  { weight: 3, arbitrary: fc.constantFrom(...names).map((id) => ({ op: '==', entity: entity(id) })) },
  { weight: 3, arbitrary: fc.constantFrom(...names).map((id) => ({ op: 'in', entity: entity(id) })) },
  {
    weight: 3,
    arbitrary: fc
      .uniqueArray(fc.constantFrom(...names), { minLength: 1, maxLength: 4 })
      .map((ids) => ({ op: 'in', entities: ids.map(entity) })),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(...names).map((id) => ({ op: '==', entity: { __entity: entity(id) } })),
  },
)
const argument = (name: string): JsonObject => ({
  '.': { left: { '.': { left: { Var: 'context' }, attr: 'args' } }, attr: name },
})
/** True, false, depending on the request, and erring. */
const body = fc.oneof(
  fc.constantFrom<JsonObject>({ Value: true }, { Value: false }),
  fc.integer({ min: 0, max: 5 }).map((level) => ({
    '>': { left: { '.': { left: { Var: 'context' }, attr: 'trust' } }, right: { Value: level } },
  })),
  fc
    .integer({ min: 0, max: 9 })
    .map((amount) => ({ '<': { left: argument('amount'), right: { Value: amount } } })),
  fc.constantFrom('p', 'q').map((tag) => ({ '==': { left: argument('tag'), right: { Value: tag } } })),
  fc.constant({ '==': { left: { Var: 'action' }, right: { Value: { __entity: entity('a.x') } } } }),
  fc.constant({ in: { left: { Var: 'action' }, right: { Value: { __entity: entity('mutating') } } } }),
)
const policy = fc.record({
  effect: fc.constantFrom('permit', 'forbid'),
  action: head,
  conditions: fc.array(fc.record({ kind: fc.constantFrom('when', 'unless'), body }), { maxLength: 2 }),
})
const bundle = fc.array(policy, { minLength: 1, maxLength: 24 })
const request = fc.record({
  action: fc.constantFrom(...actions),
  tightened: fc.boolean(),
  trust: fc.constantFrom(...trustLevels),
  amount: fc.option(fc.integer({ min: 0, max: 9 })),
  tag: fc.option(fc.constantFrom('p', 'q', 'r')),
})

function composed(policies: readonly JsonObject[], order: readonly number[]): PolicySet {
  const all = { op: 'All' }
  const byId = new Map(
    order.map((at) => {
      const id = `p${String(at)}`
      return [id, { ...policies[at], annotations: { id }, principal: all, resource: all }] as const
    }),
  )
  const set = composePolicySet({ settings, catalogue, policies: byId }, nobleSuite, [])
  if (set === undefined) throw new Error('the generated set is refused')
  return set.policySet
}

function requestOf(one: {
  action: ToolAction
  tightened: boolean
  trust: (typeof trustLevels)[number]
  amount: number | null
  tag: string | null
}) {
  const mutatesState = one.action.mutatesState || one.tightened
  const context = contextOf(
    {
      sourceTrust: one.trust,
      mutatesState,
      risk: one.action.risk,
      riskScore: one.action.riskScore,
      containsSensitiveData: false,
      environment: '',
      nowMs: caseNowMs,
    },
    {
      args: {
        ...(one.amount === null ? {} : { amount: { long: String(one.amount) } }),
        ...(one.tag === null ? {} : { tag: one.tag }),
      },
    },
  )
  const tagged = {
    principal: principalOf(caseAgent),
    action: entity(one.action.toolId) as { type: string; id: string },
    resource: { type: 'Resource', id: '' },
    context,
  }
  const cedar = toCedarRequest(tagged, actionGroups(one.action, mutatesState))
  if (!cedar.ok) throw new Error(cedar.why)
  return { mutatesState, cedar: cedar.request }
}

describe('slices', { timeout: 120_000 }, () => {
  it('answer as the whole set does', () => {
    let pairs = 0
    let smaller = 0
    const kinds = new Set<string>()
    fc.assert(
      fc.property(bundle, fc.array(request, { minLength: 80, maxLength: 80 }), (policies, requests) => {
        const policySet = composed(policies, [...policies.keys()])
        for (const one of requests) {
          const { mutatesState, cedar } = requestOf(one)
          const slice = sliceFor(policySet, one.action, mutatesState)
          const sliced = engine.authorize(slice, cedar)
          expect(sliced).toEqual(engine.authorize(wholeSet(policySet), cedar))
          pairs += 1
          if (slice.size < policySet.policies.size) smaller += 1
          if (sliced.kind === 'answered') {
            kinds.add(
              `${String(sliced.allow)} ${String(sliced.determining.length > 0)} ${String(sliced.errored.length > 0)}`,
            )
          } else kinds.add('failed')
        }
      }),
      { numRuns: 250 },
    )
    expect(pairs).toBeGreaterThanOrEqual(20_000)
    // The test would say nothing if slices were whole sets, or if every answer were the same.
    expect(smaller).toBeGreaterThan(pairs / 2)
    expect([...kinds].sort()).toEqual([
      'false false false',
      'false false true',
      'false true false',
      'false true true',
      'true true false',
      'true true true',
    ])
  })

  it('do not depend on the order of policies', () => {
    const second = createEngine({ module: cedarModule })
    fc.assert(
      fc.property(
        bundle,
        fc.array(request, { minLength: 5, maxLength: 5 }),
        fc.gen(),
        (policies, requests, gen) => {
          const order = gen(fc.shuffledSubarray, [...policies.keys()], { minLength: policies.length })
          const one = composed(policies, [...policies.keys()])
          const other = composed(policies, order)
          expect(other.policySetHash).toBe(one.policySetHash)
          for (const each of requests) {
            const { mutatesState, cedar } = requestOf(each)
            expect(second.authorize(sliceFor(other, each.action, mutatesState), cedar)).toEqual(
              engine.authorize(sliceFor(one, each.action, mutatesState), cedar),
            )
          }
        },
      ),
      { numRuns: 40 },
    )
  })

  it('of unscoped policies are the whole set itself', () => {
    const policies = Array.from({ length: 10 }, () => ({
      effect: 'permit',
      action: { op: 'All' },
      conditions: [],
    }))
    const policySet = composed(policies, [...policies.keys()])
    for (const action of actions) expect(sliceFor(policySet, action, true)).toBe(wholeSet(policySet))
  })
})

describe('a slice of hostile policies', () => {
  const head = { effect: 'forbid', principal: { op: 'All' }, resource: { op: 'All' }, conditions: [] }
  const setOf = (policies: readonly JsonObject[]): PolicySet => {
    const byId = policies.map((json, at) => [`p${String(at)}`, json] as const)
    const named = byId.map(([id, json]) => [id, { ...json, annotations: { id } }] as const)
    const composed = composePolicySet({ settings, catalogue, policies: new Map(named) }, nobleSuite, [])
    if (composed === undefined) throw new Error('no set')
    return composed.policySet
  }
  it('counts by size: few large policies must not fill the memory', () => {
    const values = Array.from({ length: 900 }, (_, at) => ({ Value: at }))
    const body = { contains: { left: { Set: values }, right: { Value: 1 } } }
    const large = { ...head, action: { op: 'All' }, conditions: [{ kind: 'when', body }] }
    const small = { ...head, action: { op: 'All' } }
    expect(wholeSet(setOf([small, small])).size).toBe(2)
    expect(wholeSet(setOf([large])).size).toBeGreaterThan(25)
  })
  it('holds a policy whose head Cedar and we could read apart', () => {
    const [browse, change] = [
      { type: 'Action', id: 'a.x' },
      { type: 'Action', id: 'a.y' },
    ]
    const both = { op: 'in', entity: change, entities: [browse] } as unknown as JsonObject
    const others = Array.from({ length: 9 }, () => ({ ...head, action: { op: '==', entity: browse } }))
    const policySet = setOf([{ ...head, action: both }, ...others])
    const action = actions.find(({ toolId }) => toolId === 'a.y')
    expect(Object.keys(sliceFor(policySet, action as ToolAction, true).policies())).toEqual(['p0'])
  })
})
