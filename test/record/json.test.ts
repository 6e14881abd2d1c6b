/** The strict JSON reader (SPEC.md §3.3, §6): against JSON.parse, in linear time, without recursion. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type FormatErrorCode,
  type JsonValue,
  canonicalText,
  lineRules,
  parameterRules,
  parseBody,
  readJson,
  syntaxRules,
  utf8,
} from '../../src/record/index.ts'
import { jsonText, lineValue, mutate, mutations } from '../harness/json-texts.ts'
import { check } from '../harness/properties.ts'

const runs = { numRuns: 2000 }
const read = (text: string): ReturnType<typeof readJson> => readJson(utf8(text), syntaxRules)

/** What JSON.parse says, or that it refuses. */
function parseOrRefuse(text: string): { value: JsonValue } | undefined {
  try {
    return { value: JSON.parse(text) as JsonValue }
  } catch {
    return undefined
  }
}

/** Objects as `JSON.parse` makes them. */
function plain(value: JsonValue): unknown {
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]))
}

describe('the syntax reader', () => {
  it('reads what JSON.parse reads, but for repeated names and halves of pairs', () => {
    check(
      fc.property(jsonText, (text) => {
        const ours = read(text)
        const told = ours.ok
          ? plain(ours.value)
          : ours.error.code.replace(/^(duplicate_key|lone_surrogate)$/, 'narrower')
        expect(told).toEqual(ours.ok ? (JSON.parse(text) as unknown) : 'narrower')
      }),
      runs,
    )
  })

  it('refuses a text that was changed exactly where JSON.parse does', () => {
    check(
      fc.property(jsonText, mutations, (text, changes) => {
        const bytes = mutate(Buffer.from(text), changes)
        const ours = readJson(bytes, syntaxRules)
        const decoded = decodeStrictly(bytes)
        const theirs = decoded === undefined ? undefined : parseOrRefuse(decoded)
        const narrower: readonly FormatErrorCode[] = ['duplicate_key', 'lone_surrogate', 'byte_order_mark']
        const agrees = ours.ok
          ? theirs !== undefined && JSON.stringify(plain(ours.value)) === JSON.stringify(theirs.value)
          : theirs === undefined || narrower.includes(ours.error.code)
        expect({ text: Buffer.from(bytes).toString('latin1'), agrees }).toMatchObject({ agrees: true })
      }),
      runs,
    )
  })

  it('reads back every value that it has a text for, names in any order', () => {
    check(
      fc.property(lineValue, (value) => {
        const ours = readJson(utf8(JSON.stringify(value)), lineRules)
        if (!ours.ok) throw new Error(ours.error.code)
        expect(JSON.stringify(plain(ours.value))).toBe(JSON.stringify(value))
        const again = readJson(utf8(canonicalText(ours.value)), lineRules)
        if (!again.ok) throw new Error(again.error.code)
        expect(canonicalText(again.value)).toBe(canonicalText(ours.value))
      }),
      runs,
    )
  })

  it('takes names of prototypes for names', () => {
    const { value } = read('{"__proto__":{"polluted":1},"constructor":2,"hasOwnProperty":3}') as {
      value: JsonValue
    }
    expect(Object.keys(value as object)).toEqual(['__proto__', 'constructor', 'hasOwnProperty'])
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
    expect(read('{"__proto__":1,"__proto__":1}')).toMatchObject({ error: { code: 'duplicate_key' } })
  })
})

function decodeStrictly(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

describe('a refusal', () => {
  it.each([
    ['{"a":{"b":[1,{"c":null}]}}', 'null_not_allowed', '$.a.b[1].c', 18],
    ['{"a":[0,1.5]}', 'float_not_allowed', '$.a[1]', 8],
    ['{"a":-1}', 'negative_not_allowed', '$.a', 5],
    ['{"a":9007199254740992}', 'integer_too_large', '$.a', 5],
    ['{"a":1,"a":2}', 'duplicate_key', '$.a', 7],
    ['{"a b":"\\ud800"}', 'lone_surrogate', '$["a b"]', 7],
    ['{"a":1,}', 'syntax', '$.a', 7],
    ['{"a"', 'syntax', '$.a', 4],
    ['{"a":{"b":{x', 'syntax', '$.a.b', 11],
    ['', 'syntax', '$', 0],
    ['[1,2', 'syntax', '$[2]', 4],
    ['\ufeff{}', 'byte_order_mark', '$', 0],
  ] as const)('of %s names code, path and byte', (text, code, path, offset) => {
    const result = readJson(utf8(text), lineRules)
    expect(result).toMatchObject({ ok: false, error: { code, path } })
    expect(result.ok ? undefined : result.error.offset).toBe(offset)
  })

  it('of an action names what parameters may not hold', () => {
    const code = (parameters: string): string => {
      const result = parseBody(utf8(`{"p":${parameters}}`))
      return result.ok ? 'read' : `${result.error.code} ${result.error.path}`
    }
    expect(code('{"\u{10000}":1}')).toMatch(/^astral_key \$\.p/)
    expect(code('[1e400]')).toBe('number_not_finite $.p[0]')
    expect(code('[null]')).toBe('read')
  })

  it('is short whatever it is about', () => {
    const long = 'k'.repeat(100_000)
    for (const text of [
      `{"${long}":null}`,
      `{"${long}":${'9'.repeat(1000)}}`,
      `{"a":{"${long}":{"${long}":null}}}`,
    ]) {
      const result = readJson(utf8(text), lineRules)
      expect(JSON.stringify(result).length).toBeLessThan(1000)
    }
  })
})

describe('a hostile text', () => {
  const megabyte = 1_000_000
  /** Milliseconds to read or refuse it. */
  const timeOf = (text: string, rules = syntaxRules): number => {
    const bytes = utf8(text)
    const start = performance.now()
    readJson(bytes, rules)
    return performance.now() - start
  }

  it.each([
    ['opening brackets', '['.repeat(megabyte)],
    ['brackets that close', '['.repeat(megabyte / 2) + ']'.repeat(megabyte / 2)],
    ['objects in objects', `${'{"a":'.repeat(megabyte / 6)}1${'}'.repeat(megabyte / 6)}`],
    ['one string', `"${'x'.repeat(megabyte)}"`],
    ['one string of escapes', `"${'\\u0041'.repeat(megabyte / 6)}"`],
    ['one string of halves', `"${'\\ud800'.repeat(megabyte / 6)}"`],
    ['one number', '9'.repeat(megabyte)],
    ['one fraction', `0.${'1'.repeat(megabyte)}`],
    ['one exponent', `1e${'1'.repeat(megabyte)}`],
    ['many members', `{${Array.from({ length: megabyte / 12 }, (_, at) => `"${String(at)}":0`).join()}}`],
    ['white space', ' '.repeat(megabyte)],
    ['long names', `{"${'k'.repeat(megabyte / 2)}":1,"${'k'.repeat(megabyte / 2)}":2}`],
  ])('of a megabyte of %s is read or refused in time', (_, text) => {
    for (const rules of [syntaxRules, lineRules, parameterRules])
      expect(timeOf(text, rules)).toBeLessThan(2000)
  })
})
