/** A clock whose waits are over at once: its monotonic time moves by them, and the wall clock stays with the server's. */
import type { Clock } from '../../src/sdk/index.ts'

export class PatientClock implements Clock {
  /** How long each wait was, ms. */
  readonly slept: number[] = []
  #skippedMs = 0

  wallMs = (): number => Date.now()
  monotonicMs = (): number => performance.now() + this.#skippedMs

  sleep = async (ms: number): Promise<void> => {
    this.slept.push(ms)
    this.#skippedMs += ms
    await new Promise((resolve) => setImmediate(resolve))
  }
}
