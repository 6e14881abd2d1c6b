/** Canonical forms and numbers of the vectors (SPEC.md §3), by reader, canonicaliser and scanner alike. */
import { describe, expect, it } from 'vitest'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { canonicalText, encodeHex, parseBody, parseLineObject, utf8 } from '../../src/record/index.ts'
import { RowScanner, classifyRow } from '../../src/verify/scan.ts'
import { exactNumber } from '../harness/exact-number.ts'
import { readCases } from '../harness/vector-files.ts'
import type { NumberCase, RowCase } from '../harness/vectors/values.ts'

describe('a row of the vectors', () => {
  it.each(readCases<RowCase>('3/rows'))('$name ($spec)', ({ row, expect: wanted, canonical, sha256 }) => {
    const bytes = utf8(row)
    const isCanonical = new RowScanner().scan(bytes, 0, bytes.length)
    expect(isCanonical ? 'canonical' : classifyRow(bytes)).toBe(wanted)
    const read = parseLineObject(bytes)
    expect(read.ok).toBe(canonical !== undefined)
    if (!read.ok) return
    expect(canonicalText(read.value)).toBe(canonical)
    expect(encodeHex(nodeSuite.sha256(utf8(canonicalText(read.value))))).toBe(sha256)
  })
})

const refusals = {
  number_not_finite: 1,
  number_not_exact: 2,
  integer_too_large: 3,
  negative_zero: 4,
} as const

describe('a number of the vectors', () => {
  /** The text, or the step that refused it. */
  const readNumber = (literal: string): string | number => {
    const read = parseBody(utf8(`{"a":${literal}}`))
    if (read.ok) return canonicalText(read.value).slice(5, -1)
    return (refusals as Readonly<Record<string, number>>)[read.error.code] ?? read.error.code
  }

  it.each(readCases<NumberCase>('3/numbers'))('$name ($spec)', ({ cases }) => {
    const wrong = cases.filter((one) => {
      const got = readNumber(one.literal)
      return 'text' in one ? got !== one.text : !(one.refused as readonly (string | number)[]).includes(got)
    })
    expect(wrong).toEqual([])
  })

  it('is as exact arithmetic has it', () => {
    const literals = readCases<NumberCase>('3/numbers').flatMap((vector) => vector.cases)
    // An exponent of twenty digits cannot be expanded, which is why §3.5 forbids to try.
    const near = literals.filter(({ literal }) => !/e-?9{10}/i.test(literal))
    expect(near.map(({ literal }) => ({ literal, ...exactNumber(literal) }))).toEqual(near)
  })
})
