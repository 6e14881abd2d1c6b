/**
 * A tenant's part of the archive in memory, with the faults that R2 has: a call that fails before its effect or behind
 * it, one whose effect comes later, one that happens twice, one during which the object is lost. Like R2 it is
 * consistent, keeps what is put only where nothing is, and never overwrites; what was first put under a name is
 * remembered, so that a test sees when it changed.
 */
import { nodeSuite } from '../../src/crypto-node/index.ts'
import type { ArchivedHead, ChainArchive, KeptResult } from '../../src/chain/ports.ts'
import { encodeHex, type RequestDigest } from '../../src/record/index.ts'

/** `lost`: the object is gone before the call arrives, or behind it; nobody hears its answer. */
export const archiveFaults = ['before', 'after', 'late', 'twice', 'lost_before', 'lost_after'] as const
export type ArchiveFault = (typeof archiveFaults)[number]

type CallName = keyof ChainArchive

/** What lies there; shared by all objects that ever wrote to it. */
export class MemoryBucket {
  readonly segments = new Map<number, Uint8Array>()
  readonly envelopes = new Map<RequestDigest, Uint8Array>()
  head: Uint8Array | undefined
  keyEpoch = -1
  /** Effects that have not arrived yet. */
  late: (() => void)[] = []
  readonly #first = new Map<number, Uint8Array>()

  arrive(): void {
    for (const effect of this.late.splice(0)) effect()
  }

  putSegment(sessionIndex: number, bytes: Uint8Array): KeptResult {
    const kept = putAbsent(this.segments, sessionIndex, bytes)
    if (kept.kind === 'kept' && !this.#first.has(sessionIndex)) this.#first.set(sessionIndex, bytes.slice())
    return kept
  }

  /** Throws when a segment is another one than was put first. */
  checkUnchanged(): void {
    for (const [session, bytes] of this.#first) {
      const now = this.segments.get(session)
      if (now === undefined || Buffer.compare(now, bytes) !== 0)
        throw new Error(`segment ${String(session)} was changed`)
    }
  }
}

export class MemoryArchive implements ChainArchive {
  readonly #bucket: MemoryBucket
  readonly #call: <T>(name: CallName, effect: () => T) => Promise<T>

  /** @param call stands between: it decides what becomes of each call. */
  constructor(bucket: MemoryBucket, call: <T>(name: CallName, effect: () => T) => Promise<T>) {
    this.#bucket = bucket
    this.#call = call
  }

  readHead(): Promise<ArchivedHead | undefined> {
    return this.#call('readHead', () => {
      const { head } = this.#bucket
      return head === undefined ? undefined : { bytes: head, tag: tagOf(head) }
    })
  }

  replaceHead(bytes: Uint8Array, replaces: string | undefined): Promise<boolean> {
    return this.#call('replaceHead', () => {
      const { head } = this.#bucket
      if ((head === undefined ? undefined : tagOf(head)) !== replaces) return false
      this.#bucket.head = bytes
      return true
    })
  }

  putSegment(sessionIndex: number, bytes: Uint8Array): Promise<KeptResult> {
    return this.#call('putSegment', () => this.#bucket.putSegment(sessionIndex, bytes))
  }

  readSegment(sessionIndex: number): Promise<Uint8Array | undefined> {
    return this.#call('readSegment', () => this.#bucket.segments.get(sessionIndex))
  }

  putEnvelope(digest: RequestDigest, bytes: Uint8Array): Promise<KeptResult> {
    return this.#call('putEnvelope', () => putAbsent(this.#bucket.envelopes, digest, bytes))
  }

  hasEnvelope(digest: RequestDigest): Promise<boolean> {
    return this.#call('hasEnvelope', () => this.#bucket.envelopes.has(digest))
  }

  deleteEnvelopes(digests: readonly RequestDigest[]): Promise<void> {
    return this.#call('deleteEnvelopes', () => {
      for (const digest of digests) this.#bucket.envelopes.delete(digest)
    })
  }

  readKeyEpoch(): Promise<number> {
    return this.#call('readKeyEpoch', () => this.#bucket.keyEpoch)
  }
}

function putAbsent<K>(objects: Map<K, Uint8Array>, name: K, bytes: Uint8Array): KeptResult {
  const there = objects.get(name)
  if (there === undefined) {
    objects.set(name, bytes.slice())
    return { kind: 'kept' }
  }
  return Buffer.compare(there, bytes) === 0 ? { kind: 'kept' } : { kind: 'conflict' }
}

function tagOf(bytes: Uint8Array): string {
  return encodeHex(nodeSuite.sha256(bytes))
}
