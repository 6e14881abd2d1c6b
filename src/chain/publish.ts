/**
 * Publishing (authorize.md §5): closed Sessions become segments in the archive, one at a time and in order: the segment,
 * then the head, then the mark and the end of its rows. Each step may be repeated, so that what a crash interrupts is
 * done again from the start: recovery is the same code.
 */
import { utf8 } from '../record/index.ts'
import { compareHead } from './continuity.ts'
import type { ChainArchive, ChainContext } from './ports.ts'
import type { SegmentRecord } from './records.ts'
import { joinRows } from './row.ts'
import { type ClosedSession, readClosedSession } from './segment.ts'
import { type ArchivedTail, readClose } from './tail.ts'

const dayMs = 24 * 60 * 60 * 1000

/** How long one run may take before others have their turn: some seconds of puts. */
const sessionsPerRun = 16

export type Published =
  | { readonly kind: 'all' }
  /** There is more to do. */
  | { readonly kind: 'more' }
  /** Other bytes lie where a segment belongs. Nothing was overwritten; the rows stay. */
  | { readonly kind: 'conflict'; readonly sessionIndex: number }
  /** The archive's head is not one that ours may replace. */
  | { readonly kind: 'behind' }

/** @throws what the archive throws; everything up to there counts. */
export async function publishSessions(
  context: () => ChainContext,
  archive: ChainArchive,
): Promise<Published> {
  if (!(await restoreHead(context(), archive))) return { kind: 'behind' }
  for (let count = 0; count < sessionsPerRun; count += 1) {
    const session = readNext(context())
    if (session === undefined) return { kind: 'all' }
    const { segment, bytes, close } = session
    const put = await archive.putSegment(segment.sessionIndex, bytes)
    if (put.kind === 'conflict') return { kind: 'conflict', sessionIndex: segment.sessionIndex }
    // A crash here leaves a segment that no head names: it is put again, found to be the same, and the head follows.
    if (!(await advanceHead(context(), archive, close))) return { kind: 'behind' }
    // A crash here leaves a head that is one ahead of the mark, with the bytes that still wait here.
    mark(context(), segment, close)
  }
  return { kind: 'more' }
}

/** The next closed Session that is not published, out of its rows. */
function readNext({ store, suite }: ChainContext): ClosedSession | undefined {
  const { head } = store.readHead()
  if (head.state === 'empty') return undefined
  const sessionIndex = (store.readPublication().published?.sessionIndex ?? -1) + 1
  const closed = head.state === 'closed' ? head.sessionIndex : head.sessionIndex - 1
  if (sessionIndex > closed) return undefined
  const bytes = joinRows([...store.readRows(sessionIndex, 0)].map((row) => row.bytes))
  const session = readClosedSession(bytes, { chainId: head.chainId, sessionIndex }, suite)
  // Rows that are not one whole Session are not made public: better late than torn.
  if (session === undefined) throw new Error(`the rows of Session ${String(sessionIndex)} are not whole`)
  return session
}

/** Puts a head back that the archive has lost, or holds an older one of; `false` when it holds another's. */
async function restoreHead(context: ChainContext, archive: ChainArchive): Promise<boolean> {
  const found = await archive.readHead()
  const { kind } = compareHead(context, found)
  const { published } = context.store.readPublication()
  if (kind === 'head_missing' && published !== undefined) {
    await archive.replaceHead(headBytes(published.close), found?.tag)
  }
  return kind !== 'behind'
}

/** The head moves on only from a Session of ours to a greater one; `false` when it is beyond, or another's. */
async function advanceHead(
  context: ChainContext,
  archive: ChainArchive,
  close: ArchivedTail,
): Promise<boolean> {
  const chainId = context.store.readTenant()?.tenant ?? ''
  const found = await archive.readHead()
  if (compareHead(context, found).kind === 'behind') return false
  const theirs = found && readClose(found.bytes, chainId, context.suite)
  if (theirs !== undefined && theirs.sessionIndex >= close.sessionIndex) {
    // Put by an earlier run that was cut off before its mark.
    return theirs.lineHash === close.lineHash
  }
  if (await archive.replaceHead(headBytes(close.close), found?.tag)) return true
  // Moved between the two, also by our own put that was answered with an error: the next run sees which.
  throw new Error('the head in the archive was replaced meanwhile')
}

/** The head object: one `close` and LF. */
function headBytes(close: string): Uint8Array {
  return utf8(`${close}\n`)
}

/** One transaction: from here on the archive is where this Session lies. */
function mark({ store }: ChainContext, segment: SegmentRecord, close: ArchivedTail): void {
  store.transaction(() => {
    const publication = store.readPublication()
    if ((publication.published?.sessionIndex ?? -1) !== segment.sessionIndex - 1) {
      throw new Error('another run has published meanwhile')
    }
    store.insertSegment(segment)
    const { sessionIndex, seq, lineHash } = close
    store.writePublication({
      ...publication,
      stopped: undefined,
      published: { sessionIndex, seq, lineHash, close: close.close },
    })
    store.deleteRows(segment.sessionIndex)
    const retentionMs = (store.readTenant()?.settings.envelope_retention_days ?? 0) * dayMs
    if (!store.listDue().some(({ name }) => name === 'retention')) {
      store.writeDue({ name: 'retention', at: segment.closedAt + retentionMs, attempts: 0 })
    }
  })
}
