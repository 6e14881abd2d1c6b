/** policy.md §2: bindings, aggregates, paths, addresses; all or nothing. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bindArguments } from '../../src/policy/index.ts'
import { bindingTypes, parseCatalogue } from '../../src/policy/catalogue.ts'
import { cleanPath, parseAddress } from '../../src/policy/location.ts'
import { parseDatetime, parseValue, toCedarValue } from '../../src/policy/value.ts'
import { type JsonObject, type JsonValue, nobleSuite } from '../../src/record/index.ts'

function bind(args: JsonObject, parameters: JsonObject, resource: JsonValue = 'claimed') {
  const catalogue = parseCatalogue(
    { t: { a: { risk: 'low', mutates_state: false, args, resource } } },
    nobleSuite,
    (path, code) => {
      throw new Error(`${path.join('.')} ${code}`)
    },
  )
  const action = catalogue.toolAction('t.a')
  if (action === undefined) throw new Error('the action is missing')
  return bindArguments(action, parameters)
}

function one(binding: JsonObject, value: JsonValue): unknown {
  const result = bind({ x: { at: '/x', ...binding } }, { x: value })
  return result.ok ? (result.bound.args['x'] ?? 'absent') : result.why
}

describe('types', () => {
  it.each<[string, JsonValue, unknown]>([
    ['string', 'é', 'é'],
    ['string', 'x'.repeat(2_048), 'x'.repeat(2_048)],
    ['string', 'x'.repeat(2_049), 'wrong type'],
    ['string', 'é'.repeat(1_025), 'wrong type'],
    ['string', 1, 'wrong type'],
    ['string', null, 'absent'],
    ['boolean', true, true],
    ['boolean', 'true', 'wrong type'],
    ['integer', -5, { long: '-5' }],
    ['integer', 1.5, 'wrong type'],
    ['integer', '5', 'wrong type'],
    ['decimal', 1, { decimal: '1.0' }],
    ['decimal', 12.5, { decimal: '12.5' }],
    ['decimal', '012.5000', { decimal: '12.5' }],
    ['decimal', '-0.0', { decimal: '0.0' }],
    ['decimal', '-0.0001', { decimal: '-0.0001' }],
    ['decimal', '922337203685477.5807', { decimal: '922337203685477.5807' }],
    ['decimal', '922337203685477.5808', 'wrong type'],
    ['decimal', '-922337203685477.5808', { decimal: '-922337203685477.5808' }],
    ['decimal', 1e-7, 'wrong type'],
    ['decimal', '1e3', 'wrong type'],
    ['ipaddr', '10.0.0.1', { ipaddr: '10.0.0.1' }],
    ['ipaddr', '10.0.0.0/8', { ipaddr: '10.0.0.0/8' }],
    ['ipaddr', '10.0.0.0/33', 'wrong type'],
    ['ipaddr', '010.0.0.1', 'wrong type'],
    ['ipaddr', '::1', { ipaddr: '::1' }],
    ['ipaddr', '2001:db8::/32', { ipaddr: '2001:db8::/32' }],
    ['ipaddr', '1:2:3:4:5:6:7', 'wrong type'],
    ['ipaddr', '::ffff:1.2.3.4', 'wrong type'],
    ['ipaddr', 'fe80::1%eth0', 'wrong type'],
    ['datetime', '2026-11-30', { datetime: '2026-11-30T00:00:00.000Z' }],
    ['datetime', '2026-11-30T12:00:00+02:00', { datetime: '2026-11-30T10:00:00.000Z' }],
    ['datetime', '2026-11-30T12:00:00.5Z', { datetime: '2026-11-30T12:00:00.500Z' }],
    ['datetime', '2026-11-30T12:00:00.0001Z', 'wrong type'],
    ['datetime', '2026-02-29', 'wrong type'],
    ['datetime', '2024-02-29', { datetime: '2024-02-29T00:00:00.000Z' }],
    ['datetime', '2026-11-30T24:00:00Z', 'wrong type'],
    ['datetime', '2026-11-30 12:00', 'wrong type'],
    ['datetime', '0000-01-01T00:00:00+01:00', 'wrong type'],
    ['datetime', 0, 'wrong type'],
    ['set<string>', ['b', 'a', 'b'], { set: ['a', 'b'] }],
    ['set<string>', [], { set: [] }],
    ['set<string>', ['a', 1], 'wrong type'],
    ['set<string>', Array.from({ length: 256 }, () => 'a'), { set: ['a'] }],
    ['set<string>', Array.from({ length: 257 }, () => 'a'), 'too many elements'],
  ])('%s of %j', (type, value, want) => {
    expect(one({ type }, value)).toEqual(want)
  })
  it('a datetime is read as the platform reads it', () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date('0001-01-02'), max: new Date('9999-12-30'), noInvalidDate: true }),
        (date) => {
          expect(parseDatetime(date.toISOString())).toBe(date.toISOString())
        },
      ),
    )
  })
  it('a value of any kind is one of the type, or none', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(...bindingTypes), (value, type) => {
        const parsed = parseValue(value as JsonValue, type)
        const cedar = parsed === undefined ? undefined : toCedarValue(parsed)
        expect(cedar?.ok ?? true).toBe(true)
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('aggregates', () => {
  const each = (aggregate: string, type: string, required = false): JsonObject => ({
    x: { at: '/list/*/n', type, aggregate, required },
  })
  const over = (aggregate: string, type: string, list: JsonValue, required = false): unknown => {
    const result = bind(each(aggregate, type, required), { list })
    return result.ok ? (result.bound.args['x'] ?? 'absent') : result.why
  }
  it.each<[string, string, JsonValue, unknown]>([
    ['sum', 'integer', [{ n: 1 }, { n: 2 }], { long: '3' }],
    ['sum', 'integer', [], { long: '0' }],
    ['sum', 'integer', [{ n: 2 ** 53 - 1 }, { n: 1 }], 'out of range'],
    ['sum', 'integer', [{ n: 2 ** 53 - 1 }, { n: 1 }, { n: -5 }], 'out of range'],
    ['sum', 'integer', [{ n: 1 }, { n: '2' }], 'wrong type'],
    ['sum', 'integer', [{ n: 1 }, {}], 'missing'],
    ['sum', 'integer', [{ n: 1 }, { n: null }], 'missing'],
    ['sum', 'integer', [{ n: 1 }, 5], 'wrong type'],
    ['sum', 'integer', { n: 1 }, 'wrong type'],
    ['sum', 'integer', null, 'absent'],
    ['sum', 'decimal', [{ n: 0.1 }, { n: 0.2 }], { decimal: '0.3' }],
    ['sum', 'decimal', [{ n: '922337203685477.5807' }, { n: '0.0001' }], 'out of range'],
    ['max', 'integer', [{ n: -1 }, { n: -7 }], { long: '-1' }],
    ['max', 'integer', [], 'absent'],
    ['max', 'decimal', [{ n: 1.5 }, { n: '1.05' }], { decimal: '1.5' }],
    ['count', 'integer', [{ n: 'a' }, { n: {} }], { long: '2' }],
    ['count', 'integer', [{ n: 'a' }, {}], 'missing'],
    ['set', 'set<string>', [{ n: 'b' }, { n: 'a' }, { n: 'b' }], { set: ['a', 'b'] }],
    ['sum', 'integer', Array.from({ length: 256 }, () => ({ n: 1 })), { long: '256' }],
    ['sum', 'integer', Array.from({ length: 257 }, () => ({ n: 1 })), 'too many elements'],
  ])('%s of %s over %j', (aggregate, type, list, want) => {
    expect(over(aggregate, type, list)).toEqual(want)
  })
  it('of nothing is missing where it is required', () => {
    expect(over('max', 'integer', [], true)).toBe('missing')
    expect(over('sum', 'integer', null, true)).toBe('missing')
  })
})

describe('pointers', () => {
  it.each<[string, JsonObject, unknown]>([
    ['/a/b', { a: { b: 'v' } }, 'v'],
    ['/a~1b/~0c', { 'a/b': { '~c': 'v' } }, 'v'],
    ['/a/1', { a: ['u', 'v'] }, 'v'],
    ['/a/b', {}, 'absent'],
    ['/a/b', { a: null }, 'absent'],
    ['/a/b', { a: 'x' }, 'wrong type'],
    ['/constructor', {}, 'absent'],
    ['/a/length', { a: [1] }, 'wrong type'],
    ['/', { '': 'v' }, 'v'],
  ])('%s', (at, parameters, want) => {
    const result = bind({ x: { at, type: 'string' } }, parameters)
    expect(result.ok ? (result.bound.args['x'] ?? 'absent') : result.why).toEqual(want)
  })
  it('more than 16 KiB in all is refused', () => {
    const args = Object.fromEntries(
      Array.from({ length: 10 }, (_, at) => [`x${String(at)}`, { at: `/x${String(at)}`, type: 'string' }]),
    )
    const parameters = (bytes: number): JsonObject =>
      Object.fromEntries(Object.keys(args).map((name) => [name, 'x'.repeat(bytes)]))
    expect(bind(args, parameters(1_600)).ok).toBe(true)
    expect(bind(args, parameters(1_700))).toMatchObject({ ok: false, why: 'too much in all' })
  })
})

describe('resources', () => {
  const args: JsonObject = {
    owner: { at: '/owner', type: 'string', required: true },
    n: { at: '/n', type: 'integer', required: true },
  }
  it('from a template', () => {
    const result = bind(args, { owner: 'acme', n: 7 }, { from: 'repo:{owner}#{n}' })
    expect(result).toMatchObject({ ok: true, bound: { resource: 'repo:acme#7' } })
  })
  it('from a pointer', () => {
    // Else `a/b` + `c` and `a` + `b/c` would be one resource.
    const two = {
      owner: { at: '/owner', type: 'string', required: true },
      repo: { at: '/repo', type: 'string', required: true },
    }
    const from = { from: 'repo:{owner}/{repo}' }
    expect(bind(two, { owner: 'a', repo: 'b/c' }, from)).toMatchObject({ bound: { resource: 'repo:a/b/c' } })
    expect(bind(two, { owner: 'a/b', repo: 'c' }, from)).toEqual({
      ok: false,
      name: 'resource',
      why: 'ambiguous in the resource',
    })
    // `a-` + `b` and `a` + `-b`: the end of a value runs into the text behind it.
    const dashes = { from: '{owner}--{repo}' }
    expect(bind(two, { owner: 'a-', repo: 'b' }, dashes)).toMatchObject({ ok: false })
    expect(bind(two, { owner: 'a', repo: '-b' }, dashes)).toMatchObject({ bound: { resource: 'a---b' } })
    expect(bind({}, { id: 'r1' }, { from: '/id' })).toMatchObject({ ok: true, bound: { resource: 'r1' } })
    expect(bind({}, { id: 5 }, { from: '/id' })).toMatchObject({ ok: true, bound: { resource: '5' } })
    expect(bind({}, {}, { from: '/id' })).toEqual({ ok: false, name: 'resource', why: 'missing' })
    expect(bind({}, { id: {} }, { from: '/id' })).toEqual({ ok: false, name: 'resource', why: 'wrong type' })
  })
})

describe('paths', () => {
  it.each([
    ['/a/./b/../c//d/', '/a/c/d'],
    ['/../../etc', '/etc'],
    ['//', '/'],
    ['/', '/'],
    ['/a/...', '/a/...'],
  ])('%s is %s', (raw, clean) => {
    expect(cleanPath(raw)).toEqual({ path_raw: raw, path_canonical: clean })
  })
  it.each(['a', '', './a', '/a\0', '/a\\b', '/a%2fb', 'C:\\x'])('%j is refused', (raw) => {
    expect(cleanPath(raw)).toBeUndefined()
  })
  it('cleaning a clean path changes nothing, and leaves no dot', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', '..', '.', '', 'b')), (parts) => {
        const clean = cleanPath(`/${parts.join('/')}`)?.path_canonical ?? ''
        expect(cleanPath(clean)?.path_canonical).toBe(clean)
        expect(
          clean
            .split('/')
            .slice(1)
            .every((part) => part !== '.' && part !== '..'),
        ).toBe(true)
      }),
    )
  })
})

describe('addresses', () => {
  it.each([
    ['https://Example.COM/a?b#c', 'https', 'example.com', 443],
    ['http://example.com:8080', 'http', 'example.com', 8080],
    ['https://2130706433/', 'https', '127.0.0.1', 443],
    ['https://[0:0:0:0:0:0:0:1]/', 'https', '[::1]', 443],
    ['https://bücher.example/', 'https', 'xn--bcher-kva.example', 443],
    ['https://example.com/a@b', 'https', 'example.com', 443],
  ])('%s', (raw, scheme, host, port) => {
    expect(parseAddress(raw)).toEqual({ scheme, host, port })
  })
  it.each([
    'ftp://a/',
    'javascript:x',
    'https://u@a/',
    'https://u:p@a/',
    'https://@a/',
    'https:\\\\@a/',
    '/a',
    '',
    'https://',
  ])('%j is refused', (raw) => {
    expect(parseAddress(raw)).toBeUndefined()
  })
})
