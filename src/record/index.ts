/** The published entry `aegis-edge/record`: the format of SPEC.md in code. */
export {
  type ApprovalBinding,
  type ToolCall,
  actionHash,
  actionPreimage,
  bindingHash,
  bindingPreimage,
} from './action.ts'
export {
  type ActionHash,
  type BindingHash,
  type BindingsHash,
  type KeyId,
  type LineHash,
  type PolicySetHash,
  type PrevHash,
  type PublicKeyHex,
  type RequestDigest,
  type ResponseDigest,
  type SignatureHex,
  type ValueDigest,
  decodeHex,
  encodeHex,
  noPolicySet,
  parseDigest,
  parseSignature,
  toDigest,
  toPrevHash,
  zeroPrevHash,
} from './digest.ts'
export { requestDigest } from './envelope.ts'
export { type FormatError, type FormatErrorCode, type Parsed, describeFormatError } from './errors.ts'
export { canonicalText, encodeCanonical, isCanonical } from './jcs.ts'
export {
  type JsonArray,
  type JsonObject,
  type JsonValue,
  type ReadingRules,
  isJsonObject,
  readJson,
  syntaxRules,
} from './json.ts'
export {
  type CapabilityStatus,
  type CloseLine,
  type DecisionAxes,
  type DecisionLine,
  type EntityReference,
  type ExecutionStatus,
  type ForeignLine,
  type Grant,
  type IntentLine,
  type Line,
  type OpenLine,
  type OutcomeLine,
  type PolicyStatus,
  type RecordedPrincipal,
  type RecordedShadow,
  type TaggedValue,
  lineBytesMax,
} from './line.ts'
export { decodeLine, isKnownLine, parseLine } from './line-decoder.ts'
export { lineRules, parameterRules, parseBody, parseLineObject } from './profile.ts'
export {
  type ChainHead,
  type CloseDraft,
  type DecisionDraft,
  type IntentDraft,
  type LineDraft,
  type NextLine,
  type OpenDraft,
  type OutcomeDraft,
  nextLine,
} from './session.ts'
export {
  type CryptoSuite,
  type Digester,
  type SignatureVerifier,
  type Signer,
  isStrictlyEncoded,
  keyIdOf,
  nobleSuite,
} from './signature.ts'
export { isTenantName } from './tenant-name.ts'
export { decodeUtf8, encodeUtf8, findInvalidUtf8, utf8 } from './utf8.ts'
