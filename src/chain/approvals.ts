/**
 * Acts on approvals (authorize.md §4), each in one transaction: a person approves, denies or withdraws, an agent or an
 * admin cancels, the clock ends what is over. Every end is a Line: the one `decision` of a pending approval, or the Call
 * that says what became of an approved one. Whoever loses a race changes nothing and leaves no Line.
 */
import {
  type BindingHash,
  type DecisionDraft,
  type RequestDigest,
  encodeCanonical,
  noPolicySet,
  requestDigest,
} from '../record/index.ts'
import { type RecordedActor, appendEntry } from './administrative-call.ts'
import { append } from './append.ts'
import {
  type Voter,
  type VoterRefusal,
  deadlineOf,
  endApproved,
  endPending,
  endedStates,
  openStates,
  overdue,
  refuseVoter,
  vote,
} from './approval.ts'
import { leaveToRead } from './consult.ts'
import { envelopeNote } from './envelopes.ts'
import { readLiveKey } from './key.ts'
import type { ChainContext } from './ports.ts'
import type { ApprovalRecord, ApprovalState, KeyRecord, Role, TenantRecord } from './records.ts'
import { countRefusedAct } from './refusals.ts'
import { foldSubject } from './subject.ts'
import { type Unavailable, unavailable } from './unavailable.ts'

export interface ApprovalAct {
  readonly keyId: string
  readonly approvalId: string
  readonly act: 'approve' | 'deny' | 'cancel' | 'withdraw'
  /** Of what was shown; for all but `cancel`. */
  readonly bindingHash?: BindingHash
  /** Of a denial; at most 512 bytes. */
  readonly reasonText?: string
  /** The request's body, verbatim, and its SHA-256. */
  readonly request: Uint8Array
  readonly requestDigest: RequestDigest
}

export type ApprovalRefusal = VoterRefusal | 'role_not_allowed' | 'approval_changed'

/** Who looks: an agent at its own, an approver at what his groups were asked, an admin at all, without what was asked. */
export type ApprovalViewer = 'agent' | 'approver' | 'admin'

export type ApprovalResult =
  /** As it is now. */
  | { readonly kind: 'approval'; readonly approval: ApprovalRecord; readonly viewer: ApprovalViewer }
  /** Decided already, or not in the state that the act needs: nothing changed. */
  | { readonly kind: 'lost'; readonly state: ApprovalState }
  /** Recorded, and nothing changed. */
  | { readonly kind: 'refused'; readonly code: ApprovalRefusal; readonly callId: string }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'limited'; readonly retryAfterMs: number }
  | { readonly kind: 'unauthorized' }
  | Unavailable

const everyRole: readonly Role[] = ['agent', 'approver', 'auditor', 'admin']
const deciders: readonly Role[] = ['approver']

/** One act in its own transaction. */
export function actOnApproval(context: ChainContext, act: ApprovalAct): ApprovalResult {
  const { store } = context
  return store.transaction(() => {
    const leave = leaveToRead(context, act.keyId, everyRole)
    if (leave.kind !== 'granted') return leave
    const tenant = store.readTenant()
    const key = readLiveKey(context, act.keyId, everyRole)
    if (tenant === undefined || key === undefined) return { kind: 'unauthorized' }
    if (!store.hasRoom()) return unavailable('storage_full')
    settleOverdue(context, tenant, act.approvalId)
    const approval = store.readApproval(act.approvalId)
    if (act.act === 'cancel') return cancel(context, tenant, key, approval)
    if (approval === undefined) return { kind: 'not_found' }
    if (!deciders.includes(key.role)) return refuse(context, tenant, key, act, 'role_not_allowed')
    const voter = toVoter(context, key, approval)
    const ownerNow = store.readAgent(approval.agentId)?.owner ?? ''
    const code = refuseVoter(approval, voter, ownerNow)
    if (code !== undefined) return refuse(context, tenant, key, act, code)
    const wanted = act.act === 'withdraw' ? 'approved' : 'pending'
    if (approval.state !== wanted) return repeatOrLost(approval, voter, act)
    if (act.bindingHash !== approval.bindingHash) return refuse(context, tenant, key, act, 'approval_changed')
    switch (act.act) {
      case 'approve':
        return approve(context, tenant, approval, voter, ownerNow)
      case 'deny':
        return deny(context, tenant, approval, voter, act.reasonText)
      case 'withdraw':
        return withdraw(context, tenant, key, approval, act)
    }
  })
}

/** The one whose own vote decided it asks twice: the answer is the same. Everyone else has lost. */
function repeatOrLost(
  approval: ApprovalRecord,
  voter: Voter,
  { act, bindingHash }: ApprovalAct,
): ApprovalResult {
  const subject = foldSubject(voter.subject)
  const isHis = approval.votes.some((given) => given.subject === subject)
  const isSame = bindingHash === approval.bindingHash
  if (act === 'approve' && approval.state === 'approved' && isHis && isSame) return show(approval)
  return { kind: 'lost', state: approval.state }
}

function approve(
  context: ChainContext,
  tenant: TenantRecord,
  approval: ApprovalRecord,
  voter: Voter,
  ownerNow: string,
): ApprovalResult {
  const voted = vote(approval, voter, ownerNow, context.now)
  switch (voted.kind) {
    case 'unchanged':
      return show(approval)
    case 'counted':
      write(context, voted.approval)
      return show(voted.approval)
    case 'approved':
      decide(context, tenant, voted.approval, {
        verdict: { verdict: 'approved', scope: { tool_id: approval.toolId } },
      })
      return show(voted.approval)
  }
}

function deny(
  context: ChainContext,
  tenant: TenantRecord,
  approval: ApprovalRecord,
  { subject, apiKey, groups }: Voter,
  reasonText: string | undefined,
): ApprovalResult {
  const ended = endPending(approval, 'denied', context.now, reasonText)
  const given = { subject: foldSubject(subject), apiKey, groups: [...groups].sort(), at: context.now }
  // Who denied stands last, also if he had approved before.
  const votes = [...approval.votes.filter((other) => other.subject !== given.subject), given]
  const denied = { ...ended, votes }
  decide(context, tenant, denied, {
    verdict: { verdict: 'denied', reason: 'denied' },
    ...(reasonText === undefined ? {} : { reason_text: reasonText }),
  })
  return show(denied)
}

function withdraw(
  context: ChainContext,
  tenant: TenantRecord,
  key: KeyRecord,
  approval: ApprovalRecord,
  act: ApprovalAct,
): ApprovalResult {
  appendEntry(context, tenant, {
    ...entryOf(context, tenant, key, act),
    toolId: 'aegis/approval.withdraw',
  })
  const withdrawn = endApproved(approval, 'withdrawn', context.now)
  write(context, withdrawn)
  return show(withdrawn)
}

/** By the agent that asked, or by an admin; anyone else learns nothing. */
function cancel(
  context: ChainContext,
  tenant: TenantRecord,
  key: KeyRecord,
  approval: ApprovalRecord | undefined,
): ApprovalResult {
  const isTheirs = key.role === 'agent' ? approval?.agentId === key.agentId : key.role === 'admin'
  if (approval === undefined || !isTheirs) return { kind: 'not_found' }
  if (approval.state === 'cancelled') return show(approval, key)
  if (approval.state !== 'pending') return { kind: 'lost', state: approval.state }
  const cancelled = endPending(approval, 'cancelled', context.now)
  decide(context, tenant, cancelled, {
    verdict: { verdict: 'denied', reason: 'cancelled' },
    actor: toActor(key),
  })
  return show(cancelled, key)
}

/** The one `decision` of an approval, and that it is pending no more. */
function decide(
  context: ChainContext,
  tenant: TenantRecord,
  approval: ApprovalRecord,
  how: Pick<DecisionDraft, 'verdict' | 'actor' | 'reason_text'>,
): void {
  const { store, now } = context
  const stored = store.readHead()
  const counted = { ...stored, pendingApprovals: Math.max(0, stored.pendingApprovals - 1) }
  const draft: DecisionDraft = {
    line_type: 'decision',
    approval_id: approval.approvalId,
    ...how,
    action_hash: approval.actionHash,
    binding_hash: approval.bindingHash,
    approvers: approval.votes.map(({ subject, apiKey, groups, at }) => ({
      subject,
      api_key: apiKey,
      groups: [...groups],
      at,
    })),
    decided_at: now,
  }
  const appended = append(context, tenant, stored, counted, [draft])
  if (appended.kind === 'too_long') throw new Error('a decision is too long')
  const counters = store.readCounters(approval.agentId)
  if (counters !== undefined) {
    store.writeCounters({ ...counters, pendingApprovals: Math.max(0, counters.pendingApprovals - 1) })
  }
  write(context, approval)
}

/** Keeps it, and the time at which the clock has something to do with any of them. */
export function write({ store }: ChainContext, approval: ApprovalRecord): void {
  const deadline = deadlineOf(approval)
  store.writeApproval(approval, deadline)
  const due = store.listDue().find(({ name }) => name === 'approvals')
  if (due === undefined || deadline < due.at) store.writeDue({ name: 'approvals', at: deadline, attempts: 0 })
}

/** Writes the end of one approval whose time is over, whoever came to look at it. In the caller's transaction. */
export function settleOverdue(context: ChainContext, tenant: TenantRecord, approvalId: string): void {
  const approval = context.store.readApproval(approvalId)
  const end = approval === undefined ? undefined : overdue(approval, context.now)
  if (approval === undefined || end === undefined) return
  if (end === 'expired') {
    decide(context, tenant, endPending(approval, 'expired', context.now), {
      verdict: { verdict: 'denied', reason: 'expired' },
    })
    return
  }
  const request = encodeCanonical({ approval_id: approvalId, cause: 'alarm' })
  appendEntry(context, tenant, {
    toolId: 'aegis/approval.lapse',
    requestDigest: requestDigest(request, context.suite),
    policySetHash: tenant.policySetHash ?? noPolicySet,
    actor: { role: 'system' },
    envelope: { envelope: 'off' },
    request,
    approvalRef: approvalId,
  })
  write(context, endApproved(approval, 'lapsed', context.now))
}

/** Of one alarm: about a second of appending. */
const endingsPerRun = 256

/**
 * What the alarm does with approvals: ends what is over, forgets what was decided long ago.
 *
 * @returns when there is more to do, or `undefined`.
 */
export function endOverdue(context: ChainContext): number | undefined {
  const { store, now } = context
  return store.transaction(() => {
    const tenant = store.readTenant()
    if (tenant === undefined) return undefined
    for (const state of openStates) {
      for (const id of store.listOverdueApprovals(state, now, endingsPerRun))
        settleOverdue(context, tenant, id)
    }
    for (const state of endedStates) {
      for (const id of store.listOverdueApprovals(state, now, endingsPerRun)) store.deleteApproval(id)
    }
    return store.nextApprovalDeadline()
  })
}

function refuse(
  context: ChainContext,
  tenant: TenantRecord,
  key: KeyRecord,
  act: ApprovalAct,
  code: ApprovalRefusal,
): ApprovalResult {
  const retryAfterMs = key.agentId === undefined ? undefined : countRefusedAct(context, tenant, key.agentId)
  if (retryAfterMs !== undefined) return { kind: 'limited', retryAfterMs }
  const { callId } = appendEntry(context, tenant, {
    ...entryOf(context, tenant, key, act),
    toolId: `aegis/approval.${act.act}`,
    refusal: code,
  })
  return { kind: 'refused', code, callId }
}

function entryOf(context: ChainContext, tenant: TenantRecord, key: KeyRecord, act: ApprovalAct) {
  return {
    requestDigest: act.requestDigest,
    policySetHash: tenant.policySetHash ?? noPolicySet,
    actor: toActor(key),
    envelope: envelopeNote(context, tenant, act.requestDigest),
    request: act.request,
    approvalRef: act.approvalId,
    ...(key.agentId === undefined ? {} : { agentId: key.agentId }),
  }
}

function toActor(key: KeyRecord): RecordedActor {
  return { role: key.role, api_key: key.id, subject: key.subject }
}

function toVoter({ store }: ChainContext, key: KeyRecord, approval: ApprovalRecord): Voter {
  const subject = foldSubject(key.subject)
  const groups = approval.groups.filter((group) => store.readGroup(group)?.members.includes(subject) === true)
  return { subject, apiKey: key.id, groups }
}

function show(approval: ApprovalRecord, key?: KeyRecord): ApprovalResult {
  const viewer = key?.role === 'agent' || key?.role === 'admin' ? key.role : 'approver'
  return { kind: 'approval', approval, viewer }
}

/** One approval, for whoever may see it. What is over by the clock has its end written first. */
export function readApproval(context: ChainContext, keyId: string, approvalId: string): ApprovalResult {
  const { store } = context
  return store.transaction(() => {
    const leave = leaveToRead(context, keyId, ['agent', 'approver', 'admin'])
    if (leave.kind !== 'granted') return leave
    const tenant = store.readTenant()
    const key = readLiveKey(context, keyId, ['agent', 'approver', 'admin'])
    if (tenant === undefined || key === undefined) return { kind: 'unauthorized' }
    settleOverdue(context, tenant, approvalId)
    const approval = store.readApproval(approvalId)
    if (approval === undefined || !maySee(context, key, approval)) return { kind: 'not_found' }
    return show(approval, key)
  })
}

export type ApprovalsResult =
  | {
      readonly kind: 'approvals'
      readonly approvals: readonly ApprovalRecord[]
      readonly viewer: ApprovalViewer
      /** To be given as `after`, when there may be more. */
      readonly next?: string
    }
  | { readonly kind: 'limited'; readonly retryAfterMs: number }
  | { readonly kind: 'unauthorized' }
  | Unavailable

/** Looked at for one page: what the caller may not see counts too, so that a page costs what it costs. */
const approvalsPerPage = 200

/** A page of approvals that the caller may see; without the frozen requests. */
export function listApprovals(
  context: ChainContext,
  keyId: string,
  { state, after }: { readonly state?: ApprovalState; readonly after: string },
): ApprovalsResult {
  const { store } = context
  return store.transaction(() => {
    const leave = leaveToRead(context, keyId, ['agent', 'approver', 'admin'])
    if (leave.kind !== 'granted') return leave
    const key = readLiveKey(context, keyId, ['agent', 'approver', 'admin'])
    if (key === undefined) return { kind: 'unauthorized' }
    endOverdue(context)
    const found = store.listApprovals(state, after, approvalsPerPage)
    const last = found.at(-1)
    return {
      kind: 'approvals',
      approvals: found.filter((approval) => maySee(context, key, approval)),
      viewer: key.role === 'agent' || key.role === 'admin' ? key.role : 'approver',
      ...(found.length < approvalsPerPage || last === undefined ? {} : { next: last.approvalId }),
    }
  })
}

function maySee(context: ChainContext, key: KeyRecord, approval: ApprovalRecord): boolean {
  switch (key.role) {
    case 'agent':
      return approval.agentId === key.agentId
    case 'approver':
      return toVoter(context, key, approval).groups.length > 0
    case 'admin':
      return true
    case 'auditor':
      return false
  }
}

export type FrozenResult =
  | { readonly kind: 'frozen'; readonly approval: ApprovalRecord }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unauthorized' }
  | Unavailable

/** The frozen action for its agent, to be decided again. Costs nothing: the consume that follows draws. */
export function readFrozen(context: ChainContext, keyId: string, approvalId: string): FrozenResult {
  const { store } = context
  const key = store.readTenant() === undefined ? undefined : readLiveKey(context, keyId, ['agent'])
  if (key === undefined) return { kind: 'unauthorized' }
  const approval = store.readApproval(approvalId)
  if (approval === undefined || approval.agentId !== key.agentId) return { kind: 'absent' }
  return { kind: 'frozen', approval }
}
