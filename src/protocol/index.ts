/** HTTP messages: what the Worker and its clients share (authorize.md). */
export { type ActAnswer, actAnswerSchema, bareRequest } from './administration.ts'
export {
  type AgentBody,
  type AgentList,
  agentChangeSchema,
  agentCreateSchema,
  agentIdPattern,
  agentListSchema,
  agentSchema,
  parseAgent,
} from './agent-record.ts'
export {
  type KeyIssued,
  type KeyList,
  type KeyRequest,
  adminKeyRequestSchema,
  keyIssuedSchema,
  keyListSchema,
  keyRequestSchema,
} from './api-key-record.ts'
export {
  type KeyRole,
  type ParsedApiKey,
  type TagHmac,
  formatApiKey,
  formatOperatorKey,
  hasTrueTag,
  isSecretOf,
  keyRoles,
  parseApiKey,
  secretHash,
  toKeyId,
} from './api-key.ts'
export { approvalActSchema, denialSchema, parseApprovalAct } from './approval-act.ts'
export {
  type ApprovalList,
  type ApprovalReview,
  type ApprovalStateBody,
  approvalListSchema,
  approvalReviewSchema,
  approvalStateSchema,
} from './approval-state.ts'
export { type ApprovalStateName, approvalStates } from './approval-states.ts'
export { type Risk, answerFromOutcome, authorizeAnswerSchema } from './authorize-answer.ts'
export {
  type AuthorizeRequest,
  authorizeRequestJsonSchemas,
  authorizeRequestSchema,
  parseAuthorizeRequest,
  requestIdPattern,
} from './authorize-request.ts'
export {
  type Call,
  type CallDecision,
  type CallList,
  type FoundCall,
  callDecisions,
  callListSchema,
  foundCallSchema,
} from './calls.ts'
export { type ConsumeRequest, consumeRequestSchema, parseConsumeRequest } from './consume-request.ts'
export { type Explanation, explanationSchema } from './explanation.ts'
export {
  type GroupList,
  type ToolList,
  type WebhookSecret,
  groupChangeSchema,
  groupListSchema,
  groupNamePattern,
  toolListSchema,
  webhookSecretSchema,
} from './group-record.ts'
export { type Health, healthSchema } from './health.ts'
export {
  type PolicyActivated,
  type PolicyList,
  type PolicyPushed,
  policyActivatedSchema,
  policyListSchema,
  policyPushedSchema,
} from './policy-list.ts'
export { formatInstant, parseInstant } from './instant.ts'
export {
  type ProblemCode,
  type ProblemExtras,
  problemCodes,
  problemSchema,
  problemStatus,
  toProblem,
} from './problem.ts'
export {
  type GrantList,
  type ReportAnswer,
  grantListSchema,
  parseReportRequest,
  reportAnswerSchema,
  reportRequestSchema,
} from './report.ts'
export { describeReason } from './reason.ts'
export { describeRefusedMembers } from './refused-members.ts'
export { type SegmentIndex, publicKeysSchema, segmentIndexSchema } from './segments.ts'
export { sourceTrusts } from './source-trust.ts'
export { type RefusedBody, type StrictBody, readStrictBody } from './strict-body.ts'
export {
  type TenantBody,
  type TenantCreated,
  type TenantList,
  tenantCreateSchema,
  tenantCreatedSchema,
  tenantListSchema,
  tenantSchema,
} from './tenant-record.ts'
