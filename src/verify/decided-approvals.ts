/**
 * The approvals decided so far, 32 bytes each, to find a second decision (SPEC.md §7): the only memory of a walk that
 * grows with the input. An open-addressed table of SHA-256 values in one array.
 */
import type { Digester } from '../record/index.ts'

export class DecidedApprovals {
  readonly #digester: Digester
  readonly #salt: Uint8Array
  #slots = new Uint8Array(64 * 32)
  #used = 0

  /** @param salt mixed into each hash; a random one keeps a hostile file from choosing its slots. */
  constructor(digester: Digester, salt: Uint8Array) {
    this.#digester = digester
    this.#salt = salt
  }

  /** Adds an `approval_id`, given as its canonical bytes; `false` when it was there. */
  add(id: Uint8Array): boolean {
    // Three quarters full at most: probes stay short, and memory stays below 43 bytes an approval after doubling.
    if ((this.#used + 1) * 32 * 4 > this.#slots.length * 3) this.#grow()
    const salted = new Uint8Array(this.#salt.length + id.length)
    salted.set(this.#salt)
    salted.set(id, this.#salt.length)
    const added = insert(this.#slots, this.#digester.sha256(salted))
    if (added) this.#used += 1
    return added
  }

  #grow(): void {
    const larger = new Uint8Array(this.#slots.length * 2)
    for (let at = 0; at < this.#slots.length; at += 32) {
      if (!isEmpty(this.#slots, at)) insert(larger, this.#slots.subarray(at, at + 32))
    }
    this.#slots = larger
  }
}

/** The hash of no known input is all zeros, so that an all-zero slot is an empty one. */
function isEmpty(slots: Uint8Array, at: number): boolean {
  for (let i = 0; i < 32; i += 1) if (slots[at + i] !== 0) return false
  return true
}

function insert(slots: Uint8Array, hash: Uint8Array): boolean {
  const count = slots.length / 32
  const first =
    ((hash[0] ?? 0) | ((hash[1] ?? 0) << 8) | ((hash[2] ?? 0) << 16) | ((hash[3] ?? 0) << 24)) >>> 0
  for (let probe = 0; ; probe += 1) {
    const at = ((first + probe) % count) * 32
    if (isEmpty(slots, at)) {
      slots.set(hash, at)
      return true
    }
    let same = true
    for (let i = 0; i < 32 && same; i += 1) same = slots[at + i] === hash[i]
    if (same) return false
  }
}
