/**
 * What every walk over rows that were read keeps: which Session a Line stands in, and how many rows there were that it has
 * no answer for. What an outcome or a decision means is the walk's own.
 */
import type { BrokenReason, RowReading } from './reading.ts'

/** A row that is no Line: what it hid is not known. */
export interface BrokenRow {
  readonly kind: 'broken'
  /** From 1, over non-empty rows. */
  readonly row: number
  readonly reason: BrokenReason
}

export class RowCounter {
  readonly counts = { administrative: 0, reports: 0, older: 0, broken: 0 }
  /** Of the Session under way. */
  sessionIndex = 0
  #row = 0
  #sessions = 0

  /** Takes the next row; something comes back where it is more than counted. */
  take(
    reading: RowReading,
  ): Extract<RowReading, { readonly kind: 'outcome' | 'decision' }> | BrokenRow | undefined {
    this.#row += 1
    switch (reading.kind) {
      case 'open':
        this.sessionIndex = reading.sessionIndex ?? this.#sessions
        this.#sessions += 1
        return undefined
      case 'administrative':
        this.counts.administrative += 1
        return undefined
      case 'report':
        this.counts.reports += 1
        return undefined
      case 'older':
        this.counts.older += 1
        return undefined
      case 'other':
        return undefined
      case 'broken':
        this.counts.broken += 1
        return { kind: 'broken', row: this.#row, reason: reading.reason }
      case 'decision':
      case 'outcome':
        return reading
    }
  }
}
