/**
 * Calls out of the Chain, newest first: Session by Session, with one of them in memory, until the page is full, the
 * request has read what it may, or the beginning is reached. Nothing is indexed: the Chain is the only truth there is.
 */
import type { Call } from '../protocol/index.ts'
import type { OutcomeLine } from '../record/index.ts'
import { type CallFilter, isWanted, marksOf, readOutcome, toCall } from './call-entry.ts'
import type { Position, RefusedSession, SessionReader } from './session-reader.ts'

export interface CallQuery {
  readonly filter: CallFilter
  /** Only Calls before this position; absent: from the newest on. */
  readonly before?: Position
  /** Only Calls behind this position. */
  readonly behind?: Position
  readonly limit: number
}

export type ScanResult =
  | { readonly kind: 'calls'; readonly calls: readonly Call[]; readonly next?: Position }
  | Exclude<RefusedSession, { kind: 'spent' }>

/** An `open` and an `intent` stand before every outcome of a Session. */
const firstOutcomeSeq = 2

/** Clocks of two machines that an object lived on may differ by this. */
const clockMarginMs = 60_000

export async function scanCalls(reader: SessionReader, query: CallQuery): Promise<ScanResult> {
  const { head } = reader
  const { behind = { sessionIndex: 0, seq: -1 }, filter, limit } = query
  const calls: Call[] = []
  const newest = { sessionIndex: head.sessionIndex, seq: head.seq + 1 }
  let at = query.before === undefined || isBefore(newest, query.before) ? newest : query.before
  while (isBefore(behind, at)) {
    const { sessionIndex } = at
    if (at.seq <= firstOutcomeSeq) {
      // Nothing of this Session is before it, whatever its length.
      at = { sessionIndex: sessionIndex - 1, seq: Number.MAX_SAFE_INTEGER }
      continue
    }
    const floor = sessionIndex === behind.sessionIndex ? behind.seq : -1
    const wanted = await isInTime(reader, sessionIndex, filter)
    if (wanted === 'over') break
    if (wanted === 'inside') {
      const session = await reader.read(sessionIndex, floor)
      if (session.kind !== 'lines') return stopped(reader, session, calls, at)
      const range = { above: floor, below: at.seq }
      const end = takeFrom(session.lines, range, filter, (line, row) => {
        calls.push(toCall(line, row))
        return calls.length < limit
      })
      if (end === 'over') break
      if (end !== 'all') {
        const next = { sessionIndex, seq: end.seq }
        return hasBefore(next, behind) ? { kind: 'calls', calls, next } : { kind: 'calls', calls }
      }
    } else if (wanted !== 'outside') {
      return stopped(reader, wanted, calls, at)
    }
    // Before the first Line of this Session: the one before it.
    at = { sessionIndex: sessionIndex - 1, seq: Number.MAX_SAFE_INTEGER }
  }
  return { kind: 'calls', calls }
}

/** Whether an outcome can stand before a position, and behind another. */
function hasBefore(at: Position, behind: Position): boolean {
  return at.seq > firstOutcomeSeq ? isBefore(behind, at) : at.sessionIndex > behind.sessionIndex
}

function isBefore(left: Position, right: Position): boolean {
  return (
    left.sessionIndex < right.sessionIndex ||
    (left.sessionIndex === right.sessionIndex && left.seq < right.seq)
  )
}

/** What one request could not do is for the next one, if this one did anything. */
function stopped(
  reader: SessionReader,
  refused: RefusedSession,
  calls: readonly Call[],
  at: Position,
): ScanResult {
  if (refused.kind !== 'spent' && (refused.kind !== 'limited' || reader.sessions === 0)) return refused
  return { kind: 'calls', calls, next: resumeAt(at) }
}

/** A position as it can be written: before seq 0 of the Session behind stands all of this one. */
function resumeAt(at: Position): Position {
  return at.seq === Number.MAX_SAFE_INTEGER ? { sessionIndex: at.sessionIndex + 1, seq: 0 } : at
}

/** Whether a Session can hold Calls of the time that is asked for, as far as the index says. */
async function isInTime(
  reader: SessionReader,
  sessionIndex: number,
  { since, until }: CallFilter,
): Promise<'inside' | 'outside' | 'over' | RefusedSession> {
  if (since === undefined && until === undefined) return 'inside'
  const known = await reader.facts(sessionIndex)
  if (known.kind === 'unpublished') return 'inside'
  if (known.kind !== 'published') return known
  const { openedAt, closedAt } = known.facts
  if (since !== undefined && closedAt < since - clockMarginMs) return 'over'
  return until !== undefined && openedAt >= until ? 'outside' : 'inside'
}

/**
 * The Calls of one Session that are asked for, newest first.
 *
 * @param take says whether another one is wanted.
 * @returns `over` when everything before is too old; the last one taken when no more are wanted; else `all`.
 */
function takeFrom(
  lines: readonly string[],
  { above, below }: { readonly above: number; readonly below: number },
  filter: CallFilter,
  take: (line: OutcomeLine, row: string) => boolean,
): 'over' | 'all' | { readonly seq: number } {
  const marks = marksOf(filter)
  const { since, until } = filter
  for (let at = lines.length - 1; at >= 0; at -= 1) {
    const row = lines[at] ?? ''
    if (!marks.every((mark) => row.includes(mark))) continue
    const line = readOutcome(row)
    if (line === undefined || line.seq >= below) continue
    if (line.seq <= above) return 'all'
    const decidedAt = line.decided_at ?? 0
    if (since !== undefined && decidedAt < since - clockMarginMs) return 'over'
    const isInside = (since === undefined || decidedAt >= since) && (until === undefined || decidedAt < until)
    if (isInside && isWanted(line, filter) && !take(line, row)) return { seq: line.seq }
  }
  return 'all'
}

export interface CallLines {
  readonly kind: 'found'
  readonly call: Call
  readonly intent?: string
  readonly outcome: string
  readonly related: readonly string[]
  readonly relatedComplete: boolean
}

export type FindResult =
  | CallLines
  | { readonly kind: 'not_yet'; readonly next: Position }
  | { readonly kind: 'not_found' }
  | Exclude<RefusedSession, { kind: 'spent' }>

/** One Call by its id, looked for from the newest on or before a position, with what is about it. */
export async function findCall(
  reader: SessionReader,
  callId: string,
  before: Position | undefined,
): Promise<FindResult> {
  const mark = `"call_id":"${callId}"`
  const from = before === undefined || before.sessionIndex > reader.head.sessionIndex ? undefined : before
  let sessionIndex = from?.sessionIndex ?? reader.head.sessionIndex
  if (from !== undefined && from.seq <= firstOutcomeSeq) sessionIndex -= 1
  for (; sessionIndex >= 0; sessionIndex -= 1) {
    const session = await reader.read(sessionIndex)
    if (session.kind === 'spent' || (session.kind === 'limited' && reader.sessions > 0)) {
      return { kind: 'not_yet', next: { sessionIndex: sessionIndex + 1, seq: 0 } }
    }
    if (session.kind !== 'lines') return session
    const at = session.lines.findLastIndex(
      (row) => row.includes(mark) && readOutcome(row)?.call_id === callId,
    )
    const row = session.lines[at]
    const line = row === undefined ? undefined : readOutcome(row)
    if (row === undefined || line === undefined) continue
    const call = toCall(line, row)
    const intent = session.lines[at - 1]
    const behind = session.lines.slice(at + 1)
    return {
      kind: 'found',
      call,
      ...(intent?.includes(mark) === true ? { intent } : {}),
      outcome: row,
      ...(await findRelated(reader, call, behind)),
    }
  }
  return { kind: 'not_found' }
}

/** A grant is reported within a day of its end, and an approval decided and used within hours. */
const relatedMs = 25 * 3_600_000
const relatedMax = 20

async function findRelated(
  reader: SessionReader,
  call: Call,
  behind: readonly string[],
): Promise<Pick<CallLines, 'related' | 'relatedComplete'>> {
  const about = call.approval_id ?? call.approval_ref
  const marks = [
    `"call_ref":"${call.call_id}"`,
    ...(about === undefined ? [] : [`"approval_id":"${about}"`, `"approval_ref":"${about}"`]),
  ]
  const isAbout = (row: string): boolean => marks.some((mark) => row.includes(mark))
  const related = behind.filter(isAbout)
  const until = Date.parse(call.decided_at) + relatedMs
  for (let at = call.session_index + 1; at <= reader.head.sessionIndex; at += 1) {
    const known = await reader.facts(at)
    if (known.kind === 'published' && known.facts.openedAt > until) break
    const session = await reader.read(at)
    if (session.kind !== 'lines' || related.length > relatedMax) {
      return { related: related.slice(0, relatedMax), relatedComplete: false }
    }
    related.push(...session.lines.filter(isAbout))
  }
  return { related: related.slice(0, relatedMax), relatedComplete: related.length <= relatedMax }
}
