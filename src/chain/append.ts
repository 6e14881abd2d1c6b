/**
 * Appending (SPEC.md §5.1): drafts become Lines behind the head, inside the caller's transaction. An `open` is written
 * with the first Line of a Session, so that an idle tenant's Chain ends in a `close`; the `close` with the Lines that
 * fill it.
 */
import {
  type ChainHead,
  type CloseDraft,
  type DecisionDraft,
  type IntentDraft,
  type LineHash,
  type NextLine,
  type OpenDraft,
  type OutcomeDraft,
  nextLine,
} from '../record/index.ts'
import { envelopesEveryMs } from './envelopes.ts'
import type { ChainContext } from './ports.ts'
import type { HeadRecord, TenantRecord } from './records.ts'
import { closeDraft, isFull, sessionAgeMaxMs } from './seal.ts'

/** The Lines of one Call, or a single Line. */
export type AppendDraft =
  readonly [IntentDraft, OutcomeDraft] | readonly [DecisionDraft] | readonly [CloseDraft]

export type Appended =
  | {
      readonly kind: 'appended'
      readonly head: HeadRecord
      /** The last of the drafts as a Line, verbatim, and where it stands; a `close` behind it is not meant. */
      readonly line: Uint8Array
      readonly lineHash: LineHash
      readonly sessionIndex: number
      readonly seq: number
    }
  | { readonly kind: 'too_long'; readonly bytes: number }

type Made = Extract<NextLine, { kind: 'line' }>

/**
 * Appends behind `stored`, the head as it was read; `counted` is the same with what the caller counted. Stores the Lines
 * and replaces the head, all in the caller's transaction; with `too_long` nothing was written.
 *
 * @param after `close` ends the Session behind these Lines, full or not.
 */
export function append(
  context: ChainContext,
  tenant: TenantRecord,
  stored: HeadRecord,
  counted: HeadRecord,
  drafts: AppendDraft,
  after: 'close' | 'go_on' = 'go_on',
): Appended {
  const { store, now, suite } = context
  const signer = context.signer(tenant)
  let { head }: { head: ChainHead } = stored
  const made: Made[] = []
  const opens = head.state !== 'open'
  const open: OpenDraft = { line_type: 'open', opened_at: now, deployment: tenant.deployment }
  for (const draft of opens ? [open, ...drafts] : drafts) {
    const next = nextLine(head, draft, signer, suite)
    if (next.kind === 'too_long') return next
    made.push(next)
    head = next.head
  }
  const last = made[made.length - 1]
  if (last === undefined) throw new Error('nothing to append')
  const calls = (opens ? 0 : counted.calls) + (drafts.length === 2 ? 1 : 0)
  const bytesBefore = opens ? 0 : counted.bytes
  const full = isFull({ calls, bytes: bytesBefore + lengthOf(made) }, context.isContinuous)
  if (head.state === 'open' && (full || after === 'close')) {
    const close = nextLine(head, closeDraft(now, calls), signer, suite)
    if (close.kind === 'too_long') throw new Error('a close is too long')
    made.push(close)
    head = close.head
  }
  const next: HeadRecord = {
    ...counted,
    head,
    openedAt: opens ? now : counted.openedAt,
    calls,
    bytes: bytesBefore + lengthOf(made),
  }
  const lines = made.map(({ bytes }) => bytes)
  store.appendLines(last.head.sessionIndex, made[0]?.head.seq ?? 0, lines)
  store.replaceHead(stored, next)
  if (opens) {
    store.writeDue({ name: 'seal', at: now + sessionAgeMaxMs, attempts: 0 })
    // Never later than it was: Sessions of a busy tenant follow each other faster than that.
    const moving = store.listDue().find(({ name }) => name === 'envelopes')
    if (moving === undefined) store.writeDue({ name: 'envelopes', at: now + envelopesEveryMs, attempts: 0 })
  }
  if (head.state === 'closed') {
    // A crash behind this commit loses nothing: the deadlines are in it, and the next alarm finds the Session.
    store.writeDue({ name: 'publish', at: now, attempts: 0 })
    store.writeDue({ name: 'envelopes', at: now, attempts: 0 })
  }
  return {
    kind: 'appended',
    head: next,
    line: last.bytes,
    lineHash: last.lineHash,
    sessionIndex: last.head.sessionIndex,
    seq: last.head.seq,
  }
}

function lengthOf(made: readonly Made[]): number {
  return made.reduce((sum, { bytes }) => sum + bytes.length + 1, 0)
}
