/** Canonical forms (SPEC.md §3.2 to §3.4) and the number rule (§3.5). Every expected text is written by hand. */
import { sha256Hex } from '../forge.ts'

export interface RowCase {
  readonly name: string
  readonly spec: string
  /** One JSON text. */
  readonly row: string
  /** What step 5 of §7.3 says of the row: `canonical`, or a reason. */
  readonly expect: 'canonical' | 'not_canonical' | 'value_not_allowed'
  /** Of the value that the row holds, and the digest of its UTF-8; absent where it has none. */
  readonly canonical?: string
  readonly sha256?: string
}

function canonical(name: string, spec: string, row: string): RowCase {
  return { name, spec, row, expect: 'canonical', canonical: row, sha256: sha256Hex(row) }
}

function other(name: string, spec: string, row: string, form: string): RowCase {
  return { name, spec, row, expect: 'not_canonical', canonical: form, sha256: sha256Hex(form) }
}

function formless(name: string, spec: string, row: string): RowCase {
  return { name, spec, row, expect: 'not_canonical' }
}

function outside(name: string, spec: string, row: string): RowCase {
  return { name, spec, row, expect: 'value_not_allowed' }
}

const deep = (levels: number): string => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
const deepObjects = (levels: number): string => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`

export const rowCases: readonly RowCase[] = [
  canonical('empty-object', '3.3', '{}'),
  canonical('empty-containers', '3.3', '{"a":[],"b":{},"c":[{},[]]}'),
  canonical('empty-strings', '3.4', '{"":""}'),
  canonical('booleans', '3.3', '{"f":false,"t":true}'),
  canonical('array-keeps-its-order', '3.3', '{"a":[3,1,2,"b","a"]}'),
  canonical('zero', '3.2', '{"a":0}'),
  canonical('largest-integer', '3.2', '{"a":9007199254740991}'),
  canonical('short-escapes', '3.4', String.raw`{"a":"\b\t\n\f\r\"\\"}`),
  canonical(
    'long-escapes',
    '3.4',
    String.raw`{"a":"\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\u000b\u000e\u000f\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d\u001e\u001f"}`,
  ),
  canonical('solidus-stands-for-itself', '3.4', '{"a":"</script>"}'),
  canonical('delete-stands-for-itself', '3.4', '{"a":"\u007f"}'),
  canonical('c1-controls-stand-for-themselves', '3.4', '{"a":"\u0080\u009b"}'),
  canonical('line-separators-stand-for-themselves', '3.4', '{"a":"\u2028\u2029"}'),
  canonical('no-normalisation', '3.4', '{"a":"\u00e9 e\u0301 \ufb01"}'),
  canonical('noncharacters', '3.4', '{"a":"\ufffe\uffff\ufdd0"}'),
  canonical('byte-order-mark-inside', '3.4', '{"a":"\ufeff"}'),
  canonical('astral-value', '3.4', '{"a":"\u{10000}\u{1f701}\u{10ffff}"}'),
  canonical('astral-name-before-e000', '3.3', '{"\u{10000}":1,"\ue000":2}'),
  canonical(
    'names-by-code-unit',
    '3.3',
    '{"":0,"\\u0001":1," ":2,"0":3,"A":4,"_":5,"a":6,"aa":7,"b":8,"é":9}',
  ),
  canonical('names-that-look-like-numbers', '3.3', '{"1":1,"10":2,"2":3}'),
  canonical('names-of-prototypes', '3.3', '{"__proto__":1,"constructor":2,"toString":3}'),
  canonical('nested-64', '3.2', deep(64)),
  canonical('nested-64-objects', '3.2', deepObjects(64)),
  other('white-space', '3.3', '{ "b" : [ 1 , 2 ] , "a" : { } }\t', '{"a":{},"b":[1,2]}'),
  other('names-escaped-and-sorted', '3.3', String.raw`{"\u0062":1,"a":2}`, '{"a":2,"b":1}'),
  other('names-by-code-point', '3.3', '{"\ue000":2,"\u{10000}":1}', '{"\u{10000}":1,"\ue000":2}'),
  other('surrogate-pair-as-escapes', '3.4', String.raw`{"a":"\ud83d\udf01"}`, '{"a":"\u{1f701}"}'),
  other('uppercase-hex', '3.4', String.raw`{"a":"\u001F\u000B"}`, String.raw`{"a":"\u001f\u000b"}`),
  other(
    'long-for-short',
    '3.4',
    String.raw`{"a":"\u0008\u0009\u000a\u000c\u000d\u0022\u005c"}`,
    String.raw`{"a":"\b\t\n\f\r\"\\"}`,
  ),
  other(
    'escapes-that-are-not-needed',
    '3.4',
    String.raw`{"a":"\/\u007f\u2028\u00e9"}`,
    '{"a":"/\u007f\u2028é"}',
  ),
  formless('name-twice', '3.3', '{"a":1,"a":1}'),
  formless('name-twice-by-escape', '3.3', String.raw`{"\u0061":1,"a":2}`),
  formless('name-twice-inside', '3.3', '{"a":[{"b":1,"c":2,"b":3}]}'),
  formless('lone-high-surrogate', '3.4', String.raw`{"a":"\ud800"}`),
  formless('lone-low-surrogate', '3.4', String.raw`{"a":"\udfff"}`),
  formless('high-surrogate-and-a-letter', '3.4', String.raw`{"a":"\ud800a"}`),
  formless('two-high-surrogates', '3.4', String.raw`{"a":"\ud800\ud800\udc00"}`),
  formless('lone-surrogate-in-a-name', '3.4', String.raw`{"\udc00":1}`),
  outside('null', '3.2', '{"a":null}'),
  outside('minus-one', '3.2', '{"a":-1}'),
  outside('minus-zero', '3.2', '{"a":-0}'),
  outside('one-point-zero', '3.2', '{"a":1.0}'),
  outside('one-e-zero', '3.2', '{"a":1e0}'),
  outside('one-e-plus-2', '3.2', '{"a":1E+2}'),
  outside('2-to-the-53', '3.2', '{"a":9007199254740992}'),
  outside('2-to-the-53-and-one', '3.2', '{"a":9007199254740993}'),
  outside('seventeen-digits', '3.2', '{"a":10000000000000000}'),
  outside('more-than-a-double', '3.2', `{"a":${'9'.repeat(400)}}`),
  outside('nested-65', '3.2', deep(65)),
  outside('nested-65-objects', '3.2', deepObjects(65)),
  outside('goes-before-not-canonical', '7.3.5', String.raw`{"b":null,"a":"\ud800"} `),
]

export interface NumberCase {
  readonly name: string
  readonly spec: string
  readonly cases: readonly (
    | { readonly literal: string; readonly text: string }
    /** The steps of §3.5 that refuse it. */
    | { readonly literal: string; readonly refused: readonly (1 | 2 | 3 | 4)[] }
  )[]
}

function accepted(...pairs: readonly (readonly [literal: string, text: string])[]): NumberCase['cases'] {
  return pairs.map(([literal, text]) => ({ literal, text }))
}

function refused(steps: readonly (1 | 2 | 3 | 4)[], ...literals: readonly string[]): NumberCase['cases'] {
  return literals.map((literal) => ({ literal, refused: steps }))
}

const zeros = (count: number): string => '0'.repeat(count)

const numberTables: Readonly<Record<string, NumberCase['cases']>> = {
  'one-in-every-spelling': accepted(
    ['1', '1'],
    ['1.0', '1'],
    ['1.000', '1'],
    ['1e0', '1'],
    ['1E0', '1'],
    ['1e+0', '1'],
    ['1e-0', '1'],
    ['1E-00', '1'],
    ['10e-1', '1'],
    ['0.1e1', '1'],
    ['0.01E+2', '1'],
    ['100e-2', '1'],
    [`1${zeros(30)}e-30`, '1'],
    [`0.${zeros(30)}1e31`, '1'],
    ['-1', '-1'],
    ['-1.0', '-1'],
    ['-10e-1', '-1'],
  ),
  zero: [
    ...accepted(
      ['0', '0'],
      ['0.0', '0'],
      ['0e5', '0'],
      ['0E-5', '0'],
      ['0e400', '0'],
      ['0.000e-400', '0'],
      ['0e99999999999999999999', '0'],
    ),
    ...refused([4], '-0', '-0.0', '-0e3', '-0E-3', '-0.000e400'),
  ],
  integers: [
    ...accepted(
      ['100', '100'],
      ['1e2', '100'],
      ['1E+02', '100'],
      ['9007199254740991', '9007199254740991'],
      ['-9007199254740991', '-9007199254740991'],
      ['9007199254740991.0', '9007199254740991'],
      ['9007199254740991.000e0', '9007199254740991'],
      ['9.007199254740991e15', '9007199254740991'],
      ['90071992547409910e-1', '9007199254740991'],
      ['1e15', '1000000000000000'],
      ['123456789e3', '123456789000'],
    ),
    ...refused(
      [3],
      '9007199254740992',
      '-9007199254740992',
      '9007199254740994',
      '9.007199254740992e15',
      '1e16',
      '1E16',
      '10000000000000000',
      '1e20',
      '1e21',
      '1e22',
      '1e23',
      '1.5e300',
      '100000000000000000000000',
      '-1e21',
    ),
    ...refused([2, 3], '9007199254740993', '9007199254740993.0', '-9007199254740995', '1152921504606846977'),
  ],
  fractions: [
    ...accepted(
      ['0.1', '0.1'],
      ['0.10', '0.1'],
      ['1e-1', '0.1'],
      ['-0.1', '-0.1'],
      ['0.5', '0.5'],
      ['1.5', '1.5'],
      ['15e-1', '1.5'],
      ['3.141592653589793', '3.141592653589793'],
      ['0.30000000000000004', '0.30000000000000004'],
      ['1e-6', '0.000001'],
      ['0.000001', '0.000001'],
      ['1e-7', '1e-7'],
      ['1E-7', '1e-7'],
      ['0.0000001', '1e-7'],
      ['0.00000012', '1.2e-7'],
      ['4503599627370495.5', '4503599627370495.5'],
      ['1000000000000000.5', '1000000000000000.5'],
    ),
    ...refused(
      [2],
      '0.10000000000000001',
      '0.1000000000000000055511151231257827021181583404541015625',
      '3.14159265358979323846',
      '0.30000000000000001',
      '9007199254740990.5',
      '4503599627370496.25',
      '1.00000000000000000001',
      `0.1${zeros(40)}1`,
    ),
  ],
  'the-ends-of-a-double': [
    ...accepted(
      ['5e-324', '5e-324'],
      ['-5e-324', '-5e-324'],
      ['0.5e-323', '5e-324'],
      ['2.2250738585072014e-308', '2.2250738585072014e-308'],
      ['2.225073858507201e-308', '2.225073858507201e-308'],
      ['1e-323', '1e-323'],
    ),
    ...refused(
      [2],
      '4e-324',
      '4.9406564584124654e-324',
      '2.2250738585072011e-308',
      '2e-324',
      '1e-400',
      '-1e-400',
      '1e-99999999999999999999',
      '1.2e-323',
    ),
    ...refused([3], '1.7976931348623157e308', '-1.7976931348623157e308', '1e308'),
    ...refused([2, 3], '1.7976931348623158e308', '1.79769313486231571e308'),
    ...refused(
      [1],
      '1e309',
      '1e400',
      '-1e400',
      '1.7976931348623159e308',
      '1e99999999999999999999',
      '9'.repeat(400),
    ),
  ],
}

export const numberCases: readonly NumberCase[] = Object.entries(numberTables).map(([name, cases]) => ({
  name,
  spec: '3.5',
  cases,
}))
