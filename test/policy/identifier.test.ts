/** authorize.md §3 step 5: names are refused, not repaired. */
import { describe, expect, it } from 'vitest'
import { normaliseIdentifiers } from '../../src/policy/index.ts'

describe('identifiers', () => {
  it.each([
    ['github', 'merge_pr', 'github.merge_pr'],
    ['GitHub', 'Merge_PR', 'github.merge_pr'],
    ['git%48ub', 'merge%5fpr', 'github.merge_pr'],
    ['a.b', 'c', 'a.b.c'],
    ['mcp/server:1', 'do-it', 'mcp/server:1.do-it'],
    ['aegis', 'x', 'aegis.x'],
    ['a'.repeat(128), 'x', `${'a'.repeat(128)}.x`],
  ])('%s %s', (tool, action, toolId) => {
    expect(normaliseIdentifiers(tool, action)).toMatchObject({ ok: true, toolId })
  })
  it.each([
    ['', 'a'],
    ['\u212Aube', 'a'],
    ['kube\u200b', 'a'],
    ['kube\u00a0', 'a'],
    [' kube', 'a'],
    ['kube\n', 'a'],
    ['k\u0443be', 'a'],
    ['ｋube', 'a'],
    ['kube%', 'a'],
    ['kube%2', 'a'],
    ['kube%zz', 'a'],
    ['kube%2541', 'a'],
    ['kube%25', 'a'],
    ['kube%00', 'a'],
    ['kube%E2%84%AA', 'a'],
    ['a..b', 'a'],
    ['a//b', 'a'],
    ['a%2F%2Fb', 'a'],
    ['.a', 'a'],
    ['_a', 'a'],
    ['aegis/tenant', 'a'],
    ['AEGIS/tenant', 'a'],
    ['aegis%2Ftenant', 'a'],
    ['tool:x', 'a'],
    ['risk:high', 'a'],
    ['a'.repeat(129), 'a'],
  ])('refuses the tool %j', (tool, action) => {
    expect(normaliseIdentifiers(tool, action)).toEqual({ ok: false, member: 'tool' })
  })
  it.each(['', 'a.b', 'a%2Eb', 'a b', 'é', '..', '-a'])('refuses the action %j', (action) => {
    expect(normaliseIdentifiers('tool', action)).toEqual({ ok: false, member: 'action' })
  })
})
