/**
 * One pass over the bytes of a row: is it the canonical form of an object in the value space of Lines (SPEC.md §3.2,
 * §3.3), and where do the members stand that the verifier judges. Builds no values, so that a walk costs little more
 * than its signatures. What is wrong with a row that fails is found out, slowly, by `classifyRow`.
 */
import { type FormatErrorCode, decodeUtf8, findInvalidUtf8, isJsonObject, readJson } from '../record/index.ts'
import { lineRules } from '../record/profile.ts'
import { utf8SequenceLength } from '../record/utf8.ts'

/** The top-level members that the verifier reads; the order is the index into a scanner's spans. */
const memberNames = [
  'line_type',
  'seq',
  'prev_hash',
  'schema_version',
  'signature',
  'key_id',
  'chain_id',
  'session_index',
  'call_id',
  'approval_id',
  'public_key',
  'prev_session_tail',
] as const
export type JudgedMember = (typeof memberNames)[number]

const memberIndex = Object.fromEntries(memberNames.map((name, at) => [name, at])) as Readonly<
  Record<JudgedMember, number>
>
const memberNameBytes = memberNames.map((name) => Uint8Array.from(name, (letter) => letter.charCodeAt(0)))
/** By length, since lengths tell nearly all of them apart. */
const membersByLength: readonly (readonly number[])[] = Array.from({ length: 18 }, (_, length) =>
  memberNames.flatMap((name, at) => (name.length === length ? [at] : [])),
)

const depthMax = lineRules.depthMax
/** 2^53 − 1 in ASCII: a literal of sixteen digits is compared with it. */
const integerMax = Uint8Array.from('9007199254740991', (digit) => digit.charCodeAt(0))

/** Scans rows one after another; its spans are those of the last row. */
export class RowScanner {
  #bytes: Uint8Array = new Uint8Array(0)
  #end = 0
  /** Start of the key's opening quote, start and end of the value, for each of `memberNames`; 0 end: absent. */
  readonly #spans = new Int32Array(memberNames.length * 3)
  /** For each open container: 1 for an object, and its last key's content (start, end, whether plain ASCII). */
  readonly #isObject = new Uint8Array(depthMax + 1)
  readonly #keyStart = new Int32Array(depthMax + 1)
  readonly #keyEnd = new Int32Array(depthMax + 1)
  readonly #keyPlain = new Uint8Array(depthMax + 1)
  /** Of the string scanned last: neither escapes nor anything beyond ASCII. */
  #plain = true

  /** Whether `[start, end)` is one canonical object; only then are the spans meaningful. */
  scan(bytes: Uint8Array, start: number, end: number): boolean {
    this.#bytes = bytes
    this.#end = end
    this.#spans.fill(0)
    if (bytes[start] !== 0x7b) return false
    return this.#scanValues(start) === end
  }

  has(member: JudgedMember): boolean {
    return this.#spans[memberIndex[member] * 3 + 2] !== 0
  }

  /** A non-negative integer, or `undefined` when absent or of another type. */
  integer(member: JudgedMember): number | undefined {
    const start = this.#valueStart(member)
    const end = this.#valueEnd(member)
    if (end === 0) return undefined
    let value = 0
    for (let at = start; at < end; at += 1) {
      const digit = (this.#bytes[at] ?? 0) - 0x30
      if (digit < 0 || digit > 9) return undefined
      value = value * 10 + digit
    }
    return value
  }

  /** Start of a string's content and its end, without the quotes; `undefined` when absent or no string. */
  stringSpan(member: JudgedMember): readonly [start: number, end: number] | undefined {
    const start = this.#valueStart(member)
    const end = this.#valueEnd(member)
    if (end === 0 || this.#bytes[start] !== 0x22) return undefined
    return [start + 1, end - 1]
  }

  /** What a member is that is neither a string nor an integer. */
  kind(member: JudgedMember): 'absent' | 'boolean' | 'object' | 'array' {
    if (!this.has(member)) return 'absent'
    const first = this.#bytes[this.#valueStart(member)]
    return first === 0x7b ? 'object' : first === 0x5b ? 'array' : 'boolean'
  }

  /** A string's value, unescaped. */
  text(member: JudgedMember): string | undefined {
    const span = this.stringSpan(member)
    if (span === undefined) return undefined
    return unescape(this.#bytes, span[0], span[1])
  }

  /** Start of a string of exactly `length` lowercase hex characters; `undefined` otherwise. */
  hexStart(member: JudgedMember, length: number): number | undefined {
    const start = this.#valueStart(member)
    if (this.#valueEnd(member) - start !== length + 2 || this.#bytes[start] !== 0x22) return undefined
    for (let at = start + 1; at <= start + length; at += 1) {
      const byte = this.#bytes[at] ?? 0
      if (!((byte >= 0x30 && byte <= 0x39) || (byte >= 0x61 && byte <= 0x66))) return undefined
    }
    return start + 1
  }

  /** Where the member `"name":value` stands, without commas. */
  memberSpan(member: JudgedMember): readonly [start: number, end: number] {
    return [this.#spans[memberIndex[member] * 3] ?? 0, this.#valueEnd(member)]
  }

  #valueStart(member: JudgedMember): number {
    return this.#spans[memberIndex[member] * 3 + 1] ?? 0
  }

  #valueEnd(member: JudgedMember): number {
    return this.#spans[memberIndex[member] * 3 + 2] ?? 0
  }

  /** From the first byte of the outermost object to behind its closing brace; -1 when anything is not canonical. */
  #scanValues(start: number): number {
    const bytes = this.#bytes
    let at = start
    let depth = 0
    // The judged member whose value is being scanned at depth 1, or -1.
    let judged = -1
    for (;;) {
      const first = bytes[at]
      let ended: number
      if (first === 0x22) {
        ended = this.#scanString(at)
      } else if (first === 0x7b || first === 0x5b) {
        if (depth === depthMax) return -1
        const closing = first === 0x7b ? 0x7d : 0x5d
        if (bytes[at + 1] === closing) {
          ended = at + 2
        } else {
          depth += 1
          this.#isObject[depth] = first === 0x7b ? 1 : 0
          this.#keyEnd[depth] = -1
          at += 1
          if (first === 0x7b) {
            at = this.#scanKey(at, depth)
            if (at < 0) return -1
            if (depth === 1) judged = this.#judgedKey()
          }
          if (depth === 1 && judged >= 0) this.#spans[judged * 3 + 1] = at
          continue
        }
      } else if (first === 0x74) {
        ended = this.#matches(at, trueBytes) ? at + 4 : -1
      } else if (first === 0x66) {
        ended = this.#matches(at, falseBytes) ? at + 5 : -1
      } else {
        ended = this.#scanInteger(at)
      }
      if (ended < 0) return -1
      at = ended
      // A value ended at `at`: commas and closing brackets follow.
      for (;;) {
        if (depth === 1 && judged >= 0) this.#spans[judged * 3 + 2] = at
        if (depth === 0) return at
        const next = at < this.#end ? bytes[at] : undefined
        const inObject = this.#isObject[depth] === 1
        if (next === 0x2c) {
          at += 1
          if (inObject) {
            at = this.#scanKey(at, depth)
            if (at < 0) return -1
            if (depth === 1) {
              judged = this.#judgedKey()
              if (judged >= 0) this.#spans[judged * 3 + 1] = at
            }
          }
          break
        }
        if (next !== (inObject ? 0x7d : 0x5d)) return -1
        at += 1
        depth -= 1
      }
    }
  }

  /** A key that sorts behind the one before it, and its colon; returns the start of the value, or -1. */
  #scanKey(at: number, depth: number): number {
    if (this.#bytes[at] !== 0x22) return -1
    const ended = this.#scanString(at)
    if (ended < 0 || this.#bytes[ended] !== 0x3a || ended >= this.#end) return -1
    const start = at + 1
    const end = ended - 1
    const plain = this.#plain
    const lastEnd = this.#keyEnd[depth] ?? -1
    if (lastEnd >= 0) {
      const lastStart = this.#keyStart[depth] ?? 0
      const bothPlain = plain && this.#keyPlain[depth] === 1
      const inOrder = bothPlain
        ? this.#bytesAscend(lastStart, lastEnd, start, end)
        : unescape(this.#bytes, lastStart, lastEnd) < unescape(this.#bytes, start, end)
      if (!inOrder) return -1
    }
    this.#keyStart[depth] = start
    this.#keyEnd[depth] = end
    this.#keyPlain[depth] = plain ? 1 : 0
    return ended + 1
  }

  #bytesAscend(aStart: number, aEnd: number, bStart: number, bEnd: number): boolean {
    const bytes = this.#bytes
    const length = Math.min(aEnd - aStart, bEnd - bStart)
    for (let at = 0; at < length; at += 1) {
      const a = bytes[aStart + at] ?? 0
      const b = bytes[bStart + at] ?? 0
      if (a !== b) return a < b
    }
    return aEnd - aStart < bEnd - bStart
  }

  /** Which judged member the key at depth 1 names; remembers where the member starts. */
  #judgedKey(): number {
    const start = this.#keyStart[1] ?? 0
    const length = (this.#keyEnd[1] ?? 0) - start
    const candidates = membersByLength[length]
    if (candidates === undefined) return -1
    for (const candidate of candidates) {
      const name = memberNameBytes[candidate]
      if (name !== undefined && this.#matches(start, name)) {
        this.#spans[candidate * 3] = start - 1
        return candidate
      }
    }
    return -1
  }

  #matches(at: number, expected: Uint8Array): boolean {
    if (at + expected.length > this.#end) return false
    for (let i = 0; i < expected.length; i += 1) if (this.#bytes[at + i] !== expected[i]) return false
    return true
  }

  /** From an opening quote to behind the closing one; -1 when an escape is not the canonical one. */
  #scanString(at: number): number {
    const bytes = this.#bytes
    const end = this.#end
    let plain = true
    let next = at + 1
    while (next < end) {
      // Most bytes of a Line go through this loop.
      while (next < end && plainBytes[bytes[next] as number] === 1) next += 1
      if (next >= end) return -1
      const byte = bytes[next] as number
      if (byte === 0x22) {
        this.#plain = plain
        return next + 1
      }
      plain = false
      const length =
        byte === 0x5c ? this.#escapeLength(next) : byte < 0x20 ? 0 : utf8SequenceLength(bytes, next, end)
      if (length === 0) return -1
      next += length
    }
    return -1
  }

  /** 2 for a short escape, 6 for `\u00xx` of a control that has no short one, else 0. */
  #escapeLength(at: number): number {
    if (at + 1 >= this.#end) return 0
    switch (this.#bytes[at + 1]) {
      case 0x22:
      case 0x5c:
      case 0x62:
      case 0x66:
      case 0x6e:
      case 0x72:
      case 0x74:
        return 2
      case 0x75:
        return at + 6 <= this.#end && this.#isControlEscape(at) ? 6 : 0
      default:
        return 0
    }
  }

  #isControlEscape(at: number): boolean {
    const bytes = this.#bytes
    if (bytes[at + 2] !== 0x30 || bytes[at + 3] !== 0x30) return false
    const high = bytes[at + 4]
    if (high !== 0x30 && high !== 0x31) return false
    const low = bytes[at + 5] ?? 0
    const isDigit = low >= 0x30 && low <= 0x39
    if (!isDigit && !(low >= 0x61 && low <= 0x66)) return false
    // \b \t \n \f \r have short forms, so that their long ones are not canonical.
    return high === 0x31 || !(low === 0x38 || low === 0x39 || low === 0x61 || low === 0x63 || low === 0x64)
  }

  /** 0, or up to sixteen digits without a leading zero and not above 2^53 − 1. */
  #scanInteger(at: number): number {
    const bytes = this.#bytes
    let next = at
    while (next < this.#end) {
      const byte = bytes[next] ?? 0
      if (byte < 0x30 || byte > 0x39) break
      next += 1
    }
    const length = next - at
    if (length === 0 || length > 16 || (length > 1 && bytes[at] === 0x30)) return -1
    if (length === 16) {
      for (let i = 0; i < 16; i += 1) {
        const have = bytes[at + i] ?? 0
        const most = integerMax[i] ?? 0
        if (have !== most) return have < most ? next : -1
      }
    }
    return next
  }
}

/** 1 for what stands for itself in a string: ASCII but controls, the quote and the backslash. */
const plainBytes = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x20 && byte < 0x80 && byte !== 0x22 && byte !== 0x5c ? 1 : 0,
)

const trueBytes = Uint8Array.of(0x74, 0x72, 0x75, 0x65)
const falseBytes = Uint8Array.of(0x66, 0x61, 0x6c, 0x73, 0x65)

/** The value of a canonical string's content. */
function unescape(bytes: Uint8Array, start: number, end: number): string {
  const raw = decodeUtf8(bytes, start, end)
  return raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw
}

/** What is wrong with a row that the scanner refused (SPEC.md §7, stages 2 to 5). */
export type RowFault = 'not_utf8' | 'malformed_line' | 'not_an_object' | 'value_not_allowed' | 'not_canonical'

const outsideValueSpace: ReadonlySet<FormatErrorCode> = new Set([
  'null_not_allowed',
  'float_not_allowed',
  'negative_not_allowed',
  'integer_too_large',
  'too_deep',
])

/** Reads a refused row with everything tolerated that is not a matter of grammar, and names the first stage it fails. */
export function classifyRow(row: Uint8Array): RowFault {
  if (findInvalidUtf8(row) !== undefined) return 'not_utf8'
  let outside = false
  const read = readJson(row, {
    ...lineRules,
    tolerate(code) {
      outside ||= outsideValueSpace.has(code)
      return true
    },
  })
  if (!read.ok) return 'malformed_line'
  if (!isJsonObject(read.value)) return 'not_an_object'
  return outside ? 'value_not_allowed' : 'not_canonical'
}
