/**
 * Spreads the rows of a recheck over threads, a batch at a time. Every other thread holds two batches, so that it never
 * waits; what they have no room for is read in this one. Answers come out in the order of the input, so that which thread
 * read what has no influence on a report.
 */
import { setImmediate } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { RowReader, type RowReading } from '../recheck/index.ts'
import { type RecheckSource, recheckMeans } from './recheck-source.ts'
import { type RowBatch, readBatch } from './row-batch.ts'

export interface RecheckPoolOptions {
  /** In all, this one included; 1 starts none. */
  readonly threads: number
  /** Batches read here before other threads are started: small inputs never pay for them. */
  readonly startAfter: number
  readonly source: RecheckSource
  readonly since: number | undefined
  /** The module that a thread runs. */
  readonly workerUrl: URL
  readonly warn: (sentence: string) => void
}

/** What a thread is given at its start. */
export type RecheckWorkerData = Pick<RecheckPoolOptions, 'source' | 'since'>

export interface RecheckWork {
  readonly number: number
  readonly batch: RowBatch
}

export type RecheckWorkerMessage =
  | { readonly number: number; readonly readings: readonly RowReading[] }
  /** It threw: this thread does it again, and throws for its caller. */
  | { readonly number: number; readonly failed: true }
  | { readonly warning: string }

interface Helper {
  readonly worker: Worker
  /** The batches it has, by number. */
  readonly held: Map<number, RowBatch>
}

const heldMax = 2
/** Batches, for each thread, that may be ahead of the oldest one that is not read: bounds what waits to be reported. */
const aheadMax = 24
const warningsMax = 100

export class RecheckPool {
  readonly #options: RecheckPoolOptions
  readonly #reader: RowReader
  readonly #warned = new Set<string>()
  readonly #done = new Map<number, readonly RowReading[]>()
  #helpers: Helper[] = []
  /** What lost threads had. */
  #orphans: (readonly [number, RowBatch])[] = []
  #started = false
  #next = 0
  #taken = 0
  #wake: (() => void) | undefined

  constructor(options: RecheckPoolOptions) {
    this.#options = options
    this.#reader = new RowReader(
      recheckMeans(options.source, (sentence) => {
        this.#warn(sentence)
      }),
      options.since === undefined ? {} : { since: options.since },
    )
  }

  /** Has a batch read, here or elsewhere. */
  async put(batch: RowBatch): Promise<void> {
    this.#readOrphans()
    const number = this.#next
    this.#next += 1
    if (!this.#started && this.#options.threads > 1 && number >= this.#options.startAfter) this.#start()
    const helper = this.#helpers.find(({ held }) => held.size < heldMax)
    if (helper === undefined) this.#readHere(number, batch)
    else {
      helper.held.set(number, batch)
      helper.worker.postMessage({ number, batch } satisfies RecheckWork)
    }
    if (this.#helpers.length === 0) return
    // Lets their messages in.
    await setImmediate()
    while (this.#next - this.#taken - this.#inOrder() > aheadMax * this.#options.threads)
      await this.#message()
  }

  /** What was read since the last time, in the order of the input. */
  *take(): Generator<readonly RowReading[]> {
    for (let readings = this.#done.get(this.#taken); readings; readings = this.#done.get(this.#taken)) {
      this.#done.delete(this.#taken)
      this.#taken += 1
      yield readings
    }
  }

  /** Waits until everything was read. */
  async drain(): Promise<void> {
    this.#readOrphans()
    while (this.#helpers.some(({ held }) => held.size > 0)) await this.#message()
    this.#readOrphans()
  }

  /** Ends the threads. */
  async end(): Promise<void> {
    const helpers = this.#helpers
    this.#helpers = []
    await Promise.all(helpers.map(async ({ worker }) => worker.terminate()))
  }

  /** Batches that are read and can be taken. */
  #inOrder(): number {
    let count = 0
    while (this.#done.has(this.#taken + count)) count += 1
    return count
  }

  #start(): void {
    this.#started = true
    const { since, source, threads, workerUrl } = this.#options
    for (let thread = 1; thread < threads; thread += 1) {
      const worker = new Worker(workerUrl, { workerData: { source, since } satisfies RecheckWorkerData })
      const helper: Helper = { worker, held: new Map() }
      worker.on('message', (message: RecheckWorkerMessage) => {
        this.#hear(helper, message)
      })
      worker.on('error', () => {
        this.#lose(helper)
      })
      this.#helpers.push(helper)
    }
  }

  #hear(helper: Helper, message: RecheckWorkerMessage): void {
    if ('warning' in message) this.#warn(message.warning)
    else if ('failed' in message) this.#lose(helper)
    else if (helper.held.delete(message.number)) this.#done.set(message.number, message.readings)
    this.#ring()
  }

  /** What a lost thread had is read here: for an error of the input that throws it where the caller can catch it. */
  #lose(helper: Helper): void {
    if (!this.#helpers.includes(helper)) return
    this.#helpers = this.#helpers.filter((one) => one !== helper)
    void helper.worker.terminate()
    this.#orphans.push(...helper.held)
    this.#ring()
  }

  #readOrphans(): void {
    const orphans = this.#orphans
    this.#orphans = []
    for (const [number, batch] of orphans) this.#readHere(number, batch)
  }

  #readHere(number: number, batch: RowBatch): void {
    this.#done.set(number, readBatch(batch, this.#reader))
  }

  /** Until a thread says something, or is lost. */
  async #message(): Promise<void> {
    if (this.#orphans.length === 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    this.#readOrphans()
  }

  #ring(): void {
    this.#wake?.()
    this.#wake = undefined
  }

  #warn(sentence: string): void {
    if (this.#warned.has(sentence) || this.#warned.size >= warningsMax) return
    this.#warned.add(sentence)
    this.#options.warn(sentence)
  }
}
