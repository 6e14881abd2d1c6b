/**
 * The two clocks of the client and what is measured on both. A grant's life is counted from the moment its request was
 * sent (authorize.md §2): on the monotonic clock, which no one can set, and on the wall clock, because the monotonic one
 * stands still on some machines while they sleep. The one that has run further counts.
 */

/** Milliseconds; injectable, so that tests can move them. */
export interface Clock {
  /** Since the epoch, UTC. */
  wallMs(): number
  /** From any origin; never goes back. */
  monotonicMs(): number
}

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
}

/** A moment, read on both clocks. */
export interface Moment {
  readonly wallMs: number
  readonly monotonicMs: number
}

export function readClock(clock: Clock): Moment {
  return { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() }
}

/** Time since a moment; a wall clock that was set back counts as one that stood still. */
export function elapsedMs(clock: Clock, since: Moment): number {
  return Math.max(clock.monotonicMs() - since.monotonicMs, clock.wallMs() - since.wallMs)
}
