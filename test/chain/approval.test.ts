/** An approval as a state machine: who may vote, when votes are enough, what the clock does, what can be used. */
import { describe, expect, it } from 'vitest'
import {
  type Voter,
  decidedKeptMs,
  deadlineOf,
  endApproved,
  endPending,
  meets,
  overdue,
  refuseConsume,
  refuseVoter,
  vote,
} from '../../src/chain/approval.ts'
import type { ApprovalRecord, ApprovalState, ApprovalVote } from '../../src/chain/records.ts'
import { foldSubject } from '../../src/chain/subject.ts'
import type { ActionHash, BindingHash, RequestDigest } from '../../src/record/index.ts'

const t0 = Date.UTC(2026, 10, 30, 12)
const approveBy = t0 + 30 * 60_000
const useWithinMs = 10 * 60_000
const hashes = { actionHash: 'a'.repeat(64) as ActionHash, bindingHash: 'b'.repeat(64) as BindingHash }

function pending(given: Partial<ApprovalRecord> = {}): ApprovalRecord {
  return {
    approvalId: 'apr_1',
    state: 'pending',
    agentId: 'bot',
    owner: 'Owner@Example.com',
    callId: 'call_1',
    toolId: 'github.merge_pr',
    sessionIndex: 0,
    seq: 2,
    requestedAt: t0,
    approveBy,
    useWithinMs,
    groups: ['leads'],
    quorum: 1,
    ...hashes,
    requestDigest: 'c'.repeat(64) as RequestDigest,
    line: '{}',
    votes: [],
    request: new Uint8Array([1]),
    ...given,
  }
}

function voter(subject: string, groups: readonly string[] = ['leads']): Voter {
  return { subject, apiKey: `key-of-${subject}`, groups }
}

function given(subject: string, groups: readonly string[] = ['leads']): ApprovalVote {
  return { subject, apiKey: 'k', groups, at: t0 }
}

/** Votes one after another, a second apart; the approval after the last of them. */
function voted(approval: ApprovalRecord, voters: readonly Voter[], ownerNow = 'nobody'): ApprovalRecord {
  return voters.reduce((so, one, index) => {
    const result = vote(so, one, ownerNow, t0 + (index + 1) * 1_000)
    return result.kind === 'unchanged' ? so : result.approval
  }, approval)
}

const approved = () => voted(pending(), [voter('lena')])

/** One approval in each state, made by the module's own steps. */
const inState: Readonly<Record<ApprovalState, () => ApprovalRecord>> = {
  pending,
  approved,
  denied: () => endPending(pending(), 'denied', t0 + 1, 'no'),
  expired: () => endPending(pending(), 'expired', approveBy),
  cancelled: () => endPending(pending(), 'cancelled', t0 + 1),
  consumed: () => endApproved(approved(), 'consumed', t0 + 2_000),
  lapsed: () => endApproved(approved(), 'lapsed', t0 + 1_000 + useWithinMs),
  withdrawn: () => endApproved(approved(), 'withdrawn', t0 + 2_000),
}
const states = Object.keys(inState) as ApprovalState[]

describe('who may vote', () => {
  it.each([
    ['', ['leads'], 'subject_required'],
    ['owner@example.com', ['leads'], 'owner_excluded'],
    ['OWNER@EXAMPLE.COM', ['leads'], 'owner_excluded'],
    ['new-owner@example.com', ['leads'], 'owner_excluded'],
    ['New-Owner@example.com', [], 'owner_excluded'],
    ['lena', [], 'not_in_group'],
    ['lena', ['leads'], undefined],
  ])('%j in %j: %s', (subject, groups, refusal) => {
    expect(refuseVoter(pending(), voter(subject, groups), 'new-owner@EXAMPLE.com')).toBe(refusal)
  })

  it('an agent without an owner excludes nobody, and still no empty subject votes', () => {
    const ownerless = pending({ owner: '' })
    expect(refuseVoter(ownerless, voter('lena'), '')).toBeUndefined()
    expect(refuseVoter(ownerless, voter(''), '')).toBe('subject_required')
  })

  it('folds ASCII letters and nothing else', () => {
    expect(foldSubject('AZ@Éa')).toBe('az@Éa')
    // KELVIN SIGN and LATIN SMALL LETTER DOTLESS I are not the letters that Unicode folds them to.
    for (const other of ['\u212Aim', 'k\u0131m', 'kim\u200B', ' kim', 'kim ']) {
      expect(refuseVoter(pending({ owner: 'kim' }), voter(other), 'kim')).toBeUndefined()
      expect(voted(pending({ quorum: 2 }), [voter('kim'), voter(other)]).state).toBe('approved')
    }
    expect(refuseVoter(pending({ owner: 'kim' }), voter('KIM'), '')).toBe('owner_excluded')
  })
})

describe('a vote', () => {
  it('approves at the quorum, from then on for the time to use it', () => {
    const result = vote(pending(), voter('Lena'), 'nobody', t0 + 5)
    expect(result).toEqual({
      kind: 'approved',
      approval: {
        ...pending(),
        state: 'approved',
        decidedAt: t0 + 5,
        useBy: t0 + 5 + useWithinMs,
        votes: [{ subject: 'lena', apiKey: 'key-of-Lena', groups: ['leads'], at: t0 + 5 }],
      },
    })
  })

  it('of one subject counts once, however it is spelt and whichever key it comes with', () => {
    const asked = pending({ quorum: 2 })
    const once = voted(asked, [voter('lena'), voter('LENA'), { ...voter('Lena'), apiKey: 'another' }])
    expect([once.state, once.votes.length]).toEqual(['pending', 1])
    expect(vote(once, voter('LENA'), 'nobody', t0 + 9)).toEqual({ kind: 'unchanged' })
    expect(voted(once, [voter('max')]).state).toBe('approved')
  })

  it('of three is approved by the third and not before', () => {
    const asked = pending({ quorum: 3 })
    expect(voted(asked, [voter('a'), voter('b')]).state).toBe('pending')
    expect(voted(asked, [voter('a'), voter('b'), voter('c')])).toMatchObject({
      state: 'approved',
      decidedAt: t0 + 3_000,
      votes: [{ subject: 'a' }, { subject: 'b' }, { subject: 'c' }],
    })
  })

  it('is needed in every group, and one person may be in several', () => {
    const asked = pending({ groups: ['leads', 'security'] })
    expect(voted(asked, [voter('a', ['leads'])]).state).toBe('pending')
    expect(voted(asked, [voter('a', ['leads']), voter('b', ['security'])]).state).toBe('approved')
    expect(voted(asked, [voter('a', ['security', 'leads'])])).toMatchObject({
      state: 'approved',
      votes: [{ groups: ['leads', 'security'] }],
    })
    const two = pending({ groups: ['leads', 'security'], quorum: 2 })
    const both = ['leads', 'security']
    expect(voted(two, [voter('a', both), voter('b', ['leads'])]).state).toBe('pending')
    expect(voted(two, [voter('a', both), voter('b', ['leads']), voter('c', ['security'])]).state).toBe(
      'approved',
    )
  })

  it('counts in the groups that he was in when he voted, not in those that he joined since', () => {
    const asked = pending({ groups: ['leads', 'security'] })
    const first = voted(asked, [voter('a', ['leads'])])
    expect(vote(first, voter('a', ['leads', 'security']), 'nobody', t0 + 9)).toEqual({ kind: 'unchanged' })
  })

  it('that no group needs any more is not kept', () => {
    const asked = pending({ groups: ['leads', 'security'] })
    const first = voted(asked, [voter('a', ['leads'])])
    expect(vote(first, voter('b', ['leads']), 'nobody', t0 + 9)).toEqual({ kind: 'unchanged' })
  })

  it('stops counting once its subject owns the agent, and does not stand in the decision', () => {
    const asked = pending({ quorum: 2 })
    const first = voted(asked, [voter('a')])
    const second = vote(first, voter('b'), 'A', t0 + 2_000)
    expect(second).toMatchObject({ kind: 'counted', approval: { state: 'pending' } })
    if (second.kind !== 'counted') throw new Error('unreachable')
    const third = vote(second.approval, voter('c'), 'a', t0 + 3_000)
    expect(third).toMatchObject({
      kind: 'approved',
      approval: { votes: [{ subject: 'b' }, { subject: 'c' }] },
    })
    // Others may still be needed in the place of one that no longer counts.
    expect(
      vote(voted(pending({ quorum: 1, groups: ['x', 'leads'] }), [voter('a')]), voter('b'), 'a', t0),
    ).toMatchObject({ kind: 'counted' })
  })

  it('counts again when its subject owns the agent no longer, as soon as anyone votes', () => {
    const asked = pending({ quorum: 2 })
    const while_ = vote(voted(asked, [voter('a')]), voter('b'), 'a', t0 + 2_000)
    if (while_.kind !== 'counted') throw new Error('unreachable')
    const again = vote(while_.approval, voter('b'), 'someone else', t0 + 3_000)
    expect(again).toMatchObject({
      kind: 'approved',
      approval: { votes: [{ subject: 'a' }, { subject: 'b', at: t0 + 2_000 }] },
    })
  })
})

describe('votes are enough', () => {
  const votes = [given('a'), given('b', ['leads', 'security'])]
  it.each([
    [['leads'], 1, true],
    [['leads'], 2, true],
    [['leads'], 3, false],
    [['leads', 'security'], 1, true],
    [['leads', 'security'], 2, false],
    [['finance'], 1, false],
    // Nobody asked is not everybody agreed.
    [[], 1, false],
    [['leads'], 0, false],
    [['leads'], -1, false],
  ])('for %j by %s: %s', (groups, quorum, enough) => {
    expect(meets(votes, groups, quorum)).toBe(enough)
  })
})

describe('the clock', () => {
  const useBy = t0 + 1_000 + useWithinMs
  it.each([
    ['pending', approveBy - 1, undefined],
    ['pending', approveBy, 'expired'],
    ['pending', approveBy + 1, 'expired'],
    ['approved', approveBy + 1, 'lapsed'],
    ['approved', useBy - 1, undefined],
    ['approved', useBy, 'lapsed'],
    ['approved', useBy + 1, 'lapsed'],
  ] as const)('makes of one that is %s at %s: %s', (state, now, end) => {
    expect(overdue(inState[state](), now)).toBe(end)
  })

  it('makes nothing of one that has ended', () => {
    for (const state of states.filter((name) => name !== 'pending' && name !== 'approved')) {
      expect(overdue(inState[state](), Number.MAX_SAFE_INTEGER)).toBeUndefined()
    }
  })

  it.each([
    ['pending', approveBy],
    ['approved', useBy],
    ['denied', t0 + 1 + decidedKeptMs],
    ['expired', approveBy + decidedKeptMs],
    ['cancelled', t0 + 1 + decidedKeptMs],
    ['consumed', t0 + 2_000 + decidedKeptMs],
    ['lapsed', useBy + decidedKeptMs],
    ['withdrawn', t0 + 2_000 + decidedKeptMs],
  ] as const)('has next to do with one that is %s at %s', (state, at) => {
    expect(deadlineOf(inState[state]())).toBe(at)
  })
})

describe('the end', () => {
  it('takes the frozen request away, in every state but the two that can be used', () => {
    for (const state of states) {
      const kept = state === 'pending' || state === 'approved'
      expect([state, inState[state]().request !== undefined]).toEqual([state, kept])
      expect(inState[state]().state).toBe(state)
    }
  })

  it('of a pending one says when and why', () => {
    expect(inState.denied()).toMatchObject({
      decidedAt: t0 + 1,
      endedAt: t0 + 1,
      denial: { code: 'denied', detail: 'no' },
    })
    expect(inState.expired().denial).toEqual({ code: 'expired' })
  })

  it('of an approved one keeps when it was decided, and by whom', () => {
    expect(inState.consumed()).toMatchObject({ decidedAt: t0 + 1_000, endedAt: t0 + 2_000 })
    expect(inState.consumed().votes).toHaveLength(1)
  })
})

describe('a use', () => {
  const asked = { agentId: 'bot', ...hashes }
  it.each([
    ['pending', 'not_approved'],
    ['approved', undefined],
    ['denied', 'not_approved'],
    ['expired', 'expired'],
    ['cancelled', 'not_approved'],
    ['consumed', 'already_consumed'],
    ['lapsed', 'expired'],
    ['withdrawn', 'not_approved'],
  ] as const)('of one that is %s: %s', (state, refusal) => {
    expect(refuseConsume(inState[state](), asked)).toBe(refusal)
  })

  it('by another agent is like one that never was, in every state', () => {
    expect(refuseConsume(undefined, asked)).toBe('not_found')
    for (const state of states) {
      expect(refuseConsume(inState[state](), { ...asked, agentId: 'other' })).toBe('not_found')
    }
  })

  it.each([
    { actionHash: hashes.bindingHash },
    { bindingHash: hashes.actionHash },
    { actionHash: hashes.actionHash.toUpperCase() },
    { bindingHash: '' },
  ])('with %j is for another action', (other) => {
    expect(refuseConsume(approved(), { ...asked, ...other })).toBe('hash_mismatch')
  })
})
