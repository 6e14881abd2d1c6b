/** policy.md §1: what is hashed is what runs, and nothing else moves the hash. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createEngine, openPolicySet, openUnnamedPolicySet, readBundle } from '../../src/policy/index.ts'
import {
  type JsonObject,
  type JsonValue,
  type PolicySetHash,
  encodeCanonical,
  nobleSuite,
  toDigest,
} from '../../src/record/index.ts'
import { ask, bundleOf, settings, toFiles, tools } from './claims/build.ts'
import { cedarModule } from './node-means.ts'

const engine = createEngine({ module: cedarModule })
const means = { engine, digester: nobleSuite }

const policies = [
  '@id("a") @reason("reads") permit(principal, action in Action::"reading", resource);',
  '@id("b") permit(principal, action == Action::"shop.order", resource) when { context.args has amount && context.args.amount < 100 };',
  '@id("c") @decision("require_approval") @approvers("finance") permit(principal, action == Action::"shop.send", resource) when { context.trust >= 3 } unless { context.args.to like "x*" };',
  '@id("d") forbid(principal in Role::"guest", action, resource) when { context.now > datetime("2027-01-01") };',
]

function hashOf(files: { [file: string]: string | JsonValue }): PolicySetHash {
  const { bundle, findings } = readBundle(toFiles(files), means)
  if (bundle === undefined) throw new Error(JSON.stringify(findings))
  expect(toDigest<PolicySetHash>(nobleSuite.sha256(bundle.objectBytes))).toBe(bundle.policySet.policySetHash)
  return bundle.policySet.policySetHash
}

const base = { 'tools.json': tools, 'settings.json': settings, 'a.cedar': policies.join('\n') }
const baseHash = hashOf(base)

/** Another spelling of the same JSON: members in another order, other white space. */
function respell(value: JsonValue, random: () => number): string {
  const space = random() < 0.5 ? ' ' : '\r\n\t'
  if (Array.isArray(value))
    return `[${(value as readonly JsonValue[]).map((item) => respell(item, random)).join(`,${space}`)}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(
    ([name, member]) => `${JSON.stringify(name)}${space}:${respell(member, random)}`,
  )
  members.sort(() => random() - 0.5)
  return `{${space}${members.join(',')}${space}}`
}

describe('policy_set_hash does not move', { timeout: 60_000 }, () => {
  it('under comments, white space, CRLF, file order, file splits, member order', () => {
    fc.assert(
      fc.property(
        fc.shuffledSubarray(policies, { minLength: policies.length }),
        fc.array(fc.nat(3), { minLength: 4, maxLength: 4 }),
        fc.boolean(),
        fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true })),
        (order, places, crlf, stream) => {
          const random = (): number => stream.next().value as number
          const files: { [file: string]: string } = {
            'tools.json': respell(tools, random),
            'settings.json': respell(settings, random),
          }
          for (const [at, policy] of order.entries()) {
            const file = `${'zyxw'.charAt(places[at] ?? 0)}.cedar`
            const spaced = policy
              .replace(/\) (when|unless) \{/g, ')\n  // why; not "what"\n$1 {  ')
              .replace(/permit\(/, 'permit ( ')
            files[file] = `${files[file] ?? '// a file'}\n${random() < 0.5 ? spaced : policy}\n`
          }
          for (const file of Object.keys(files)) {
            if (crlf && file.endsWith('.cedar'))
              files[file] = (files[file] as string).replaceAll('\n', '\r\n')
          }
          expect(hashOf(files)).toBe(baseHash)
        },
      ),
      { numRuns: 60 },
    )
  })
  it('by writing out a default', () => {
    const written = { ...settings, grant_ttl_ms: 60_000, envelope: 'on' }
    expect(hashOf({ ...base, 'settings.json': written })).toBe(baseHash)
  })
  it('by cases, which decide nothing', () => {
    expect(hashOf({ ...base, 'cases/a.json': [] })).toBe(baseHash)
  })
})

describe('policy_set_hash moves', { timeout: 60_000 }, () => {
  const edits: readonly [string, { [file: string]: string | JsonValue }][] = [
    ...[
      '100',
      '"reads"',
      'Action::"shop.order"',
      '>= 3',
      'like "x*"',
      '"finance"',
      'guest',
      'forbid',
      '@id("a")',
      '<',
    ].map((what): [string, { [file: string]: string }] => {
      const to: Record<string, string> = {
        '100': '101',
        '"reads"': '"Reads"',
        'Action::"shop.order"': 'Action::"shop.order" ',
        '>= 3': '> 3',
        'like "x*"': 'like "x\\*"',
        '"finance"': '"ops"',
        guest: 'guests',
        forbid: 'permit',
        '@id("a")': '@id("aa")',
        '<': '<=',
      }
      return [
        `${what} to ${to[what] ?? ''}`,
        { 'a.cedar': policies.join('\n').replace(what, to[what] ?? '') },
      ]
    }),
    ['an annotation added', { 'a.cedar': policies.join('\n').replace('@id("d")', '@id("d") @note("n")') }],
    ['a policy taken away', { 'a.cedar': policies.slice(1).join('\n') }],
    ['a setting', { 'settings.json': { ...settings, grant_ttl_ms: 60_001 } }],
    [
      'a quorum',
      { 'settings.json': { ...settings, approver_groups: { ops: { quorum: 2 }, finance: { quorum: 2 } } } },
    ],
    ['a binding', { 'tools.json': edited('browse', { args: { query: { at: '/q', type: 'string' } } }) }],
    ['a default', { 'tools.json': edited('browse', { default: 'deny' }) }],
    ['a risk', { 'tools.json': edited('browse', { risk: 'medium' }) }],
    [
      'a recorded value',
      {
        'tools.json': edited('browse', {
          args: { query: { at: '/query', type: 'string', record: 'digest' } },
        }),
      },
    ],
  ]
  it.each(edits.filter(([name]) => !name.startsWith('Action')))('%s', (_, edit) => {
    expect(hashOf({ ...base, ...edit })).not.toBe(baseHash)
  })
  it('all of those are different from one another', () => {
    const hashes = edits.map(([, edit]) => hashOf({ ...base, ...edit }))
    expect(new Set(hashes).size).toBe(edits.length)
  })
  it('1 and "1" do not collide', () => {
    const text = (literal: string): string =>
      `@id("a") permit(principal, action, resource) when { [${literal}] == [] };`
    // Strict validation refuses the empty set, so the parts are compared as they are parsed.
    const json = ['1', '"1"'].map((literal) => engine.call((cedar) => cedar.policyToJson(text(literal))))
    const bytes = json.map((answer) =>
      encodeCanonical((answer.ok ? answer.value : null) as unknown as JsonValue),
    )
    expect(bytes[0]).not.toEqual(bytes[1])
  })
  it('sets that decide differently never share it, over generated edits', () => {
    const seen = new Map<string, string>()
    fc.assert(
      fc.property(
        fc.record({
          limit: fc.integer({ min: 0, max: 5 }),
          trust: fc.integer({ min: 0, max: 5 }),
          forbid: fc.boolean(),
        }),
        fc.constantFrom('low', 'critical'),
        (rule, risk) => {
          const text = `@id("a") permit(principal, action, resource) when { context.trust >= ${String(rule.trust)} };
            ${rule.forbid ? `@id("b") forbid(principal, action == Action::"shop.order", resource) when { context.args has amount && context.args.amount > ${String(rule.limit)} };` : ''}`
          const bundle = bundleOf(engine, text, { 'tools.json': edited('order', { risk }) })
          const answers: string[] = []
          for (const trust of ['unknown', 'semi_trusted_customer', 'trusted_internal_signed'] as const) {
            for (const amount of [0, 2, 4, 6]) {
              const { decision, code, matchedRules } = ask(engine, bundle, { trust, parameters: { amount } })
              answers.push(`${decision} ${code} ${matchedRules.join()}`)
            }
          }
          const behaviour = answers.join(';')
          const known = seen.get(bundle.policySet.policySetHash)
          expect(known ?? behaviour).toBe(behaviour)
          seen.set(bundle.policySet.policySetHash, behaviour)
        },
      ),
      { numRuns: 150 },
    )
    expect(seen.size).toBeGreaterThan(20)
  })
})

describe('a bundle object', () => {
  const { objectBytes, policySet } = bundleOf(engine, policies.join('\n'))
  it('opens to what was written, and decides the same', () => {
    const opened = openPolicySet(objectBytes, policySet.policySetHash, nobleSuite)
    if (!opened.ok) throw new Error(opened.reason)
    expect(opened.objectBytes).toEqual(objectBytes)
    expect(opened.policySet.policySetHash).toBe(policySet.policySetHash)
    const fresh = createEngine({ module: cedarModule })
    for (const amount of [1, 99, 100, 101]) {
      const asked = { parameters: { amount } }
      expect(ask(fresh, opened, asked)).toEqual(ask(engine, { policySet }, asked))
    }
  })
  it('is hashed before it is read', () => {
    const other = new Uint8Array(objectBytes)
    other[10] = (other[10] ?? 0) ^ 1
    expect(openPolicySet(other, policySet.policySetHash, nobleSuite)).toMatchObject({
      ok: false,
      reason: 'hash_mismatch',
    })
    const garbage = new Uint8Array([0xff])
    expect(openPolicySet(garbage, policySet.policySetHash, nobleSuite)).toMatchObject({
      reason: 'hash_mismatch',
    })
  })
  const value = JSON.parse(new TextDecoder().decode(objectBytes)) as { [name: string]: JsonObject }
  const bytesOf = (changed: JsonValue): Uint8Array => encodeCanonical(changed)
  it.each([
    ['white space', new TextEncoder().encode(` ${new TextDecoder().decode(objectBytes)}`), 'not_canonical'],
    ['a default left out', bytesOf({ ...value, settings: {} }), 'unknown_group'],
    ['another format', bytesOf({ ...value, format: 2 }), 'unknown_format'],
    ['an unknown member', bytesOf({ ...value, more: 1 }), 'unknown_member'],
    ['no policies', bytesOf({ ...value, policies: 1 }), 'malformed'],
    ['not JSON', new Uint8Array([123]), 'not_readable'],
    ['unreadable bytes', new Uint8Array([0xff, 0xfe]), 'not_readable'],
    [
      'an id that is not the annotation',
      bytesOf({
        ...value,
        policies: { z: (value['policies'] as JsonObject)['a'] as JsonValue },
      }),
      'missing_id',
    ],
    ['a template', bytesOf(withPolicy(value, { principal: { op: '==', slot: '?principal' } })), 'template'],
    [
      'a fraction',
      bytesOf(withPolicy(value, { conditions: [{ kind: 'when', body: { Value: 1.5 } }] })),
      'integer_out_of_range',
    ],
  ])('is refused with %s', (_, bytes, code) => {
    const opened = openUnnamedPolicySet(bytes, nobleSuite)
    expect(opened.ok).toBe(false)
    if (opened.ok || opened.reason !== 'malformed') throw new Error('expected findings')
    expect(opened.findings.map((one) => one.code)).toContain(code)
  })
})

function edited(action: string, change: JsonObject): JsonObject {
  const shop = tools['shop'] as { [action: string]: JsonObject }
  return { shop: { ...shop, [action]: { ...shop[action], ...change } } }
}

function withPolicy(value: { [name: string]: JsonObject }, change: JsonObject): JsonValue {
  const given = value['policies'] as { [id: string]: JsonObject }
  return { ...value, policies: { ...given, a: { ...given['a'], ...change } } }
}
