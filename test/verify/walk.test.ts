/** The walk as a program: pieces, late answers, and input that means harm (SPEC.md §7). */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { Walk } from '../../src/verify/index.ts'
import { Forge, forgeKey } from '../harness/forge.ts'
import { toFile } from '../harness/chain.ts'
import { chainOf, chainOptions } from '../harness/generated-chains.ts'
import { judge, outputsOf, reasonOf, rememberingSuite } from '../harness/judge.ts'
import { mutate, mutations } from '../harness/json-texts.ts'
import { check } from '../harness/properties.ts'
import { randomFrom } from '../harness/random.ts'

const suite = rememberingSuite(nodeSuite)

describe('a report', { timeout: 60_000 }, () => {
  const pieces = fc.array(fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 3000 })), {
    minLength: 1,
    maxLength: 8,
  })

  it('is the same for any pieces, any order of answers and any salt, also of a changed Chain', () => {
    check(
      fc.property(chainOptions, mutations, pieces, fc.nat(), (options, changes, chunks, seed) => {
        const chain = chainOf(options)
        const files = [mutate(chain.bytes, changes)]
        const head = chain.head
        const at_once = outputsOf(judge(files, { suite, head }))
        const salt = Uint8Array.from({ length: 16 }, (_, at) => (seed + at) & 255)
        const settle = (ids: readonly number[]): number[] => randomFrom(seed).shuffle(ids)
        expect(outputsOf(judge(files, { suite, head, chunks }))).toEqual(at_once)
        expect(outputsOf(judge(files, { suite, head, chunks, settle, salt }))).toEqual(at_once)
        expect(outputsOf(judge(files, { suite, head, chunks: [1] }))).toEqual(at_once)
      }),
      { numRuns: 120 },
    )
  })

  it('names the first of several bad signatures, whichever answer comes first', () => {
    const zero = { signature: '0'.repeat(128) }
    const bytes = new Forge().open().outcome('a', zero).outcome('b', zero).close(zero).file
    const at_once = outputsOf(judge([bytes], { suite }))
    expect(at_once.text).toMatch(/^Tampered bad_signature at session 0 seq 1\n/)
    for (const seed of [1, 2, 3, 4, 5, 6]) {
      const settle = (ids: readonly number[]): number[] => randomFrom(seed).shuffle(ids)
      expect(outputsOf(judge([bytes], { suite, settle }))).toEqual(at_once)
    }
  })

  it('names what is wrong first when a later check fails before an earlier answer comes', () => {
    const bytes = new Forge().open().outcome('a', { signature: '0'.repeat(128), key_id: 1 }).file
    const late = judge([bytes], { suite, settle: (ids) => ids })
    expect(reasonOf(late)).toBe('bad_signature')
    expect(outputsOf(late)).toEqual(outputsOf(judge([bytes], { suite })))
  })
})

describe('a walk', () => {
  const check_ = (): undefined => undefined

  it('can be told that a signature fails while it goes on, and then takes nothing more', () => {
    const walk = new Walk({ digester: nodeSuite, check: check_ })
    walk.push(new Forge().session().file)
    expect(walk.stopped).toBe(false)
    walk.settle(1, false)
    expect(walk.stopped).toBe(true)
    walk.push(Buffer.from('nonsense\n'))
    walk.settle(0, true)
    walk.settle(2, true)
    expect(outputsOf(walk.end()).text).toMatch(/^Tampered bad_signature at session 0 seq 2\n/)
  })

  it('knows that a row is too long before it ends, for it may never end', () => {
    const walk = new Walk({ digester: nodeSuite, check: check_ })
    walk.push(Buffer.from('x'.repeat(65_536)))
    expect(walk.stopped).toBe(false)
    walk.push(Buffer.from('x'))
    expect(walk.stopped).toBe(true)
    expect(outputsOf(walk.end()).text).toMatch(/^Tampered line_too_long at line 1\n/)
  })

  it('has no report while a check is open, and takes each answer once', () => {
    const walk = new Walk({ digester: nodeSuite, check: check_ })
    walk.push(new Forge().open().file)
    expect(() => walk.end()).toThrow('still open')
    walk.settle(0, true)
    expect(() => {
      walk.settle(0, true)
    }).toThrow('no signature check 0 is open')
    expect(reasonOf(walk.end())).toBe('unanchored_tail')
  })
})

describe('hostile input', { timeout: 60_000 }, () => {
  const timed = (
    files: readonly Uint8Array[],
    chunks?: readonly number[],
  ): { reason: string; ms: number } => {
    const start = performance.now()
    const report = judge(files, { suite, ...(chunks === undefined ? {} : { chunks }) })
    return { reason: reasonOf(report), ms: performance.now() - start }
  }
  const text = (part: string, times: number): Uint8Array => Buffer.from(part.repeat(times))

  it.each([
    ['one row of 20 MB', text('x', 20_000_000), 'line_too_long'],
    ['20 MB of line ends', text('\n', 20_000_000), 'empty_chain'],
    ['brackets for as long as a row may be', text('[', 65_536), 'torn_final_line'],
    ['names in a name for as long as a row may be', text('{"a":', 13_000), 'torn_final_line'],
    [
      'escapes for as long as a row may be',
      Buffer.from(`{"${'\\u0061'.repeat(10_000)}":1}`),
      'not_canonical',
    ],
    ['numbers', Buffer.from(`{"a":[${'1e400,'.repeat(10_000)}1]}`), 'value_not_allowed'],
  ])('%s is judged in time', (_, bytes, reason) => {
    const got = timed([bytes], [65_536])
    expect(got.reason).toBe(reason)
    expect(got.ms).toBeLessThan(4000)
  })

  it('of twenty thousand unknown Lines takes as long as its bytes', () => {
    const forge = new Forge().open()
    for (let at = 0; at < 20_000; at += 1) forge.line('x', {}, false)
    const got = timed([forge.file])
    expect(got).toMatchObject({ reason: 'unknown_line_type' })
    expect(got.ms).toBeLessThan(4000)
  })

  it('of many decisions finds the one that repeats', () => {
    const forge = new Forge().open()
    for (let at = 0; at < 3000; at += 1) forge.decision(`apr_${String(at)}`)
    forge.decision('apr_17')
    const report = judge([forge.file], { suite: nodeSuite, salt: Uint8Array.of(1, 2, 3) })
    expect(report).toMatchObject({
      verdict: 'tampered',
      finding: {
        reason: 'second_decision',
        at: { session_index: 0, seq: 3001 },
        evidence: { approval_id: 'apr_17' },
      },
    })
  })

  it('cannot make a report long, write a line of it, or print a control character', () => {
    const nasty = fc
      .string({ unit: 'binary', maxLength: 300 })
      .filter((value) => !/\p{Surrogate}/u.test(value))
    check(
      fc.property(nasty, nasty, (one, two) => {
        const forge = new Forge().open().intent(one).intent(two)
        forge.line(`${two}x`, { signature: 7 }, false)
        const whole = outputsOf(judge([forge.file], { suite }))
        const flying = outputsOf(judge([toFile(forge.rows.slice(0, 3))], { suite }))
        for (const { text: report, json } of [whole, flying]) {
          expect(report).toMatch(/^[\x20-\x7e\n]{1,4000}$/)
          expect(json).toMatch(/^[\x20-\x7e]{1,8000}\n$/)
          const rows = report.trimEnd().split('\n')
          expect(rows.filter((row) => /^(Verified|complete to)/.test(row))).toEqual([])
        }
        expect(flying.text.split('\n').filter((row) => row.startsWith('in_flight '))).toHaveLength(2)
      }),
      { numRuns: 300 },
    )
  })

  it('of any bytes gets a verdict, and never Verified', () => {
    check(
      fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 4 }), (files) => {
        expect(judge(files, { suite }).verdict).not.toBe('verified')
      }),
      { numRuns: 1000 },
    )
  })

  it('with keys of every kind is refused without an exception', () => {
    for (let byte = 0; byte < 256; byte += 1) {
      const key = { ...forgeKey(1), publicKey: byte.toString(16).padStart(2, '0').repeat(32) }
      expect(reasonOf(judge([new Forge({ key }).open().file], { suite: nodeSuite }))).toBe('bad_signature')
    }
  })
})
