/** The number rule of SPEC.md §3.5 against exact arithmetic, and text in UTF-8 against the runtime's own codec. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  canonicalText,
  decodeUtf8,
  encodeUtf8,
  findInvalidUtf8,
  parseBody,
  utf8,
} from '../../src/record/index.ts'
import { exactNumber } from '../harness/exact-number.ts'
import { anyText, mutate, mutations, numberLiteral, wholeText } from '../harness/json-texts.ts'
import { check } from '../harness/properties.ts'

const steps: Readonly<Record<string, number>> = {
  number_not_finite: 1,
  number_not_exact: 2,
  integer_too_large: 3,
  negative_zero: 4,
}

/** Whether the reader accepts the literal as exact arithmetic does, or refuses it by a step that applies. */
function agrees(literal: string): boolean {
  const exact = exactNumber(literal)
  const read = parseBody(utf8(`{"a":${literal}}`))
  if ('text' in exact) return read.ok && canonicalText(read.value) === `{"a":${exact.text}}`
  return !read.ok && exact.refused.includes(steps[read.error.code] ?? 0)
}

describe('a number of an action', () => {
  it('is accepted exactly when its text holds its value', () => {
    check(
      fc.property(numberLiteral, (literal) => {
        expect({ literal, agrees: agrees(literal) }).toEqual({ literal, agrees: true })
      }),
      { numRuns: 5000 },
    )
  })

  it('is accepted in the text of any double that is no large integer', () => {
    check(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (double) => {
        const literal = JSON.stringify(double)
        expect({ literal, agrees: agrees(literal) }).toEqual({ literal, agrees: true })
        // One digit more than the shortest text is another value, or the same spelt longer.
        const longer = literal.replace(/(?=e|$)/, literal.includes('.') ? '1' : '.1')
        expect({ longer, agrees: agrees(longer) }).toEqual({ longer, agrees: true })
      }),
      { numRuns: 3000 },
    )
  })

  it('near every power of ten and of two', () => {
    const literals: string[] = []
    for (let exponent = -30; exponent <= 30; exponent += 1) {
      for (const lead of ['1', '9', '9.99', '1.5', '10', '0.1']) literals.push(`${lead}e${String(exponent)}`)
    }
    for (let power = 40n; power < 70n; power += 1n) {
      for (const off of [-2n, -1n, 0n, 1n, 2n])
        literals.push(String(2n ** power + off), `-${String(2n ** power + off)}`)
    }
    expect(literals.filter((literal) => !agrees(literal))).toEqual([])
  })
})

describe('UTF-8', () => {
  const fatal = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  const decodes = (bytes: Uint8Array): string | undefined => {
    try {
      return fatal.decode(bytes)
    } catch {
      return undefined
    }
  }
  const agree = (bytes: Uint8Array): boolean => {
    const theirs = decodes(bytes)
    if (findInvalidUtf8(bytes) !== undefined) return theirs === undefined
    return decodeUtf8(bytes) === theirs
  }

  it('is written as TextEncoder writes it, and half of a pair is not written', () => {
    check(
      fc.property(anyText, (text) => {
        const ours = encodeUtf8(text)
        expect(ours === undefined ? undefined : Buffer.from(ours)).toEqual(
          /\p{Surrogate}/u.test(text) ? undefined : Buffer.from(new TextEncoder().encode(text)),
        )
      }),
      { numRuns: 2000 },
    )
  })

  it('is read as a fatal TextDecoder reads it', () => {
    check(
      fc.property(
        fc.oneof(fc.uint8Array({ maxLength: 12 }), wholeText.map(utf8)),
        mutations,
        (bytes, changes) => {
          const changed = mutate(bytes, changes)
          expect({ bytes: [...changed], agree: agree(changed) }).toEqual({ bytes: [...changed], agree: true })
        },
      ),
      { numRuns: 5000 },
    )
  })

  it('agrees on every sequence of up to two bytes, and on every code point', () => {
    let wrong = 0
    for (let first = 0; first < 256; first += 1) {
      if (!agree(Uint8Array.of(first))) wrong += 1
      for (let second = 0; second < 256; second += 1) if (!agree(Uint8Array.of(first, second))) wrong += 1
    }
    for (let code = 0; code <= 0x10ffff; code += 1) {
      if (code >= 0xd800 && code <= 0xdfff) continue
      const text = String.fromCodePoint(code)
      const bytes = utf8(text)
      if (findInvalidUtf8(bytes) !== undefined || decodeUtf8(bytes) !== text) wrong += 1
    }
    expect(wrong).toBe(0)
  })

  it('names the first byte that is wrong', () => {
    expect(findInvalidUtf8(Uint8Array.of(0x61, 0xc3, 0xa9, 0xe2, 0x98))).toBe(3)
    expect(findInvalidUtf8(Uint8Array.of(0x61, 0xff), 0, 1)).toBeUndefined()
  })

  it('is read in pieces that do not show', () => {
    const text = '☕𐀀é'.repeat(5000)
    expect(decodeUtf8(utf8(text))).toBe(text)
  })
})
