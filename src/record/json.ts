/**
 * The strict JSON reader: bytes to values with positions (SPEC.md §3.3, §3.5). One pass, an explicit stack instead
 * of recursion, linear in the input. What is allowed beyond RFC 8259's grammar (numbers, null, depth, keys) is said
 * by a `ReadingRules`; the two profiles stand in profile.ts. Not for display and never lenient by default.
 */
import { type FormatError, type FormatErrorCode, type Parsed, parsed, refused } from './errors.ts'
import { decodeUtf8, findInvalidUtf8 } from './utf8.ts'

export type JsonValue = null | boolean | number | string | JsonArray | JsonObject
export type JsonArray = readonly JsonValue[]
/** Has no prototype, so that `__proto__` and `constructor` are ordinary keys. */
export interface JsonObject {
  readonly [key: string]: JsonValue
}

/** What a reader accepts beyond the grammar. */
export interface ReadingRules {
  /** A grammatical number literal to its value, or why it is refused. */
  readonly number: (literal: string) => number | FormatErrorCode
  readonly nullAllowed: boolean
  /** Keys with a character above U+FFFF (SPEC.md §3.5 refuses them). */
  readonly astralKeysAllowed: boolean
  /** Most nested containers; the outermost counts as 1. */
  readonly depthMax: number
  /**
   * Called with each refusal that is not a matter of grammar; `true` reads on. Only the verifier uses it, to learn
   * everything that is wrong with a row. Absent: the first refusal ends the reading. It is given no place: a hostile row
   * holds a refusal in every byte, and naming the place of each would cost far more than reading it.
   */
  readonly tolerate?: (code: FormatErrorCode) => boolean
}

/** RFC 8259 with unique keys and whole surrogate pairs, and nothing narrower: what conformance suites test. */
export const syntaxRules: ReadingRules = {
  number: (literal) => Number(literal),
  nullAllowed: true,
  astralKeysAllowed: true,
  depthMax: Number.MAX_SAFE_INTEGER,
}

/**
 * Reads one JSON text.
 *
 * @param bytes the whole text, UTF-8 without a byte order mark.
 * @returns the value, or the first refusal with its JSON path and byte offset.
 */
export function readJson(bytes: Uint8Array, rules: ReadingRules): Parsed<JsonValue> {
  const invalidAt = findInvalidUtf8(bytes)
  if (invalidAt !== undefined) return refused({ code: 'invalid_utf8', path: '$', offset: invalidAt })
  return new Reader(bytes, rules).read()
}

/** Values are built in place, so the frames hold the mutable forms. */
type Frame =
  | { readonly kind: 'array'; readonly items: JsonValue[] }
  | { readonly kind: 'object'; readonly members: Record<string, JsonValue>; key?: string }

const Byte = {
  Tab: 0x09,
  LineFeed: 0x0a,
  Return: 0x0d,
  Space: 0x20,
  Quote: 0x22,
  Plus: 0x2b,
  Comma: 0x2c,
  Minus: 0x2d,
  Dot: 0x2e,
  Zero: 0x30,
  Nine: 0x39,
  Colon: 0x3a,
  BracketOpen: 0x5b,
  Backslash: 0x5c,
  BracketClose: 0x5d,
  BraceOpen: 0x7b,
  BraceClose: 0x7d,
} as const

/** Ends the reading; caught in `read` and nowhere else. */
class Refusal extends Error {
  readonly error: FormatError
  constructor(error: FormatError) {
    super(error.code)
    this.error = error
  }
}

class Reader {
  readonly #bytes: Uint8Array
  readonly #rules: ReadingRules
  readonly #stack: Frame[] = []
  #at = 0

  constructor(bytes: Uint8Array, rules: ReadingRules) {
    this.#bytes = bytes
    this.#rules = rules
  }

  read(): Parsed<JsonValue> {
    try {
      return parsed(this.#readText())
    } catch (thrown) {
      if (thrown instanceof Refusal) return refused(thrown.error)
      throw thrown
    }
  }

  #readText(): JsonValue {
    if (this.#bytes[0] === 0xef && this.#bytes[1] === 0xbb && this.#bytes[2] === 0xbf) {
      this.#refuse('byte_order_mark')
      this.#at = 3
    }
    for (;;) {
      // A value is due here: at the start, behind `[` or `,`, or behind a key's colon.
      this.#skipSpace()
      let value = this.#openOrScalar()
      if (value === undefined) continue
      // A value is complete: put it into its container; each closing bracket completes another one.
      for (;;) {
        const frame = this.#stack[this.#stack.length - 1]
        this.#skipSpace()
        if (frame === undefined) {
          if (this.#at < this.#bytes.length) this.#fail('text behind the value')
          return value
        }
        if (frame.kind === 'array') frame.items.push(value)
        else frame.members[frame.key as string] = value
        const next = this.#bytes[this.#at]
        if (next === Byte.Comma) {
          this.#at += 1
          if (frame.kind === 'object') this.#readKey(frame)
          break
        }
        if (next !== (frame.kind === 'array' ? Byte.BracketClose : Byte.BraceClose)) {
          this.#fail(frame.kind === 'array' ? "expected ',' or ']'" : "expected ',' or '}'")
        }
        this.#at += 1
        this.#stack.pop()
        value = frame.kind === 'array' ? frame.items : frame.members
      }
    }
  }

  /** A scalar or an empty container is returned; a container with content is pushed, and its content is due. */
  #openOrScalar(): JsonValue | undefined {
    const byte = this.#bytes[this.#at]
    switch (byte) {
      case Byte.BraceOpen: {
        const frame: Frame = {
          kind: 'object',
          members: Object.create(null) as Record<string, JsonValue>,
        }
        this.#checkDepth()
        this.#at += 1
        this.#skipSpace()
        if (this.#bytes[this.#at] === Byte.BraceClose) {
          this.#at += 1
          return frame.members
        }
        this.#stack.push(frame)
        this.#readKey(frame)
        return undefined
      }
      case Byte.BracketOpen: {
        this.#checkDepth()
        this.#at += 1
        this.#skipSpace()
        if (this.#bytes[this.#at] === Byte.BracketClose) {
          this.#at += 1
          return []
        }
        this.#stack.push({ kind: 'array', items: [] })
        return undefined
      }
      case Byte.Quote:
        return this.#readString()
      case 0x74:
        return this.#readWord('true', true)
      case 0x66:
        return this.#readWord('false', false)
      case 0x6e:
        if (!this.#rules.nullAllowed && this.#startsWord('null')) this.#refuse('null_not_allowed')
        return this.#readWord('null', null)
      default:
        if (byte === Byte.Minus || isDigit(byte)) return this.#readNumber()
        return this.#fail('expected a value')
    }
  }

  #readKey(frame: Frame & { kind: 'object' }): void {
    this.#skipSpace()
    if (this.#bytes[this.#at] !== Byte.Quote) this.#fail('expected a member name in quotes')
    const start = this.#at
    const key = this.#readString()
    // From here on a refusal names this member.
    frame.key = key
    if (Object.hasOwn(frame.members, key)) this.#refuse('duplicate_key', start)
    if (!this.#rules.astralKeysAllowed && /[\ud800-\udbff]/.test(key)) this.#refuse('astral_key', start)
    this.#skipSpace()
    if (this.#bytes[this.#at] !== Byte.Colon) this.#fail("expected ':' behind a member name")
    this.#at += 1
  }

  #checkDepth(): void {
    if (this.#stack.length + 1 > this.#rules.depthMax) this.#refuse('too_deep')
  }

  #startsWord(word: string): boolean {
    for (let i = 0; i < word.length; i += 1)
      if (this.#bytes[this.#at + i] !== word.charCodeAt(i)) return false
    return true
  }

  #readWord<T extends boolean | null>(word: string, value: T): T {
    if (!this.#startsWord(word)) return this.#fail('expected a value')
    this.#at += word.length
    return value
  }

  #readNumber(): number {
    const start = this.#at
    if (this.#bytes[this.#at] === Byte.Minus) this.#at += 1
    if (this.#bytes[this.#at] === Byte.Zero) this.#at += 1
    else this.#readDigits()
    if (this.#bytes[this.#at] === Byte.Dot) {
      this.#at += 1
      this.#readDigits()
    }
    const exponent = this.#bytes[this.#at]
    if (exponent === 0x65 || exponent === 0x45) {
      this.#at += 1
      const sign = this.#bytes[this.#at]
      if (sign === Byte.Plus || sign === Byte.Minus) this.#at += 1
      this.#readDigits()
    }
    const literal = decodeUtf8(this.#bytes, start, this.#at)
    const value = this.#rules.number(literal)
    if (typeof value === 'number') return value
    this.#refuse(value, start, literal.length > 40 ? `${literal.slice(0, 40)}…` : literal)
    return Number(literal)
  }

  #readDigits(): void {
    if (!isDigit(this.#bytes[this.#at])) this.#fail('expected a digit')
    while (isDigit(this.#bytes[this.#at])) this.#at += 1
  }

  /** `#at` is on the opening quote; afterwards it is behind the closing one. */
  #readString(): string {
    const start = this.#at
    this.#at += 1
    let text = ''
    let plainFrom = this.#at
    let surrogateEscape = false
    for (;;) {
      const byte = this.#bytes[this.#at]
      if (byte === undefined) return this.#fail('the string does not end')
      if (byte === Byte.Quote) break
      if (byte < 0x20) return this.#fail('a control character stands unescaped in a string')
      if (byte !== Byte.Backslash) {
        this.#at += 1
        continue
      }
      text += decodeUtf8(this.#bytes, plainFrom, this.#at)
      const code = this.#readEscape()
      surrogateEscape ||= code >= 0xd800 && code <= 0xdfff
      text += String.fromCharCode(code)
      plainFrom = this.#at
    }
    text += decodeUtf8(this.#bytes, plainFrom, this.#at)
    this.#at += 1
    if (surrogateEscape && hasLoneSurrogate(text)) this.#refuse('lone_surrogate', start)
    return text
  }

  #readEscape(): number {
    const letter = this.#bytes[this.#at + 1]
    const short = letter === undefined ? undefined : shortEscapes.get(letter)
    if (short !== undefined) {
      this.#at += 2
      return short
    }
    if (letter !== 0x75) return this.#fail('an escape that JSON does not have')
    let code = 0
    for (let i = 2; i < 6; i += 1) {
      const digit = hexDigit(this.#bytes[this.#at + i])
      if (digit < 0) return this.#fail('\\u needs four hex digits')
      code = code * 16 + digit
    }
    this.#at += 6
    return code
  }

  #skipSpace(): void {
    for (;;) {
      const byte = this.#bytes[this.#at]
      if (byte !== Byte.Space && byte !== Byte.Tab && byte !== Byte.LineFeed && byte !== Byte.Return) return
      this.#at += 1
    }
  }

  #fail(detail: string): never {
    throw new Refusal({ code: 'syntax', path: this.#path(), offset: this.#at, detail })
  }

  #refuse(code: FormatErrorCode, offset = this.#at, detail?: string): void {
    if (this.#rules.tolerate?.(code) === true) return
    throw new Refusal({ code, path: this.#path(), offset, ...(detail === undefined ? {} : { detail }) })
  }

  /** Cut at 256 characters: a path is evidence for a person, and keys are the sender's. */
  #path(): string {
    let path = '$'
    for (const frame of this.#stack) {
      if (frame.kind === 'array') path += `[${String(frame.items.length)}]`
      // Before its first name was read an object is named itself.
      else if (frame.key !== undefined) path += toPathStep(frame.key)
      if (path.length > 256) return `${path.slice(0, 256)}…`
    }
    return path
  }
}

function toPathStep(key: string): string {
  return /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/.test(key) ? `.${key}` : `[${JSON.stringify(key.slice(0, 64))}]`
}

const shortEscapes: ReadonlyMap<number, number> = new Map([
  [0x22, 0x22],
  [0x5c, 0x5c],
  [0x2f, 0x2f],
  [0x62, 0x08],
  [0x66, 0x0c],
  [0x6e, 0x0a],
  [0x72, 0x0d],
  [0x74, 0x09],
])

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= Byte.Zero && byte <= Byte.Nine
}

function hexDigit(byte: number | undefined): number {
  if (byte === undefined) return -1
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const lower = byte | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}

/** Whether the text holds half of a surrogate pair: such text has no UTF-8 form. */
export function hasLoneSurrogate(text: string): boolean {
  return /\p{Surrogate}/u.test(text)
}

/** Whether a value is an object (not null, not an array). */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
