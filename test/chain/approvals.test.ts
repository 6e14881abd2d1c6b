/** Acts on approvals, each in its state: what it becomes, what it leaves in the Chain, and who is told what. */
import { describe, expect, it } from 'vitest'
import { votesMax } from '../../src/chain/approval.ts'
import {
  type ApprovalAct,
  type ApprovalResult,
  actOnApproval,
  endOverdue,
  readApproval,
} from '../../src/chain/approvals.ts'
import type { AdmitResult } from '../../src/chain/draft.ts'
import type { ApprovalState } from '../../src/chain/records.ts'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { type ActionHash, type BindingHash, requestDigest, utf8 } from '../../src/record/index.ts'
import { type DraftGiven, keyFields } from '../harness/drafts.ts'
import { linesOf } from '../harness/follower.ts'
import { MemoryTenant, admittedLine, verdictOf } from '../harness/memory-tenant.ts'
import { wordOfAct } from '../harness/approval-word.ts'

interface Asked {
  readonly id: string
  readonly actionHash: ActionHash
  readonly bindingHash: BindingHash
}

class Approvals extends MemoryTenant {
  constructor() {
    super({ agents: ['bot', 'other'] })
    this.do({ act: 'group.change', group: 'leads', members: ['lena', 'max', 'owner@example.com'] })
    for (const name of ['lena', 'max', 'owner@example.com', 'outsider']) {
      this.do({ act: 'key.issue', key: keyFields(name, { role: 'approver', subject: name }) })
    }
  }

  ask(groups: readonly string[] = ['leads'], quorum = 1): AdmitResult {
    const approval = { groups, quorum }
    return this.admit('bot', {
      evaluation: { decision: 'require_approval', code: 'approval_required', approval },
    })
  }

  asked(quorum = 1): Asked {
    const line = JSON.parse(admittedLine(this.ask(['leads'], quorum))) as {
      readonly action_hash: ActionHash
      readonly policy: { readonly approval_id: string }
      readonly decision_axes: { readonly approval: { readonly binding_hash: BindingHash } }
    }
    return {
      id: line.policy.approval_id,
      actionHash: line.action_hash,
      bindingHash: line.decision_axes.approval.binding_hash,
    }
  }

  act(keyId: string, act: ApprovalAct['act'], { id, bindingHash }: Asked): ApprovalResult {
    const request = utf8(JSON.stringify({ act, id, keyId }))
    return this.verified(() =>
      actOnApproval(this.context(), {
        keyId,
        approvalId: id,
        act,
        bindingHash,
        request,
        requestDigest: requestDigest(request, nodeSuite),
      }),
    )
  }

  consume({ id, actionHash, bindingHash }: Asked, given: DraftGiven = {}): AdmitResult {
    return this.admit('bot', { actionHash, consume: { approvalId: id, actionHash, bindingHash }, ...given })
  }

  stateOf({ id }: Asked): ApprovalState | undefined {
    return this.store.readApproval(id)?.state
  }
}

const approveByMs = 30 * 60_000
const useWithinMs = 10 * 60_000

/** How an approval gets into each state. */
const reach: Readonly<Record<ApprovalState, (tenant: Approvals) => Asked>> = {
  pending: (tenant) => tenant.asked(),
  approved: (tenant) => after(tenant.asked(), (asked) => tenant.act('lena', 'approve', asked)),
  denied: (tenant) => after(tenant.asked(), (asked) => tenant.act('lena', 'deny', asked)),
  expired: (tenant) => after(tenant.asked(), () => wait(tenant, approveByMs)),
  cancelled: (tenant) => after(tenant.asked(), (asked) => tenant.act('bot', 'cancel', asked)),
  consumed: (tenant) => after(reach.approved(tenant), (asked) => tenant.consume(asked)),
  lapsed: (tenant) => after(reach.approved(tenant), () => wait(tenant, useWithinMs)),
  withdrawn: (tenant) => after(reach.approved(tenant), (asked) => tenant.act('max', 'withdraw', asked)),
}

function after(asked: Asked, does: (asked: Asked) => unknown): Asked {
  does(asked)
  return asked
}

function wait(tenant: Approvals, ms: number): void {
  tenant.now += ms
  tenant.verified(() => endOverdue(tenant.context()))
}

/** Event: what comes of it in each state, as `state` when it took effect, else why it did not. */
const events: Readonly<Record<string, (tenant: Approvals, asked: Asked) => string>> = {
  approve: (tenant, asked) => wordOfAct(tenant.act('lena', 'approve', asked)),
  'approve by another': (tenant, asked) => wordOfAct(tenant.act('max', 'approve', asked)),
  deny: (tenant, asked) => wordOfAct(tenant.act('max', 'deny', asked)),
  withdraw: (tenant, asked) => wordOfAct(tenant.act('max', 'withdraw', asked)),
  'cancel by the agent': (tenant, asked) => wordOfAct(tenant.act('bot', 'cancel', asked)),
  'cancel by an admin': (tenant, asked) => wordOfAct(tenant.act('adm', 'cancel', asked)),
  'cancel by another agent': (tenant, asked) => wordOfAct(tenant.act('other', 'cancel', asked)),
  'approve by the owner': (tenant, asked) => wordOfAct(tenant.act('owner@example.com', 'approve', asked)),
  'withdraw by an outsider': (tenant, asked) => wordOfAct(tenant.act('outsider', 'withdraw', asked)),
  'deny by an agent': (tenant, asked) => wordOfAct(tenant.act('bot', 'deny', asked)),
  consume: (tenant, asked) => verdictOf(tenant.consume(asked)),
  'consume by another agent': (tenant, { id, ...hashes }) =>
    verdictOf(
      tenant.admit('other', { actionHash: hashes.actionHash, consume: { approvalId: id, ...hashes } }),
    ),
  alarm: (tenant) => {
    wait(tenant, 0)
    return 'nothing'
  },
}

const everywhere = {
  'cancel by another agent': 'not_found',
  'approve by the owner': 'owner_excluded',
  'withdraw by an outsider': 'not_in_group',
  'deny by an agent': 'role_not_allowed',
  'consume by another agent': 'not_found',
  alarm: 'nothing',
}

const lost = (state: ApprovalState, except: Readonly<Record<string, string>> = {}) => ({
  approve: `lost ${state}`,
  'approve by another': `lost ${state}`,
  deny: `lost ${state}`,
  withdraw: `lost ${state}`,
  'cancel by the agent': `lost ${state}`,
  'cancel by an admin': `lost ${state}`,
  ...everywhere,
  ...except,
})

const expected: Readonly<Record<ApprovalState, Readonly<Record<string, string>>>> = {
  pending: {
    ...everywhere,
    approve: 'approved',
    'approve by another': 'approved',
    deny: 'denied',
    withdraw: 'lost pending',
    'cancel by the agent': 'cancelled',
    'cancel by an admin': 'cancelled',
    consume: 'not_approved',
  },
  approved: lost('approved', { approve: 'approved', withdraw: 'withdrawn', consume: 'allowed' }),
  denied: lost('denied', { consume: 'not_approved' }),
  expired: lost('expired', { consume: 'expired' }),
  cancelled: lost('cancelled', {
    'cancel by the agent': 'cancelled',
    'cancel by an admin': 'cancelled',
    consume: 'not_approved',
  }),
  consumed: lost('consumed', { consume: 'already_consumed' }),
  lapsed: lost('lapsed', { consume: 'expired' }),
  withdrawn: lost('withdrawn', { consume: 'not_approved' }),
}

/** What changed the state: the one decision, the use, the end of an approved one. */
const takesEffect: Readonly<Record<string, readonly string[]>> = {
  approved: ['decision'],
  denied: ['decision'],
  cancelled: ['decision'],
  withdrawn: ['intent', 'outcome'],
}

describe.each(Object.keys(reach) as ApprovalState[])('one that is %s', (state) => {
  it.each(Object.keys(events))('meets: %s', (event) => {
    const tenant = new Approvals()
    const asked = reach[state](tenant)
    expect(tenant.stateOf(asked)).toBe(state)
    const before = linesOf(tenant.chain).length
    const answer = events[event]?.(tenant, asked)
    expect(answer).toBe(expected[state][event])
    const added = linesOf(tenant.chain)
      .slice(before)
      .map((line) => (JSON.parse(line) as { readonly line_type: string }).line_type)
    expect([tenant.stateOf(asked), added]).toEqual(leaves(state, event, answer ?? ''))
  })
})

/** The state after it, and the Lines: what changed nothing leaves a Call only where somebody was refused. */
function leaves(state: ApprovalState, event: string, answer: string): [string, readonly string[]] {
  const call = ['intent', 'outcome']
  if (event.startsWith('consume')) return [answer === 'allowed' ? 'consumed' : state, call]
  const lines = answer === state ? undefined : takesEffect[answer]
  if (lines !== undefined) return [answer, lines]
  return [state, /^(owner_excluded|not_in_group|role_not_allowed)$/.test(answer) ? call : []]
}

describe('a deadline', () => {
  it.each([
    ['approve', -1, 'approved'],
    ['approve', 0, 'lost expired'],
    ['approve', 1, 'lost expired'],
    ['deny', 0, 'lost expired'],
    ['cancel by the agent', 0, 'lost expired'],
    ['consume', 0, 'expired'],
  ])('to decide: %s %s ms from it: %s', (event, ms, answer) => {
    const tenant = new Approvals()
    const asked = tenant.asked()
    tenant.now += approveByMs + ms
    expect(events[event]?.(tenant, asked)).toBe(answer)
    expect(tenant.stateOf(asked)).toBe(ms < 0 ? 'approved' : 'expired')
  })

  it.each([
    ['consume', -1, 'allowed', 'consumed'],
    ['consume', 0, 'expired', 'lapsed'],
    ['consume', 1, 'expired', 'lapsed'],
    ['withdraw', -1, 'withdrawn', 'withdrawn'],
    ['withdraw', 0, 'lost lapsed', 'lapsed'],
  ])('to use: %s %s ms from it: %s', (event, ms, answer, state) => {
    const tenant = new Approvals()
    const asked = reach.approved(tenant)
    tenant.now += useWithinMs + ms
    expect(events[event]?.(tenant, asked)).toBe(answer)
    expect(tenant.stateOf(asked)).toBe(state)
  })

  it('is written once, whoever looks first', () => {
    const tenant = new Approvals()
    const asked = tenant.asked()
    tenant.now += approveByMs
    for (let look = 0; look < 3; look += 1) {
      expect(wordOfAct(tenant.verified(() => readApproval(tenant.context(), 'bot', asked.id)))).toBe(
        'expired',
      )
      wait(tenant, 0)
    }
    const decisions = linesOf(tenant.chain).filter((line) => line.includes('"line_type":"decision"'))
    expect(decisions).toHaveLength(1)
    expect(tenant.store.readHead().pendingApprovals).toBe(0)
  })
})

describe('the same request_id', () => {
  it('for another approval is another request, though the bytes are the same', () => {
    const tenant = new Approvals()
    const [first, second] = [reach.approved(tenant), reach.approved(tenant)]
    const { actionHash, bindingHash } = second
    const given = { requestId: 'r', body: 'the same bytes', actionHash }
    // The body of the second, sent to the first.
    const astray = { approvalId: first.id, actionHash, bindingHash }
    expect(verdictOf(tenant.admit('bot', { ...given, consume: astray }))).toBe('hash_mismatch')
    expect(verdictOf(tenant.consume(second, given))).toBe('allowed')
    expect(tenant.consume(second, given).kind).toBe('repeated')
    expect(tenant.stateOf(first)).toBe('approved')
  })
})

describe('a draft of another action than the one that was approved', () => {
  it('is a fault, and writes nothing', () => {
    const tenant = new Approvals()
    const asked = reach.approved(tenant)
    const before = linesOf(tenant.chain).length
    expect(() => tenant.consume(asked, { actionHash: 'd'.repeat(64) as ActionHash })).toThrow(
      'another action',
    )
    expect(() => tenant.consume(asked, { evaluation: { toolId: 'bank.pay' } })).toThrow('another action')
    expect(linesOf(tenant.chain)).toHaveLength(before)
    expect(tenant.stateOf(asked)).toBe('approved')
  })
})

const keyOf = (at: number) => `voter${String(at).padStart(11, '0')}`

describe('more votes than a decision can hold', () => {
  it('are not asked for', () => {
    const tenant = new Approvals()
    const groups = ['one', 'two', 'three', 'four', 'five']
    const members = Array.from({ length: 20 }, (_, index) => `${'"'.repeat(250)}${String(index)}`)
    for (const group of groups) tenant.do({ act: 'group.change', group, members })
    expect(verdictOf(tenant.ask(groups, 20))).toBe('quorum_unreachable')
    expect(verdictOf(tenant.ask(groups.slice(1), votesMax / 4))).toBe('pending_approval')
  })

  it('and as many as it can hold are one Line', () => {
    const tenant = new Approvals()
    const groups = ['one', 'two', 'three', 'four'].map((name) => name.padEnd(64, '-'))
    const names = Array.from({ length: votesMax }, (_, index) => `${'"'.repeat(250)}${String(index)}`)
    for (const [at, group] of groups.entries()) {
      tenant.do({ act: 'group.change', group, members: names.slice(at * 20, at * 20 + 20) })
    }
    for (const [at, subject] of names.entries()) {
      const fields = keyFields(keyOf(at), { role: 'approver', subject })
      tenant.do({ act: 'key.issue', key: fields })
    }
    const line = JSON.parse(admittedLine(tenant.ask(groups, 20))) as {
      readonly policy: { readonly approval_id: string }
      readonly decision_axes: { readonly approval: { readonly binding_hash: BindingHash } }
    }
    const asked: Asked = {
      id: line.policy.approval_id,
      actionHash: '' as ActionHash,
      bindingHash: line.decision_axes.approval.binding_hash,
    }
    const answers = names.map((_, at) => wordOfAct(tenant.act(keyOf(at), 'approve', asked)))
    expect(answers.at(-2)).toBe('pending')
    expect(answers.at(-1)).toBe('approved')
  })
})
