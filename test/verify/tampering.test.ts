/** What a forger can do to a generated Chain, and the one verdict for each (SPEC.md §7). Sampled; the seed is printed. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { type JsonObject, encodeHex } from '../../src/record/index.ts'
import type { Pin, Report } from '../../src/verify/index.ts'
import { type BuiltChain, type BuiltLine, buildChain, joinBytes, toFile } from '../harness/chain.ts'
import { keyFromSeed, sha256Hex } from '../harness/forge.ts'
import { chainOf, chainOptions } from '../harness/generated-chains.ts'
import { judge, outputsOf, reasonOf, rememberingSuite, toPins } from '../harness/judge.ts'
import { check } from '../harness/properties.ts'
import { resign } from '../harness/resign.ts'

const suite = rememberingSuite(nodeSuite)
const verdictOf = (bytes: Uint8Array, head?: BuiltChain['head'], pins?: readonly Pin[]): Report =>
  judge([bytes], { suite, ...(head === undefined ? {} : { head }), ...(pins === undefined ? {} : { pins }) })
const rowsOf = (chain: BuiltChain): Uint8Array[] => chain.lines.map((line) => line.bytes)
const membersOf = (line: Uint8Array): JsonObject => JSON.parse(Buffer.from(line).toString()) as JsonObject
const isSigned = (line: BuiltLine): boolean => line.type !== 'intent'
const runs = { numRuns: 150 }
/** A place in a Chain whose length is not known yet. */
const place = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
const at = (length: number, where: number): number => Math.floor(where * length)

/** Where the last row begins, its LF in front included. */
const lastRowAt = (bytes: Uint8Array): number => bytes.lastIndexOf(0x0a, bytes.length - 2)

describe('a generated Chain', { timeout: 60_000 }, () => {
  it('is Verified, and complete up to its head', () => {
    check(
      fc.property(chainOptions, (options) => {
        const chain = chainOf(options)
        const report = judge(chain.files, {
          suite,
          head: chain.head,
          pins: toPins(undefined, Buffer.from(chain.trustStore).toString()) ?? [],
        })
        expect(outputsOf(report).text).toMatch(/^Verified \(pinned/)
        expect(report).toMatchObject({ completeTo: { seq: chain.head.seq }, lines: chain.lines.length })
      }),
      runs,
    )
  })

  it('with one bit flipped is Tampered, or Indeterminate in the last Line or an LF beside it', () => {
    check(
      fc.property(
        chainOptions,
        fc.array(fc.tuple(place, fc.nat(7)), { minLength: 20, maxLength: 20 }),
        (options, flips) => {
          const { bytes } = chainOf(options)
          for (const [where, bit] of flips) {
            const byte = at(bytes.length, where)
            const changed = Uint8Array.from(bytes)
            changed[byte] = (bytes[byte] ?? 0) ^ (1 << bit)
            const { verdict } = verdictOf(changed)
            expect(byte < lastRowAt(bytes) ? ['tampered'] : ['tampered', 'indeterminate']).toContain(verdict)
          }
        },
      ),
      runs,
    )
  })

  it('cut anywhere is Indeterminate, or at the end of a Session Verified and not proven complete', () => {
    check(
      fc.property(chainOptions, fc.array(place, { minLength: 20, maxLength: 20 }), (options, cuts) => {
        const chain = chainOf(options)
        const ends = chain.files.map((_, session) => joinBytes(chain.files.slice(0, session + 1)).length)
        const places = [
          ...cuts.map((where) => at(chain.bytes.length, where)),
          ...ends,
          ...ends.map((end) => end - 1),
        ]
        for (const length of places) {
          const cut = chain.bytes.subarray(0, length)
          const whole = ends.includes(length) || ends.includes(length + 1)
          const report = verdictOf(cut)
          expect(report.verdict).toBe(whole ? 'verified' : 'indeterminate')
          expect(outputsOf(report).text).toMatch(/completeness not proven\n$/)
          const held = reasonOf(verdictOf(cut, chain.head))
          const all = length >= chain.bytes.length - 1
          expect(held).toBe(all ? 'verified' : whole ? 'before_head' : reasonOf(report))
        }
      }),
      runs,
    )
  })

  it('with a Line removed, repeated, exchanged or put in is never Verified', () => {
    const edit = fc.constantFrom('remove', 'repeat', 'exchange', 'insert' as const)
    check(
      fc.property(chainOptions, edit, place, place, (options, kind, first, second) => {
        const chain = chainOf(options)
        const rows = rowsOf(chain)
        const [i, j] = [at(rows.length, first), at(rows.length, second)]
        const [one, two] = [rows[i], rows[j]]
        if (one === undefined || two === undefined || (kind === 'exchange' && i === j)) return
        if (kind === 'remove') rows.splice(i, 1)
        if (kind === 'repeat') rows.splice(i + 1, 0, one)
        if (kind === 'exchange') [rows[i], rows[j]] = [two, one]
        // A Line of another Chain under the same key.
        const foreign = chainOf({ ...options, seed: options.seed + 1 }).lines
        if (kind === 'insert') rows.splice(i, 0, foreign[at(foreign.length, second)]?.bytes ?? one)
        const report = verdictOf(toFile(rows), chain.head)
        // Without its last Line a Chain is unanchored; without its only ones it is empty. All else contradicts itself.
        const cut = kind === 'remove' && i === rows.length
        expect(reasonOf(report)).not.toBe('verified')
        expect(report.verdict).toBe(cut ? 'indeterminate' : 'tampered')
      }),
      { numRuns: 400 },
    )
  })

  it('with a signature taken away, exchanged or zeroed is Tampered at that Line', () => {
    const change = fc.constantFrom('strip', 'zero', 'exchange', 'flip' as const)
    check(
      fc.property(chainOptions, change, place, place, (options, kind, first, second) => {
        const { lines } = chainOf(options)
        const signed = lines.filter(isSigned)
        const line = signed[at(signed.length, first)]
        const donor = signed[at(signed.length, second)]
        if (line === undefined || donor === undefined || (kind === 'exchange' && donor === line)) return
        const { signature, ...rest } = membersOf(line.bytes)
        const own = signature as string
        const signatures = {
          strip: undefined,
          zero: '0'.repeat(128),
          exchange: membersOf(donor.bytes)['signature'] as string,
          flip: `${own.slice(0, 64)}${own.startsWith('0', 64) ? '1' : '0'}${own.slice(65)}`,
        } as const
        const changed = resign({ ...rest, signature: signatures[kind] })
        const rows = lines.map((other) => (other === line ? changed : other.bytes))
        expect(verdictOf(toFile(rows))).toMatchObject({
          verdict: 'tampered',
          finding: {
            reason: 'bad_signature',
            at: { session_index: line.session_index, seq: line.seq },
            line: lines.indexOf(line) + 1,
            evidence: { source: kind === 'strip' ? 'unsigned' : 'invalid' },
          },
        })
      }),
      runs,
    )
  })

  it('signed again by another key is Verified unpinned, and Tampered pinned', () => {
    check(
      fc.property(chainOptions, fc.uint8Array({ minLength: 32, maxLength: 32 }), (options, masterSeed) => {
        const theirs = buildChain({ ...options, masterSeed })
        const keys = chainOf(options).keys.map((key) => key.publicKey)
        expect(outputsOf(verdictOf(theirs.bytes)).text).toMatch(/^Verified \(unpinned\)\n/)
        const pinned = verdictOf(theirs.bytes, undefined, toPins(keys, undefined))
        expect(pinned).toMatchObject({
          verdict: 'tampered',
          finding: { reason: 'untrusted_key', at: { session_index: 0, seq: 0 }, line: 1 },
        })
      }),
      { numRuns: 60 },
    )
  })

  it('written anew by the same key from any Line on is forked from a head that was held', () => {
    check(
      fc.property(chainOptions, place, (options, where) => {
        const chain = chainOf(options)
        const from = at(chain.lines.length, where)
        const rows = rewriteFrom(chain, from)
        expect(verdictOf(toFile(rows)).verdict).toBe('verified')
        for (const [index, line] of chain.lines.entries()) {
          const { session_index, seq, lineHash } = line
          const report = verdictOf(toFile(rows), { session_index, seq, lineHash })
          expect(reasonOf(report)).toBe(index < from ? 'verified' : 'forked')
        }
      }),
      { numRuns: 40 },
    )
  })

  it('in files that are out of order, twice, with a gap, or of another tenant is Tampered', () => {
    const several = chainOptions.filter((options) => (options.sessions ?? 0) > 1)
    check(
      fc.property(several, place, place, (options, first, second) => {
        const { files } = chainOf(options)
        const other = chainOf({ ...options, tenant: 'harbour' }).files
        const [i, j] = [at(files.length, first), at(files.length, second)]
        const without = files.filter((_, index) => index !== i)
        const swapped = [...files]
        const [one, two] = [files[i], files[j]]
        if (one === undefined || two === undefined) return
        ;[swapped[i], swapped[j]] = [two, one]
        const inner = i > 0 && i < files.length - 1
        const wrong = [
          i === j ? undefined : swapped,
          [...files.slice(0, i + 1), ...files.slice(i)],
          inner ? without : undefined,
          i === 0 ? undefined : [...files.slice(0, i), ...other.slice(i)],
        ]
        for (const input of wrong) {
          if (input === undefined) continue
          expect(judge(input, { suite })).toMatchObject({
            verdict: 'tampered',
            finding: { reason: 'session_tail_mismatch' },
          })
        }
        // Sessions missing at the front are no contradiction: the report says where it starts.
        const later = judge(files.slice(i), { suite })
        expect(later).toMatchObject({ verdict: 'verified', firstSession: i })
      }),
      runs,
    )
  })
})

/** Every Line from this one on says something else, linked and signed as it should be. */
function rewriteFrom(chain: BuiltChain, from: number): Uint8Array[] {
  const rows: Uint8Array[] = []
  for (const [index, line] of chain.lines.entries()) {
    if (index < from) {
      rows.push(line.bytes)
      continue
    }
    const previous = rows[index - 1]
    const members: Record<string, unknown> = { ...membersOf(line.bytes), rewritten: index }
    const hash = previous === undefined ? undefined : sha256Hex(previous)
    if (line.type === 'open') members['prev_session_tail'] = hash
    else members['prev_hash'] = hash
    const key = chain.keys.find((one) => one.lastSession >= line.session_index)
    if (key === undefined) throw new Error('no key for this Session')
    rows.push(isSigned(line) ? resign(members as never, keyFromSeed(key.secret)) : resign(members as never))
  }
  return rows
}

describe('a rewritten Chain', () => {
  it('has the keys that it had', () => {
    const chain = buildChain({ seed: 5, sessions: 2, rotate: true })
    const [first] = rewriteFrom(chain, 0)
    expect(membersOf(first ?? new Uint8Array(0))['key_id']).toBe(chain.keys[0]?.keyId)
    expect(encodeHex(nodeSuite.sha256(first ?? new Uint8Array(0)))).not.toBe(chain.lines[0]?.lineHash)
  })
})
