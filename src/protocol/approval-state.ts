/**
 * What `GET /v1/approvals/{id}` and every act on an approval answer (authorize.md §4): the state for the agent that
 * asked, and for an approver everything that a person needs to judge. Not for the answer of a consume, which is an
 * authorize answer.
 */
import * as v from 'valibot'
import { answeredInstant as instant, digest } from './answer-members.ts'
import { reasonSchema, riskSchema } from './authorize-answer.ts'
import { approvalStates } from './approval-states.ts'
import { sourceTrusts } from './source-trust.ts'

const agentView = {
  approval_id: v.string(),
  state: v.picklist(approvalStates),
  /** The Call that asked for it. */
  call_id: v.string(),
  action_hash: digest,
  binding_hash: digest,
  tool_id: v.string(),
  /** Who asks; for approvers and admins. */
  agent: v.exactOptional(v.string()),
  groups: v.array(v.string()),
  quorum: v.pipe(v.number(), v.integer(), v.minValue(1)),
  approve_by: instant,
  /** Once approved. */
  use_by: v.exactOptional(instant),
  /** Once it is no longer pending. */
  decided_at: v.exactOptional(instant),
  /** Of a denied one. */
  reason: v.exactOptional(v.strictObject({ code: v.string(), detail: v.exactOptional(v.string()) })),
}

/** The agent's view of its own approval. */
export const approvalStateSchema = v.strictObject(agentView)
export type ApprovalStateBody = v.InferOutput<typeof approvalStateSchema>

/** An approver's view: the agent's, and what is to be judged. */
export const approvalReviewSchema = v.strictObject({
  ...agentView,
  agent: v.string(),
  /** For whom, as the agent says: `context.user.id`. */
  on_behalf_of: v.exactOptional(v.string()),
  /** Of the agent, when it asked; empty when it has none. With it `binding_hash` can be computed from what is shown. */
  environment: v.string(),
  /** The frozen action, whole and as it was sent. */
  request: v.strictObject({
    tool_call: v.strictObject({
      tool: v.string(),
      action: v.string(),
      resource: v.nullable(v.string()),
      mutates_state: v.boolean(),
      parameters: v.looseObject({}),
    }),
    context: v.looseObject({}),
  }),
  /** The arguments that policies read, as they were derived: tagged values of SPEC.md, 4.5. */
  derived: v.looseObject({}),
  risk: riskSchema,
  source_trust: v.strictObject({
    effective: v.picklist(sourceTrusts),
    /** Where the agent's record cut it. */
    claimed: v.exactOptional(v.picklist(sourceTrusts)),
  }),
  matched_rules: v.array(v.string()),
  /** Why a person is needed: the code, and the `@reason` of the rule that asked. */
  why: reasonSchema,
  votes: v.array(v.strictObject({ subject: v.string(), at: instant, groups: v.array(v.string()) })),
  /** What approving gives: one use, for this long. */
  grants: v.strictObject({ expires_in_ms: v.pipe(v.number(), v.integer(), v.minValue(0)) }),
  policy_set_hash: digest,
  request_digest: digest,
})
export type ApprovalReview = v.InferOutput<typeof approvalReviewSchema>

/** `GET /v1/approvals`. */
export const approvalListSchema = v.strictObject({
  approvals: v.array(v.union([approvalReviewSchema, approvalStateSchema])),
  /** What to send as `after` for the rest. */
  next: v.exactOptional(v.string()),
})
export type ApprovalList = v.InferOutput<typeof approvalListSchema>
