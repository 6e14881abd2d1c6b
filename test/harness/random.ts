/** Numbers from a seed, the same everywhere: for test data, never for keys or ids of the product. */

export interface Random {
  /** An integer from 0 up to, not including, `limit`. */
  below(limit: number): number
  pick<T>(from: readonly T[]): T
  /** A shuffled copy. */
  shuffle<T>(items: readonly T[]): T[]
}

/** Mulberry32: 32 bits of state, good enough to vary test data. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
  const below = (limit: number): number => Math.floor((next() / 2 ** 32) * limit)
  return {
    below,
    pick<T>(from: readonly T[]): T {
      return from[below(from.length)] as T
    },
    shuffle<T>(items: readonly T[]): T[] {
      const shuffled = [...items]
      for (let at = shuffled.length - 1; at > 0; at -= 1) {
        const other = below(at + 1)
        const held = shuffled[at] as T
        shuffled[at] = shuffled[other] as T
        shuffled[other] = held
      }
      return shuffled
    },
  }
}
