/** Exhaustively, on four small Chains: every bit flipped, every byte removed, every place cut. */
import { describe, expect, it } from 'vitest'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import type { Report } from '../../src/verify/index.ts'
import { judge, reasonOf, rememberingSuite } from '../harness/judge.ts'
import { smallChains } from '../harness/small-chains.ts'

const suite = rememberingSuite(nodeSuite)
const verdictOf = (bytes: Uint8Array): Report => judge([bytes], { suite })

describe.each(smallChains)('$name', { timeout: 60_000 }, ({ bytes, ends, head }) => {
  it('is Verified as it is', () => {
    const report = judge([bytes], { suite, head })
    expect(report).toMatchObject({ verdict: 'verified', completeTo: { seq: head.seq } })
  })

  it('is Tampered by any one bit, or Indeterminate where the last Line or an LF beside it has it', () => {
    // The LF in front of the last Line, the Line, and the LF behind it.
    const lastFrom = bytes.lastIndexOf(0x0a, bytes.length - 2)
    const changed = Uint8Array.from(bytes)
    const wrong: string[] = []
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const at = bit >> 3
      changed[at] = (bytes[at] ?? 0) ^ (1 << (bit & 7))
      const { verdict } = verdictOf(changed)
      if (verdict === 'verified' || (verdict === 'indeterminate' && at < lastFrom))
        wrong.push(`${verdict} by bit ${String(bit)}`)
      changed[at] = bytes[at] ?? 0
    }
    expect(wrong).toEqual([])
  })

  it('is never Verified without one of its bytes, but for the last LF', () => {
    const wrong: string[] = []
    for (let at = 0; at < bytes.length; at += 1) {
      const report = verdictOf(Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]))
      if ((report.verdict === 'verified') !== (at === bytes.length - 1))
        wrong.push(`${report.verdict} without ${String(at)}`)
    }
    expect(wrong).toEqual([])
  })

  it('is Indeterminate where it is cut, and behind a close Verified as far as it goes', () => {
    const wrong: string[] = []
    for (let length = 0; length < bytes.length; length += 1) {
      const cut = bytes.subarray(0, length)
      // A `close` is whole with and without its LF.
      const whole = ends.includes(length) || ends.includes(length + 1)
      const report = verdictOf(cut)
      const completeTo = report.verdict === 'verified' ? report.completeTo : undefined
      if (report.verdict !== (whole ? 'verified' : 'indeterminate') || completeTo !== undefined) {
        wrong.push(`${report.verdict} at ${String(length)}`)
      }
      const held = judge([cut], { suite, head })
      const complete = length === bytes.length - 1
      if (complete !== (held.verdict === 'verified'))
        wrong.push(`${reasonOf(held)} at ${String(length)} with a head`)
      if (whole && !complete && !['before_head', 'forked'].includes(reasonOf(held))) {
        wrong.push(`${reasonOf(held)} at the end ${String(length)} with a head`)
      }
    }
    expect(wrong).toEqual([])
  })
})
