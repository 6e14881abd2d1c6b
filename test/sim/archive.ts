/**
 * An archive whose answers the simulation gives: each request waits until it is picked, in any order, and may then fail
 * before it happened, fail although it happened, happen late, or happen twice. What was put first under a name that never
 * changes is remembered, so that an overwrite would be seen.
 */
import type { ArchivedHead, ChainArchive, KeptResult } from '../../src/chain/ports.ts'
import { encodeHex, type RequestDigest } from '../../src/record/index.ts'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import type { Random } from '../harness/random.ts'

export interface Bucket {
  readonly segments: Map<number, Uint8Array>
  readonly envelopes: Map<string, Uint8Array>
  head: Uint8Array | undefined
}

export interface ArchiveFaults {
  readonly failBefore: boolean
  readonly failAfter: boolean
  readonly late: boolean
  readonly twice: boolean
}

interface Waiting {
  readonly answer: () => void
  readonly abandon: () => void
}

/** Less than a tombstone deletes for (src/chain/erase.ts). */
const arrivesWithinMs = 10 * 60_000

export class SimArchive implements ChainArchive {
  readonly bucket: Bucket
  readonly #random: Random
  readonly #faults: ArchiveFaults
  #waiting: Waiting[] = []
  /** Effects that a fault has put off. */
  #late: { readonly effect: () => void; readonly since: number }[] = []
  faults = 0
  requests = 0
  keyEpoch = 0
  down = false
  /** Told before anything leaves the object: what it has written is durable from then on. */
  readonly #onRequest: () => void
  #now = 0

  constructor(bucket: Bucket, random: Random, faults: ArchiveFaults, onRequest: () => void) {
    this.bucket = bucket
    this.#random = random
    this.#faults = faults
    this.#onRequest = onRequest
  }

  get isIdle(): boolean {
    return this.#waiting.length === 0
  }

  /** Answers one of the requests that wait. */
  step(): void {
    const at = this.#random.below(this.#waiting.length)
    const [picked] = this.#waiting.splice(at, 1)
    picked?.answer()
  }

  /** Something that was put off arrives. */
  arrive(): void {
    this.#late.splice(this.#random.below(this.#late.length), 1)[0]?.effect()
  }

  /** Time goes on: what is on its way arrives before it is that old, or never. */
  moveTo(now: number): void {
    const kept = this.#late.filter(({ since }) => now - since <= arrivesWithinMs)
    for (const late of this.#late) if (!kept.includes(late)) late.effect()
    this.#late = kept
    this.#now = now
  }

  /** The object is gone: nobody hears the answers, but what was asked for may still happen. */
  abandon(): void {
    for (const waiting of this.#waiting) waiting.abandon()
    this.#waiting = []
  }

  /** No more faults, and nothing is on its way: for the end of a run. */
  settle(): void {
    for (const { effect } of this.#late) effect()
    this.#late = []
  }

  #ask<T>(effect: () => T, isRead = false): Promise<T> {
    this.#onRequest()
    this.requests += 1
    const faults = this.#faults
    const chance = (kind: boolean, one: number): boolean => kind && this.#random.below(one) === 0
    const mode = this.down
      ? 'before'
      : chance(faults.failBefore, 8)
        ? 'before'
        : chance(faults.failAfter && !isRead, 8)
          ? 'after'
          : chance(faults.late && !isRead, 8)
            ? 'late'
            : chance(faults.twice && !isRead, 8)
              ? 'twice'
              : 'fine'
    if (mode !== 'fine') this.faults += 1
    const since = this.#now
    // Whoever asked has long given up, and nothing comes of it any more.
    const isTooLate = (): boolean => !isRead && this.#now - since > arrivesWithinMs
    return new Promise<T>((resolve, reject) => {
      const fail = (): void => {
        reject(new Error(`R2: ${mode}`))
      }
      this.#waiting.push({
        answer: () => {
          if (isTooLate()) {
            fail()
            return
          }
          switch (mode) {
            case 'before':
              fail()
              return
            case 'late':
              this.#late.push({ effect, since })
              fail()
              return
            case 'after':
              effect()
              fail()
              return
            case 'twice':
              effect()
              resolve(effect())
              return
            case 'fine':
              resolve(effect())
          }
        },
        abandon: () => {
          if (mode !== 'before' && !isRead && !isTooLate() && this.#random.below(2) === 0) {
            this.#late.push({ effect, since })
          }
        },
      })
    })
  }

  readHead(): Promise<ArchivedHead | undefined> {
    return this.#ask(() => {
      const { head } = this.bucket
      return head === undefined ? undefined : { bytes: head, tag: tagOf(head) }
    }, true)
  }

  replaceHead(bytes: Uint8Array, replaces: string | undefined): Promise<boolean> {
    return this.#ask(() => {
      const { head } = this.bucket
      if ((head === undefined ? undefined : tagOf(head)) !== replaces) return false
      this.bucket.head = bytes
      return true
    })
  }

  putSegment(sessionIndex: number, bytes: Uint8Array): Promise<KeptResult> {
    return this.#ask(() => keep(this.bucket.segments, sessionIndex, bytes))
  }

  readSegment(sessionIndex: number): Promise<Uint8Array | undefined> {
    return this.#ask(() => this.bucket.segments.get(sessionIndex), true)
  }

  putEnvelope(digest: RequestDigest, bytes: Uint8Array): Promise<KeptResult> {
    return this.#ask(() => keep(this.bucket.envelopes, digest, bytes))
  }

  hasEnvelope(digest: RequestDigest): Promise<boolean> {
    return this.#ask(() => this.bucket.envelopes.has(digest), true)
  }

  deleteEnvelopes(digests: readonly RequestDigest[]): Promise<void> {
    return this.#ask(() => {
      for (const digest of digests) this.bucket.envelopes.delete(digest)
    })
  }

  readKeyEpoch(): Promise<number> {
    return this.#ask(() => this.keyEpoch, true)
  }
}

/** As R2 does with a put that is conditional on absence, read back. */
function keep<K>(objects: Map<K, Uint8Array>, name: K, bytes: Uint8Array): KeptResult {
  const there = objects.get(name)
  if (there === undefined) {
    objects.set(name, bytes)
    return { kind: 'kept' }
  }
  return Buffer.compare(there, bytes) === 0 ? { kind: 'kept' } : { kind: 'conflict' }
}

function tagOf(bytes: Uint8Array): string {
  return encodeHex(nodeSuite.sha256(bytes))
}
