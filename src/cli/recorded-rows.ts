/**
 * A file of recorded JSON in rows: JSON Lines, a row a line, or one document, a row in all. Which of the two it is, the
 * file shows. A row that cannot be read comes out as such, with its line. What is in a row: recorded-calls.ts.
 */
import {
  type JsonValue,
  type Parsed,
  type ReadingRules,
  describeFormatError,
  parameterRules,
  readJson,
} from '../record/index.ts'
import { unreadable, usageError } from './exit-codes.ts'
import { type OpenInput, readChunks } from './input-files.ts'

export type RecordedRow =
  | {
      readonly kind: 'value'
      /** 1-based; `undefined` for a document of several lines. */
      readonly line: number | undefined
      readonly value: JsonValue
      /** Bytes of the file up to the end of the row. */
      readonly doneBytes: number
    }
  | { readonly kind: 'unread'; readonly line: number; readonly why: string; readonly doneBytes: number }

/** A document is held whole, and so is a file of rows: months of an agent are some megabytes. */
const fileBytesMax = 256 * 1024 * 1024

/**
 * What surrounds a call is read as JSON with unique keys and nothing narrower; a number that the authorizer would refuse
 * becomes NaN, so that recorded-calls.ts refuses the call which holds it, and none but that.
 */
const recordedRules: ReadingRules = {
  number: (literal) => {
    const value = parameterRules.number(literal)
    return typeof value === 'number' ? value : Number.NaN
  },
  nullAllowed: true,
  astralKeysAllowed: true,
  depthMax: 256,
}

/**
 * The rows of a file.
 *
 * @throws CliError, exit code 2, when the file is neither JSON Lines nor one JSON document.
 */
export async function* readRows(input: OpenInput): AsyncGenerator<RecordedRow> {
  const bytes = await readWhole(input)
  const name = input.name === '-' ? 'standard input' : input.name
  const first = linesOf(bytes).next()
  if (first.done === true) throw unreadable(`error: ${name} is empty`)
  if (!readRow(first.value.bytes).ok) {
    const document = readRow(withoutMark(bytes))
    if (document.ok) {
      yield { kind: 'value', line: undefined, value: document.value, doneBytes: bytes.length }
      return
    }
    // JSON Lines whose first line is broken, or a document that is: few lines of the latter are JSON by themselves.
    if (!halfOfLinesIsJson(bytes)) {
      const { offset } = document.error
      const line = offset === undefined ? '' : ` at line ${String(lineOf(bytes, offset))}`
      const why = `${describeFormatError(document.error)}${line}`
      throw unreadable(`error: ${name} is neither JSON Lines nor one JSON document: ${why}`)
    }
  }
  for (const line of linesOf(bytes)) {
    const read = readRow(line.bytes)
    const { number, end: doneBytes } = line
    if (read.ok) yield { kind: 'value', line: number, value: read.value, doneBytes }
    else yield { kind: 'unread', line: number, why: describeFormatError(read.error), doneBytes }
  }
}

async function readWhole(input: OpenInput): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of readChunks(input)) {
    length += chunk.length
    if (length > fileBytesMax) throw usageError(`error: ${input.name} is longer than 256 MiB; split it`)
    chunks.push(chunk.slice())
  }
  return new Uint8Array(Buffer.concat(chunks))
}

function readRow(bytes: Uint8Array): Parsed<JsonValue> {
  return readJson(bytes, recordedRules)
}

interface FileLine {
  readonly bytes: Uint8Array
  /** 1-based. */
  readonly number: number
  /** Offset behind it. */
  readonly end: number
}

/** Lines that hold something, without LF, CR and the byte order mark that some editors put first. */
function* linesOf(bytes: Uint8Array): Generator<FileLine> {
  let start = 0
  let number = 1
  while (start < bytes.length) {
    const lf = bytes.indexOf(0x0a, start)
    const end = lf < 0 ? bytes.length : lf
    const line = withoutMark(bytes.subarray(start, end))
    if (line.some((byte) => byte !== 0x20 && byte !== 0x09 && byte !== 0x0d))
      yield { bytes: line, number, end }
    start = end + 1
    number += 1
  }
}

function withoutMark(bytes: Uint8Array): Uint8Array {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes
}

function halfOfLinesIsJson(bytes: Uint8Array): boolean {
  let lines = 0
  let whole = 0
  for (const line of linesOf(bytes)) {
    lines += 1
    const read = readRow(line.bytes)
    if (read.ok && typeof read.value === 'object' && read.value !== null) whole += 1
    // Enough of either to tell.
    if (lines === 100) break
  }
  return whole * 2 >= lines
}

function lineOf(bytes: Uint8Array, offset: number): number {
  let line = 1
  for (let at = bytes.indexOf(0x0a); at >= 0 && at < offset; at = bytes.indexOf(0x0a, at + 1)) line += 1
  return line
}
