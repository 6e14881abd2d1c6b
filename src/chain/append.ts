/**
 * Appending (SPEC.md §5.1): drafts become Lines behind the head, inside the caller's transaction. An `open` is written
 * with the first Line of a Session, so that an idle tenant's Chain ends in a `close`.
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
import type { ChainContext } from './ports.ts'
import type { HeadRecord, TenantRecord } from './records.ts'

/** The Lines of one Call, or a single Line. */
export type AppendDraft =
  readonly [IntentDraft, OutcomeDraft] | readonly [DecisionDraft] | readonly [CloseDraft]

export type Appended =
  | {
      readonly kind: 'appended'
      readonly head: HeadRecord
      /** The last of the Lines, verbatim, and where it stands. */
      readonly line: Uint8Array
      readonly lineHash: LineHash
      readonly sessionIndex: number
      readonly seq: number
    }
  | { readonly kind: 'too_long'; readonly bytes: number }

/**
 * Appends behind `from`, which is the stored head, its counts perhaps already moved on by the caller; stores the Lines
 * and replaces the head. Everything happens in the caller's transaction; with `too_long` nothing was written.
 */
export function append(
  context: ChainContext,
  tenant: TenantRecord,
  stored: HeadRecord,
  counted: HeadRecord,
  drafts: AppendDraft,
): Appended {
  const signer = context.signer(tenant)
  let head: ChainHead = stored.head
  const made: Extract<NextLine, { kind: 'line' }>[] = []
  const opens = head.state !== 'open'
  const open: OpenDraft = { line_type: 'open', opened_at: context.now, deployment: tenant.deployment }
  for (const draft of opens ? [open, ...drafts] : drafts) {
    const next = nextLine(head, draft, signer, context.suite)
    if (next.kind === 'too_long') return next
    made.push(next)
    head = next.head
  }
  const last = made[made.length - 1]
  if (last === undefined) throw new Error('nothing to append')
  const { sessionIndex } = last.head
  const calls = drafts.length === 2 ? 1 : 0
  const bytes = made.reduce((sum, next) => sum + next.bytes.length + 1, 0)
  const next: HeadRecord = {
    ...counted,
    head,
    openedAt: opens ? context.now : counted.openedAt,
    calls: (opens ? 0 : counted.calls) + calls,
    bytes: (opens ? 0 : counted.bytes) + bytes,
  }
  context.store.appendLines(
    sessionIndex,
    made[0]?.head.seq ?? 0,
    made.map((line) => line.bytes),
  )
  context.store.replaceHead(stored, next)
  return {
    kind: 'appended',
    head: next,
    line: last.bytes,
    lineHash: last.lineHash,
    sessionIndex,
    seq: last.head.seq,
  }
}
