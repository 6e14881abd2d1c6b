/** How long the parts of one request took: for `Server-Timing` and the log. Names of parts are ours, never data. */
export type Part = 'auth' | 'policy' | 'read' | 'decide' | 'record' | 'archive'

export class Timing {
  readonly #elapsed: () => number
  readonly #startedAt: number
  readonly #parts = new Map<Part, number>()

  constructor(elapsed: () => number) {
    this.#elapsed = elapsed
    this.#startedAt = elapsed()
  }

  /** Runs one part; what runs twice adds up. */
  async measure<T>(part: Part, run: () => Promise<T>): Promise<T> {
    const from = this.#elapsed()
    try {
      return await run()
    } finally {
      this.#add(part, from)
    }
  }

  measureSync<T>(part: Part, run: () => T): T {
    const from = this.#elapsed()
    try {
      return run()
    } finally {
      this.#add(part, from)
    }
  }

  #add(part: Part, from: number): void {
    this.#parts.set(part, (this.#parts.get(part) ?? 0) + this.#elapsed() - from)
  }

  /** Milliseconds by part, with the whole as `total`, to a thousandth. */
  summary(): Readonly<Record<string, number>> {
    const parts = [...this.#parts, ['total', this.#elapsed() - this.#startedAt] as const]
    return Object.fromEntries(parts.map(([part, ms]) => [part, Math.round(ms * 1000) / 1000]))
  }
}

/** The header's value. */
export function toServerTiming(summary: Readonly<Record<string, number>>): string {
  return Object.entries(summary)
    .map(([part, ms]) => `${part};dur=${String(ms)}`)
    .join(', ')
}
