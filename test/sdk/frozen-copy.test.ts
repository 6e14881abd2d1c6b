/** What a caller passes is sent exactly, or refused with its path (SPEC.md §3.5, §6.1). */
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type JsonValue, canonicalText, parseBody, utf8 } from '../../src/record/index.ts'
import { AegisActionError } from '../../src/sdk/index.ts'
import { frozenCopy } from '../../src/sdk/frozen-copy.ts'

const cycle: Record<string, unknown> = { a: { b: {} } }
;(cycle['a'] as Record<string, unknown>)['b'] = { back: cycle }
const ring: unknown[] = []
ring.push([ring])
const sparse: unknown[] = [1]
sparse[2] = 3
const labelled = Object.assign([1], { label: 'x' })
const hidden = Object.defineProperty({}, 'secret', { value: 1, enumerable: false })
class Money {
  amount = 1
}
class List extends Array<number> {}
const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)])

const refused: readonly (readonly [string, unknown, string, string])[] = [
  ['undefined', { a: undefined }, '$.a', 'undefined'],
  ['undefined in an array', { a: [1, undefined] }, '$.a[1]', 'undefined'],
  ['a BigInt', { a: 1n }, '$.a', 'BigInt'],
  ['a symbol', { a: Symbol('s') }, '$.a', 'symbol'],
  ['a name that is a symbol', { a: { [Symbol('s')]: 1 } }, '$.a', 'symbol'],
  ['a function', { a: () => 1 }, '$.a', 'function'],
  ['toJSON', { a: { toJSON: () => 'other' } }, '$.a.toJSON', 'function'],
  ['NaN', { a: Number.NaN }, '$.a', 'NaN'],
  ['Infinity', { a: [Number.POSITIVE_INFINITY] }, '$.a[0]', 'finite'],
  ['a negative zero', { a: -0 }, '$.a', 'negative zero'],
  ['an unsafe integer', { a: 2 ** 53 }, '$.a', '2^53-1'],
  ['a large negative integer', { a: -(2 ** 60) }, '$.a', '2^53-1'],
  ['1e300', { a: 1e300 }, '$.a', '2^53-1'],
  ['a Date', { when: new Date(0) }, '$.when', 'class Date'],
  ['a Map', { a: new Map([['k', 1]]) }, '$.a', 'class Map'],
  ['a Set', { a: new Set([1]) }, '$.a', 'class Set'],
  ['a RegExp', { a: /x/ }, '$.a', 'class RegExp'],
  ['bytes', { a: Uint8Array.of(1) }, '$.a', 'class Uint8Array'],
  ['an Error', { a: new Error('x') }, '$.a', 'class Error'],
  ['a Promise', { a: Promise.resolve(1) }, '$.a', 'class Promise'],
  ['a boxed number', { a: Object(1) as unknown }, '$.a', 'class Number'],
  ['an instance of a class', { a: { b: new Money() } }, '$.a.b', 'class Money'],
  ['an object that inherits', { a: Object.create({ inherited: 1 }) as unknown }, '$.a', 'not a plain object'],
  ['a derived array', { a: List.of(1, 2) }, '$.a', 'derived from Array'],
  [
    'a getter',
    {
      a: {
        get now() {
          return 1
        },
      },
    },
    '$.a.now',
    'getter',
  ],
  [
    'a getter in an array',
    { a: Object.defineProperty([1], 0, { get: () => 1, enumerable: true }) },
    '$.a[0]',
    'getter',
  ],
  ['a member that JSON does not see', { a: hidden }, '$.a.secret', 'enumerable'],
  ['a sparse array', { a: sparse }, '$.a[1]', 'hole'],
  ['an array of a length only', { a: Object.assign([], { length: 3 }) }, '$.a[0]', 'hole'],
  ['an array with a name', { a: labelled }, '$.a.label', 'drop'],
  ['an object in itself', cycle, '$.a.b.back', 'contains itself'],
  ['an array in itself', { a: ring }, '$.a[0][0]', 'contains itself'],
  ['half a surrogate pair', { a: 'x\ud800' }, '$.a', 'surrogate'],
  ['a name that is half a pair', { '\udc00': 1 }, '$["\\udc00"]', 'surrogate'],
  ['a name above U+FFFF', { '𐀀': 1 }, '$["𐀀"]', 'U+FFFF'],
  ['a proxy', { a: new Proxy({ b: 1 }, {}) }, '$.a', 'Proxy'],
  ['a proxy of an array', { a: [new Proxy([1], {})] }, '$.a[0]', 'Proxy'],
  [
    'a proxy whose traps throw',
    {
      a: new Proxy(
        {},
        {
          ownKeys() {
            throw new Error('boo')
          },
        },
      ),
    },
    '$.a',
    'could not be read',
  ],
  ['more than 64 levels', nested(65), '$'.padEnd(1 + 64 * 3, '[0]'), '64 levels'],
  ['more than a mebibyte', { a: 'x'.repeat(1_048_577) }, '$.a', 'size'],
  ['a very long array', { a: Object.assign([], { length: 4_000_000_000 }) }, '$.a', 'larger'],
]

describe('refused, with its path', () => {
  it.each(refused)('%s', (_name, value, path, why) => {
    let error: unknown
    try {
      frozenCopy(value, '$')
    } catch (thrown) {
      error = thrown
    }
    expect(error).toBeInstanceOf(AegisActionError)
    expect(error).toMatchObject({ code: 'action_invalid', path })
    expect((error as Error).message).toContain(why)
  })

  it('a value that grows by sharing, before it is written out', () => {
    let value: unknown = ['x']
    for (let level = 0; level < 40; level += 1) value = [value, value]
    expect(() => frozenCopy(value, '$')).toThrow('size')
  })

  it('and a getter never runs', () => {
    let ran = 0
    const value = Object.defineProperty({}, 'a', { enumerable: true, get: () => (ran += 1) })
    expect(() => frozenCopy(value, '$')).toThrow(AegisActionError)
    expect(ran).toBe(0)
  })
})

describe('accepted', () => {
  it.each([
    ['an object without a prototype', Object.assign(Object.create(null) as object, { a: 1 }), '{"a":1}'],
    ['an object of another realm', runInNewContext('({ a: [1, {}] })') as unknown, '{"a":[1,{}]}'],
    [
      'a member named __proto__',
      JSON.parse('{"__proto__":{"a":1},"b":2}') as unknown,
      '{"__proto__":{"a":1},"b":2}',
    ],
    ['the same object twice', ((shared: object) => [shared, shared])({ a: 1 }), '[{"a":1},{"a":1}]'],
    ['a frozen one', Object.freeze({ a: Object.freeze([1]) }), '{"a":[1]}'],
    ['64 levels', nested(64), `${'['.repeat(64)}1${']'.repeat(64)}`],
    ['small fractions', [0.1, 5e-324, -1.5, 1e-7], '[0.1,5e-324,-1.5,1e-7]'],
    ['the largest integers', [2 ** 53 - 1, -(2 ** 53 - 1), 0], '[9007199254740991,-9007199254740991,0]'],
  ])('%s', (_name, value, text) => {
    expect(canonicalText(frozenCopy(value, '$'))).toBe(text)
  })

  it('a member named __proto__ does not become the prototype', () => {
    const copy = frozenCopy(JSON.parse('{"__proto__":{"polluted":true}}'), '$')
    expect((copy as Record<string, unknown>)['polluted']).toBeUndefined()
  })

  it('exactly what the reader of the server accepts, and it reads the same', () => {
    // Names and texts of any code units, so that half pairs and names above U+FFFF come up.
    const text = fc.string({
      unit: fc.oneof(fc.constantFrom('\ud800', '\udc00', '𐀀', '"', '\u0007'), fc.string()),
    })
    const json = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.oneof(text, fc.double({ noNaN: true, noDefaultInfinity: true }), fc.maxSafeInteger()),
        fc.constantFrom(null, true, false),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(text, tie('value'), { maxKeys: 3 }),
      ),
    })).value
    fc.assert(
      fc.property(json, (value) => {
        // JSON has no -0 that survives being written; everything else is written as it is.
        const written = JSON.stringify({ value })
        const copy = copied(JSON.parse(written))
        const read = parseBody(utf8(written))
        const sent = copy === undefined ? undefined : canonicalText(copy)
        expect(sent).toBe(read.ok ? canonicalText(read.value) : undefined)
        expect(isDeepFrozen(copy)).toBe(true)
      }),
      { numRuns: 500 },
    )
  })
})

function copied(value: unknown): JsonValue | undefined {
  try {
    return frozenCopy(value, '$')
  } catch (thrown) {
    if (thrown instanceof AegisActionError) return undefined
    throw thrown
  }
}

function isDeepFrozen(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true
  return Object.isFrozen(value) && Object.values(value).every(isDeepFrozen)
}
