/**
 * Spreads the signature checks of a walk over threads. The walking thread never waits for the others: where every slot
 * is in use it takes a queued one back and checks it itself, which bounds memory and keeps all threads busy. Which
 * thread checked what has no influence on a report: the walk orders the answers.
 */
import { setTimeout } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { SignatureVerifier } from '../record/index.ts'
import type { SignatureCheck } from '../verify/index.ts'
import { SignatureSlots, newSlotMemory, slotStates } from './signature-slots.ts'

/** For each thread one slot at work, one waiting, and room for the walk to run ahead of bursts. */
const slotsPerThread = 4

export interface PoolOptions {
  /** Threads in all, the walking one included; 1 starts none. */
  readonly threads: number
  /** Checks made in place before the other threads are started: small inputs never pay for them. */
  readonly startAfter: number
  readonly verifier: SignatureVerifier
  /** Takes the answers to checks that were left open, in any order. */
  readonly settle: (id: number, holds: boolean) => void
  /** The module that a thread runs. */
  readonly workerUrl: URL
}

export class SignaturePool {
  readonly #options: PoolOptions
  #slots: SignatureSlots | undefined
  #workers: Worker[] = []
  /** A thread died: from then on everything is checked here. */
  #broken = false
  #checked = 0
  /** The slot being filled. */
  #filling: number | undefined
  /** For each slot the `id`s of its checks. */
  #ids: number[][] = []

  constructor(options: PoolOptions) {
    this.#options = options
  }

  /** For `WalkOptions.check`: an answer, or `undefined` when it comes later. */
  check(check: SignatureCheck): boolean | undefined {
    if (this.#slots === undefined) {
      if (this.#options.threads === 1 || this.#checked < this.#options.startAfter) {
        this.#checked += 1
        return this.#options.verifier.verify(check.publicKey, check.message, check.signature)
      }
      this.#start()
    }
    const slots = this.#slots
    if (slots === undefined) throw new Error('the slots were made just now')
    if (this.#filling !== undefined) {
      if (slots.put(this.#filling, check)) {
        this.#ids[this.#filling]?.push(check.id)
        return undefined
      }
      slots.queue(this.#filling)
      this.#filling = undefined
    }
    this.#collect(slots)
    const slot = this.#freeSlot(slots)
    slots.begin(slot)
    if (!slots.put(slot, check)) throw new Error('a slot holds at least one check')
    this.#ids[slot] = [check.id]
    this.#filling = slot
    return undefined
  }

  /** Settles every check that is still open. */
  async drain(): Promise<void> {
    const slots = this.#slots
    if (slots === undefined) return
    if (this.#filling !== undefined) slots.queue(this.#filling)
    this.#filling = undefined
    for (;;) {
      let open = false
      for (let slot = 0; slot < slots.count; slot += 1) {
        slots.work(slot, this.#options.verifier)
        // Nobody else is at work any more, so that a slot that was left half done can be done again.
        if (this.#broken && slots.stateOf(slot) === slotStates.taken) this.#settleHere(slots, slot)
        open ||= slots.stateOf(slot) === slotStates.taken
      }
      this.#collect(slots)
      if (!open) return
      // At most one batch of another thread, a few milliseconds; its death is heard of here too.
      await setTimeout(1)
    }
  }

  /** Ends the threads; open checks are dropped. */
  async end(): Promise<void> {
    this.#slots?.end()
    await Promise.all(this.#workers.map(async (worker) => worker.terminate()))
    this.#workers = []
  }

  #start(): void {
    const memory = newSlotMemory(this.#options.threads * slotsPerThread)
    this.#slots = new SignatureSlots(memory)
    this.#ids = Array.from({ length: this.#slots.count }, () => [])
    for (let thread = 1; thread < this.#options.threads; thread += 1) {
      const worker = new Worker(this.#options.workerUrl, { workerData: memory })
      worker.on('error', () => {
        this.#fall()
      })
      this.#workers.push(worker)
    }
  }

  /** One thread's death ends them all: which slot it left half done cannot be told from one that is being worked on. */
  #fall(): void {
    if (this.#broken) return
    const workers = this.#workers
    this.#workers = []
    void Promise.all(workers.map(async (worker) => worker.terminate())).then(() => {
      this.#broken = true
    })
  }

  #collect(slots: SignatureSlots): void {
    for (let slot = 0; slot < slots.count; slot += 1) {
      if (slots.stateOf(slot) === slotStates.done) this.#settle(slots, slot)
    }
  }

  #freeSlot(slots: SignatureSlots): number {
    for (let slot = 0; slot < slots.count; slot += 1) {
      if (slots.stateOf(slot) === slotStates.free) return slot
    }
    for (let slot = 0; slot < slots.count; slot += 1) {
      const state = slots.stateOf(slot)
      if (state !== slotStates.done && !slots.work(slot, this.#options.verifier)) continue
      this.#settle(slots, slot)
      return slot
    }
    // There are more slots than threads, so that never all of them are taken.
    throw new Error('every slot is taken')
  }

  #settleHere(slots: SignatureSlots, slot: number): void {
    slots.check(slot, this.#options.verifier)
    this.#settle(slots, slot)
  }

  #settle(slots: SignatureSlots, slot: number): void {
    const ids = this.#ids[slot] ?? []
    slots.collect(slot, (index, holds) => {
      const id = ids[index]
      if (id !== undefined) this.#options.settle(id, holds)
    })
  }
}
