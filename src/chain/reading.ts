/**
 * What auditors read from the writer: the last signed Line, and the open Session so far, both verbatim. Bounded pages,
 * so that no answer grows with the Chain. Published Sessions are read from the archive, not here.
 */
import { type LineHash, decodeUtf8 } from '../record/index.ts'
import { leaveToRead } from './consult.ts'
import { readLiveKey } from './key.ts'
import type { ChainContext } from './ports.ts'
import type { HeadRecord, Role } from './records.ts'
import { decodeRow } from './row.ts'
import { type Unavailable, unavailable } from './unavailable.ts'

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
  const bytes = context.store.readLine(head.sessionIndex, head.seq)
  if (bytes === undefined) return unavailable('row_published')
  const { lineHash, sessionIndex, seq } = head
  return { kind: 'head', line: decodeUtf8(bytes), lineHash, sessionIndex, seq }
}

/** How far a reader has come, and how far he goes. */
export interface LivePosition {
  readonly sessionIndex: number
  /** Of the last Line that he has. */
  readonly seq: number
  /** Of the last Line there was when he began: a reading ends there, however fast the Chain grows. */
  readonly end: number
}

export type LiveResult =
  | {
      readonly kind: 'lines'
      readonly sessionIndex: number
      /** Whole Lines, each with its LF. */
      readonly bytes: Uint8Array
      /** Absent on the last page. */
      readonly next?: LivePosition
    }
  /** The Session that was being read is no longer the open one. */
  | { readonly kind: 'closed' }
  | NotGranted
  | Unavailable

/** A page ends with the row that reaches this: rows are at most three Lines, so a page is at most 192 KiB longer. */
const livePageBytes = 1_048_576

/** A page of the open Session; the first one takes a token, the others only need the key. */
export function readLive(context: ChainContext, keyId: string, after?: LivePosition): LiveResult {
  if (after === undefined) {
    const leave = leaveToRead(context, keyId, readers)
    if (leave.kind !== 'granted') return leave
  } else if (context.store.readTenant() === undefined || readLiveKey(context, keyId, readers) === undefined) {
    return { kind: 'unauthorized' }
  }
  const stored: HeadRecord = context.store.readHead()
  const { head } = stored
  if (head.state === 'empty') throw new Error('a provisioned Chain is empty')
  if (after !== undefined && after.sessionIndex !== head.sessionIndex) return { kind: 'closed' }
  if (head.state === 'closed') {
    if (after !== undefined) return { kind: 'closed' }
    return { kind: 'lines', sessionIndex: head.sessionIndex + 1, bytes: new Uint8Array() }
  }
  const end = Math.min(after?.end ?? head.seq, head.seq)
  return readPage(context, head.sessionIndex, (after?.seq ?? -1) + 1, end)
}

function readPage(context: ChainContext, sessionIndex: number, from: number, end: number): LiveResult {
  const parts: Uint8Array[] = []
  let length = 0
  let next = from
  for (const row of context.store.readRows(sessionIndex, from)) {
    if (row.seq > end || length >= livePageBytes) break
    if (row.seq > next) throw new Error(`no row holds seq ${String(next)}`)
    const lines = decodeRow(row.bytes)
    const skipped = lines.slice(0, next - row.seq).reduce((sum, line) => sum + line.length + 1, 0)
    const part = row.bytes.subarray(skipped)
    parts.push(part)
    length += part.length
    next = row.seq + lines.length
  }
  const bytes = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  if (next > end) return { kind: 'lines', sessionIndex, bytes }
  // Nothing read and not at the end: the rows are gone, which only a published Session's are.
  if (length === 0) throw new Error(`no row holds seq ${String(next)}`)
  return { kind: 'lines', sessionIndex, bytes, next: { sessionIndex, seq: next - 1, end } }
}
