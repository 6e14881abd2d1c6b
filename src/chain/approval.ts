/**
 * An approval as a state machine (authorize.md §4): pure, with the clock as an argument. What a vote, a denial, a use or
 * the end of its time makes of it, and who may. Not its Lines and not its store: that is approvals.ts.
 *
 *     pending → approved → consumed | lapsed | withdrawn
 *     pending → denied | expired | cancelled
 */
import type { ApprovalRecord, ApprovalState, ApprovalVote } from './records.ts'
import { foldSubject } from './subject.ts'

/** States in which something can still become of an approval. */
export const openStates = ['pending', 'approved'] as const satisfies readonly ApprovalState[]

/** How it ended. */
export const endedStates = [
  'denied',
  'expired',
  'cancelled',
  'consumed',
  'lapsed',
  'withdrawn',
] as const satisfies readonly ApprovalState[]

/** How long what became of an approval can be read. */
export const decidedKeptMs = 30 * 24 * 60 * 60 * 1000

/** What a person is who acts on an approval. */
export interface Voter {
  readonly subject: string
  readonly apiKey: string
  /** Of the groups that were asked, those that he is in now. */
  readonly groups: readonly string[]
}

export type VoterRefusal = 'subject_required' | 'owner_excluded' | 'not_in_group'

/**
 * Whether a person may decide at all. The agent's owner may not, neither the one of the request nor the one of now; an
 * empty subject is nobody.
 */
export function refuseVoter(
  approval: ApprovalRecord,
  voter: Voter,
  ownerNow: string,
): VoterRefusal | undefined {
  const subject = foldSubject(voter.subject)
  if (subject === '') return 'subject_required'
  if (isOwner(approval, subject, ownerNow)) return 'owner_excluded'
  return voter.groups.length === 0 ? 'not_in_group' : undefined
}

function isOwner(approval: ApprovalRecord, subject: string, ownerNow: string): boolean {
  return subject === foldSubject(approval.owner) || subject === foldSubject(ownerNow)
}

export type Voted =
  /** Counted, and more are needed. */
  | { readonly kind: 'counted'; readonly approval: ApprovalRecord }
  /** This subject has voted before, or his groups have votes enough. */
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'approved'; readonly approval: ApprovalRecord }

/**
 * A vote of someone who may, on an approval that is pending and in time. One that no group needs any more is not kept,
 * so that there are never more than {@link votesNeeded} that count. Whoever votes again has the votes counted again: one
 * that did not count while its subject owned the agent may count by now.
 */
export function vote(approval: ApprovalRecord, voter: Voter, ownerNow: string, now: number): Voted {
  const subject = foldSubject(voter.subject)
  // Whoever has become the owner since he voted counts no more.
  const counts = (given: ApprovalVote): boolean => !isOwner(approval, given.subject, ownerNow)
  const hasVoted = approval.votes.some((given) => given.subject === subject)
  const before = approval.votes.filter(counts)
  const isNeeded = voter.groups.some((group) => votesOf(before, group) < approval.quorum)
  const { apiKey, groups } = voter
  const given: ApprovalVote = { subject, apiKey, groups: [...groups].sort(), at: now }
  const votes = hasVoted || !isNeeded ? approval.votes : [...approval.votes, given]
  const counting = votes.filter(counts)
  if (!meets(counting, approval.groups, approval.quorum)) {
    return votes === approval.votes
      ? { kind: 'unchanged' }
      : { kind: 'counted', approval: { ...approval, votes } }
  }
  return {
    kind: 'approved',
    approval: {
      ...approval,
      votes: counting,
      state: 'approved',
      decidedAt: now,
      useBy: now + approval.useWithinMs,
    },
  }
}

/** At most so many votes are in a `decision`, which is one Line: each has a subject of 256 bytes, perhaps escaped. */
export const votesMax = 80

/** How many votes it takes where nobody is in two groups. */
export function votesNeeded(groups: readonly string[], quorum: number): number {
  return groups.length * quorum
}

/** Whether votes are enough: every group must have given that many. No group at all is never enough. */
export function meets(votes: readonly ApprovalVote[], groups: readonly string[], quorum: number): boolean {
  if (groups.length === 0 || quorum < 1) return false
  return groups.every((group) => votesOf(votes, group) >= quorum)
}

function votesOf(votes: readonly ApprovalVote[], group: string): number {
  return votes.filter((given) => given.groups.includes(group)).length
}

/** The ends that are a denied `decision`. */
export function endPending(
  approval: ApprovalRecord,
  state: Extract<ApprovalState, 'denied' | 'expired' | 'cancelled'>,
  now: number,
  detail?: string,
): ApprovalRecord {
  return {
    ...withoutRequest(approval),
    state,
    decidedAt: now,
    endedAt: now,
    denial: { code: state, ...(detail === undefined ? {} : { detail }) },
  }
}

/** The ends of one that was approved. */
export function endApproved(
  approval: ApprovalRecord,
  state: Extract<ApprovalState, 'consumed' | 'lapsed' | 'withdrawn'>,
  now: number,
): ApprovalRecord {
  return { ...withoutRequest(approval), state, endedAt: now }
}

/** The frozen action is kept as long as it can be used. */
function withoutRequest({ request: _request, ...approval }: ApprovalRecord): ApprovalRecord {
  return approval
}

/** What the clock has made of it: nothing yet, or an end that is to be written. At the very instant it is over. */
export function overdue(approval: ApprovalRecord, now: number): 'expired' | 'lapsed' | undefined {
  if (approval.state === 'pending') return now >= approval.approveBy ? 'expired' : undefined
  if (approval.state !== 'approved' || approval.useBy === undefined) return undefined
  return now >= approval.useBy ? 'lapsed' : undefined
}

/** When the clock has something to do with it: end it, or forget it. */
export function deadlineOf(approval: ApprovalRecord): number {
  switch (approval.state) {
    case 'pending':
      return approval.approveBy
    case 'approved':
      return approval.useBy ?? approval.approveBy
    default:
      return (approval.endedAt ?? approval.approveBy) + decidedKeptMs
  }
}

/** Why an approval cannot be used; each is a stable code. */
export type ConsumeRefusal = 'not_found' | 'hash_mismatch' | 'already_consumed' | 'not_approved' | 'expired'

/** Whether this agent may use it for this very action now. To be asked once what was overdue is written. */
export function refuseConsume(
  approval: ApprovalRecord | undefined,
  asked: { readonly agentId: string; readonly actionHash: string; readonly bindingHash: string },
): ConsumeRefusal | undefined {
  // Another agent's is answered like one that never was.
  if (approval === undefined || approval.agentId !== asked.agentId) return 'not_found'
  switch (approval.state) {
    case 'consumed':
      return 'already_consumed'
    case 'pending':
    case 'denied':
    case 'cancelled':
    case 'withdrawn':
      return 'not_approved'
    case 'expired':
    case 'lapsed':
      return 'expired'
    case 'approved':
      break
  }
  const isSame = approval.actionHash === asked.actionHash && approval.bindingHash === asked.bindingHash
  return isSame ? undefined : 'hash_mismatch'
}
