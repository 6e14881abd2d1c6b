/**
 * Whether a 200 fits the request that was sent, and whether its parts say the same thing (authorize.md §6): the receipt
 * is the proof, so every member of the answer that matters must stand in it. The first difference is an error; nothing
 * is repaired. With pinned keys the signature is checked too; without them these checks catch an answer that belongs to
 * something else, but not a server that lies.
 */
import type { ActionHash, CryptoSuite, RequestDigest, ToolCall } from '../record/index.ts'
import { type Pin, isSignedByPin, parseHeadLine, verifyReceipt } from '../verify/index.ts'
import type { Answer } from './answer.ts'
import { AegisAnswerError } from './errors.ts'

/** What was asked, and what the client knows without asking. */
export interface Expectation {
  readonly tenant: string
  readonly agentId: string | undefined
  readonly toolCall: ToolCall
  readonly actionHash: ActionHash
  readonly requestDigest: RequestDigest
  /** `undefined`: no key was pinned, and no signature is checked. */
  readonly pins: readonly Pin[] | undefined
  readonly suite: CryptoSuite
  /** The client's wall clock when the first request left, and now. */
  readonly sentAt: number
  readonly now: number
  readonly clockSkewMs: number
}

/** @throws AegisAnswerError for the first check that fails. */
export function checkAnswer(answer: Answer, expected: Expectation): void {
  checkIdentity(answer, expected)
  checkDecision(answer)
  checkGrant(answer, expected)
  checkApproval(answer, expected)
  checkSignature(answer, expected)
  checkTime(answer, expected)
}

/** That it is about this request, by this agent, in this tenant's Chain. */
function checkIdentity(answer: Answer, expected: Expectation): void {
  const { outcome } = answer
  const differs = (what: string): AegisAnswerError =>
    fail(answer, 'receipt_mismatch', `the receipt is for ${what}`)
  if (answer.claimedLineHash !== answer.receipt.lineHash) {
    throw fail(answer, 'receipt_mismatch', "line_hash is not the receipt's hash")
  }
  if (outcome.chain_id !== expected.tenant) throw differs('another tenant than the key')
  if (outcome.call_id !== answer.callId) throw differs('another call than the answer')
  if (outcome.request_digest !== expected.requestDigest) throw differs('other bytes than were sent')
  if (outcome.action_hash !== expected.actionHash) throw differs('another action')
  if (outcome.agent_id === undefined) throw differs('no agent')
  if (expected.agentId !== undefined && outcome.agent_id !== expected.agentId) throw differs('another agent')
  if (outcome.tool_id.startsWith('aegis/')) throw differs('an administrative act')
}

/** That the receipt records the decision that the answer names. */
function checkDecision(answer: Answer): void {
  const { policy, capability, execution } = answer.outcome
  const recorded = {
    allowed: 'allow',
    denied: 'deny',
    pending_approval: 'require_approval',
    rate_limited: 'deny',
  }
  if (recorded[policy.status] !== answer.decision) {
    throw fail(answer, 'receipt_mismatch', `the answer says ${answer.decision}, the receipt ${policy.status}`)
  }
  const granted = answer.decision === 'allow'
  if (
    (capability.status === 'granted') !== granted ||
    execution.status !== (granted ? 'delegated' : 'host_denied')
  ) {
    throw fail(answer, 'receipt_mismatch', 'the receipt contradicts itself on whether authority was granted')
  }
  const reason = policy.status === 'denied' || policy.status === 'rate_limited' ? policy.reason : undefined
  if (reason !== undefined && reason !== answer.reason.code) {
    throw fail(answer, 'receipt_mismatch', 'the receipt gives another reason than the answer')
  }
}

/** That a grant is there exactly when the action was allowed, and that both places describe the same one. */
function checkGrant(answer: Answer, expected: Expectation): void {
  const { outcome, grant, decision } = answer
  const { capability } = outcome
  if (capability.status !== 'granted') {
    if (grant !== undefined || outcome.grant_id !== undefined) {
      throw fail(answer, 'grant_unexpected', `the answer says ${decision} and brings a grant`)
    }
    return
  }
  if (grant === undefined) throw fail(answer, 'grant_missing', 'the answer says allow and brings no grant')
  const recorded = capability.grant
  const decidedAt = outcome.decided_at
  const same =
    recorded.grant_id === grant.grantId &&
    outcome.grant_id === grant.grantId &&
    recorded.tool_id === outcome.tool_id &&
    recorded.action_hash === expected.actionHash &&
    recorded.expires_at === grant.expiresAt
  if (!same) throw fail(answer, 'receipt_mismatch', 'the receipt holds another grant than the answer')
  if (
    decidedAt === undefined ||
    decidedAt >= grant.expiresAt ||
    grant.expiresInMs > grant.expiresAt - decidedAt
  ) {
    throw fail(answer, 'receipt_mismatch', 'the grant lives longer than the receipt says')
  }
}

function checkApproval(answer: Answer, expected: Expectation): void {
  const { outcome, approval, decision } = answer
  const { policy } = outcome
  if (policy.status !== 'pending_approval') {
    if (approval !== undefined) throw malformed(answer, `the answer says ${decision} and brings an approval`)
    return
  }
  if (approval === undefined) throw malformed(answer, 'the answer asks for an approval and names none')
  const recorded = outcome.decision_axes.approval
  const same =
    recorded !== undefined &&
    policy.approval_id === approval.approvalId &&
    approval.actionHash === expected.actionHash &&
    recorded.binding_hash === approval.bindingHash &&
    recorded.quorum === approval.quorum &&
    recorded.approve_by === approval.approveBy &&
    recorded.groups.length === approval.groups.length &&
    recorded.groups.every((group, at) => group === approval.groups[at])
  if (!same) throw fail(answer, 'receipt_mismatch', 'the receipt holds another approval than the answer')
}

/** An allow passes what a tool server will ask of it; the other decisions need the signature alone. */
function checkSignature(answer: Answer, expected: Expectation): void {
  const { pins, suite, tenant, agentId, toolCall } = expected
  if (pins === undefined) return
  const { outcome, lineBytes } = answer
  if (answer.decision === 'allow') {
    const question = {
      action: toolCall,
      // Time is judged in checkTime, with this client's tolerance.
      now: outcome.decided_at ?? 0,
      keys: pins,
      chainId: tenant,
      ...(agentId === undefined ? {} : { agentId }),
    }
    const verified = verifyReceipt(lineBytes, question, suite)
    if (!verified.valid) throw fail(answer, 'receipt_untrusted', `the receipt fails: ${verified.reason}`)
    return
  }
  const held = parseHeadLine(lineBytes, suite)
  if (!held.ok || !isSignedByPin(held.head, pins, suite)) {
    throw fail(answer, 'receipt_untrusted', 'the receipt is not signed by a pinned key')
  }
}

/** The request was made for this answer, so that it was decided between sending and now, give or take the clocks. */
function checkTime(answer: Answer, expected: Expectation): void {
  const { decided_at: decidedAt } = answer.outcome
  if (decidedAt === undefined) throw fail(answer, 'receipt_mismatch', 'the receipt has no time')
  const { sentAt, now, clockSkewMs } = expected
  const offMs = decidedAt > now ? decidedAt - now : sentAt - decidedAt
  if (offMs > clockSkewMs) {
    const limit = `${String(clockSkewMs)} ms are allowed`
    throw fail(
      answer,
      'clock_skew',
      `the authorizer's clock and this one differ by ${String(offMs)} ms; ${limit}`,
    )
  }
}

function fail(answer: Answer, code: AegisAnswerError['code'], message: string): AegisAnswerError {
  return new AegisAnswerError(code, message, answer)
}

function malformed(answer: Answer, message: string): AegisAnswerError {
  return fail(answer, 'answer_malformed', message)
}
