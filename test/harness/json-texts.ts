/** JSON values and texts for properties: every spelling that the grammar has, and texts that are almost JSON. */
import fc from 'fast-check'

/** Characters that escapes, order by code unit and UTF-8 treat apart. */
const character = fc.oneof(
  fc.constantFrom(
    '"',
    '\\',
    '/',
    '\b',
    '\t',
    '\n',
    '\f',
    '\r',
    '\u0000',
    '\u000b',
    '\u001f',
    '\u007f',
    '\u0080',
  ),
  fc.constantFrom('\u2028', '\ufeff', '\ufffd', '\uffff', '\ue000', '\u{10000}', '\u{10ffff}', 'é', '☕'),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
  fc.constantFrom('a', 'b', 'A', '_', '0', ' '),
)

/** A string of whole characters. */
export const wholeText: fc.Arbitrary<string> = fc
  .array(character, { maxLength: 8 })
  .map((parts) => parts.join(''))
  .filter((text) => !/\p{Surrogate}/u.test(text))

/** Any UTF-16, halves of pairs included. */
export const anyText: fc.Arbitrary<string> = fc.oneof(
  wholeText,
  fc.array(fc.nat(0xffff), { maxLength: 6 }).map((units) => String.fromCharCode(...units)),
)

const lineInteger = fc.oneof(fc.nat(), fc.constantFrom(0, 1, 9007199254740991), fc.maxSafeNat())

export type LineValue = string | boolean | number | LineValue[] | { [name: string]: LineValue }

/** A value in the value space of Lines (SPEC.md §3.2). */
export const { value: lineValue } = fc.letrec<{ value: LineValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    wholeText,
    fc.boolean(),
    lineInteger,
    fc.array(tie('value'), { maxLength: 4 }),
    fc
      .array(fc.tuple(wholeText, tie('value')), { maxLength: 5 })
      // Not `{}`: `__proto__` is a name like any other.
      .map((members) => Object.fromEntries<LineValue>(members)),
  ),
}))

export const lineObject: fc.Arbitrary<{ [name: string]: LineValue }> = fc
  .array(
    fc.tuple(fc.oneof(wholeText, fc.constantFrom('seq', 'line_type', 'signature', 'chain_id')), lineValue),
    {
      maxLength: 8,
    },
  )
  .map((members) => Object.fromEntries<LineValue>(members))

const digits = fc.array(fc.nat(9), { minLength: 1, maxLength: 20 }).map((list) => list.join(''))

/** Every number that the grammar has, near the edges of §3.5 more often than far from them. */
export const numberLiteral: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.oneof(
      fc.constantFrom(
        '0',
        '1',
        '9007199254740991',
        '9007199254740992',
        '9007199254740993',
        '17976931348623157',
      ),
      fc.nat().map(String),
      digits.map((text) => text.replace(/^0+(?=.)/, '')),
    ),
    fc.oneof(
      fc.constant(''),
      fc.constantFrom('.0', '.5', '.10', '.000'),
      digits.map((text) => `.${text}`),
    ),
    fc.oneof(
      fc.constant(''),
      fc
        .tuple(
          fc.constantFrom('e', 'E'),
          fc.constantFrom('', '+', '-'),
          fc.constantFrom('', '0', '00'),
          fc.nat(330),
        )
        .map(([letter, sign, zeros, exponent]) => letter + sign + zeros + String(exponent)),
    ),
  )
  .map((parts) => parts.join(''))

const space = fc.stringMatching(/^[ \t\n\r]{0,2}$/)

/** A string's text in some spelling: each character plain where it may be, or escaped in one of its ways. */
const stringText = fc
  .array(fc.tuple(anyUnit(), fc.nat(3)), { maxLength: 6 })
  .map((units) => `"${units.map(([unit, way]) => spell(unit, way)).join('')}"`)

function anyUnit(): fc.Arbitrary<string> {
  return fc.oneof(
    wholeText.filter((text) => text !== ''),
    fc.nat(0xffff).map((unit) => String.fromCharCode(unit)),
  )
}

function spell(text: string, way: number): string {
  return Array.from(text)
    .map((one) => {
      if (way === 0 && one.length === 1) return `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`
      if (way === 1 && one === '/') return '\\/'
      return JSON.stringify(one).slice(1, -1)
    })
    .join('')
}

/** Texts of RFC 8259's grammar: white space, escapes, repeated names, halves of pairs, numbers of every kind. */
export const { text: jsonText } = fc.letrec<{ text: string }>((tie) => ({
  text: fc.oneof(
    { maxDepth: 4 },
    numberLiteral,
    fc.constantFrom('null', 'true', 'false', '{}', '[]', '[ ]', '{\n}'),
    stringText,
    fc
      .tuple(space, fc.array(tie('text'), { minLength: 1, maxLength: 4 }), space)
      .map(([before, items, behind]) => `[${before}${items.join(`${behind},${before}`)}${behind}]`),
    fc
      .tuple(space, fc.array(fc.tuple(stringText, tie('text')), { minLength: 1, maxLength: 4 }), space)
      .map(
        ([before, members, behind]) =>
          `{${before}${members.map(([name, value]) => `${name}${behind}:${before}${value}`).join(`${behind},`)}}`,
      ),
  ),
}))

export interface Mutation {
  readonly where: number
  readonly kind: 'flip' | 'insert' | 'remove' | 'copy'
  readonly byte: number
}

const telling = Buffer.from('{}[]":,\\/ \n\t0123456789abfnrtuEe.-+')

export const mutations: fc.Arbitrary<readonly Mutation[]> = fc.array(
  fc.record({
    where: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    kind: fc.constantFrom('flip', 'insert', 'remove', 'copy' as const),
    byte: fc.oneof(fc.nat(255), fc.constantFrom(...telling)),
  }),
  { maxLength: 3 },
)

/** Bytes with a few of them changed. */
export function mutate(bytes: Uint8Array, changes: readonly Mutation[]): Uint8Array {
  let list = [...bytes]
  for (const { where, kind, byte } of changes) {
    const at = Math.floor(where * list.length)
    if (kind === 'flip') list[at] = byte
    if (kind === 'insert') list.splice(at, 0, byte)
    if (kind === 'remove') list.splice(at, 1)
    if (kind === 'copy') list = [...list.slice(0, at), ...list.slice(at >> 1)]
  }
  return Uint8Array.from(list)
}
