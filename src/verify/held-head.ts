/**
 * The head that a reader holds, looked for while a Chain is walked (SPEC.md §7.3 step 12, §7.4): matched, contradicted
 * or never reached. How a head is read and whether it is one of that Chain: head.ts.
 */
import type { Evidence, Position } from './report.ts'

/** A point that the input must reach: the position and hash of a signed Line that the reader holds. */
export interface HeldHead extends Position {
  readonly lineHash: string
}

export class HeadSearch {
  readonly #head: HeldHead | undefined
  #state: 'ahead' | 'passed' | 'matched' | 'before_file' = 'ahead'

  /** @param head absent: nothing is looked for, and nothing is found. */
  constructor(head: HeldHead | undefined) {
    this.#head = head
  }

  /** The head's position once it was matched. */
  get matched(): Position | undefined {
    if (this.#head === undefined || this.#state !== 'matched') return undefined
    return { session_index: this.#head.session_index, seq: this.#head.seq }
  }

  /** Why an input that has ended does not reach the head; `undefined` where it does, or passed its position over. */
  get unreached():
    { readonly reason: 'before_head' | 'head_not_in_file'; readonly evidence: Evidence } | undefined {
    if (this.#head === undefined) return undefined
    const evidence = { session_index: this.#head.session_index, seq: this.#head.seq }
    if (this.#state === 'ahead') return { reason: 'before_head', evidence }
    return this.#state === 'before_file' ? { reason: 'head_not_in_file', evidence } : undefined
  }

  /** Whether the head stands in this Session. */
  isIn(sessionIndex: number): boolean {
    return this.#head?.session_index === sessionIndex
  }

  /** The input's first Session is this one. */
  beginAt(firstSession: number): void {
    if (this.#head !== undefined && this.#head.session_index < firstSession) this.#state = 'before_file'
  }

  /**
   * Compares a Line that was accepted.
   *
   * @returns what contradicts the head (`forked`), or `undefined`.
   */
  compare(at: Position, closes: boolean, lineHash: () => string): Evidence | undefined {
    const head = this.#head
    if (head === undefined || this.#state !== 'ahead') return undefined
    const ended = { want: head.lineHash, got: 'absent' }
    if (at.session_index > head.session_index) return ended
    if (at.session_index < head.session_index) return undefined
    if (at.seq < head.seq) return closes ? ended : undefined
    // A gap in the numbers jumped over the position: nothing stands there to compare.
    this.#state = at.seq > head.seq ? 'passed' : 'matched'
    if (this.#state === 'passed') return undefined
    const got = lineHash()
    return got === head.lineHash ? undefined : { want: head.lineHash, got }
  }
}
