/** The published entry `aegis-edge/policy`: bundles, validation and decisions. */
export { type BindingFailure, type BindingResult, type Bound, bindArguments } from './binding.ts'
export { type Bundle, type BundleFiles, type ReadBundle, readBundle } from './bundle.ts'
export {
  type BundleCase,
  type CaseResult,
  type ExpectedDecision,
  caseAgent,
  caseNowMs,
  parseAgent,
  parseRequest,
  runCases,
} from './cases.ts'
export {
  type Binding,
  type BindingType,
  type Catalogue,
  type ResourceRule,
  type RiskLevel,
  type ToolAction,
  riskScores,
} from './catalogue.ts'
export {
  type DecisionInput,
  type DecisionMeans,
  type DecisionRequest,
  type Evaluation,
  type EvaluationAxes,
  decide,
} from './decide.ts'
export { type Engine, type EngineAnswer, type EngineCall, createEngine, evaluator } from './engine.ts'
export { type Finding, describeFinding, hasErrors } from './finding.ts'
export type { WasmModule } from './glue.ts'
export { type Identifiers, normaliseIdentifiers } from './identifier.ts'
export type { ReasonCode } from './judge.ts'
export { type Report } from './members.ts'
export type { Policy } from './policy.ts'
export {
  type ComposedPolicySet,
  type LocatePolicy,
  type OpenedPolicySet,
  type PolicySet,
  openPolicySet,
  openUnnamedPolicySet,
} from './policy-set.ts'
export {
  type RecordedCall,
  type Redecided,
  cedarRequestFromAxes,
  redecide,
  redecideFromEnvelope,
} from './redecide.ts'
export { type AgentRecord, type CedarRequest } from './request.ts'
export { schemaJson, schemaText } from './schema.ts'
export {
  type ApproverGroup,
  type RuleReader,
  type Settings,
  bodyBytesHardMax,
  replayWindowMsMax,
} from './settings.ts'
export { type Trust, effectiveTrust, parseTrust, trustLevels, trustMaxDefault, trustRank } from './trust.ts'
export { validatePolicySet } from './validate.ts'
export { parseDatetime } from './value.ts'
