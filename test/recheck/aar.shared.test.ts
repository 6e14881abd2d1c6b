/** The Session that another implementation wrote, which has none of our axes: stated rows, and no crash. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { openUnnamedPolicySet } from '../../src/policy/index.ts'
import { recheckExitCode } from '../../src/recheck/index.ts'
import { utf8 } from '../../src/record/index.ts'
import { toFile } from '../harness/chain.ts'
import { recheck } from '../harness/recheck.ts'
import { sharedPath } from '../harness/shared.ts'
import { recordedSet } from '../harness/vectors/recheck-desk.ts'

const { verify } = JSON.parse(readFileSync(sharedPath('vectors', 'aar', 'expected.json'), 'utf8')) as {
  readonly verify: readonly { readonly file: string | readonly string[] }[]
}
const files = verify.map(({ file }) =>
  typeof file === 'string'
    ? new Uint8Array(readFileSync(sharedPath('vectors', 'aar', file)))
    : toFile(file.map((name) => utf8(readFileSync(sharedPath('vectors', 'aar', name), 'utf8').trim()))),
)
const opened = openUnnamedPolicySet(utf8(recordedSet.text), nodeSuite)
if (!opened.ok) throw new Error(opened.reason)
const under = opened.policySet

describe('a Session of another implementation', () => {
  it('is indeterminate row by row: it recorded no request to evaluate', () => {
    const { rows, summary } = recheck(files[0] ?? new Uint8Array(), { under })
    expect(rows).toEqual(
      [
        'call-golden-1 session 0 seq 2: indeterminate no_binding',
        'call-golden-2 session 0 seq 3: indeterminate rate_limit_unevaluable',
        'call-golden-3 session 0 seq 4: indeterminate no_binding',
        'call-golden-4 session 0 seq 5: indeterminate no_binding',
        'call-golden-5 session 0 seq 6: indeterminate no_binding',
        'call-golden-6 session 0 seq 7: indeterminate no_binding',
        'call-golden-7 session 0 seq 8: indeterminate no_binding',
        'call-golden-8 session 0 seq 9: indeterminate no_binding',
      ].map((row) => `call ${row}`),
    )
    expect(recheckExitCode(summary.verdicts, [], false)).toBe(3)
  })

  it('names sets that nobody has, under its own', () => {
    const { summary } = recheck(files[0] ?? new Uint8Array(), { under: new Map() })
    expect(summary.reasons).toEqual(
      new Map([
        ['unknown_policy_set_hash', 7],
        ['rate_limit_unevaluable', 1],
      ]),
    )
  })

  it('is read to its end in every broken form', () => {
    for (const file of files) expect(() => recheck(file, { under })).not.toThrow()
  })
})
