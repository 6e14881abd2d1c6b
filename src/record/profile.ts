/**
 * The two profiles above the JSON reader: values of a Line (SPEC.md §3.2) and parameters of an action
 * (SPEC.md §3.5). They differ in numbers, null and keys; both refuse what two implementations could read apart.
 */
import { type FormatErrorCode, type Parsed, parsed, refused } from './errors.ts'
import { type JsonObject, type JsonValue, type ReadingRules, isJsonObject, readJson } from './json.ts'

/** Most nested containers in either profile. */
export const depthMax = 64

/** Line values: integers 0 … 2^53−1, no null. Reading foreign Lines keeps keys above U+FFFF. */
export const lineRules: ReadingRules = {
  number: lineNumber,
  nullAllowed: false,
  astralKeysAllowed: true,
  depthMax,
}

/** Action parameters and request bodies: numbers that a double holds exactly as written, null kept. */
export const parameterRules: ReadingRules = {
  number: parameterNumber,
  nullAllowed: true,
  astralKeysAllowed: false,
  depthMax,
}

/** Reads bytes as one object in the value space of Lines. Does not check that they are canonical. */
export function parseLineObject(bytes: Uint8Array): Parsed<JsonObject> {
  return toObject(readJson(bytes, lineRules))
}

/** Reads a request body: one object under the profile of action parameters. */
export function parseBody(bytes: Uint8Array): Parsed<JsonObject> {
  return toObject(readJson(bytes, parameterRules))
}

function toObject(result: Parsed<JsonValue>): Parsed<JsonObject> {
  if (!result.ok) return result
  if (!isJsonObject(result.value)) return refused({ code: 'not_an_object', path: '$' })
  return parsed(result.value)
}

function lineNumber(literal: string): number | FormatErrorCode {
  if (/[.eE]/.test(literal)) return 'float_not_allowed'
  if (literal.startsWith('-')) return 'negative_not_allowed'
  const value = Number(literal)
  return value <= Number.MAX_SAFE_INTEGER ? value : 'integer_too_large'
}

/**
 * The number rule of SPEC.md §3.5: a literal is accepted iff its double is finite, has the same decimal value as the
 * shortest text of that double, is within ±(2^53−1) when it is an integer, and is not a negative zero.
 */
function parameterNumber(literal: string): number | FormatErrorCode {
  const value = Number(literal)
  if (!Number.isFinite(value)) return 'number_not_finite'
  const written = toDecimal(literal)
  if (written.digits === '') return literal.startsWith('-') ? 'negative_zero' : 0
  // The integer test is on what is written: 1e16 and 9007199254740993.0 are integers too.
  if (written.exponent >= 0 && !Number.isSafeInteger(value)) return 'integer_too_large'
  const read = toDecimal(String(value))
  const same =
    written.negative === read.negative && written.digits === read.digits && written.exponent === read.exponent
  return same ? value : 'number_not_exact'
}

/** A decimal value in one form: digits without zeros at either end (empty for zero), times ten to the exponent. */
interface Decimal {
  readonly negative: boolean
  readonly digits: string
  readonly exponent: number
}

/** From any grammatical literal. Linear; an exponent too long for a double of integers is ±Infinity, which equals nothing real. */
function toDecimal(literal: string): Decimal {
  const negative = literal.startsWith('-')
  const unsigned = negative ? literal.slice(1) : literal
  const exponentAt = unsigned.search(/[eE]/)
  const mantissa = exponentAt < 0 ? unsigned : unsigned.slice(0, exponentAt)
  const exponent = exponentAt < 0 ? 0 : Number(unsigned.slice(exponentAt + 1))
  const dotAt = mantissa.indexOf('.')
  const whole = dotAt < 0 ? mantissa : mantissa.slice(0, dotAt)
  const fraction = dotAt < 0 ? '' : mantissa.slice(dotAt + 1)
  const all = whole + fraction
  let start = 0
  while (start < all.length && all.charCodeAt(start) === 0x30) start += 1
  let end = all.length
  while (end > start && all.charCodeAt(end - 1) === 0x30) end -= 1
  return {
    negative,
    digits: all.slice(start, end),
    exponent: exponent - fraction.length + (all.length - end),
  }
}
