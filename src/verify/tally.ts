/**
 * What a walk has seen so far, as a report shows it (SPEC.md §7.9): keys, coverage, counts, Calls in flight. Bounded,
 * whatever the input holds.
 */
import type { KeyId } from '../record/index.ts'
import { type Coverage, type Position, cutForReport, shownMax } from './report.ts'

export class Tally {
  readonly #keyIds: KeyId[] = []
  #keyIdsMore = 0
  #firstSession: number | undefined
  #coverage: Position | undefined
  #lines = 0
  #sessions = 0
  #inFlight: string[] = []
  #inFlightMore = 0

  get facts(): Coverage {
    return {
      keyIds: [...this.#keyIds],
      keyIdsMore: this.#keyIdsMore,
      ...(this.#firstSession === undefined ? {} : { firstSession: this.#firstSession }),
      ...(this.#coverage === undefined ? {} : { coverage: this.#coverage }),
      lines: this.#lines,
      sessions: this.#sessions,
    }
  }

  /** Intents since the last valid signature. */
  get inFlight(): { readonly inFlight: readonly string[]; readonly inFlightMore: number } {
    return { inFlight: this.#inFlight, inFlightMore: this.#inFlightMore }
  }

  /** A Session whose `open` has a valid signature. */
  addSession(index: number, keyId: KeyId): void {
    this.#sessions += 1
    this.#firstSession ??= index
    if (this.#keyIds.includes(keyId)) return
    if (this.#keyIds.length < shownMax) this.#keyIds.push(keyId)
    else this.#keyIdsMore += 1
  }

  /** A valid signature stands here. */
  cover(at: Position): void {
    this.#coverage = at
    if (this.#inFlight.length > 0) this.#inFlight = []
    this.#inFlightMore = 0
  }

  addIntent(callId: string): void {
    if (this.#inFlight.length < shownMax) this.#inFlight.push(cutForReport(callId))
    else this.#inFlightMore += 1
  }

  addLine(): void {
    this.#lines += 1
  }
}
