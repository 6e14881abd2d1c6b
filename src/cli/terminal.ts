/**
 * What the command writes: text to stdout with backpressure, lines to stderr, colours, and the columns of a table.
 * Nothing here formats a verdict: reports are made by src/verify, and are never coloured.
 */
import type { WriteStream } from 'node:tty'
import { unreadable } from './exit-codes.ts'

type Stream = NodeJS.WriteStream | WriteStream

/** Bytes gathered before a write: a row a system call would be most of the time of a listing. */
const gatherLength = 65_536

/**
 * Writes to a stream in large pieces and waits while it is full, so that memory stays flat whatever reads it. Once the
 * reader is gone (`head`, a closed pager) `closed` is true and the rest is dropped.
 */
export class Output {
  readonly #stream: Stream
  #text = ''
  #closed = false
  #failure: string | undefined

  constructor(stream: Stream = process.stdout) {
    this.#stream = stream
    stream.on('error', (error: NodeJS.ErrnoException) => {
      this.#closed = true
      // A reader that goes away has seen what it wanted. A full disk has not.
      if (error.code !== 'EPIPE') this.#failure = error.code ?? error.message
    })
  }

  get closed(): boolean {
    return this.#closed
  }

  async write(text: string): Promise<void> {
    this.#text += text
    if (this.#text.length >= gatherLength) await this.flush()
  }

  async flush(): Promise<void> {
    const text = this.#text
    this.#text = ''
    if (text !== '' && !this.#closed) await this.#send(text)
    if (this.#failure !== undefined) throw unreadable(`error: cannot write the output: ${this.#failure}`)
  }

  async #send(text: string): Promise<void> {
    await new Promise<void>((resolve) => {
      // Called with an error too: the listener above has noted it.
      this.#stream.write(text, () => {
        resolve()
      })
    })
  }
}

/** One line to stderr. Characters that a terminal would obey are shown as `\u{HEX}`. */
export function warn(line: string): void {
  process.stderr.write(`${printable(line)}\n`)
}

/**
 * A file name or an argument as it may be shown: without controls, format characters and line separators, and without
 * the secret of an API key, which is easily given to the wrong flag. What is left of such a key is its name.
 */
export function printable(text: string): string {
  return text
    .replace(apiKeySecret, '$1[secret]')
    .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)
}

/** Also of one that was cut: its last part has 52 characters, and the one before 29. */
const apiKeySecret = /(aegis_(?:[a-z0-9-]+_)+)[0-9a-z]{32,}/g

let isQuiet = false

/** `--quiet`, for the whole process: from now on no notes and no progress. Errors stay, and what was asked for. */
export function quieten(): void {
  isQuiet = true
}

/** Whether this stream shows how far a command has come. */
export function hasProgress(stream: Stream): boolean {
  return stream.isTTY === true && process.env['TERM'] !== 'dumb' && !isQuiet
}

/** One line to stderr that is no error. */
export function note(line: string): void {
  if (!isQuiet) warn(line)
}

const styles = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const
export type Style = keyof typeof styles

/** Whether a stream shows colours: a terminal, unless `NO_COLOR` is set to anything or it is a dumb one. */
export function hasColour(stream: Stream, env: NodeJS.ProcessEnv = process.env): boolean {
  const forbidden = env['NO_COLOR'] !== undefined && env['NO_COLOR'] !== ''
  return stream.isTTY === true && !forbidden && env['TERM'] !== 'dumb'
}

/** The text in a style, or as it is where there is no colour. */
export function styled(text: string, style: Style, colour: boolean): string {
  return colour ? `\u001b[${String(styles[style])}m${text}\u001b[0m` : text
}

export interface Column {
  readonly title: string
  /** Characters that a value usually needs; a longer one pushes the rest of its row to the right. */
  readonly width: number
}

/** One row of a table whose rows are not known together: fixed widths, two spaces between, none at the end. */
export function tableRow(columns: readonly Column[], values: readonly string[]): string {
  const cells = columns.map((column, at) => (values[at] ?? '').padEnd(column.width))
  return `${cells.join('  ').trimEnd()}\n`
}

/** The row of titles above it. */
export function tableTitles(columns: readonly Column[]): string {
  return tableRow(
    columns,
    columns.map((column) => column.title),
  )
}

/** Milliseconds since the epoch as UTC text; a number beyond what a date holds stays a number. */
export function utcText(ms: number): string {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString()
}
