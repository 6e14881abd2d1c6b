/** Writing: `nextLine` keeps the chain rule (SPEC.md §5), and what it writes is read back as it was. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import {
  type ChainHead,
  type CryptoSuite,
  type JsonObject,
  type JsonValue,
  type LineDraft,
  type NextLine,
  type RequestDigest,
  encodeCanonical,
  isKnownLine,
  lineBytesMax,
  nextLine,
  nobleSuite,
  parseLine,
  utf8,
} from '../../src/record/index.ts'
import { sha256Hex } from '../harness/forge.ts'
import { buildChain } from '../harness/chain.ts'
import { chainOf, chainOptions } from '../harness/generated-chains.ts'
import { lineObject } from '../harness/json-texts.ts'
import { check } from '../harness/properties.ts'

const signer = nodeSuite.signer(new Uint8Array(32).fill(7))
const otherSigner = nodeSuite.signer(new Uint8Array(32).fill(9))
const empty: ChainHead = { state: 'empty', chainId: 'acme' }
const open: LineDraft = { line_type: 'open', opened_at: 1, deployment: 'prod' }
const close: LineDraft = { line_type: 'close', closed_at: 2, calls: 0 }
const intent: LineDraft = {
  line_type: 'intent',
  call_id: 'call-1',
  tool_id: 'echo',
  request_digest: sha256Hex('{}') as RequestDigest,
}
const next = (head: ChainHead, draft: LineDraft, by = signer): Extract<NextLine, { kind: 'line' }> => {
  const line = nextLine(head, draft, by, nodeSuite)
  if (line.kind !== 'line') throw new Error(line.kind)
  return line
}
const membersOf = (line: Uint8Array): JsonObject => JSON.parse(Buffer.from(line).toString()) as JsonObject

describe('nextLine', () => {
  const opened = next(empty, open)

  it('begins with seq 0, the zero digest and no tail', () => {
    const { schema_version, seq, prev_hash, session_index, chain_id, prev_session_tail } = membersOf(
      opened.bytes,
    )
    expect({ schema_version, seq, prev_hash, session_index, chain_id, prev_session_tail }).toEqual({
      schema_version: 2,
      seq: 0,
      prev_hash: '0'.repeat(64),
      session_index: 0,
      chain_id: 'acme',
      prev_session_tail: undefined,
    })
    expect(opened.lineHash).toBe(sha256Hex(opened.bytes))
  })

  it('links each Line to the one before it, and a Session to the one before it', () => {
    const first = next(opened.head, intent)
    expect(membersOf(first.bytes)).toMatchObject({ seq: 1, prev_hash: opened.lineHash })
    const closed = next(first.head, close)
    expect(membersOf(closed.bytes)).toMatchObject({ seq: 2, prev_hash: first.lineHash })
    const reopened = next(closed.head, open, otherSigner)
    expect(membersOf(reopened.bytes)).toMatchObject({
      seq: 0,
      prev_hash: '0'.repeat(64),
      prev_session_tail: closed.lineHash,
      session_index: 1,
      key_id: otherSigner.keyId,
    })
    // An `open` anchors a Session that has no `close`.
    expect(membersOf(next(first.head, open).bytes)).toMatchObject({ prev_session_tail: first.lineHash })
  })

  it('signs all Lines but an intent', () => {
    const { signature, key_id, chain_id, session_index } = membersOf(next(opened.head, intent).bytes)
    expect([signature, key_id, chain_id, session_index]).toEqual([undefined, undefined, undefined, undefined])
    const { signature: signed, ...rest } = membersOf(opened.bytes)
    const bytes = Buffer.from(signed as string, 'hex')
    expect(nodeSuite.verify(signer.publicKey, encodeCanonical(rest), bytes)).toBe(true)
  })

  it('refuses a Line outside a Session, and a key that is not the Session’s', () => {
    const closed = next(opened.head, close)
    expect(() => next(empty, intent)).toThrow('needs an open Session')
    expect(() => next(closed.head, intent)).toThrow('needs an open Session')
    expect(() => next(closed.head, close)).toThrow('needs an open Session')
    expect(() => next(opened.head, close, otherSigner)).toThrow("the Session's key")
  })

  it('takes a Line of 65,536 bytes and none of one more', () => {
    const base = next(opened.head, { ...intent, tool_id: '' }).bytes.length
    const of = (length: number): NextLine =>
      nextLine(opened.head, { ...intent, tool_id: 'x'.repeat(length - base) }, signer, nodeSuite)
    expect(of(lineBytesMax)).toMatchObject({ kind: 'line' })
    expect(of(lineBytesMax + 1)).toEqual({ kind: 'too_long', bytes: lineBytesMax + 1 })
  })

  it('does not let a draft say what it computes', () => {
    const draft = { ...intent, seq: 99, prev_hash: 'f'.repeat(64), schema_version: 3 } as LineDraft
    expect(next(opened.head, draft).bytes).toEqual(next(opened.head, intent).bytes)
  })

  it('writes the same bytes with either suite', () => {
    const of = (suite: CryptoSuite): Uint8Array =>
      buildChain({ seed: 11, sessions: 2, approvals: true, rotate: true, suite }).bytes
    expect(Buffer.from(of(nobleSuite)).equals(of(nodeSuite))).toBe(true)
  })
})

describe('a Line', () => {
  it('is decoded and encoded as the same bytes', () => {
    check(
      fc.property(chainOptions, (options) => {
        for (const { bytes } of chainOf(options).lines) {
          const read = parseLine(bytes)
          if (!read.ok) throw new Error(`${read.error.path} ${read.error.code}`)
          const members = isKnownLine(read.value) ? read.value : read.value.members
          expect(Buffer.from(encodeCanonical(members as unknown as JsonObject)).equals(bytes)).toBe(true)
        }
      }),
      { numRuns: 40 },
    )
  })

  const lines = [
    ...new Map(
      chainOf({ seed: 3, sessions: 2, approvals: true, callsPerSession: 6 }).lines.map((line) => [
        line.type,
        line,
      ]),
    ).values(),
  ]

  it('keeps members that nobody knows, at the top and inside', () => {
    check(
      fc.property(fc.constantFrom(...lines), lineObject, (line, extra) => {
        const members = membersOf(line.bytes)
        // A name that this version knows would be checked.
        const unknown = Object.fromEntries(
          Object.entries(extra).map(([name, value]) => [`zz_${name}`, value]),
        )
        const inner =
          line.type === 'outcome'
            ? { decision_axes: { ...(members['decision_axes'] as object), ...unknown } }
            : {}
        const bytes = encodeCanonical({ ...members, ...unknown, ...inner })
        const read = parseLine(bytes)
        if (!read.ok) throw new Error(`${read.error.path} ${read.error.code}`)
        expect(Buffer.from(encodeCanonical(read.value as unknown as JsonObject)).equals(bytes)).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  it('with any known member of another type is refused, and the path names it', () => {
    const wrong: readonly JsonValue[] = ['', 'x', 7, true, [], {}, [1]]
    const accepted: string[] = []
    const misnamed: string[] = []
    for (const { bytes, type } of lines) {
      for (const [path, value, replace] of placesOf(membersOf(bytes))) {
        for (const other of wrong) {
          if (kindOf(other) === kindOf(value)) continue
          const read = parseLine(encodeCanonical(replace(other)))
          // What a caller says (`context`, `attrs`, `claims`, `metadata`) has names and types of its own.
          if (read.ok && !/\.(context|attrs)\b/.test(path))
            accepted.push(`${type} ${path} ${JSON.stringify(other)}`)
          if (!read.ok && !read.error.path.startsWith(path)) misnamed.push(`${path} as ${read.error.path}`)
        }
      }
    }
    expect({ accepted, misnamed }).toEqual({ accepted: [], misnamed: [] })
  })

  it('that is not canonical, or is too long, is not read', () => {
    const [first] = lines
    const bytes = first?.bytes ?? new Uint8Array(0)
    expect(parseLine(Buffer.concat([bytes, Buffer.from(' ')]))).toMatchObject({
      error: { code: 'not_canonical' },
    })
    expect(parseLine(utf8(`{"a":"${'x'.repeat(lineBytesMax)}"}`))).toMatchObject({
      error: { code: 'too_long' },
    })
    expect(parseLine(utf8('[]'))).toMatchObject({ error: { code: 'not_an_object' } })
    expect(parseLine(utf8('{}'))).toMatchObject({ error: { code: 'missing_member', path: '$.line_type' } })
  })
})

function kindOf(value: JsonValue): string {
  return Array.isArray(value) ? 'array' : typeof value
}

type Replace = (value: JsonValue) => JsonValue

/** Every member at any depth: its path, its value, and the whole object with another in its place. */
function* placesOf(
  value: JsonValue,
  path = '$',
  replace: Replace = (other) => other,
): Generator<readonly [path: string, value: JsonValue, replace: Replace]> {
  if (Array.isArray(value)) {
    for (const [at, item] of (value as readonly JsonValue[]).entries()) {
      const put: Replace = (other) =>
        replace((value as readonly JsonValue[]).map((one, i) => (i === at ? other : one)))
      yield [`${path}[${String(at)}]`, item, put]
      yield* placesOf(item, `${path}[${String(at)}]`, put)
    }
    return
  }
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value as JsonObject)) {
    const put: Replace = (other) => replace({ ...(value as JsonObject), [name]: other })
    yield [`${path}.${name}`, member, put]
    yield* placesOf(member, `${path}.${name}`, put)
  }
}
