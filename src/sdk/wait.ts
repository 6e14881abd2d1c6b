/**
 * Waiting for a human (authorize.md §4): asks where an approval stands, ever more rarely, until it is decided, its time is
 * over, or the caller gives up. A state for something else than what was asked ends it at once.
 */
import type { Approval, ApprovalState } from './approval.ts'
import type { ApprovalRequired } from './authorization.ts'
import { type Clock, elapsedMs, readClock, sleep } from './clock.ts'
import { AegisAnswerError, AegisApprovalError, AegisStatusError, AegisUnreachableError } from './errors.ts'

export interface WaitOptions {
  readonly required: ApprovalRequired
  /** Milliseconds to wait at most; 0 asks once. */
  readonly waitMs: number
  readonly poll: (approvalId: string) => Promise<ApprovalState>
  readonly clock: Clock
  /** A number from 0 up to, not including, 1. */
  readonly random: () => number
  readonly signal: AbortSignal | undefined
}

/** A human takes seconds at best; at 10 s an agent's hundred waits are ten requests a second. */
const pollFirstMs = 1_000
const pollMaxMs = 10_000
const pollGrowth = 1.5

/** Returns when it is approved. @throws AegisApprovalError for every other end. */
export async function waitForApproval(options: WaitOptions): Promise<void> {
  const { required, waitMs, clock, random, signal } = options
  const started = readClock(clock)
  for (let backoffMs = pollFirstMs; ; backoffMs = Math.min(pollMaxMs, backoffMs * pollGrowth)) {
    const seen = await options.poll(required.approval.approvalId).catch(passing)
    if (!(seen instanceof Error)) {
      checkState(seen, required)
      if (seen.state === 'approved') return
      if (seen.state !== 'pending') throw endOf(seen.state, required, seen.reason)
    }
    const leftMs = waitMs - elapsedMs(clock, started)
    if (leftMs <= 0) throw seen instanceof Error ? seen : endOf('pending', required)
    const askedMs = seen instanceof AegisStatusError ? (seen.retryAfterMs ?? 0) : 0
    // Half of it is jitter: agents that began together must not ask together.
    const pauseMs = Math.max(askedMs, backoffMs * (0.5 + random() / 2))
    await sleep(clock, Math.min(pauseMs, leftMs), signal)
  }
}

/** How long an approval can lead to anything, by this clock and what it may be off. */
export function usefulMs({ approveBy, useWithinMs }: Approval, now: number, clockSkewMs: number): number {
  return Math.max(0, approveBy + useWithinMs - now + clockSkewMs)
}

/** An error for each way in which an approval ends without authority. */
export function endOf(
  state: Exclude<ApprovalState['state'], 'approved'>,
  { approval, callId, receipt }: ApprovalRequired,
  reason?: ApprovalState['reason'],
): AegisApprovalError {
  return new AegisApprovalError(`approval_${state}`, approval, { callId, receipt }, reason)
}

/** Failures that pass are waited out, since nothing runs meanwhile; every other one is thrown. */
function passing(thrown: unknown): AegisUnreachableError | AegisStatusError {
  const passes =
    thrown instanceof AegisUnreachableError ||
    (thrown instanceof AegisStatusError && (thrown.status === 429 || thrown.status >= 500))
  if (!passes) throw thrown
  return thrown
}

function checkState(state: ApprovalState, { approval, callId }: ApprovalRequired): void {
  const same =
    state.approvalId === approval.approvalId &&
    state.callId === callId &&
    state.actionHash === approval.actionHash &&
    state.bindingHash === approval.bindingHash
  if (!same) throw new AegisAnswerError('state_mismatch', 'the state is of another approval', { callId })
}
