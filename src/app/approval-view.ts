/**
 * An approval as it is shown (authorize.md §4): its state to the agent that asked, and to an approver everything that a
 * person needs to judge, out of the frozen request and the signed Line that asked for him. Nothing here is markup.
 */
import type { ApprovalRecord, ApprovalViewer } from '../../durable-objects/rpc.ts'
import {
  type ApprovalReview,
  type ApprovalStateBody,
  answerFromOutcome,
  formatInstant,
} from '../protocol/index.ts'
import {
  type DecisionAxes,
  type JsonObject,
  type PolicySetHash,
  isJsonObject,
  noPolicySet,
  parseBody,
  parseDigest,
  parseLineObject,
  utf8,
} from '../record/index.ts'

/** What this viewer is shown. */
export function viewApproval(
  approval: ApprovalRecord,
  viewer: ApprovalViewer,
): ApprovalStateBody | ApprovalReview {
  const state = stateOf(approval)
  if (viewer === 'agent') return state
  const named = { ...state, agent: approval.agentId }
  // Once nothing can become of it, the frozen action is gone, and there is nothing left to judge.
  if (viewer === 'admin' || approval.request === undefined) return named
  return { ...named, ...reviewOf(approval, approval.request) }
}

function stateOf(approval: ApprovalRecord): ApprovalStateBody {
  return {
    approval_id: approval.approvalId,
    state: approval.state,
    call_id: approval.callId,
    action_hash: approval.actionHash,
    binding_hash: approval.bindingHash,
    tool_id: approval.toolId,
    groups: [...approval.groups],
    quorum: approval.quorum,
    approve_by: formatInstant(approval.approveBy),
    ...(approval.useBy === undefined ? {} : { use_by: formatInstant(approval.useBy) }),
    ...(approval.decidedAt === undefined ? {} : { decided_at: formatInstant(approval.decidedAt) }),
    ...(approval.denial === undefined ? {} : { reason: approval.denial }),
  }
}

function reviewOf(
  approval: ApprovalRecord,
  request: Uint8Array,
): Omit<ApprovalReview, keyof ApprovalStateBody> & { readonly agent: string } {
  const frozen = parseBody(request)
  const line = parseLineObject(utf8(approval.line))
  if (!frozen.ok || !line.ok) throw new Error('a frozen action cannot be read')
  const { reason, risk } = answerFromOutcome({ line: approval.line, lineHash: '', now: 0 }, false)
  const axes = line.value['decision_axes'] as unknown as DecisionAxes
  const context = (axes.context ?? {}) as JsonObject
  const { args, environment, fs, net, source_trust: trust, user } = context
  const claimed = axes.claims?.['source_trust']
  const onBehalfOf = isJsonObject(user) ? user['id'] : undefined
  return {
    agent: approval.agentId,
    ...(typeof onBehalfOf === 'string' ? { on_behalf_of: onBehalfOf } : {}),
    environment: typeof environment === 'string' ? environment : '',
    request: {
      tool_call: frozen.value['tool_call'],
      context: frozen.value['context'],
    } as ApprovalReview['request'],
    derived: {
      ...(isJsonObject(args) ? args : {}),
      ...(fs === undefined ? {} : { fs }),
      ...(net === undefined ? {} : { net }),
    },
    risk,
    source_trust: {
      effective: trust,
      ...(typeof claimed === 'string' ? { claimed } : {}),
    } as ApprovalReview['source_trust'],
    matched_rules: [...(axes.matched_rules ?? [])],
    why: reason,
    votes: approval.votes.map(({ subject, at, groups }) => ({
      subject,
      at: formatInstant(at),
      groups: [...groups],
    })),
    grants: { expires_in_ms: approval.useWithinMs },
    policy_set_hash: parseDigest<PolicySetHash>(line.value['policy_set_hash']) ?? noPolicySet,
    request_digest: approval.requestDigest,
  }
}
