/** The published entry `aegis-edge/verify`: Chains and receipts, checked from bytes alone. */
export {
  type ParsedHead,
  type SignedHead,
  type WalkedChain,
  findForeignHead,
  isHeadText,
  isSignedByPin,
  parseHeadLine,
  parseHeadText,
} from './head.ts'
export type { HeldHead } from './held-head.ts'
export { type Pin, isPinned, parseTrustStore } from './pins.ts'
export {
  type ReceiptAnswer,
  type ReceiptQuestion,
  type ReceiptRefusal,
  receiptRefusals,
  verifyReceipt,
} from './receipt.ts'
export {
  type Finding,
  type IndeterminateReason,
  type Position,
  type Report,
  type TamperedReason,
  cutForReport,
  escapeForReport,
  exitCodeOf,
  indeterminateReasons,
  tamperedReasons,
  toAsciiJson,
  toJson,
  toText,
} from './report.ts'
export type { CheckSignature, SignatureCheck } from './signature-checks.ts'
export { Walk, type WalkOptions } from './walk.ts'
