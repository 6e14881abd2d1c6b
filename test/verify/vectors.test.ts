/** Every Chain of test/vectors/7/chains gets the report that it states, to the byte, however it is read. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { nobleSuite } from '../../src/record/index.ts'
import { indeterminateReasons, tamperedReasons } from '../../src/verify/index.ts'
import { judge, judgeOptions, outputsOf, toHead, toPins } from '../harness/judge.ts'
import { type ChainVector, inputBytes, readCases, vectorPath } from '../harness/vector-files.ts'

const vectors = readCases<ChainVector>('7/chains')

describe('a Chain of the vectors', () => {
  it.each(vectors)('$name ($spec)', ({ files, options, expect: expected }) => {
    const bytes = files.map(inputBytes)
    const judged = judgeOptions(nodeSuite, options)
    expect(outputsOf(judge(bytes, judged))).toEqual(expected)
    // Pieces of 1 to 7 bytes, and signatures that are answered last to first.
    const pieces = bytes.reduce((sum, file) => sum + file.length, 0) > 40_000 ? [1023, 4096, 1] : [1, 2, 7, 3]
    const late = { ...judged, chunks: pieces, settle: (ids: readonly number[]) => [...ids].reverse() }
    expect(outputsOf(judge(bytes, late))).toEqual(expected)
  })

  it('is judged the same by the portable suite', () => {
    for (const { name, files, options, expect: expected } of vectors) {
      if (name === 'more-than-a-hundred-keys') continue // a second of pure JavaScript that shows nothing new
      const outputs = outputsOf(judge(files.map(inputBytes), judgeOptions(nobleSuite, options)))
      expect({ name, ...outputs }).toEqual({ name, ...expected })
    }
  })

  it('stands for every reason that there is', () => {
    const reasons = new Set(
      vectors.map((vector) => (JSON.parse(vector.expect.json) as { reason: string }).reason),
    )
    expect([...tamperedReasons, ...indeterminateReasons].filter((reason) => !reasons.has(reason))).toEqual([])
  })
})

describe('the examples of SPEC.md', () => {
  const text = (name: string): string => readFileSync(vectorPath(name), 'utf8')

  it('verifies section 2', () => {
    const report = judge([readFileSync(vectorPath('2/example.aarl'))], { suite: nodeSuite })
    expect(outputsOf(report).text).toBe(text('2/example.report.txt'))
  })

  it('verifies section 11 with its trust store and head', () => {
    const pins = toPins(undefined, text('11/final.trust.json'))
    const headLine = text('11/final.head.aarl')
    const chain = text('11/final.aarl')
    expect(chain.endsWith(headLine)).toBe(true)
    const { session_index, seq } = JSON.parse(headLine) as { session_index: number; seq: number }
    const hash = Buffer.from(nodeSuite.sha256(Buffer.from(headLine.trimEnd()))).toString('hex')
    const head = toHead(`${String(session_index)}:${String(seq)}:${hash}`)
    if (pins === undefined || head === undefined) throw new Error('no pins')
    const outputs = outputsOf(judge([Buffer.from(chain)], { suite: nodeSuite, pins, head }))
    expect(outputs.text).toBe(text('11/final.report.txt'))
    expect(outputs.json.trimEnd()).toBe(text('11/final.report.json').trimEnd())
  })
})
