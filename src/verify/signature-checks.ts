/**
 * The signature checks of a walk, some of which are answered later and in any order (SPEC.md §7.3 step 9). Remembers for
 * each open one what the report would be, so that the first failure in walk order is the one that is reported.
 */
import type { Coverage, Finding } from './report.ts'

/** A signature to check. The arrays are only lent: a caller that answers later copies them. */
export interface SignatureCheck {
  /** Counts from 0 in walk order. */
  readonly id: number
  readonly publicKey: Uint8Array
  readonly message: Uint8Array
  readonly signature: Uint8Array
}

/** Whether a signature holds, or `undefined` when the answer comes later. */
export type CheckSignature = (check: SignatureCheck) => boolean | undefined

/** What is reported when a check fails: the finding, and the facts as they were before that Line. */
export interface FailedCheck {
  readonly finding: Finding<'bad_signature'>
  readonly before: Coverage
}

export class SignatureChecks {
  readonly #check: CheckSignature
  #asked = 0
  readonly #open = new Map<number, FailedCheck>()
  #failed: (FailedCheck & { readonly id: number }) | undefined

  constructor(check: CheckSignature) {
    this.#check = check
  }

  /** The first failure in walk order among the answers that came late. */
  get failed(): FailedCheck | undefined {
    return this.#failed
  }

  get areOpen(): boolean {
    return this.#open.size > 0
  }

  /**
   * Has a signature checked.
   *
   * @param failure what to report if it fails later; asked for only when the answer is not there yet.
   * @returns `false` when it failed at once.
   */
  ask(check: Omit<SignatureCheck, 'id'>, failure: () => FailedCheck): boolean {
    const id = this.#asked++
    const { publicKey, message, signature } = check
    const holds = this.#check({ id, publicKey, message, signature })
    if (holds === undefined) this.#open.set(id, failure())
    return holds !== false
  }

  /** The answer to a check that was left open; each id once. */
  settle(id: number, holds: boolean): void {
    const failure = this.#open.get(id)
    if (failure === undefined) throw new Error(`no signature check ${String(id)} is open`)
    this.#open.delete(id)
    if (!holds && (this.#failed === undefined || id < this.#failed.id)) this.#failed = { id, ...failure }
  }
}
