/**
 * What can be wrong with untrusted bytes, as data (SPEC.md §3): returned, never thrown, with the place and the
 * evidence. Codes are stable; `describeFormatError` makes the sentence. Not for broken invariants: those throw.
 */

/** Why bytes were refused. `path` is a JSON path (`$.a.b[1]`), `offset` counts bytes from 0. */
export type FormatError = {
  readonly code: FormatErrorCode
  readonly path: string
  readonly offset?: number
  /** A short excerpt or the expected form; already cut, but not yet escaped for a terminal. */
  readonly detail?: string
}

export type FormatErrorCode =
  // syntax reader
  | 'invalid_utf8'
  | 'byte_order_mark'
  | 'syntax'
  | 'duplicate_key'
  | 'lone_surrogate'
  // profiles
  | 'too_deep'
  | 'null_not_allowed'
  | 'float_not_allowed'
  | 'negative_not_allowed'
  | 'integer_too_large'
  | 'number_not_exact'
  | 'negative_zero'
  | 'number_not_finite'
  | 'astral_key'
  | 'not_canonical'
  // decoders
  | 'not_an_object'
  | 'missing_member'
  | 'wrong_type'
  | 'unknown_value'
  | 'too_long'

/** Either a value, or the reason there is none. */
export type Parsed<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: FormatError }

export function parsed<T>(value: T): Parsed<T> {
  return { ok: true, value }
}

export function refused<T = never>(error: FormatError): Parsed<T> {
  return { ok: false, error }
}

/** One sentence for a person; names the path, the byte and what to do where that helps. */
export function describeFormatError(error: FormatError): string {
  const where = error.offset === undefined ? error.path : `${error.path} (byte ${String(error.offset)})`
  const detail = error.detail === undefined ? '' : `: ${error.detail}`
  return `${where} ${sentences[error.code]}${detail}`
}

const sentences: Readonly<Record<FormatErrorCode, string>> = {
  invalid_utf8: 'is not UTF-8',
  byte_order_mark: 'begins with a byte order mark, which is refused',
  syntax: 'is not JSON',
  duplicate_key: 'names a member twice',
  lone_surrogate: 'holds half of a surrogate pair',
  too_deep: 'is nested deeper than 64 levels',
  null_not_allowed: 'is null; an absent member is left out',
  float_not_allowed: 'is not an integer; send it as a string',
  negative_not_allowed: 'is negative; send it as a string',
  integer_too_large: 'is an integer beyond 2^53-1, which numbers cannot hold; send it as a string',
  number_not_exact: 'is a number that a double does not hold exactly as written; send it as a string',
  negative_zero: 'is a negative zero; send 0, or a string',
  number_not_finite: 'is a number beyond what a double holds; send it as a string',
  astral_key: 'has a key with a character above U+FFFF, which is refused here',
  not_canonical: 'is not in canonical form',
  not_an_object: 'is not an object',
  missing_member: 'is missing',
  wrong_type: 'has the wrong type',
  unknown_value: 'has a value that is not known',
  too_long: 'is too long',
}
