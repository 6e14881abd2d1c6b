/** The published entry `aegis-edge/sdk`: ask before a tool runs, and check a receipt before running it for others. */
export { type Action } from './action.ts'
export { Aegis, type AegisOptions } from './aegis.ts'
export { type Approval, type ApprovalState, type UnreportedGrants } from './approval.ts'
export { type Fetch } from './attempt.ts'
export {
  type Allowed,
  type ApprovalRequired,
  type Decision,
  type Denied,
  type UnverifiedRead,
} from './authorization.ts'
export { AegisClient, type AuthorizeOptions, type AuthorizeResult, type Outcome } from './client.ts'
export { type Clock } from './clock.ts'
export {
  AegisAbortedError,
  AegisActionError,
  AegisAnswerError,
  AegisApprovalError,
  AegisDenied,
  AegisError,
  type AegisErrorCode,
  AegisOptionError,
  AegisStatusError,
  AegisUnreachableError,
  type Problem,
  type Receipt,
} from './errors.ts'
export { UsableGrant } from './grant.ts'
export { type UnverifiedReads } from './options.ts'
export {
  type ProtectOptions,
  type ProtectedFunction,
  type RunOptions,
  type RunningCall,
  type WaitingOptions,
} from './protect.ts'
export { type ActionContext, type Metadata } from './request.ts'
export { type SourceTrust, sourceTrusts } from '../protocol/source-trust.ts'
export { type ReceiptCheck, verifyReceipt } from './tool-server.ts'
export { type Pin, type ReceiptAnswer, type ReceiptRefusal, parseTrustStore } from '../verify/index.ts'
