/**
 * Chunks of bytes to rows: the bytes between two LF, empty ones left out (SPEC.md §7). Holds at most one row, and of a
 * row that is too long nothing but that it is.
 */
import { lineBytesMax } from '../record/index.ts'

export interface RowSink {
  /** One non-empty row in `[start, end)`; the bytes are only lent. */
  row(bytes: Uint8Array, start: number, end: number): void
  /** A row longer than a Line may be, as soon as it is; its bytes were dropped, and more of them may follow. */
  longRow(): void
}

export class RowSplitter {
  readonly #sink: RowSink
  readonly #held = new Uint8Array(lineBytesMax)
  #heldLength = 0
  #tooLong = false

  constructor(sink: RowSink) {
    this.#sink = sink
  }

  /** Any piece of the input; cuts inside a row or a character are of no consequence. */
  push(chunk: Uint8Array): void {
    let start = 0
    for (;;) {
      const lf = chunk.indexOf(0x0a, start)
      if (lf < 0) {
        this.#hold(chunk, start, chunk.length)
        return
      }
      if (this.#heldLength === 0 && !this.#tooLong && lf - start <= lineBytesMax) {
        // The whole row lies in this chunk: no copy.
        if (lf > start) this.#sink.row(chunk, start, lf)
      } else {
        this.#hold(chunk, start, lf)
        this.endRow()
      }
      start = lf + 1
    }
  }

  /** Ends the row under way, as an LF does; called between two files and at the end. */
  endRow(): void {
    if (!this.#tooLong && this.#heldLength > 0) this.#sink.row(this.#held, 0, this.#heldLength)
    this.#heldLength = 0
    this.#tooLong = false
  }

  #hold(chunk: Uint8Array, start: number, end: number): void {
    if (this.#tooLong) return
    if (this.#heldLength + (end - start) > lineBytesMax) {
      this.#tooLong = true
      // Not at its end: a device or a pipe may send one row for ever.
      this.#sink.longRow()
      return
    }
    this.#held.set(chunk.subarray(start, end), this.#heldLength)
    this.#heldLength += end - start
  }
}
