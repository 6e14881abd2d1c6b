/**
 * Rows of a Chain in batches that a thread can be given: their bytes one behind the other, and where each ends. Rows that
 * are too long are empty in it, since a row never is. Not for reading them: src/recheck.
 */
import type { RowReader, RowReading } from '../recheck/index.ts'
import { RowSplitter } from '../verify/rows.ts'

export interface RowBatch {
  readonly bytes: Uint8Array
  /** Offset behind each row; the offset before it again: `line_too_long`. */
  readonly ends: readonly number[]
}

/** Some 100 Lines, or 10 ms of work: far above what handing it over costs, little enough to keep all threads busy. */
const batchBytes = 131_072

/** Chunks in, batches out. */
export class RowBatcher {
  readonly #rows: RowSplitter
  readonly #ready: RowBatch[] = []
  #bytes = new Uint8Array(batchBytes)
  #length = 0
  #ends: number[] = []

  constructor() {
    this.#rows = new RowSplitter({
      row: (bytes, start, end) => {
        this.#add(bytes.subarray(start, end))
      },
      longRow: () => {
        this.#ends.push(this.#length)
      },
    })
  }

  push(chunk: Uint8Array): void {
    this.#rows.push(chunk)
  }

  /** Between two files, and at the end. */
  endFile(): void {
    this.#rows.endRow()
  }

  /** The batches that are full; with `all`, the one under way too. */
  take(all = false): readonly RowBatch[] {
    if (all && this.#ends.length > 0) this.#finish()
    return this.#ready.splice(0)
  }

  #add(row: Uint8Array): void {
    // A row has 64 KiB at most, half of a batch.
    if (this.#length + row.length > batchBytes) this.#finish()
    this.#bytes.set(row, this.#length)
    this.#length += row.length
    this.#ends.push(this.#length)
  }

  #finish(): void {
    this.#ready.push({ bytes: this.#bytes.subarray(0, this.#length), ends: this.#ends })
    this.#bytes = new Uint8Array(batchBytes)
    this.#length = 0
    this.#ends = []
  }
}

/** What each row of a batch says, in order. */
export function readBatch({ bytes, ends }: RowBatch, reader: RowReader): readonly RowReading[] {
  let start = 0
  return ends.map((end) => {
    const from = start
    start = end
    return end === from ? { kind: 'broken', reason: 'line_too_long' } : reader.read(bytes, from, end)
  })
}
