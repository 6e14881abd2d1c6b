/** Differences of bundles in words. */
import { describe, expect, it } from 'vitest'
import { diffBundles } from '../../src/cli/bundle-diff.ts'

const policy = (effect: string, annotations: Record<string, string> = {}, more: object = {}) => ({
  effect,
  annotations,
  principal: { op: 'All' },
  action: { op: 'All' },
  resource: { op: 'All' },
  conditions: [],
  ...more,
})
const bundle = (policies: object, tools: object = {}, settings: object = {}) =>
  JSON.parse(JSON.stringify({ format: 1, policies, tools, settings })) as Record<string, never>

describe('the difference of two bundles', () => {
  it('names policies by id, and what of each has changed', () => {
    const before = bundle({
      a: policy('permit', { reason: 'x' }),
      gone: policy('forbid'),
      same: policy('permit'),
    })
    const after = bundle({
      a: policy('forbid', { reason: 'y' }, { conditions: [{ kind: 'when' }] }),
      new: policy('permit', { decision: 'require_approval' }),
      same: policy('permit'),
    })
    expect(diffBundles(before, after)).toEqual([
      {
        kind: 'policy',
        change: 'changed',
        name: 'a',
        parts: ['effect "permit" -> "forbid"', 'its conditions changed', '@reason "x" -> "y"'],
      },
      { kind: 'policy', change: 'removed', name: 'gone', parts: ['forbids'] },
      { kind: 'policy', change: 'added', name: 'new', parts: ['permits after an approval'] },
    ])
  })

  it('names tools and settings, leaf by leaf', () => {
    const tool = { risk: 'low', mutates_state: false, args: { path: { at: '/path' } } }
    const before = bundle(
      {},
      { files: { read: tool, list: tool } },
      { grant_ttl_ms: 1, approver_groups: { leads: { quorum: 1 } } },
    )
    const after = bundle(
      {},
      {
        files: { read: { ...tool, risk: 'high', args: { path: { at: '/p' } } } },
        web: { post: { ...tool, mutates_state: true } },
      },
      { grant_ttl_ms: 2, approver_groups: {} },
    )
    expect(diffBundles(before, after).map(({ change, name, parts }) => [change, name, ...parts])).toEqual([
      ['removed', 'files.list', 'risk "low"', 'reads'],
      ['changed', 'files.read', 'args.path.at "/path" -> "/p"', 'risk "low" -> "high"'],
      ['added', 'web.post', 'risk "low"', 'changes state'],
      ['added', 'approver_groups', '{}'],
      ['removed', 'approver_groups.leads.quorum', '1'],
      ['changed', 'grant_ttl_ms', '1 -> 2'],
    ])
  })

  it('is not led astray by names that every object has', () => {
    const before = bundle({ constructor: policy('permit') })
    expect(diffBundles(before, bundle({}))).toHaveLength(1)
    expect(
      diffBundles(JSON.parse('{"policies":{"__proto__":{"effect":"permit"}}}') as never, bundle({})),
    ).toHaveLength(1)
  })
})
