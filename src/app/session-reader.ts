/**
 * Sessions of a tenant one at a time, wherever they lie: published ones from the archive, the others from the tenant's
 * object. A reader belongs to one request and has a budget, so that no request grows with the Chain. Its caller holds one
 * Session at a time; nothing is kept here but what the index says.
 */
import type { LivePosition, TenantChainRpc } from '../../durable-objects/rpc.ts'
import type { Bucket } from '../archive/bucket.ts'
import { openSegment } from '../archive/segments.ts'
import { decodeUtf8 } from '../record/index.ts'

/** A Session is sealed at 1,000 Calls or 4 MiB: four of the largest, or many small ones. */
const bytesMax = 16 * 1_048_576
const sessionsMax = 32
/** Looks into the index in one request; each takes a token of the tenant's bucket. */
const windowsMax = 8
/** Entries of the index, backwards from the Session that is asked for. */
const windowLength = 500

export interface Position {
  readonly sessionIndex: number
  readonly seq: number
}

/** What the index says of a published Session. */
export interface SessionFacts {
  readonly openedAt: number
  readonly closedAt: number
}

type Refused =
  | { readonly kind: 'limited'; readonly retryAfterMs: number }
  | { readonly kind: 'unauthorized' }
  | { readonly kind: 'unavailable'; readonly code: string }
  /** The request has done what one request may do: the next one goes on. */
  | { readonly kind: 'spent' }

export type SessionResult = { readonly kind: 'lines'; readonly lines: readonly string[] } | Refused
export type FactsResult =
  { readonly kind: 'published'; readonly facts: SessionFacts } | { readonly kind: 'unpublished' } | Refused
export type { Refused as RefusedSession }

interface Segment extends SessionFacts {
  readonly sessionIndex: number
  readonly bytes: number
  readonly sha256: string
}

export class SessionReader {
  readonly #chain: TenantChainRpc
  readonly #keyId: string
  readonly #archive: Bucket
  readonly #tenant: string
  /** The last Line there was when the request came: nothing behind it is read. */
  readonly head: Position
  #segments = new Map<number, Segment>()
  /** Sessions that the last window covers. */
  #from = 0
  #to = -1
  #windows = 0
  sessions = 0
  bytes = 0

  constructor(
    means: {
      readonly chain: TenantChainRpc
      readonly keyId: string
      readonly archive: Bucket
      readonly tenant: string
    },
    head: Position,
  ) {
    this.#chain = means.chain
    this.#keyId = means.keyId
    this.#archive = means.archive
    this.#tenant = means.tenant
    this.head = head
  }

  /** What the index says of a Session up to the head's. */
  async facts(sessionIndex: number): Promise<FactsResult> {
    if (sessionIndex < this.#from || sessionIndex > this.#to) {
      const refused = await this.#look(sessionIndex)
      if (refused !== undefined) return refused
    }
    const segment = this.#segments.get(sessionIndex)
    return segment === undefined ? { kind: 'unpublished' } : { kind: 'published', facts: segment }
  }

  /**
   * The Lines of a Session, without LF.
   *
   * @param behind of a Session that is not published: only Lines behind this seq are read.
   */
  async read(sessionIndex: number, behind = -1): Promise<SessionResult> {
    if (this.sessions >= sessionsMax || this.bytes >= bytesMax) return { kind: 'spent' }
    const known = await this.facts(sessionIndex)
    if (known.kind !== 'published' && known.kind !== 'unpublished') return known
    this.sessions += 1
    if (known.kind === 'unpublished') {
      const live = await this.#readLive(sessionIndex, behind)
      if (live !== 'published') return live
      // It was published between two looks.
      const refused = await this.#look(sessionIndex)
      if (refused !== undefined) return refused
    }
    return this.#readSegment(sessionIndex)
  }

  async #look(sessionIndex: number): Promise<Refused | undefined> {
    if (this.#windows >= windowsMax) return { kind: 'spent' }
    this.#windows += 1
    const after = Math.max(-1, sessionIndex - windowLength)
    const index = await this.#chain.segments(this.#keyId, after)
    if (index.kind !== 'index') return index
    this.#segments = new Map(index.segments.map((segment) => [segment.sessionIndex, segment]))
    this.#from = after + 1
    const last = index.segments.at(-1)?.sessionIndex ?? after
    // A whole page goes on behind its last entry; behind the last page nothing is published.
    this.#to = index.more ? last : this.head.sessionIndex
    return undefined
  }

  async #readSegment(sessionIndex: number): Promise<SessionResult> {
    const segment = this.#segments.get(sessionIndex)
    if (segment === undefined) return { kind: 'unavailable', code: 'segment_unknown' }
    this.bytes += segment.bytes
    const opened = await openSegment(this.#archive, this.#tenant, segment)
    if (opened.kind !== 'found') return { kind: 'unavailable', code: `segment_${opened.kind}` }
    return toLines([new Uint8Array(await opened.object.arrayBuffer())])
  }

  async #readLive(sessionIndex: number, behind: number): Promise<SessionResult | 'published'> {
    const end = { endSession: this.head.sessionIndex, end: this.head.seq }
    let at: LivePosition | undefined = { sessionIndex, seq: behind, ...end }
    const pages: Uint8Array[] = []
    while (at?.sessionIndex === sessionIndex) {
      const page = await this.#chain.live(this.#keyId, at)
      if (page.kind === 'published') return 'published'
      if (page.kind !== 'lines') return page
      pages.push(page.bytes)
      this.bytes += page.bytes.length
      at = page.next
    }
    return toLines(pages)
  }
}

function toLines(pages: readonly Uint8Array[]): SessionResult {
  const text = pages.map((page) => decodeUtf8(page)).join('')
  return { kind: 'lines', lines: text === '' ? [] : text.slice(0, -1).split('\n') }
}
