/** The scanner says of every row what the reader and the canonicaliser say together (SPEC.md §3.3, §7.3 steps 2 to 5). */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  encodeCanonical,
  findInvalidUtf8,
  isJsonObject,
  parseLineObject,
  readJson,
  syntaxRules,
  utf8,
} from '../../src/record/index.ts'
import { RowScanner, classifyRow } from '../../src/verify/scan.ts'
import { jsonText, lineObject, mutate, mutations } from '../harness/json-texts.ts'
import { check } from '../harness/properties.ts'

const scanner = new RowScanner()
const runs = { numRuns: 1500 }

/** Slowly and by the book: canonical iff it reads under the rules of Lines and is written back as it is. */
function isCanonical(bytes: Uint8Array): boolean {
  const read = parseLineObject(bytes)
  return read.ok && Buffer.from(encodeCanonical(read.value)).equals(bytes)
}

/** Step by step as SPEC.md §7.3 has it; number literals are found in the text, outside of strings. */
function faultOf(bytes: Uint8Array): string {
  if (findInvalidUtf8(bytes) !== undefined) return 'not_utf8'
  const text = Buffer.from(bytes).toString()
  const body = text.startsWith('\ufeff') ? text.slice(1) : text
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    return 'malformed_line'
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'not_an_object'
  const tokens = body.match(/"(?:[^"\\]|\\.)*"|[^\s"[\]{},:]+|[[\]{}]/gs) ?? []
  let depth = 0
  let outside = false
  for (const token of tokens) {
    if (token === '{' || token === '[') depth += 1
    if (token === '}' || token === ']') depth -= 1
    if (depth > 64 || token === 'null') outside = true
    if (/^[-0-9]/.test(token) && (!/^[0-9]+$/.test(token) || BigInt(token) > 9007199254740991n))
      outside = true
  }
  return outside ? 'value_not_allowed' : 'not_canonical'
}

/** Agrees on one row, wherever in a larger buffer it stands. */
function disagreement(row: Uint8Array): string | undefined {
  const wanted = isCanonical(row)
  const scans = [scanner.scan(row, 0, row.length)]
  // What stands behind a row in a buffer is no part of it, whatever it would complete.
  for (const tail of ['}', ']}', '"}', '":1}', '9}', 'e}', '0', ',']) {
    const framed = Buffer.concat([Buffer.from('{"a":'), row, Buffer.from(tail)])
    scans.push(scanner.scan(framed, 5, 5 + row.length))
  }
  const wrong = scans.find((got) => got !== wanted)
  if (wrong !== undefined) return `scan says ${String(wrong)}: ${Buffer.from(row).toString('latin1')}`
  if (wanted) return undefined
  const [got, fault] = [classifyRow(row), faultOf(row)]
  return got === fault ? undefined : `${got}, not ${fault}: ${Buffer.from(row).toString('latin1')}`
}

describe('the scanner', () => {
  it('takes the canonical form of every object', () => {
    check(
      fc.property(lineObject, (value) => {
        const bytes = encodeCanonical(value)
        expect(scanner.scan(bytes, 0, bytes.length)).toBe(true)
      }),
      runs,
    )
  })

  it('agrees with reader and canonicaliser on objects written in any order', () => {
    check(
      fc.property(lineObject, (value) => {
        expect(disagreement(utf8(JSON.stringify(value)))).toBeUndefined()
      }),
      { numRuns: 2000 },
    )
  })

  it('agrees on canonical objects that were changed', () => {
    check(
      fc.property(lineObject, mutations, (value, changes) => {
        expect(disagreement(mutate(encodeCanonical(value), changes))).toBeUndefined()
      }),
      { numRuns: 5000 },
    )
  })

  it('agrees on every text of the grammar, and on such texts changed', () => {
    const row = fc.tuple(fc.constantFrom('', '\ufeff', ' '), jsonText, fc.constantFrom('', '\r', ' ', '}'))
    check(
      fc.property(row, mutations, (parts, changes) => {
        expect(disagreement(mutate(Buffer.from(parts.join('')), changes))).toBeUndefined()
      }),
      { numRuns: 5000 },
    )
  })

  it('agrees on objects nested around the limit', () => {
    for (let depth = 60; depth < 70; depth += 1) {
      expect(disagreement(utf8(`${'{"a":'.repeat(depth)}0${'}'.repeat(depth)}`))).toBeUndefined()
      expect(disagreement(utf8(`{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`))).toBeUndefined()
    }
  })

  it('finds the members that a verifier judges, at the top and nowhere else', () => {
    check(
      fc.property(lineObject, lineObject, (value, inner) => {
        const bytes = encodeCanonical({ ...value, aa: inner, seq: 12, chain_id: 'a"\\☕' })
        expect(scanner.scan(bytes, 0, bytes.length)).toBe(true)
        expect([scanner.integer('seq'), scanner.text('chain_id')]).toEqual([12, 'a"\\☕'])
        for (const name of ['line_type', 'signature', 'prev_hash'] as const) {
          expect(scanner.has(name)).toBe(Object.hasOwn(value, name))
          const member = value[name]
          expect(scanner.text(name)).toBe(typeof member === 'string' ? member : undefined)
        }
        const [from, to] = scanner.memberSpan('seq')
        expect(Buffer.from(bytes.subarray(from, to)).toString()).toBe('"seq":12')
      }),
      runs,
    )
  })

  it('reads a text as strictly as the reader does', () => {
    check(
      fc.property(jsonText, (text) => {
        const bytes = utf8(`{"a":${text}}`)
        const read = readJson(bytes, syntaxRules)
        // What the scanner takes, the reader takes: nothing reaches a hash that no reader reads.
        expect(scanner.scan(bytes, 0, bytes.length) && !(read.ok && isJsonObject(read.value))).toBe(false)
      }),
      runs,
    )
  })

  it.each([
    ['brackets', '['.repeat(65_536)],
    ['names in names', '{"a":'.repeat(13_107)],
  ])('says what is wrong with a row of %s about as fast as it is read', (_, text) => {
    const row = Buffer.from(text)
    const fastest = (work: () => unknown): number => {
      const times = Array.from({ length: 8 }, () => {
        const start = performance.now()
        work()
        return performance.now() - start
      })
      return Math.min(...times)
    }
    const reading = fastest(() => readJson(row, syntaxRules))
    expect(classifyRow(row)).toBe('malformed_line')
    // Twice, for the UTF-8 is looked at twice; with a place named for each refusal it was more than twenty times.
    expect(fastest(() => classifyRow(row))).toBeLessThan(10 * reading)
  })
})
