/**
 * Signature checks in memory that threads share: a fixed number of slots, each a batch of checks. Whoever moves a slot
 * from `queued` to `taken` checks it and marks it `done`; only the thread that fills slots reads answers and frees
 * them. No messages are passed, so that a thread in the middle of a walk need not return to its event loop.
 */
import type { SignatureCheck } from '../verify/index.ts'
import type { SignatureVerifier } from '../record/index.ts'
import { lineBytesMax } from '../record/index.ts'

export const slotStates = { free: 0, queued: 1, taken: 2, done: 3 } as const

/** Checks of one batch: about 5 ms of work, far above the cost of handing it over. */
const checksPerSlot = 64
/** 64 Lines of usual length; a batch of long ones is full earlier. Never less than one check of the longest Line. */
const slotBytes = 3 * lineBytesMax
/** For each check: length of the message, key, signature. */
const checkHeaderBytes = 4 + 32 + 64

/** What a thread needs to see the slots; goes to it as it is. */
export interface SlotMemory {
  /** [0] raised with each queued slot, [1] 1 when the threads are to end, then a state and a count for each slot. */
  readonly control: SharedArrayBuffer
  readonly data: SharedArrayBuffer
  readonly answers: SharedArrayBuffer
}

const wakeAt = 0
const endAt = 1
const stateAt = (slot: number): number => 2 + 2 * slot
const countAt = (slot: number): number => 3 + 2 * slot

export function newSlotMemory(slots: number): SlotMemory {
  return {
    control: new SharedArrayBuffer(4 * (2 + 2 * slots)),
    data: new SharedArrayBuffer(slots * slotBytes),
    answers: new SharedArrayBuffer(slots * checksPerSlot),
  }
}

export class SignatureSlots {
  readonly count: number
  readonly #control: Int32Array
  readonly #data: Uint8Array
  readonly #view: DataView
  readonly #answers: Uint8Array
  /** End of what was put into the slot being filled. */
  #filledBytes = 0

  constructor(memory: SlotMemory) {
    this.#control = new Int32Array(memory.control)
    this.#data = new Uint8Array(memory.data)
    this.#view = new DataView(memory.data)
    this.#answers = new Uint8Array(memory.answers)
    this.count = memory.data.byteLength / slotBytes
  }

  stateOf(slot: number): number {
    return Atomics.load(this.#control, stateAt(slot))
  }

  /** Begins to fill a free slot; one at a time. */
  begin(slot: number): void {
    this.#control[countAt(slot)] = 0
    this.#filledBytes = 0
  }

  /** Copies a check into the slot being filled; `false` when it does not fit. */
  put(slot: number, check: SignatureCheck): boolean {
    const count = this.#control[countAt(slot)] ?? 0
    const { message, publicKey, signature } = check
    const end = this.#filledBytes + checkHeaderBytes + message.length
    if (count === checksPerSlot || end > slotBytes) return false
    const at = slot * slotBytes + this.#filledBytes
    this.#view.setUint32(at, message.length)
    this.#data.set(publicKey, at + 4)
    this.#data.set(signature, at + 36)
    this.#data.set(message, at + checkHeaderBytes)
    this.#filledBytes = end
    this.#control[countAt(slot)] = count + 1
    return true
  }

  /** Hands the slot that was filled to whoever takes it first. */
  queue(slot: number): void {
    Atomics.store(this.#control, stateAt(slot), slotStates.queued)
    Atomics.add(this.#control, wakeAt, 1)
    Atomics.notify(this.#control, wakeAt, 1)
  }

  /** Takes a queued slot, checks it, and marks it done; `false` when somebody else has it. */
  work(slot: number, verifier: SignatureVerifier): boolean {
    const at = stateAt(slot)
    if (Atomics.compareExchange(this.#control, at, slotStates.queued, slotStates.taken) !== slotStates.queued)
      return false
    this.check(slot, verifier)
    Atomics.store(this.#control, at, slotStates.done)
    return true
  }

  /** Answers every check of a slot. */
  check(slot: number, verifier: SignatureVerifier): void {
    const count = this.#control[countAt(slot)] ?? 0
    let at = slot * slotBytes
    for (let index = 0; index < count; index += 1) {
      const from = at + checkHeaderBytes
      const to = from + this.#view.getUint32(at)
      const publicKey = this.#data.subarray(at + 4, at + 36)
      const signature = this.#data.subarray(at + 36, from)
      const holds = verifier.verify(publicKey, this.#data.subarray(from, to), signature)
      this.#answers[slot * checksPerSlot + index] = holds ? 1 : 0
      at = to
    }
  }

  /** Hands out the answers of a slot that is done, in the order of {@link put}, and frees it. */
  collect(slot: number, settle: (index: number, holds: boolean) => void): void {
    const count = this.#control[countAt(slot)] ?? 0
    for (let index = 0; index < count; index += 1) {
      settle(index, this.#answers[slot * checksPerSlot + index] === 1)
    }
    Atomics.store(this.#control, stateAt(slot), slotStates.free)
  }

  /** A thread's whole life: works on whatever is queued until {@link end}, asleep while there is nothing. */
  serve(verifier: SignatureVerifier): void {
    while (Atomics.load(this.#control, endAt) === 0) {
      // Read before looking, so that a slot queued meanwhile ends the sleep at once.
      const seen = Atomics.load(this.#control, wakeAt)
      let worked = false
      for (let slot = 0; slot < this.count; slot += 1) worked = this.work(slot, verifier) || worked
      if (!worked) Atomics.wait(this.#control, wakeAt, seen)
    }
  }

  end(): void {
    Atomics.store(this.#control, endAt, 1)
    Atomics.add(this.#control, wakeAt, 1)
    Atomics.notify(this.#control, wakeAt)
  }
}
