/** How a bench is run; every one of them takes this. */
export interface BenchOptions {
  /** Small enough to see that it works: its numbers are for nothing else. */
  readonly quick: boolean
}

export type Bench = (options: BenchOptions) => Promise<readonly string[]>
