/**
 * A grant and how long it may still be used (authorize.md §2): `expires_in_ms` counted from the moment the first request
 * left, on the client's own clocks. So a server's clock that is wrong, a slow answer or a replayed one shortens its life
 * and never lengthens it. Not proof for others: that is the receipt.
 */
import { type Clock, type Moment, elapsedMs } from './clock.ts'

export interface GrantMembers {
  readonly grantId: string
  /** Normalised by the server, e.g. `github.merge_pr`. */
  readonly toolId: string
  /** Of the server's clock, integer ms since the epoch. */
  readonly expiresAt: number
}

/** Authority to run one action once. Ask {@link isUsable} immediately before running it. */
export class UsableGrant implements GrantMembers {
  readonly grantId: string
  readonly toolId: string
  readonly expiresAt: number
  readonly #lifeMs: number
  readonly #from: Moment
  readonly #clock: Clock

  /** @param lifeMs how long it lives from `from` on. */
  constructor(members: GrantMembers, lifeMs: number, from: Moment, clock: Clock) {
    this.grantId = members.grantId
    this.toolId = members.toolId
    this.expiresAt = members.expiresAt
    this.#lifeMs = lifeMs
    this.#from = from
    this.#clock = clock
    Object.freeze(this)
  }

  /** Milliseconds left; 0 when it may no longer be used. */
  remainingMs(): number {
    const left = this.#lifeMs - elapsedMs(this.#clock, this.#from)
    return left > 0 ? left : 0
  }

  isUsable(): boolean {
    return this.remainingMs() > 0
  }
}
