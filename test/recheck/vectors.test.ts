/** Every Chain of test/vectors/10/rechecks gets the rows and the exit code that it states. */
import { describe, expect, it } from 'vitest'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { openUnnamedPolicySet } from '../../src/policy/index.ts'
import { differenceNames, recheckExitCode, recheckReasons, verdictNames } from '../../src/recheck/index.ts'
import { utf8 } from '../../src/record/index.ts'
import { joinBytes } from '../harness/chain.ts'
import { type RecheckVector, inputBytes, readCases } from '../harness/vector-files.ts'
import { type RecheckGiven, recheck } from '../harness/recheck.ts'

const vectors = readCases<RecheckVector>('10/rechecks')

function toBytes(files: Readonly<Record<string, string>> = {}): ReadonlyMap<string, Uint8Array> {
  return new Map(Object.entries(files).map(([name, text]) => [name, utf8(text)]))
}

function underOf({ policies, policy }: RecheckVector): RecheckGiven['under'] {
  if (policy === undefined) return toBytes(policies)
  const opened = openUnnamedPolicySet(utf8(policy), nodeSuite)
  if (!opened.ok) throw new Error(JSON.stringify(opened))
  return opened.policySet
}

describe('a recheck of the vectors', () => {
  it.each(vectors)('$name ($spec)', (vector) => {
    const chain = joinBytes(vector.files.map(inputBytes))
    const done = recheck(chain, { under: underOf(vector), envelopes: toBytes(vector.envelopes) })
    const exit = recheckExitCode(done.summary.verdicts, differenceNames, done.summary.broken > 0)
    expect({ exit, rows: done.rows }).toEqual(vector.expect)
  })

  it('stand for every verdict and every reason', () => {
    const rows = vectors.flatMap((vector) => vector.expect.rows)
    const said = (word: string): boolean => rows.some((row) => row.includes(`: ${word}`))
    expect(verdictNames.filter((name) => !said(name))).toEqual([])
    expect(recheckReasons.filter((reason) => !said(`indeterminate ${reason}`))).toEqual([])
  })
})
