/** Rows, values and trust stores that a reader could trip over. */
import type { JsonValue } from '../../src/record/index.ts'
import { forgeKey } from '../harness/forge.ts'

const lineMax = 65_536

function nested(levels: number): string {
  return '['.repeat(levels) + ']'.repeat(levels)
}

/** A Line in canonical form but for `value`, which stands as its first member. */
function around(value: string): string {
  return `{"a":${value},"line_type":"open","prev_hash":"${'0'.repeat(64)}","seq":0}`
}

function padded(length: number): string {
  const bare = around('""').length
  return around(`"${'x'.repeat(length - bare)}"`)
}

const numbers = [
  '-0', '-1', '0.0', '1.0', '1e0', '1E400', '00', '01', '-', '+1', '.5', '1.', '1e', '1e+', '0x10', 'NaN', 'Infinity',
  '-Infinity', '9007199254740991', '9007199254740992', '9007199254740993', '18446744073709551616', '1'.repeat(5000),
  `1e${'9'.repeat(5000)}`, `0.${'0'.repeat(5000)}1`, '１',
] // prettier-ignore
const strings = [
  '"\\ud800"', '"\\udc00\\ud800"', '"\\ud83d\\ude00"', '"😀"', '"\\u0041"', '"\\u00e9"', '"\\/"', '"\\u001f"',
  '"\\u001F"', '"\\u0008"', '"\\b\\t\\n\\f\\r"', '"\u007f\u2028\ufeff"', '"\t"',  '"\\x41"', '"\\v"', '"\\a"', '"\\0"', '"\\\'"', '"\\U0041"', '"\\u004G"', '"\\u+041"',
  '"\\u12"', '"\\"', '"', "'a'",
  '"\\ud800\\u0041"', '"\\uD83D\\uDE00"', '"\\u0000"', '"\u0000"', '"e\u0301"',
] // prettier-ignore
const values = [
  'null', 'true', 'True', 'undefined', '{}', '[]', '[1,]', '[,1]', '[1 2]', '{"b":1,}', '{"b" 1}', '{b:1}', '{"b":}',
  '{"b":1,"b":2}', '{"b":null,"b":2}', '{"b":1.5,"b":2}', '{"c":1,"b":2}', '{"\ue000":1,"\u{10000}":2}',
  '{"\u{10000}":1,"\ue000":2}', '{"\\u0062":1}', '{"b":1,"\\u0062":2}', '{"__proto__":{"a":1}}', '{"":1}',
  '{"1":1,"10":2,"9":3}', '{"10":2,"9":3,"1":1}', '{"constructor":1,"toString":2}', '[1,2', '{"a":[}', '[}', '(1)',
  '/**/1', '1//', '{"\\ud800":1}', '{"\\ud800":1,"\\ud800":2}', '{"\\udfff":1,"\ue000":2}',
  nested(62), nested(63), nested(64), nested(65), '{"a":'.repeat(63) + '1' + '}'.repeat(63),
  '{"a":'.repeat(64) + '1' + '}'.repeat(64), nested(30_000), '['.repeat(30_000), '{"a":'.repeat(9000),
  '[' + '[],'.repeat(9000) + 'null]', '"' + '\\\\'.repeat(30_000) + '"', '"' + '\\"'.repeat(30_000),
] // prettier-ignore

const texts = [
  ...[...numbers, ...strings, ...values].map(around),
  'null', '1', '"a"', '[]', '{}', 'true', nested(32_768), '['.repeat(lineMax), '['.repeat(lineMax + 1), '{', '}', '[[', ' ',
  '\ufeff', '\ufeff\ufeff{}', '\ufeff{}', '\ufeff[]', ' {}', '{} ', '{}\r', '\r', '\t', '\u00a0{}', '\f{}', '{}{}', '{} x', '\u0000',
  `\ufeff${around('1')}`, `\ufeff\ufeff${around('1')}`, `${around('1')}\r`, ` ${around('1')}`,
  padded(lineMax), padded(lineMax + 1), `${padded(lineMax)} `, 'x'.repeat(lineMax), 'x'.repeat(lineMax + 1), 'x'.repeat(3 * lineMax),
  '{"line_type":7,"prev_hash":"","seq":0}', '{"line_type":"open","prev_hash":7,"seq":0}', '{"line_type":"open","seq":0}',
  '{"line_type":"open","prev_hash":"","seq":"0"}', '{"line_type":"open","prev_hash":"","seq":true}', '{"seq":0}',
  `{"line_type":"open","prev_hash":"${'0'.repeat(63)}","seq":0}`, `{"line_type":"open","prev_hash":"${'A'.repeat(64)}","seq":0}`,
  `{"line_type":"intent","prev_hash":"${'0'.repeat(64)}","seq":0}`, `{"line_type":"","prev_hash":"${'0'.repeat(64)}","seq":9007199254740991}`,
  `{"line_type":"${'é'.repeat(200)}","prev_hash":"${'0'.repeat(64)}","seq":1}`,
] // prettier-ignore

const bytes = [
  [0xff], [0x80], [0xc0, 0x80], [0xc1, 0xbf], [0xe0, 0x80, 0x80], [0xe0, 0x9f, 0xbf], [0xed, 0xa0, 0x80], [0xed, 0xbf, 0xbf],
  [0xed, 0x9f, 0xbf], [0xee, 0x80, 0x80], [0xf0, 0x80, 0x80, 0x80], [0xf0, 0x8f, 0xbf, 0xbf], [0xf0, 0x90, 0x80, 0x80],
  [0xf4, 0x8f, 0xbf, 0xbf], [0xf4, 0x90, 0x80, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xfe, 0xff], [0xe2, 0x82], [0xf0, 0x9f, 0x98],
  [0xc3], [0xef, 0xbb], [0xef, 0xbf, 0xbe], [0xef, 0xbf, 0xbf],
] // prettier-ignore

/** None holds an LF. */
export const hostileRows: readonly Uint8Array[] = [
  ...texts.map((text) => Buffer.from(text)),
  ...bytes.flatMap((sequence) => [
    Buffer.from(sequence),
    Buffer.concat([Buffer.from('{"a":"'), Buffer.from(sequence), Buffer.from('"}')]),
  ]),
]

/** Values that a Line may hold, in places where they do not belong. */
export const hostileValues: readonly JsonValue[] = [
  true, false, '', 'x'.repeat(300), '𐀀'.repeat(200), '\u007f\u0001"\\', '0', 9007199254740991, [], [1], {}, { a: {} },
] // prettier-ignore

const key = forgeKey(7).publicKey
const good = `{"keys":[{"public_key":"${key}"}]}`

/** In Latin-1, so that a byte can be wrong. The first few are right. */
export const hostileStores: readonly string[] = [
  good, ` ${good}\r\n\t`, `{"keys":[]}`, `{"chain_id":"","keys":[{"public_key":"${key}"}]}`,
  `{"keys":[{"public_key":"${key}","first_session":null,"last_session":null}]}`,
  `{"keys":[{"public_key":"${key}","first_session":0,"last_session":9007199254740991,"note":null}],"more":{"a":[1.5,-2]}}`,
  `{"keys":[{"public_key":"${'f'.repeat(64)}"}]}`,
  '', ' ', '{}', '[]', 'null', '{"keys":{}}', '{"keys":null}', '{"keys":[null]}', '{"keys":["' + key + '"]}', `${good}x`, `\ufeff${good}`,
  `\u00ef\u00bb\u00bf${good}`, `{"keys":[{}]}`, `{"keys":[{"public_key":"${key.toUpperCase()}"}]}`, `{"keys":[{"public_key":"${key}0"}]}`,
  `{"keys":[{"public_key":7}]}`, `{"chain_id":7,"keys":[]}`, `{"chain_id":null,"keys":[{"public_key":"${key}"}]}`, `{"keys":[],"keys":[]}`,
  ...['1.0', '1e0', '-1', '-0', '0.5', '9007199254740992', '"1"', 'true', '[]'].map(
    (bound) => `{"keys":[{"public_key":"${key}","first_session":${bound}}]}`,
  ),
  ...['1.0', '0.1', '1e-7', '5e-324', '0.10000000000000001', '9007199254740993', '1e21', '1e400', '-0', '-0.0', '0e5', '1e-400',
    '2.2250738585072011e-308', '9007199254740992', '-9007199254740991', '1e16', '90071992547409910e-1', '123456789012345680000e-5',
    '4.35', '0.1e1', '100e-2', '1e-6', '1E+2', `1${'0'.repeat(400)}e-400`, `0.${'0'.repeat(400)}1e401`, `1e${'9'.repeat(5000)}`, `0e${'9'.repeat(5000)}`,
    '1e22', '1.7976931348623157e308', '2.2250738585072014e-308', '-1.5e-10', '01', '1.', '"\\ud800"', '"\\ud83d\\ude00"',
    '{"b":1,"b":2}', '{"\\ud83d\\ude00":1}', '{"\\uffff":1}', '{"\\ud800":1}', '{"":0}', nested(63), nested(64), nested(200_000), '"\u00ff"', '"\u00c3\u00a9"', '"\t"',
  ].map((value) => `{"keys":[{"public_key":"${key}"}],"x":${value}}`),
] // prettier-ignore
