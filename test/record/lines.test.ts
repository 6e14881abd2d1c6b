/** The strict decoder against the Lines of the vectors (SPEC.md §4), and what it keeps. */
import { describe, expect, it } from 'vitest'
import { encodeCanonical, isKnownLine, parseLine, utf8 } from '../../src/record/index.ts'
import { readCases } from '../harness/vector-files.ts'
import type { LineCase } from '../harness/vectors/lines.ts'

const cases = readCases<LineCase>('4/lines')

describe('a Line of the vectors', () => {
  it.each(cases)('$name ($spec)', ({ line, wrong }) => {
    const read = parseLine(utf8(line))
    expect(read.ok ? undefined : read.error.path).toBe(wrong)
  })

  it('is encoded again as the same bytes, unknown members included', () => {
    for (const { line, wrong } of cases) {
      const read = parseLine(utf8(line))
      if (!read.ok || wrong !== undefined) continue
      const members = isKnownLine(read.value) ? read.value : read.value.members
      expect(encodeCanonical(members as never)).toEqual(utf8(line))
    }
  })
})
