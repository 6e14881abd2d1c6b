/**
 * What auditors read from the writer: the last signed Line, the Lines that are not yet published, both verbatim, and the
 * index of what is. Bounded pages, so that no answer grows with the Chain. Segments are read from the archive, not here.
 */
import { type LineHash, type RequestDigest, decodeUtf8, parseLineObject } from '../record/index.ts'
import { leaveToRead } from './consult.ts'
import { readLiveKey } from './key.ts'
import type { ChainContext } from './ports.ts'
import type { Role, SegmentRecord } from './records.ts'
import { decodeRow, joinRows } from './row.ts'
import type { Unavailable } from './unavailable.ts'

const readers: readonly Role[] = ['auditor', 'admin']

/** Refused before anything was read. */
type NotGranted =
  { readonly kind: 'limited'; readonly retryAfterMs: number } | { readonly kind: 'unauthorized' }

export type HeadResult =
  | {
      readonly kind: 'head'
      /** The last signed Line, verbatim. */
      readonly line: string
      readonly lineHash: LineHash
      readonly sessionIndex: number
      readonly seq: number
    }
  | NotGranted
  | Unavailable

/** The last Line of the Chain; what we append always ends in a signed one. */
export function readHeadLine(context: ChainContext, keyId: string): HeadResult {
  const leave = leaveToRead(context, keyId, readers)
  if (leave.kind !== 'granted') return leave
  const { head } = context.store.readHead()
  if (head.state === 'empty') throw new Error('a provisioned Chain is empty')
  const { lineHash, sessionIndex, seq } = head
  const stored = context.store.readLine(sessionIndex, seq)
  const line = stored === undefined ? publishedClose(context, lineHash) : decodeUtf8(stored)
  return { kind: 'head', line, lineHash, sessionIndex, seq }
}

/** Of a Chain that ends in a `close` whose row is gone. */
function publishedClose({ store }: ChainContext, lineHash: LineHash): string {
  const { published } = store.readPublication()
  if (published?.lineHash !== lineHash) throw new Error('the last Line is neither stored nor published')
  return published.close
}

/** How far a reader has come, and how far he goes. */
export interface LivePosition {
  readonly sessionIndex: number
  /** Of the last Line that he has; -1 before the first. */
  readonly seq: number
  /** The last Line there was when he began: a reading ends there, however fast the Chain grows. */
  readonly endSession: number
  readonly end: number
}

export type LiveResult =
  | {
      readonly kind: 'lines'
      /** Whole Lines, each with its LF. */
      readonly bytes: Uint8Array
      /** Absent on the last page. */
      readonly next?: LivePosition
    }
  /** The Session that was asked for, or was being read, is published: its segment is to be read. */
  | { readonly kind: 'published' }
  | NotGranted
  | Unavailable

/** Where a reading begins: at the open Session, or at one that was sealed and waits for the archive. */
export interface LiveStart {
  readonly from?: number
}

/** A page ends with the row that reaches this: rows are at most four Lines, so a page is at most 256 KiB longer. */
const livePageBytes = 1_048_576

/** Lines that are not published. The first page takes a token, the others only need the key. */
export function readLive(
  context: ChainContext,
  keyId: string,
  at: LiveStart | LivePosition = {},
): LiveResult {
  const { store } = context
  const goesOn = 'endSession' in at
  if (!goesOn) {
    const leave = leaveToRead(context, keyId, readers)
    if (leave.kind !== 'granted') return leave
  } else if (store.readTenant() === undefined || readLiveKey(context, keyId, readers) === undefined) {
    return { kind: 'unauthorized' }
  }
  if (goesOn) return readPage(context, at)
  const { head } = store.readHead()
  if (head.state === 'empty') throw new Error('a provisioned Chain is empty')
  const openSession = head.state === 'open' ? head.sessionIndex : head.sessionIndex + 1
  const from = at.from ?? openSession
  if (from <= (store.readPublication().published?.sessionIndex ?? -1)) return { kind: 'published' }
  if (from > head.sessionIndex) return { kind: 'lines', bytes: new Uint8Array() }
  return readPage(context, { sessionIndex: from, seq: -1, endSession: head.sessionIndex, end: head.seq })
}

function readPage({ store }: ChainContext, at: LivePosition): LiveResult {
  // The rows of a Session go all at once: either the next Line is still here, or none of them is.
  if (store.readLastRow(at.sessionIndex) === undefined) return { kind: 'published' }
  const parts: Uint8Array[] = []
  let length = 0
  let next = at.seq + 1
  let isWhole = true
  for (const row of store.readRows(at.sessionIndex, next)) {
    if (at.sessionIndex === at.endSession && row.seq > at.end) break
    if (length >= livePageBytes) {
      isWhole = false
      break
    }
    if (row.seq > next) throw new Error(`no row holds seq ${String(next)}`)
    const lines = decodeRow(row.bytes)
    const skipped = lines.slice(0, next - row.seq).reduce((sum, line) => sum + line.length + 1, 0)
    parts.push(row.bytes.subarray(skipped))
    length += row.bytes.length - skipped
    next = row.seq + lines.length
  }
  const bytes = joinRows(parts)
  if (!isWhole) return { kind: 'lines', bytes, next: { ...at, seq: next - 1 } }
  if (at.sessionIndex >= at.endSession) return { kind: 'lines', bytes }
  return { kind: 'lines', bytes, next: { ...at, sessionIndex: at.sessionIndex + 1, seq: -1 } }
}

export type IndexResult =
  | {
      readonly kind: 'index'
      readonly segments: readonly SegmentRecord[]
      /** Whether there are more behind the last of them. */
      readonly more: boolean
      /** Closed Sessions that wait for the archive. */
      readonly waiting: number
      /** `closed_at` of the first of those. */
      readonly waitingSince?: number
      readonly stopped?: 'archive_conflict'
    }
  | NotGranted
  | Unavailable

/** About 300 bytes each. */
const segmentsPerPage = 1_000

/** What is published, in order, from the Session behind `after`. */
export function readIndex(context: ChainContext, keyId: string, after: number): IndexResult {
  const leave = leaveToRead(context, keyId, readers)
  if (leave.kind !== 'granted') return leave
  const { store } = context
  const segments = store.listSegments(after, segmentsPerPage + 1)
  const { published, stopped } = store.readPublication()
  const { head } = store.readHead()
  if (head.state === 'empty') throw new Error('a provisioned Chain is empty')
  const next = (published?.sessionIndex ?? -1) + 1
  const closed = head.state === 'closed' ? head.sessionIndex : head.sessionIndex - 1
  const waitingSince = next <= closed ? closedAtOf(context, next) : undefined
  return {
    kind: 'index',
    segments: segments.slice(0, segmentsPerPage),
    more: segments.length > segmentsPerPage,
    waiting: Math.max(0, closed - next + 1),
    ...(waitingSince === undefined ? {} : { waitingSince }),
    ...(stopped === undefined ? {} : { stopped }),
  }
}

function closedAtOf({ store }: ChainContext, sessionIndex: number): number | undefined {
  const row = store.readLastRow(sessionIndex)
  const line = row === undefined ? undefined : decodeRow(row.bytes).at(-1)
  const parsed = line === undefined ? undefined : parseLineObject(line)
  const closedAt = parsed?.ok === true ? parsed.value['closed_at'] : undefined
  return typeof closedAt === 'number' ? closedAt : undefined
}

export type SegmentResult =
  | { readonly kind: 'segment'; readonly segment: SegmentRecord }
  | { readonly kind: 'not_found' }
  | NotGranted
  | Unavailable

/** What a segment must be; its bytes are read from the archive and held against this. */
export function readSegmentFacts(context: ChainContext, keyId: string, sessionIndex: number): SegmentResult {
  const leave = leaveToRead(context, keyId, readers)
  if (leave.kind !== 'granted') return leave
  const segment = context.store.readSegment(sessionIndex)
  return segment === undefined ? { kind: 'not_found' } : { kind: 'segment', segment }
}

export type EnvelopeResult =
  /** Not yet moved. */
  | { readonly kind: 'staged'; readonly bytes: Uint8Array }
  /** In the archive, if anywhere. */
  | { readonly kind: 'archived' }
  /** Its tombstone stands, whatever the archive still holds. */
  | { readonly kind: 'erased' }
  /** The key may read the Chain, but no Envelopes. */
  | { readonly kind: 'not_granted' }
  | NotGranted
  | Unavailable

/** Where an Envelope is, for an auditor to whom Envelopes were granted. */
export function readEnvelopePlace(
  context: ChainContext,
  keyId: string,
  digest: RequestDigest,
): EnvelopeResult {
  const leave = leaveToRead(context, keyId, ['auditor'])
  if (leave.kind !== 'granted') return leave
  const { store } = context
  if (store.readKey(keyId)?.envelopes !== true) return { kind: 'not_granted' }
  if (store.isErased(digest)) return { kind: 'erased' }
  const bytes = store.readEnvelope(digest)
  return bytes === undefined ? { kind: 'archived' } : { kind: 'staged', bytes }
}
