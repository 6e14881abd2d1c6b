/** What is shown on a terminal: when there is colour, what a progress bar says, what is never sent there. */
import { describe, expect, it } from 'vitest'
import { progressText } from '../../src/cli/progress.ts'
import { hasColour, printable, styled, tableRow, utcText } from '../../src/cli/terminal.ts'

const terminal = { isTTY: true } as NodeJS.WriteStream
const pipe = { isTTY: false } as NodeJS.WriteStream

describe('colour', () => {
  it('is for terminals, and for nobody who says no', () => {
    expect(hasColour(terminal, {})).toBe(true)
    expect(hasColour(terminal, { NO_COLOR: '' })).toBe(true)
    expect(hasColour(terminal, { NO_COLOR: '0' })).toBe(false)
    expect(hasColour(terminal, { TERM: 'dumb' })).toBe(false)
    expect(hasColour(pipe, { FORCE_COLOR: '1' })).toBe(false)
  })

  it('leaves the text as it is where there is none', () => {
    expect(styled('x', 'red', false)).toBe('x')
    expect(styled('x', 'red', true)).toBe('\u001b[31mx\u001b[0m')
  })
})

describe('the progress bar', () => {
  it('says how far, how fast and how long', () => {
    expect(progressText('verify', 25_000_000, 100_000_000, 2_000)).toBe(
      'verify [======                  ]  25%  25.0 MB  12.5 MB/s  6 s left',
    )
    expect(progressText('verify', 0, 100, 1_000)).toContain('  0%')
    expect(progressText('verify', 200, 100, 1_000)).toContain('100%')
  })

  it('only says how much where the end is not known', () => {
    expect(progressText('verify', 3_000_000, undefined, 1_500)).toBe('verify  3.0 MB  2.0 MB/s')
    expect(progressText('verify', 0, 0, 1_500)).toBe('verify  0.0 MB  0.0 MB/s')
  })

  it('fits into 80 columns', () => {
    expect(progressText('verify', 9_999e9, 99_999e9, 9_999_000).length).toBeLessThanOrEqual(80)
  })
})

describe('text', () => {
  it('loses what a terminal would obey, and nothing else', () => {
    expect(printable('däta/☕ file.aarl')).toBe('däta/☕ file.aarl')
    expect(printable('a\u001b[2J\r\n\u009b\u202e\u2028\u200b')).toBe(
      'a\\u{1b}[2J\\u{d}\\u{a}\\u{9b}\\u{202e}\\u{2028}\\u{200b}',
    )
  })

  it('stands in columns without trailing space', () => {
    const columns = [
      { title: 'A', width: 3 },
      { title: 'B', width: 4 },
    ]
    expect(tableRow(columns, ['1', '2'])).toBe('1    2\n')
    expect(tableRow(columns, ['12345', '2'])).toBe('12345  2\n')
  })

  it('gives times in UTC', () => {
    expect(utcText(1_796_040_000_040)).toBe('2026-11-30T12:00:00.040Z')
    expect(utcText(Number.MAX_SAFE_INTEGER)).toBe('9007199254740991')
  })
})
