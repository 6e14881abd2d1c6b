/**
 * Whether a 200 fits the request that was sent, and whether its parts say the same thing (authorize.md §6): the receipt
 * is the proof, so every member of the answer that matters must stand in it. The first difference is an error; nothing
 * is repaired. With pinned keys the signature is checked too; without them these checks catch an answer that belongs to
 * something else, but not a server that lies.
 */
import type { ActionHash, ToolCall } from '../record/index.ts'
import type { Answer, Receipted } from './answer.ts'
import { AegisAnswerError } from './errors.ts'
import { at, textAt } from './receipt.ts'
import type { Trust } from './trust.ts'

/** What every receipt must be about, and what the client knows without asking. */
export interface Asked {
  readonly tenant: string
  readonly agentId: string | undefined
  readonly requestDigest: string
  readonly trust: Trust
  /** The client's wall clock when the first request left, and now. */
  readonly sentAt: number
  readonly now: number
  readonly clockSkewMs: number
}

/** Of an authorize or a consume. */
export interface Expectation extends Asked {
  readonly toolCall: ToolCall
  readonly actionHash: ActionHash
  /** Of a consume: the approval that it uses, the Call that asked for it, and that Call's request. */
  readonly consumed:
    { readonly approvalId: string; readonly callId: string; readonly requestDigest: string } | undefined
}

/** @throws AegisAnswerError for the first check that fails. */
export function checkAnswer(answer: Answer, expected: Expectation): void {
  const { outcome } = answer
  checkIdentity(answer, expected)
  if (outcome['action_hash'] !== expected.actionHash) throw differs(answer, 'another action')
  // A tool's id is never empty, and an act of ours begins like this.
  if (/^(aegis\/|$)/.test(textAt(outcome, 'tool_id'))) throw differs(answer, 'an administrative act')
  const { consumed } = expected
  if (
    at(outcome, 'decision_axes', 'approval_ref') !== consumed?.approvalId ||
    at(outcome, 'decision_axes', 'call_ref') !== consumed?.callId ||
    at(outcome, 'decision_axes', 'authorized_digest') !== consumed?.requestDigest
  ) {
    throw differs(answer, 'another approval')
  }
  checkDecision(answer)
  checkGrant(answer, expected)
  checkApproval(answer, expected)
  checkSignature(answer, expected, answer.decision === 'allow' ? expected.toolCall : undefined)
  checkTime(answer, expected)
}

/** That a report was recorded, with what was reported. */
export function checkReport(
  answer: Receipted,
  expected: Asked,
  reported: { readonly callId: string; readonly grantId: string; readonly status: string },
): void {
  const { outcome } = answer
  checkIdentity(answer, expected)
  const same =
    outcome['tool_id'] === 'aegis/report' &&
    outcome['grant_id'] === reported.grantId &&
    at(outcome, 'decision_axes', 'call_ref') === reported.callId &&
    at(outcome, 'policy', 'status') === 'allowed' &&
    at(outcome, 'execution', 'status') === reported.status
  if (!same) throw differs(answer, 'another report')
  checkSignature(answer, expected, undefined)
  checkTime(answer, expected)
}

/** That it is about this request, by this agent, in this tenant's Chain. */
function checkIdentity(answer: Receipted, expected: Asked): void {
  const { outcome } = answer
  if (answer.claimedLineHash !== answer.receipt.lineHash) {
    throw fail(answer, 'receipt_mismatch', "line_hash is not the receipt's hash")
  }
  if (outcome['chain_id'] !== expected.tenant) throw differs(answer, 'another tenant than the key')
  if (outcome['call_id'] !== answer.callId) throw differs(answer, 'another call than the answer')
  if (outcome['request_digest'] !== expected.requestDigest)
    throw differs(answer, 'other bytes than were sent')
  if (typeof outcome['agent_id'] !== 'string') throw differs(answer, 'no agent')
  if (expected.agentId !== undefined && outcome['agent_id'] !== expected.agentId) {
    throw differs(answer, 'another agent')
  }
}

/** The decision that a recorded status stands for. */
const decisionOf: Readonly<Record<string, string>> = {
  allowed: 'allow',
  denied: 'deny',
  rate_limited: 'deny',
  pending_approval: 'require_approval',
}

/** That the receipt records the decision that the answer names. */
function checkDecision(answer: Answer): void {
  const { outcome, decision } = answer
  const status = textAt(outcome, 'policy', 'status')
  if (!Object.hasOwn(decisionOf, status) || decisionOf[status] !== decision) {
    throw fail(answer, 'receipt_mismatch', `the answer says ${decision}, the receipt something else`)
  }
  const granted = decision === 'allow'
  if (
    at(outcome, 'capability', 'status') !== (granted ? 'granted' : 'denied') ||
    at(outcome, 'execution', 'status') !== (granted ? 'delegated' : 'host_denied')
  ) {
    throw fail(answer, 'receipt_mismatch', 'the receipt contradicts itself on what was granted')
  }
  if (decision === 'deny' && at(outcome, 'policy', 'reason') !== answer.reason.code) {
    throw fail(answer, 'receipt_mismatch', 'the receipt gives another reason than the answer')
  }
}

/** That a grant is there exactly when the action was allowed, and that both places describe the same one. */
function checkGrant(answer: Answer, expected: Expectation): void {
  const { outcome, grant, decision } = answer
  const recorded = (name: string): unknown => at(outcome, 'capability', 'grant', name)
  if (decision !== 'allow') {
    if (grant !== undefined || outcome['grant_id'] !== undefined) {
      throw fail(answer, 'grant_unexpected', `the answer says ${decision} and brings a grant`)
    }
    return
  }
  if (grant === undefined) throw fail(answer, 'grant_missing', 'the answer says allow and brings no grant')
  const same =
    recorded('grant_id') === grant.grantId &&
    outcome['grant_id'] === grant.grantId &&
    recorded('tool_id') === outcome['tool_id'] &&
    recorded('action_hash') === expected.actionHash &&
    recorded('expires_at') === grant.expiresAt
  if (!same) throw fail(answer, 'receipt_mismatch', 'the receipt holds another grant than the answer')
  const lifeMs = grant.expiresAt - decidedAtOf(answer)
  if (lifeMs <= 0 || grant.expiresInMs > lifeMs) {
    throw fail(answer, 'receipt_mismatch', 'the grant lives longer than the receipt says')
  }
}

function checkApproval(answer: Answer, expected: Expectation): void {
  const { outcome, approval, decision } = answer
  const { consumed } = expected
  if (decision !== 'require_approval') {
    if (approval !== undefined) {
      throw fail(answer, 'answer_malformed', `the answer says ${decision} and brings an approval`)
    }
    return
  }
  if (approval === undefined || consumed !== undefined) {
    throw fail(answer, 'answer_malformed', 'the answer asks for an approval and may not, or names none')
  }
  const recorded = (name: string): unknown => at(outcome, 'decision_axes', 'approval', name)
  const groups = recorded('groups')
  const same =
    at(outcome, 'policy', 'approval_id') === approval.approvalId &&
    approval.actionHash === expected.actionHash &&
    recorded('binding_hash') === approval.bindingHash &&
    recorded('quorum') === approval.quorum &&
    recorded('approve_by') === approval.approveBy &&
    Number.isSafeInteger(recorded('use_within_ms')) &&
    JSON.stringify(groups) === JSON.stringify(approval.groups)
  if (!same) throw fail(answer, 'receipt_mismatch', 'the receipt holds another approval than the answer')
}

function checkSignature(answer: Receipted, expected: Asked, allowed: ToolCall | undefined): void {
  const { trust, tenant, agentId } = expected
  const claim = allowed && { action: allowed, decidedAt: decidedAtOf(answer) }
  const why = trust.refuse(answer.bytes, { tenant, agentId, allowed: claim })
  if (why !== undefined) throw fail(answer, 'receipt_untrusted', why)
}

/** The request was made for this answer, so that it was decided between sending and now, give or take the clocks. */
function checkTime(answer: Receipted, { sentAt, now, clockSkewMs }: Asked): void {
  const decidedAt = decidedAtOf(answer)
  const offMs = decidedAt > now ? decidedAt - now : sentAt - decidedAt
  if (offMs > clockSkewMs) {
    throw fail(answer, 'clock_skew', `the authorizer's clock and this one differ by ${String(offMs)} ms`)
  }
}

function decidedAtOf(answer: Receipted): number {
  const decidedAt = answer.outcome['decided_at']
  if (!Number.isSafeInteger(decidedAt)) throw fail(answer, 'receipt_mismatch', 'the receipt has no time')
  return decidedAt as number
}

function differs(answer: Receipted, what: string): AegisAnswerError {
  return fail(answer, 'receipt_mismatch', `the receipt is for ${what}`)
}

function fail(answer: Receipted, code: AegisAnswerError['code'], message: string): AegisAnswerError {
  return new AegisAnswerError(code, message, answer)
}
