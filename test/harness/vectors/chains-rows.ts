/** Rows that are no Lines: steps 1 to 6 of SPEC.md §7.3, in the middle of a file and at its end. */
import type { JsonValue } from '../../../src/record/index.ts'
import { sha256Hex } from '../forge.ts'
import { joinBytes } from '../chain.ts'
import { type ChainCase, begin, bytesOf, read } from './chain-case.ts'
import { nested } from './chains-verified.ts'
import { indeterminate, tampered } from './expected-report.ts'

const LF = bytesOf('\n')

/** One Line, then the row, then what followed it: the row is not the last. */
function inTheMiddle(row: Uint8Array | string): Uint8Array {
  return joinBytes([begin(1).file, typeof row === 'string' ? bytesOf(row) : row, LF, bytesOf('{}\n')])
}

function atTheEnd(row: Uint8Array | string): Uint8Array {
  return joinBytes([begin(1).file, typeof row === 'string' ? bytesOf(row) : row])
}

const notUtf8: readonly (readonly [name: string, row: Uint8Array])[] = [
  ['stray-byte', bytesOf('{"a":"', 0xff, '"}')],
  ['lone-continuation', bytesOf('{"a":"', 0x80, '"}')],
  ['overlong-slash', bytesOf('{"a":"', 0xc0, 0xaf, '"}')],
  ['overlong-three-bytes', bytesOf('{"a":"', 0xe0, 0x9f, 0xbf, '"}')],
  ['surrogate', bytesOf('{"a":"', 0xed, 0xa0, 0x80, '"}')],
  ['above-10ffff', bytesOf('{"a":"', 0xf4, 0x90, 0x80, 0x80, '"}')],
  ['cut-character', bytesOf('{"a":"', 0xe2, 0x98)],
  ['utf16', bytesOf(0xff, 0xfe, '{', 0x00, '}', 0x00)],
]

const malformed: readonly (readonly [name: string, row: string])[] = [
  ['cut', '{"line_type":"clo'],
  ['two-values', '{}{}'],
  ['trailing-comma', '{"a":1,}'],
  ['single-quotes', "{'a':1}"],
  ['leading-zero', '{"a":01}'],
  ['plus-sign', '{"a":+1}'],
  ['not-a-number', '{"a":NaN}'],
  ['tab-in-string', '{"a":"\t"}'],
  ['nul', '\u0000'],
  ['nul-in-string', '{"a":"\u0000"}'],
  ['space', ' '],
  ['carriage-return', '\r'],
  ['two-byte-order-marks', '\ufeff\ufeff{}'],
  ['byte-order-mark-alone', '\ufeff'],
  ['byte-order-mark-behind', '{}\ufeff'],
  ['short-unicode-escape', '{"a":"\\u12"}'],
  ['unclosed-brackets', '['.repeat(20_000)],
  ['comment', '{}//'],
]

const notAnObject: readonly (readonly [name: string, row: string])[] = [
  ['array', '[]'],
  ['string', '"{}"'],
  ['number', '1'],
  ['null', 'null'],
  ['float', '-1.5'],
  ['true-with-byte-order-mark', '\ufefftrue'],
]

const notAllowed: readonly (readonly [name: string, row: string])[] = [
  ['null', '{"a":null}'],
  ['negative', '{"a":-1}'],
  ['negative-zero', '{"a":-0}'],
  ['fraction', '{"a":1.0}'],
  ['exponent', '{"a":1e0}'],
  ['capital-exponent', '{"a":1E0}'],
  ['2-to-the-53', '{"a":9007199254740992}'],
  ['digits', `{"a":1${'0'.repeat(400)}}`],
  ['in-an-array', '{"a":[[{"b":[null]}]]}'],
  ['null-under-a-name-that-repeats', '{"a":null,"a":1}'],
  ['and-not-canonical-either', ' { "a" : null } '],
  ['nested-65', JSON.stringify({ a: nested(64) })],
  ['nested-20000', `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`],
]

const notCanonical: readonly (readonly [name: string, row: string])[] = [
  ['space-before', ' {"a":1}'],
  ['space-behind', '{"a":1} '],
  ['space-inside', '{"a": 1}'],
  ['carriage-return', '{"a":1}\r'],
  ['byte-order-mark', '\ufeff{"a":1}'],
  ['member-order', '{"b":1,"a":1}'],
  ['member-order-by-code-point', '{"\ue000":1,"\u{10000}":1}'],
  ['member-order-shorter-first', '{"ab":1,"a":1}'],
  ['member-order-after-escapes', '{"\\u0000":1,"":1}'],
  ['member-order-inside', '{"a":[{"z":1,"y":1}]}'],
  ['name-twice', '{"a":1,"a":1}'],
  ['name-twice-by-escape', '{"a":1,"\\u0061":1}'],
  ['escaped-letter', '{"a":"\\u0061"}'],
  ['escaped-slash', '{"a":"\\/"}'],
  ['escaped-delete', '{"a":"\\u007f"}'],
  ['escaped-line-separator', '{"a":"\\u2028"}'],
  ['escaped-astral', '{"a":"\\ud800\\udc00"}'],
  ['long-escape-of-backspace', '{"a":"\\u0008"}'],
  ['long-escape-of-newline', '{"a":"\\u000a"}'],
  ['long-escape-of-quote', '{"a":"\\u0022"}'],
  ['uppercase-escape', '{"a":"\\u001F"}'],
  ['uppercase-escape-of-vertical-tab', '{"a":"\\u000B"}'],
  ['lone-high-surrogate', '{"a":"\\ud800"}'],
  ['lone-low-surrogate', '{"a":"\\udc00"}'],
  ['lone-surrogate-in-a-name', '{"\\ud800":1}'],
  ['surrogates-in-the-wrong-order', '{"a":"\\udc00\\ud800"}'],
]

/** Complete and canonical, but not with the three members that every Line has. */
const withoutMembers: readonly (readonly [name: string, member: string, row: string])[] = [
  ['empty-object', 'line_type', '{}'],
  ['line-type-absent', 'line_type', line({ prev_hash: 'x', seq: 1 })],
  ['line-type-integer', 'line_type', line({ line_type: 1, prev_hash: 'x', seq: 'x' })],
  ['line-type-null-is-in-step-5', '', '{"line_type":null}'],
  ['seq-absent', 'seq', line({ line_type: 'intent', prev_hash: 'x' })],
  ['seq-string', 'seq', line({ line_type: 'intent', prev_hash: 'x', seq: '1' })],
  ['seq-array', 'seq', line({ line_type: 'intent', prev_hash: 'x', seq: [1] })],
  ['prev-hash-absent', 'prev_hash', line({ line_type: 'intent', seq: 1 })],
  ['prev-hash-short', 'prev_hash', line({ line_type: 'intent', prev_hash: 'ab', seq: 1 })],
  ['prev-hash-uppercase', 'prev_hash', line({ line_type: 'intent', prev_hash: 'A'.repeat(64), seq: 1 })],
  ['prev-hash-integer', 'prev_hash', line({ line_type: 'intent', prev_hash: 0, seq: 1 })],
  [
    'prev-hash-65-characters',
    'prev_hash',
    line({ line_type: 'unheard of', prev_hash: '0'.repeat(65), seq: 1 }),
  ],
]

function line(members: Readonly<Record<string, JsonValue>>): string {
  return JSON.stringify(members)
}

const atLine2 = { line: 2 }
const tooLong = { line: 2, evidence: { max: 65_536 } }
const opened = read(1)

const broken = [
  ...notUtf8.map(([name, row]) => ['not-utf8', 'not_utf8', '7.3.2', name, row] as const),
  ...malformed.map(([name, row]) => ['malformed', 'malformed_line', '7.3.3', name, row] as const),
]

const refused = [
  ...notAnObject.map(([name, row]) => ['not-an-object', 'not_an_object', '7.3.4', name, row] as const),
  ...notAllowed.map(([name, row]) => ['value-not-allowed', 'value_not_allowed', '7.3.5', name, row] as const),
  ...notCanonical.map(([name, row]) => ['not-canonical', 'not_canonical', '7.3.5', name, row] as const),
]

export const rowChains: readonly ChainCase[] = [
  // Steps 2 and 3: Tampered where another row follows, torn where none does.
  ...broken.flatMap(([folder, reason, spec, name, row]): ChainCase[] => [
    {
      name: `${folder}-${name}`,
      spec,
      files: [inTheMiddle(row)],
      expect: tampered(reason, atLine2, opened),
    },
    {
      name: `torn-${folder}-${name}`,
      spec,
      files: [atTheEnd(row)],
      expect: indeterminate('torn_final_line', atLine2, opened),
    },
  ]),
  // Steps 4 and 5 are the same on the last row.
  ...refused.map(([folder, reason, spec, name, row]): ChainCase => ({
    name: `${folder}-${name}`,
    spec,
    files: [atTheEnd(row)],
    expect: tampered(reason, atLine2, opened),
  })),
  ...withoutMembers.map(([name, member, row]): ChainCase => ({
    name: `member-invalid-${name}`,
    spec: '7.3.6',
    files: [inTheMiddle(row)],
    expect:
      member === ''
        ? tampered('value_not_allowed', atLine2, opened)
        : tampered('member_invalid', { line: 2, evidence: { member } }, opened),
  })),
  {
    name: 'line-too-long-in-the-middle',
    spec: '7.3.1',
    files: [inTheMiddle(`{"a":"${'x'.repeat(65_529)}"}`)],
    expect: tampered('line_too_long', tooLong, opened),
  },
  {
    name: 'line-too-long-at-the-end',
    spec: '7.3.1',
    files: [atTheEnd('x'.repeat(65_537))],
    expect: tampered('line_too_long', tooLong, opened),
  },
  {
    name: 'row-of-65536-bytes-is-only-torn',
    spec: '7.3.1',
    files: [atTheEnd('x'.repeat(65_536))],
    expect: indeterminate('torn_final_line', atLine2, opened),
  },
  {
    name: 'line-too-long-counts-bytes-not-characters',
    spec: '7.3.1',
    files: [atTheEnd('☕'.repeat(21_846))],
    expect: tampered('line_too_long', tooLong, opened),
  },
  {
    name: 'torn-behind-a-close',
    spec: '7.4.2',
    files: [joinBytes([begin().file, bytesOf('{"call_id":"call-2","line_ty')])],
    expect: indeterminate('torn_final_line', { line: 5 }, read(4)),
  },
  {
    name: 'torn-with-calls-in-flight',
    spec: '7.4.2',
    files: [joinBytes([begin(2).file, bytesOf('{"call_id"')])],
    expect: indeterminate('torn_final_line', { line: 3 }, read(2, { inFlight: ['call-1'] })),
  },
  {
    name: 'torn-and-empty-rows-behind',
    spec: '7.1.3',
    files: [joinBytes([begin().file, bytesOf('\n{"\n\n\n')])],
    expect: indeterminate('torn_final_line', { line: 5 }, read(4)),
  },
  {
    name: 'torn-only-row',
    spec: '7.4.2',
    files: [bytesOf('{"chain_id":"acme"')],
    expect: indeterminate('torn_final_line', { line: 1 }),
  },
  {
    name: 'torn-end-of-a-file-that-another-follows',
    spec: '7.1.1',
    files: [joinBytes([begin().file, bytesOf('{"ca')]), bytesOf('{}')],
    expect: tampered('malformed_line', { line: 5 }, read(4)),
  },
  {
    name: 'broken-row-before-a-file-without-rows',
    spec: '7.1.3',
    files: [joinBytes([begin().file, bytesOf('{"ca')]), bytesOf(''), bytesOf('\n\n')],
    expect: indeterminate('torn_final_line', { line: 5 }, read(4)),
  },
  {
    name: 'every-row-with-cr-lf',
    spec: '7.3.5',
    files: [joinBytes(begin().rows.flatMap((row) => [row, bytesOf('\r\n')]))],
    expect: tampered('not_canonical', { line: 1 }),
  },
  {
    name: 'file-with-byte-order-mark',
    spec: '7.3.5',
    files: [joinBytes([bytesOf(0xef, 0xbb, 0xbf), begin().file])],
    expect: tampered('not_canonical', { line: 1 }),
  },
  {
    name: 'second-file-with-byte-order-mark',
    spec: '7.1.1',
    files: [begin().file, joinBytes([bytesOf(0xef, 0xbb, 0xbf), begin().file])],
    expect: tampered('not_canonical', { line: 5 }, read(4)),
  },
  {
    name: 'rows-are-counted-without-empty-ones',
    spec: '7.1.2',
    files: [joinBytes([bytesOf('\n\n'), begin(1).file, bytesOf('\n\n\n[]\n')])],
    expect: tampered('not_an_object', atLine2, opened),
  },
  {
    name: 'html-instead-of-a-chain',
    spec: '7.3.3',
    files: [bytesOf('<!doctype html>\n<title>404</title>\n')],
    expect: tampered('malformed_line', { line: 1 }),
  },
  {
    name: 'line-of-another-format',
    spec: '7.3.6',
    files: [bytesOf(`{"event":"login","hash":"${sha256Hex('x')}"}\n`)],
    expect: tampered('member_invalid', { line: 1, evidence: { member: 'line_type' } }),
  },
]
