/**
 * The object's side of continuity and upkeep: compares with the archive when it wakes, and runs what is due when the
 * alarm fires. What is compared and done is src/chain's; here are the occasions, and what is remembered between them.
 */
import { compareHead } from '../src/chain/continuity.ts'
import type { ChainArchive, ChainContext } from '../src/chain/ports.ts'
import { type UpkeepEvent, upkeep } from '../src/chain/upkeep.ts'
import type { Notice, Sent } from '../src/chain/webhook.ts'

export interface KeeperPorts {
  readonly context: () => ChainContext
  readonly archive: () => ChainArchive
  /** Tells a group of an approval. */
  readonly send: (notice: Notice) => Promise<Sent>
  readonly log: (event: string, facts: Readonly<Record<string, unknown>>) => void
}

/** Between two attempts to compare while the archive does not answer. */
const compareEveryMs = 5_000
/** A tenant whose Chain goes on elsewhere: how often the alarm looks whether it still does. */
const behindEveryMs = 5 * 60_000

export class Keeper {
  readonly #ports: KeeperPorts
  #continuity: 'unknown' | 'continuous' | 'behind' = 'unknown'
  /** The first comparison of this life, which whoever appends waits for. */
  #first: Promise<void> | undefined
  #hasTried = false
  #triedAt = 0
  #running: Promise<void> | undefined

  constructor(ports: KeeperPorts) {
    this.#ports = ports
  }

  get isContinuous(): boolean {
    return this.#continuity === 'continuous'
  }

  get isBehind(): boolean {
    return this.#continuity === 'behind'
  }

  /** After a recovery the archive goes on here by construction. */
  recovered(): void {
    this.#continuity = 'continuous'
  }

  /**
   * To be awaited before anything is appended. Waits for the first comparison only: while the archive does not answer,
   * decisions go on, and it is asked again beside them.
   */
  ready(): Promise<void> | undefined {
    if (this.#continuity !== 'unknown') return undefined
    const { now } = this.#ports.context()
    if (this.#first === undefined) {
      this.#triedAt = now
      this.#first = this.#compare().finally(() => {
        this.#hasTried = true
      })
    } else if (this.#hasTried && now - this.#triedAt >= compareEveryMs) {
      this.#triedAt = now
      void this.#compare()
    }
    return this.#hasTried ? undefined : this.#first
  }

  async #compare(): Promise<void> {
    const { context, archive, log } = this.#ports
    try {
      const found = compareHead(context(), await archive().readHead())
      this.#continuity = found.kind === 'behind' ? 'behind' : 'continuous'
      if (found.kind === 'behind') log('behind_archive', { why: found.why })
      if (found.kind === 'head_missing') {
        log('archive_head_missing', {})
        const { store, now } = context()
        store.transaction(() => {
          store.writeDue({ name: 'publish', at: now, attempts: 0 })
        })
      }
    } catch (cause) {
      log('archive_failed', { task: 'compare', detail: String(cause).slice(0, 200) })
    }
  }

  /** What the alarm does; never throws. A second alarm during the first joins it. */
  run(): Promise<void> {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #run(): Promise<void> {
    try {
      if (this.#ports.context().store.readTenant() === undefined) return
      if (this.#continuity === 'unknown') await this.#compare()
      // Judged anew at each alarm: whoever repairs the archive need not restart anything.
      else if (this.isBehind) await this.#compare()
      if (this.isBehind) {
        this.#postponeAll()
        return
      }
      await upkeep({
        context: this.#ports.context,
        archive: this.#ports.archive(),
        send: this.#ports.send,
        report: ({ event, ...facts }: UpkeepEvent) => {
          this.#ports.log(event, facts)
        },
        foundBehind: () => {
          this.#continuity = 'behind'
        },
      })
    } catch (cause) {
      this.#ports.log('upkeep_failed', { detail: String(cause).slice(0, 200) })
    }
  }

  #postponeAll(): void {
    const { store, now } = this.#ports.context()
    store.transaction(() => {
      for (const due of store.listDue()) {
        store.writeDue({ ...due, at: Math.max(due.at, now + behindEveryMs) })
      }
    })
  }
}
