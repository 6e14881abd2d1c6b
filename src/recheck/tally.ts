/**
 * Counts by a name that the Chain gives: tools, agents, rules. Bounded, since a hostile Chain has as many names as
 * Lines: the first thousand in file order have a row of their own, all others share one. Not for verdicts themselves.
 */
import { cutForReport } from '../verify/index.ts'

const namesMax = 1_000

/** A name as the Chain has it, cut as reports cut it; undefined: all names past the limit. */
export interface Counted<T> {
  readonly name: string | undefined
  readonly counts: T
}

export class NamedCounts<Column extends string> {
  readonly #columns: readonly Column[]
  readonly #rows = new Map<string, Record<Column, number>>()
  #others: Record<Column, number> | undefined

  constructor(columns: readonly Column[]) {
    this.#columns = columns
  }

  add(name: string, column: Column): void {
    const shown = cutForReport(name)
    let counts = this.#rows.get(shown)
    if (counts === undefined && this.#rows.size < namesMax) {
      counts = this.#none()
      this.#rows.set(shown, counts)
    }
    if (counts === undefined) counts = this.#others ??= this.#none()
    counts[column] += 1
  }

  /** Sorted by name, the shared row last. */
  get rows(): readonly Counted<Readonly<Record<Column, number>>>[] {
    const named: Counted<Readonly<Record<Column, number>>>[] = [...this.#rows]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, counts]) => ({ name, counts }))
    return this.#others === undefined ? named : [...named, { name: undefined, counts: this.#others }]
  }

  #none(): Record<Column, number> {
    return Object.fromEntries(this.#columns.map((column) => [column, 0])) as Record<Column, number>
  }
}
