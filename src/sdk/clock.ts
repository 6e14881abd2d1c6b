/**
 * The two clocks of the client and what is measured on both. A grant's life is counted from the moment its request was
 * sent (authorize.md §2): on the monotonic clock, which no one can set, and on the wall clock, because the monotonic one
 * stands still on some machines while they sleep. The one that has run further counts.
 */

import { AegisAbortedError } from './errors.ts'

/** Milliseconds; injectable, so that tests can move them. */
export interface Clock {
  /** Since the epoch, UTC. */
  wallMs(): number
  /** From any origin; never goes back. */
  monotonicMs(): number
  /** Instead of a timer; rejects, or is left behind, when the signal fires. */
  sleep?(ms: number, signal: AbortSignal | undefined): Promise<void>
}

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
}

/** @throws AegisAbortedError as soon as the signal fires; no timer is left then. */
export async function sleep(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  if (clock.sleep !== undefined) return untilAborted(clock.sleep(ms, signal), signal)
  let timer: ReturnType<typeof setTimeout> | undefined
  const slept = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  try {
    await untilAborted(slept, signal)
  } finally {
    clearTimeout(timer)
  }
}

/** What a promise gives, unless the signal fires first: then it is left behind. */
export async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise
  let onAbort = (): void => undefined
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(new AegisAbortedError())
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
  })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
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
