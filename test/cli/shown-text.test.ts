/** What others wrote, as a person is shown it: visible, on lines that are not ours. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cellText, shownText, valueLines } from '../../src/cli/shown-text.ts'

describe('shown text', () => {
  it('is what it is where every character is seen', () => {
    expect(shownText('Zoë paid 5 €, 你好, ☕')).toBe('Zoë paid 5 €, 你好, ☕')
  })

  it.each([
    ['line breaks', 'a\nb\r\u0085\u2028\u2029', 'a\\u{a}b\\u{d}\\u{85}\\u{2028}\\u{2029}'],
    ['terminal control', '\u001b[2J\u009b\u0007\t', '\\u{1b}[2J\\u{9b}\\u{7}\\u{9}'],
    ['bidirectional', 'a\u202eb\u2066\u200f', 'a\\u{202e}b\\u{2066}\\u{200f}'],
    [
      'invisible',
      'a\u200b\u2060\ufeff\u00ad\u034f\ufe0f\u{e0041}',
      'a\\u{200b}\\u{2060}\\u{feff}\\u{ad}\\u{34f}\\u{fe0f}\\u{e0041}',
    ],
    ['fillers', '\u3164\u115f\uffa0\u2800', '\\u{3164}\\u{115f}\\u{ffa0}\\u{2800}'],
    ['white space that is no space', 'a\u00a0b\u2003\u3000', 'a\\u{a0}b\\u{2003}\\u{3000}'],
    ['our own escapes', '\\u{202e}', '\\\\u{202e}'],
    ['piles of marks', 'e\u0301\u0302\u0303\u0304', 'e\u0301\u0302\\u{303}\\u{304}'],
    ['marks on signs of ours', '\u0301"\u0338', '\\u{301}"\\u{338}'],
    ['lone surrogates', 'a\ud800b', 'a\\u{d800}b'],
  ])('shows %s', (_, text, shown) => {
    expect(shownText(text)).toBe(shown)
  })

  it('tells any two texts apart', () => {
    const texts = fc.string({ unit: 'binary', maxLength: 12 })
    fc.assert(
      fc.property(texts, texts, (left, right) => {
        fc.pre(left !== right)
        expect(shownText(left)).not.toBe(shownText(right))
      }),
      { numRuns: 5_000 },
    )
  })

  it('never holds what a terminal obeys', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        expect(shownText(text)).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u)
      }),
      { numRuns: 5_000 },
    )
  })
})

describe('a value in lines', () => {
  it('has the bar in front of each, and no line is longer than the terminal', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 400 }),
        fc.integer({ min: 24, max: 120 }),
        (text, columns) => {
          const lines = valueLines(shownText(text), columns).split('\n').slice(0, -1)
          expect(lines.every((line) => line.startsWith('    | ') && line.length < columns)).toBe(true)
          expect(lines.map((line) => line.slice(6)).join('')).toBe(shownText(text))
        },
      ),
    )
  })

  it('counts wide characters twice, and never cuts an escape', () => {
    expect(valueLines('你'.repeat(20), 27)).toBe(`    | ${'你'.repeat(10)}\n`.repeat(2))
    expect(valueLines(`${'x'.repeat(15)}\\u{202e}`, 27)).toBe(`    | ${'x'.repeat(15)}\n    | \\u{202e}\n`)
    expect(valueLines('', 80)).toBe('    | \n')
  })
})

describe('a cell', () => {
  it('cannot end its column', () => {
    expect(cellText('bot  live')).toBe('bot \\u{20}live')
    expect(cellText(' a ')).toBe('\\u{20}a\\u{20}')
    expect(cellText('')).toBe('-')
    expect(Array.from(cellText('x'.repeat(300)))).toHaveLength(64)
    expect(cellText('☕'.repeat(64))).toBe('☕'.repeat(64))
  })
})
