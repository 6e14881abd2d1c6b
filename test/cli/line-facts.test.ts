/** What a pull reads of Lines besides their verdict, from bytes that nobody has verified. */
import { describe, expect, it } from 'vitest'
import { LineFacts } from '../../src/cli/pull/line-facts.ts'
import { encodeCanonical, noPolicySet, utf8 } from '../../src/record/index.ts'
import { toFile } from '../harness/chain.ts'
import { Forge, sha256Hex } from '../harness/forge.ts'

const inForce = 'a'.repeat(64)
const candidate = 'b'.repeat(64)
const planted = 'c'.repeat(64)
const forge = new Forge()
  .open()
  .intent('call-1')
  .outcome('call-1', {
    policy_set_hash: inForce,
    decision_axes: {
      shadow: { policy_set_hash: candidate, status: 'denied' },
      metadata: { policy_set_hash: planted },
      context: { args: { policy_set_hash: planted, shadow: { policy_set_hash: planted } } },
    },
  })
  .outcome('call-2', { policy_set_hash: noPolicySet })
  .close({ policy_set_hash: planted })

describe('facts of Lines', () => {
  it('name the policy sets of verdicts and candidates, and nothing that a caller wrote', () => {
    expect([...LineFacts.of(forge.file).policySets]).toEqual([inForce, candidate])
  })

  it('are the same however the bytes are cut', () => {
    for (const size of [1, 7, 64, 1_000]) {
      const facts = new LineFacts()
      for (let at = 0; at < forge.file.length; at += size) facts.push(forge.file.slice(at, at + size))
      facts.end()
      expect(facts).toMatchObject({ opens: 1, chainId: 'acme', sessionIndex: 0, lines: 5 })
      expect(facts.lastHash).toBe(sha256Hex(forge.rows.at(-1) ?? ''))
      expect([...facts.policySets]).toEqual([inForce, candidate])
    }
  })

  it('do not need a last line feed, and pass over empty rows and rows that are no Lines', () => {
    const bare = forge.file.slice(0, -1)
    expect(LineFacts.of(bare).lastHash).toBe(LineFacts.of(forge.file).lastHash)
    const odd = toFile([
      utf8(''),
      utf8('[]'),
      utf8('{'),
      Uint8Array.of(0xff),
      encodeCanonical({ line_type: 7 }),
    ])
    expect(LineFacts.of(odd)).toMatchObject({ opens: 0, lines: 1 })
    // Longer than a Line may be: not read as one.
    const long = encodeCanonical({ line_type: 'open', chain_id: 'x'.repeat(70_000) })
    expect(LineFacts.of(toFile([long]))).toMatchObject({ opens: 0, lines: 0 })
  })
})
