/** The bundle that a fresh tenant gets: its own cases, and that no claim of a caller loosens it. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  createEngine,
  decide,
  describeFinding,
  readBundle,
  runCases,
  trustLevels,
} from '../../src/policy/index.ts'
import { nobleSuite } from '../../src/record/index.ts'
import { inputOf } from './claims/build.ts'
import { cedarModule, readFolder } from './node-means.ts'

const means = { engine: createEngine({ module: cedarModule }), digester: nobleSuite }
const { bundle, findings } = readBundle(readFolder('policies/default'), means)
if (bundle === undefined) throw new Error(findings.map(describeFinding).join('\n'))

const severity = { allow: 0, require_approval: 1, deny: 2 } as const

describe('policies/default', { timeout: 60_000 }, () => {
  it('has no finding at all', () => {
    expect(findings.map(describeFinding)).toEqual([])
  })
  it.each(runCases(bundle, means).map((result) => [result.name, result] as const))('%s', (_, result) => {
    expect(result.problems).toEqual([])
  })
  it('says why: every rule has a reason', () => {
    for (const policy of bundle.policySet.policies.values()) expect(policy.reason).toMatch(/\S/)
  })
  it('is tried by its cases on every rule', () => {
    const matched = new Set(runCases(bundle, means).flatMap(({ evaluation }) => evaluation.matchedRules))
    expect([...matched].sort()).toEqual([...bundle.policySet.policies.keys()])
  })
})

describe('a claim never loosens', { timeout: 60_000 }, () => {
  const calls = fc.constantFrom(
    { tool: 'files', action: 'read', parameters: { path: '/srv/a' } },
    { tool: 'files', action: 'write', parameters: { path: '/srv/a' } },
    { tool: 'files', action: 'read', parameters: { path: '/etc/shadow' } },
    { tool: 'web', action: 'fetch', parameters: { url: 'https://example.com/' } },
    { tool: 'web', action: 'post', parameters: { url: 'http://example.com/' } },
    { tool: 'mail', action: 'send', parameters: { to: 'a@example.com' } },
    { tool: 'github', action: 'merge_pr', parameters: { owner: 'a', repo: 'b', base_branch: 'main' } },
    { tool: 'shell', action: 'run', parameters: { command: 'true' } },
    { tool: 'nothing', action: 'known', parameters: {} },
  )
  const facts = fc.record({
    call: calls,
    trust: fc.constantFrom(...trustLevels),
    trustMax: fc.constantFrom(...trustLevels),
    mutates: fc.boolean(),
    sensitive: fc.option(fc.boolean(), { nil: undefined }),
  })
  const answer = (asked: Parameters<typeof inputOf>[1]): number =>
    severity[decide(inputOf(bundle, asked), means).decision]

  it('trust above trust_max is trust_max', () => {
    fc.assert(
      fc.property(facts, ({ call, trust, trustMax, mutates }) => {
        const agent = { trustMax }
        const claimed = answer({ ...call, trust, mutates, agent })
        const honest = answer({ ...call, trust: trustMax, mutates, agent })
        expect(claimed).toBeGreaterThanOrEqual(honest)
      }),
      { numRuns: 300 },
    )
  })
  it('mutates_state only tightens', () => {
    fc.assert(
      fc.property(facts, ({ call: named, trust, trustMax, sensitive }) => {
        const agent = { trustMax }
        const call = { ...named, ...(sensitive === undefined ? {} : { sensitive }) }
        const catalogued = bundle.policySet.catalogue.toolAction(`${call.tool}.${call.action}`)
        const honest = answer({ ...call, trust, agent, mutates: catalogued?.mutatesState ?? true })
        for (const mutates of [true, false]) {
          expect(answer({ ...call, trust, agent, mutates })).toBeGreaterThanOrEqual(honest)
        }
      }),
      { numRuns: 300 },
    )
  })
  it('an omitted sensitivity counts as true for a change', () => {
    const evaluation = decide(
      inputOf(bundle, { tool: 'files', action: 'write', parameters: { path: '/a' } }),
      means,
    )
    expect(evaluation.axes.context?.['contains_sensitive_data']).toBe(true)
    const read = decide(inputOf(bundle, { tool: 'files', action: 'read', parameters: { path: '/a' } }), means)
    expect(read.axes.context?.['contains_sensitive_data']).toBe(false)
  })
  it('another resource than the arguments name is denied, whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 40 }), (resource) => {
        const call = { tool: 'mail', action: 'send', parameters: { to: 'a@example.com' } }
        const evaluation = decide(inputOf(bundle, { ...call, resource }), means)
        const isNamed = resource === 'mailbox:a@example.com'
        expect(evaluation.code).toBe(isNamed ? 'permitted' : 'resource_mismatch')
        expect(evaluation.axes.resource).toEqual({ type: 'Resource', id: 'mailbox:a@example.com' })
      }),
      { numRuns: 200 },
    )
  })
  it('what was claimed and not believed is recorded', () => {
    const evaluation = decide(
      inputOf(bundle, {
        tool: 'files',
        action: 'write',
        parameters: { path: '/a' },
        mutates: false,
        trust: 'trusted_internal_signed',
        agent: { trustMax: 'semi_trusted_customer' },
      }),
      means,
    )
    expect(evaluation.axes.claims).toEqual({ mutates_state: false, source_trust: 'trusted_internal_signed' })
    expect(evaluation.axes.context).toMatchObject({
      source_trust: 'semi_trusted_customer',
      trust: { long: '3' },
    })
  })
})
