/** Vectors that others wrote: RFC 8785, RFC 8032, ed25519-speccheck, AAR's canonical forms, AegisAgent's hashes. */
import { readFileSync, readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import {
  type JsonObject,
  type JsonValue,
  type ToolCall,
  actionHash,
  actionPreimage,
  canonicalText,
  decodeHex,
  encodeCanonical,
  encodeHex,
  isJsonObject,
  nobleSuite,
  parseBody,
  parseLineObject,
  readJson,
  syntaxRules,
  utf8,
} from '../../src/record/index.ts'
import { RowScanner, classifyRow } from '../../src/verify/scan.ts'
import { sha256Hex } from '../harness/forge.ts'
import { sharedPath } from '../harness/shared.ts'

const bytesAt = (...names: string[]): Uint8Array =>
  new Uint8Array(readFileSync(sharedPath('vectors', ...names)))
const textAt = (...names: string[]): string => readFileSync(sharedPath('vectors', ...names), 'utf8')
const suites = [nodeSuite, nobleSuite]
const hex = (text: string): Uint8Array => decodeHex(text) ?? new Uint8Array(0)

describe('RFC 8785', () => {
  it.each(readdirSync(sharedPath('vectors', 'jcs-rfc8785', 'input')))('%s', (name) => {
    const read = readJson(bytesAt('jcs-rfc8785', 'input', name), syntaxRules)
    if (!read.ok) throw new Error(read.error.code)
    const written = encodeCanonical(read.value)
    expect(new TextDecoder().decode(written)).toBe(textAt('jcs-rfc8785', 'output', name))
    const outHex = textAt('jcs-rfc8785', 'outhex', name.replace('.json', '.txt'))
    expect(encodeHex(written)).toBe(outHex.replace(/\s+/g, ''))
  })

  it('writes the thousand numbers', () => {
    const rows = textAt('jcs-rfc8785', 'es6numbers-1000.txt').trim().split('\n')
    expect(rows).toHaveLength(1000)
    const view = new DataView(new ArrayBuffer(8))
    const wrong = rows.filter((row) => {
      const [bits = '', text = ''] = row.split(',')
      view.setBigUint64(0, BigInt(`0x${bits}`))
      const double = view.getFloat64(0)
      const read = readJson(utf8(text), syntaxRules)
      // The one number with two bit patterns is zero.
      return canonicalText(double) !== text || !read.ok || !Object.is(read.value, double === 0 ? 0 : double)
    })
    expect(wrong).toEqual([])
  })
})

describe('canonical forms of AAR', () => {
  interface Jcs {
    readonly vectors: readonly { name: string; input: string; canonical: string; sha256: string }[]
    readonly rejected: readonly { input: string; error: string; path: string | null }[]
  }
  const { vectors, rejected } = JSON.parse(textAt('aar', 'jcs.json')) as Jcs

  it.each(vectors)('$name', ({ input, canonical, sha256 }) => {
    const read = parseLineObject(utf8(input))
    if (!read.ok) throw new Error(read.error.code)
    expect(canonicalText(read.value)).toBe(canonical)
    expect(sha256Hex(encodeCanonical(read.value))).toBe(sha256)
    const bytes = utf8(canonical)
    expect(new RowScanner().scan(bytes, 0, bytes.length)).toBe(true)
  })

  const codes: Readonly<Record<string, string>> = {
    FloatNotAllowed: 'float_not_allowed',
    IntegerTooLarge: 'integer_too_large',
    NegativeInteger: 'negative_not_allowed',
    NullNotAllowed: 'null_not_allowed',
  }

  it.each(rejected)('refuses $input', ({ input, error, path }) => {
    const read = parseLineObject(utf8(input))
    if (read.ok) throw new Error('it was read')
    expect(read.error.code).toBe(codes[error])
    expect(path ?? read.error.path).toBe(read.error.path)
    const bytes = utf8(input)
    expect(new RowScanner().scan(bytes, 0, bytes.length)).toBe(false)
    expect(classifyRow(bytes)).toBe('value_not_allowed')
  })
})

describe('AegisAgent', () => {
  const parse = (name: string): JsonObject => {
    const read = parseBody(bytesAt('aegisagent', name))
    if (!read.ok) throw new Error(read.error.code)
    return read.value
  }
  const list = (value: JsonValue | undefined): readonly JsonObject[] =>
    (Array.isArray(value) ? (value as readonly JsonValue[]) : []).filter(isJsonObject)

  it('writes the same text of every action, and hashes that', () => {
    const vectors = list(parse('canonical_action_vectors.json')['vectors'])
    expect(vectors).toHaveLength(4)
    for (const vector of vectors) {
      const call = vector['tool_call'] as unknown as ToolCall
      const canonical = vector['canonical'] as string
      expect(new TextDecoder().decode(actionPreimage(call))).toBe(canonical)
      for (const suite of suites) expect(actionHash(call, suite)).toBe(sha256Hex(canonical))
    }
  })

  it('has the same hash for each receipt of a chain of three', () => {
    const receipts = list(parse('receipt_chain_vectors.json')['receipts'])
    expect(receipts).toHaveLength(3)
    let previous = ''
    for (const { receipt_hash, ...body } of receipts) {
      expect(body['prev_receipt_hash']).toBe(previous)
      previous = sha256Hex(encodeCanonical(body))
      expect(previous).toBe(receipt_hash)
    }
  })
})

describe('RFC 8032', () => {
  interface Vector {
    readonly name: string
    readonly secret_key: string
    readonly public_key: string
    readonly message: string
    readonly signature: string
  }
  const { vectors } = JSON.parse(textAt('ed25519', 'rfc8032_ed25519.json')) as { vectors: readonly Vector[] }

  it.each(vectors)('$name', ({ secret_key, public_key, message, signature }) => {
    for (const suite of suites) {
      const signer = suite.signer(hex(secret_key))
      expect(encodeHex(signer.publicKey)).toBe(public_key)
      expect(encodeHex(signer.sign(hex(message)))).toBe(signature)
      expect(suite.verify(hex(public_key), hex(message), hex(signature))).toBe(true)
    }
  })
})

describe('ed25519-speccheck', () => {
  interface Case {
    readonly message: string
    readonly pub_key: string
    readonly signature: string
  }
  const cases = JSON.parse(textAt('ed25519', 'speccheck_cases.json')) as readonly Case[]
  const results = JSON.parse(textAt('ed25519', 'speccheck_results.json')) as {
    libraries: Readonly<Record<string, readonly string[]>>
  }

  it('is judged as by Dalek strict: number 3 accepted, all others refused', () => {
    expect(cases).toHaveLength(12)
    const wanted = cases.map((_, at) => at === 3)
    expect(results.libraries['Dalek strict']?.map((letter) => letter === 'V')).toEqual(wanted)
    for (const suite of suites) {
      expect(
        cases.map(({ pub_key, message, signature }) =>
          suite.verify(hex(pub_key), hex(message), hex(signature)),
        ),
      ).toEqual(wanted)
    }
  })
})
