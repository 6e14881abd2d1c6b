/** policy.md §3: every mistake that Cedar's validator passes is a finding with its place and a way out. */
import { describe, expect, it } from 'vitest'
import { createEngine, describeFinding, readBundle } from '../../src/policy/index.ts'
import { nobleSuite } from '../../src/record/index.ts'
import { codesOf, read, settings, toFiles, tools } from './claims/build.ts'
import { cedarModule } from './node-means.ts'

const engine = createEngine({ module: cedarModule })

/** The finding of that code, which must be there. */
function finding(policies: string, code: string): string {
  const { findings } = read(engine, policies)
  const found = findings.find((one) => one.code === code)
  if (found === undefined) throw new Error(`no ${code}: ${findings.map(describeFinding).join('\n')}`)
  return describeFinding(found)
}

describe('a misspelt argument', () => {
  it('behind has', () => {
    const text = `// a comment\n@id("p")\npermit(principal, action == Action::"shop.order", resource)\nwhen { context.args has amuont && context.args.amuont > 100 };`
    expect(finding(text, 'unknown_argument')).toBe(
      'a.cedar:4 error unknown_argument [p] uses context.args.amuont, which no action in its scope binds; did you mean `amount`?',
    )
  })
  it.each([
    ['in an ||', 'when { context.trust > 4 || (context.args has amuont && context.args.amuont > 100) }'],
    ['in an unless', 'unless { context.args has amuont && context.args.amuont > 100 }'],
    ['in a branch', 'when { if context.trust > 4 then true else context.args has amuont }'],
    ['by index', 'when { context.trust > 4 || context["args"] has "amuont" }'],
    ['in a set', 'when { context.trust > 4 || [context.args has amuont].contains(true) }'],
    ['in a record', 'when { context.trust > 4 || {a: context.args has amuont}.a }'],
    [
      'in a pattern',
      'when { context.trust > 4 || (context.args has amuont && context.args.amuont like "a*") }',
    ],
    ['in a negation', 'when { context.trust > 4 || !(context.args has amuont) }'],
    ['in a call', 'when { context.trust > 4 || (context.args has whn && context.args.whn < context.now) }'],
  ])('%s', (_, condition) => {
    const text = `@id("p") permit(principal, action == Action::"shop.order", resource) ${condition};`
    expect(codesOf(read(engine, text))).toContain('error unknown_argument')
  })
  it('of an action outside the scope', () => {
    const text = `@id("p") permit(principal, action == Action::"shop.browse", resource) when { context.args has amount };`
    expect(finding(text, 'unknown_argument')).toContain('it is an argument of shop.order')
  })
  it('is no finding where one action in scope binds it', () => {
    const text = `@id("p") forbid(principal, action in Action::"mutating", resource) when { context.args has amount && context.args.amount > 1 };`
    expect(read(engine, text).findings).toEqual([])
  })
  it.each(['context.args == {}', '{a: context.args}.a has x', '{c: context}.c.args has x', 'context == {}'])(
    'cannot hide behind an alias: %s',
    (condition) => {
      const text = `@id("p") permit(principal, action, resource) when { context.trust > 4 || ${condition} };`
      expect(codesOf(read(engine, text))).toContain('error used_as_a_whole')
    },
  )
})

describe('a misspelt attribute', () => {
  it.each([
    'context has sesion',
    'context has net && context.net has hots',
    'context has user.idd',
    'principal has roles',
    'resource has owner',
  ])('%s', (condition) => {
    const text = `@id("p") permit(principal, action, resource) when { context.trust > 4 || (${condition}) };`
    expect(codesOf(read(engine, text))).toContain('error unknown_attribute')
  })
})

describe('a comparison that is never true', () => {
  it.each([
    ['context.source_trust == "trusted_internl_signed"', 'unknown_value'],
    ['"untrusted_extenal" != context.source_trust', 'unknown_value'],
    ['["semi_trusted_custmer"].contains(context.source_trust)', 'unknown_value'],
    ['context.risk_level == "hihg"', 'unknown_value'],
    ['principal.trust_max == "unknwn"', 'unknown_value'],
    ['(context has net && context.net.scheme == "HTTPS")', 'unknown_value'],
    ['action == Action::"mutating"', 'group_equals'],
    ['Action::"tool:shop" != action', 'group_equals'],
    ['(if context.trust > 3 then principal else principal) has ownr', 'not_a_path'],
    ['Agent::"x" has ownr', 'not_a_path'],
  ])('%s', (condition, code) => {
    const text = `@id("p") permit(principal, action, resource) when { context.trust > 4 || ${condition} };`
    expect(codesOf(read(engine, text))).toContain(`error ${code}`)
  })
  it('is not one that can be true', () => {
    const conditions = [
      'context.source_trust == "trusted_internal_signed"',
      '["unknown", "untrusted_external"].contains(context.source_trust)',
      'action == Action::"shop.order"',
      'action in Action::"mutating"',
      'context.risk_level != "low"',
    ]
    for (const condition of conditions) {
      const text = `@id("p") permit(principal, action, resource) when { context.trust > 4 || ${condition} };`
      expect(codesOf(read(engine, text))).toEqual([])
    }
  })
  it('a role may be called slot', () => {
    expect(codesOf(read(engine, '@id("p") permit(principal in Role::"slot", action, resource);'))).toEqual([])
  })
})

describe('annotations', () => {
  const permit = 'permit(principal, action, resource);'
  it.each([
    [`@id("p") @decsion("require_approval") ${permit}`, 'unknown_annotation', 'did you mean @decision?'],
    [`@id("p") @decision("require_aproval") ${permit}`, 'unknown_decision', 'require_approval'],
    [`@id("p") @decision("allow") ${permit}`, 'unknown_decision', 'require_approval'],
    [
      `@id("p") @decision("require_approval") forbid(principal, action, resource);`,
      'decision_on_forbid',
      'forbid',
    ],
    [`@id("p") @decision ${permit}`, 'empty_annotation', '@decision("…")'],
    [`@id("p") @approvers("ops") ${permit}`, 'approval_without_decision', '@decision'],
    [`@id("p") @quorum("2") ${permit}`, 'approval_without_decision', '@decision'],
    [
      `@id("p") @decision("require_approval") @approvers("opps") ${permit}`,
      'unknown_group',
      'did you mean ops?',
    ],
    [`@id("p") @decision("require_approval") @quorum("0") ${permit}`, 'bad_quorum', '@quorum("2")'],
    [`@id("p") @decision("require_approval") @quorum("two") ${permit}`, 'bad_quorum', '@quorum("2")'],
    [`@id("p q") ${permit}`, 'bad_id', 'letters'],
    [permit, 'missing_id', '@id("…")'],
    [`@id("p") ${permit}\n@id("p") ${permit}`, 'duplicate_id', 'rename'],
    [`@id("p") permit(principal == ?principal, action, resource);`, 'template', '?principal'],
  ])('%s', (text, code, fix) => {
    expect(finding(text, code)).toContain(fix)
  })
  it('a quorum of 0 in settings', () => {
    const broken = { ...settings, approver_groups: { ops: { quorum: 0 } } }
    const result = read(engine, `@id("p") ${permit}`, { 'settings.json': broken })
    expect(codesOf(result)).toContain('error wrong_type')
    expect(result.bundle).toBeUndefined()
  })
  it('approval without a group to ask', () => {
    const bare = { 'settings.json': { approver_groups: {} } }
    const text = `@id("p") @decision("require_approval") ${permit}`
    expect(codesOf(read(engine, text, bare))).toContain('error no_approver_group')
    expect(codesOf(read(engine, `@id("p") ${permit}`, bare))).toContain('error no_approver_group')
    const plain = { 'settings.json': {}, 'tools.json': { a: { b: { risk: 'low', mutates_state: false } } } }
    expect(codesOf(read(engine, `@id("p") ${permit}`, plain))).toEqual(['warning no_default_group'])
  })
})

describe('policies that do not do what they seem to', () => {
  it.each([
    [
      'a head that no action meets',
      'permit(principal, action in Action::"risk:medium", resource)',
      'never_matches',
    ],
    ['an unknown action', 'permit(principal, action == Action::"shop.oder", resource)', 'unknown_action'],
    ['a group by ==', 'permit(principal, action == Action::"mutating", resource)', 'group_equals'],
    ['a condition that is never true', 'permit(principal, action, resource) when { false }', 'cedar'],
    ['a mistyped comparison', 'permit(principal, action, resource) when { context.trust == "5" }', 'cedar'],
    ['an unknown principal', 'permit(principal is Agnet, action, resource)', 'cedar'],
  ])('%s', (_, head, code) => {
    const only = { 'tools.json': { shop: { order: { risk: 'low', mutates_state: true } } } }
    const result = read(engine, `@id("p") ${head};`, only)
    expect(result.findings.map((one) => one.code)).toContain(code)
    expect(
      result.findings.every((one) => one.file === 'a.cedar' && one.policyId === 'p' && one.line === 1),
    ).toBe(true)
  })
  it('an absence that permits', () => {
    for (const condition of [
      'when { !(context.args has amount) || context.args.amount < 5 }',
      'when { context.trust > 4 && (context.args.amount < 5 || !(context.args has amount)) }',
      'unless { context.args has amount && context.args.amount > 5 }',
    ]) {
      const text = `@id("p") permit(principal, action == Action::"shop.order", resource) ${condition};`
      expect(codesOf(read(engine, text))).toContain('warning absence_permits')
    }
    const forbid = `@id("p") forbid(principal, action == Action::"shop.order", resource) when { !(context.args has amount) || context.trust < 3 };`
    expect(read(engine, forbid).findings).toEqual([])
  })
  it('a test of a resource that is only claimed', () => {
    const text = (action: string): string =>
      `@id("p") permit(principal, action == Action::"${action}", resource == Resource::"shop:x");`
    expect(codesOf(read(engine, text('shop.order')))).toEqual(['warning claimed_resource'])
    expect(read(engine, text('shop.send')).findings).toEqual([])
  })
  it('a text that Cedar does not parse, at its line', () => {
    expect(
      finding('@id("p")\npermit(principal,\naction, resource) when {\ncontext.trust >\n};', 'not_parsed'),
    ).toMatch(/^a\.cedar:5 /)
  })
  it('an identifier in two scripts, which Cedar only warns of', () => {
    const text = `@id("p") permit(principal, action, resource) when { context.environment == "sаy" };`
    expect(codesOf(read(engine, text))).toEqual(['error cedar'])
  })
})

describe('files', () => {
  const policy = '@id("p") permit(principal, action, resource);'
  it('that a bundle does not have', () => {
    const result = readBundle(
      toFiles({ 'tools.json': tools, 'settings.json': settings, 'a.cedar': policy, 'b.ceder': '' }),
      {
        engine,
        digester: nobleSuite,
      },
    )
    expect(result.findings.map((one) => `${one.file} ${one.code}`)).toEqual(['b.ceder unknown_file'])
  })
  it('without tools.json', () => {
    const result = readBundle(toFiles({ 'a.cedar': policy }), { engine, digester: nobleSuite })
    expect(result.findings.map((one) => `${one.file} ${one.code}`)).toContain('tools.json missing_file')
    expect(result.bundle).toBeUndefined()
  })
  it('tools.json: every unknown or mistyped member, at its line', () => {
    const text = `{
      "shop": {
        "order": {
          "risk": "hihg", "mutates_state": "yes", "mutate_state": true,
          "args": {
            "long": { "at": "/a", "type": "string" },
            "a": { "at": "/a/*", "type": "integer" },
            "b": { "at": "/a", "type": "integer", "aggregate": "sum" },
            "c": { "at": "/a/*/b/*", "type": "integer", "aggregate": "sum" },
            "d": { "at": "/a/*", "type": "string", "aggregate": "sum" },
            "fs.path": { "at": "/p", "prefix": "/srv" },
            "net.url": { "at": "/u", "record": "digest" }
          },
          "resource": { "from": "x:{a}" }
        },
        "a.b": { "risk": "low", "mutates_state": false }
      },
      "Aegis/x": { "y": { "risk": "low", "mutates_state": false } }
    }`
    const result = read(engine, policy, { 'tools.json': text })
    const found = result.findings.filter((one) => one.file === 'tools.json')
    expect(found.map((one) => `${String(one.line)} ${one.code}`).sort()).toEqual(
      [
        '4 wrong_type',
        '4 wrong_type',
        '4 unknown_member',
        '6 bad_name',
        '7 missing_aggregate',
        '8 aggregate_without_each',
        '9 bad_pointer',
        '10 wrong_type',
        '11 unknown_member',
        '12 not_recordable',
        '14 bad_template',
        '16 bad_name',
        '18 bad_name',
      ].sort(),
    )
  })
  it('tools.json: a template in which one value runs into the next', () => {
    const text = { type: 'string', required: true }
    const args = { a: { at: '/a', ...text }, b: { at: '/b', ...text } }
    const action = { risk: 'low', mutates_state: false, args, resource: { from: '{a}{b}' } }
    const result = read(engine, policy, { 'tools.json': { shop: { order: action } } })
    expect(codesOf(result)).toContain('error bad_template')
  })
  it('settings.json: unknown, out of range, an unknown default group', () => {
    const result = read(engine, policy, {
      'settings.json': { ...settings, grant_ttl: 5, replay_window_ms: 900_001, default_group: 'opz' },
    })
    expect(result.findings.map((one) => one.code).sort()).toEqual([
      'unknown_group',
      'unknown_member',
      'wrong_type',
    ])
    const meant = result.findings.find((one) => one.code === 'unknown_member')
    expect(meant?.fix).toBe('did you mean `grant_ttl_ms`?')
  })
  it('JSON that is read twice differently is refused', () => {
    expect(
      codesOf(read(engine, policy, { 'settings.json': '{"envelope": "on", "envelope": "off"}' })),
    ).toContain('error not_readable')
  })
})
