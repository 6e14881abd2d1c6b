/**
 * When a Session ends (authorize.md §5): at 1,000 Calls or 4 MiB with the Call that reaches it, 15 minutes after its
 * `open` by the alarm, or on demand. The next `open` comes with the next Line, so that no Session is empty.
 */
import type { CloseDraft } from '../record/index.ts'
import type { HeadRecord } from './records.ts'

/** A segment that a person can open in an editor, and that a range request finds its way in. */
export const sessionCallsMax = 1_000
/** Held in memory as a whole, several times, while it is published. */
export const sessionBytesMax = 4 * 1_048_576
/** How long a Call may wait for its anchor. */
export const sessionAgeMaxMs = 15 * 60_000
/**
 * Where the archive could not be compared since the object woke, a Session grows up to this many times its size before
 * it is sealed all the same: decisions go on while R2 is down, and a segment must still fit into memory.
 */
const uncomparedFactor = 4

/** Whether the Call that made this head ends its Session. */
export function isFull(
  { calls, bytes }: Pick<HeadRecord, 'calls' | 'bytes'>,
  isContinuous: boolean,
): boolean {
  const factor = isContinuous ? 1 : uncomparedFactor
  return calls >= sessionCallsMax * factor || bytes >= sessionBytesMax * factor
}

export function closeDraft(now: number, calls: number): CloseDraft {
  return { line_type: 'close', closed_at: now, calls }
}
