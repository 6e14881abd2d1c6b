/** The bundles to learn from: they have no finding, their cases pass, and the cases try every rule on both sides. */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  type Bundle,
  type CaseResult,
  caseAgent,
  createEngine,
  decide,
  describeFinding,
  readBundle,
  runCases,
} from '../../src/policy/index.ts'
import { type JsonObject, canonicalText, nobleSuite } from '../../src/record/index.ts'
import { cedarModule, readFolder } from './node-means.ts'

const means = { engine: createEngine({ module: cedarModule }), digester: nobleSuite }
const examples = 'policies/examples'
const names = readdirSync(examples).toSorted()

function read(name: string): { readonly bundle: Bundle; readonly findings: readonly string[] } {
  const { bundle, findings } = readBundle(readFolder(join(examples, name)), means)
  const texts = findings.map(describeFinding)
  if (bundle === undefined) throw new Error(texts.join('\n'))
  return { bundle, findings: texts }
}

it('there are examples', () => {
  expect(names).toEqual(['airline', 'github'])
})

describe.each(names)('policies/examples/%s', { timeout: 60_000 }, (name) => {
  const { bundle, findings } = read(name)
  const results: readonly CaseResult[] = runCases(bundle, means)

  it('has no finding at all', () => {
    expect(findings).toEqual([])
  })

  it.each(results.map((result) => [result.file, result.name, result] as const))('%s: %s', (_, __, result) => {
    expect(result.problems).toEqual([])
  })

  it('says why: every rule has a reason', () => {
    const silent = [...bundle.policySet.policies.values()].filter(
      ({ reason }) => (reason ?? '').trim() === '',
    )
    expect(silent.map(({ id }) => id)).toEqual([])
  })

  it('begins every file with what it permits or forbids', () => {
    const files = readdirSync(join(examples, name)).filter((one) => one.endsWith('.cedar'))
    const first = files.map((file) => readFileSync(join(examples, name, file), 'utf8').split('\n')[0] ?? '')
    expect(first.filter((line) => !/^\/\/ (Permits|Forbids) .+[.:,a-z]$/.test(line))).toEqual([])
  })

  it('is tried by its cases on every rule, and beside it', () => {
    const { catalogue, policies } = bundle.policySet
    const decided = results.filter(({ evaluation }) => evaluation.axes.context !== undefined)
    const oneSided = [...policies.keys()].filter((id) => {
      const matching = decided.filter(({ evaluation }) => evaluation.matchedRules.includes(id))
      return matching.length === 0 || matching.length === decided.length
    })
    expect(oneSided).toEqual([])
    const tried = new Set(results.map(({ evaluation }) => evaluation.toolId))
    expect([...catalogue.actions.keys()].filter((toolId) => !tried.has(toolId))).toEqual([])
  })
})

describe('the airline', () => {
  const { bundle } = read('airline')
  const { policySet } = bundle

  it('records payment ids as digests only', () => {
    const secret = 'credit_card_4421486'
    const paid = bundle.cases.filter(({ request }) => JSON.stringify(request.toolCall).includes('payment_id'))
    expect(paid.length).toBeGreaterThan(5)
    for (const { agent, nowMs, request } of paid) {
      const text = JSON.stringify(request.toolCall.parameters).replaceAll(
        /"payment_id":"[^"]*"/g,
        `"payment_id":"${secret}"`,
      )
      const toolCall = { ...request.toolCall, parameters: JSON.parse(text) as JsonObject }
      const { axes } = decide({ request: { ...request, toolCall }, agent, policySet, nowMs }, means)
      expect(canonicalText(axes as unknown as JsonObject)).not.toContain(secret)
    }
  })

  it('lets a burst of the recorded calls through its limits', () => {
    const { settings } = policySet
    for (const name of [
      'agent_burst',
      'tenant_burst',
      'refused_calls_per_minute',
      'pending_per_agent',
    ] as const) {
      expect({ name, enough: settings[name] >= 784 }).toEqual({ name, enough: true })
    }
    expect(settings.pending_per_tenant).toBeGreaterThanOrEqual(784)
    expect(settings.agent_daily_quota).toBeGreaterThanOrEqual(784)
  })

  it.each([1, 2, 250, 500, 501, 1_000])('a total of %i is judged alike however it is split', (total) => {
    const trusted = { ...caseAgent, trustMax: 'trusted_internal_signed' as const }
    const booking = bundle.cases.find(({ request }) => request.toolCall.action === 'book_reservation')
    if (booking === undefined) throw new Error('no case books')
    for (const parts of [1, 2, 7]) {
      const amounts = Array.from({ length: parts }, (_, at) =>
        at === 0 ? total - Math.floor(total / parts) * (parts - 1) : Math.floor(total / parts),
      )
      const parameters = {
        ...booking.request.toolCall.parameters,
        payment_methods: amounts.map((amount) => ({ payment_id: 'gift_card_1', amount })),
      }
      const request = {
        ...booking.request,
        sourceTrust: 'trusted_internal_signed' as const,
        toolCall: { ...booking.request.toolCall, parameters },
      }
      const { decision } = decide({ request, agent: trusted, policySet, nowMs: 0 }, means)
      expect({ amounts, decision }).toEqual({ amounts, decision: total > 500 ? 'require_approval' : 'allow' })
    }
  })
})
