/**
 * `cases/*.json`: requests with the decisions that the bundle's author expects (policy.md §1, §6). They are evidence
 * about a bundle and no part of its hash.
 */
import { type JsonValue, isJsonObject } from '../record/index.ts'
import { type DecisionMeans, type DecisionRequest, type Evaluation, decide } from './decide.ts'
import { Members, type Report } from './members.ts'
import type { PolicySet } from './policy-set.ts'
import type { AgentRecord } from './request.ts'
import { parseTrust, trustLevels, trustMaxDefault } from './trust.ts'
import { parseDatetime } from './value.ts'

export interface BundleCase {
  readonly file: string
  readonly name: string
  readonly request: DecisionRequest
  readonly agent: AgentRecord
  readonly nowMs: number
  readonly expect: ExpectedDecision
}

export interface ExpectedDecision {
  readonly decision: Evaluation['decision']
  readonly code?: string
  /** All determining policies, in any order. */
  readonly matchedRules?: readonly string[]
  readonly groups?: readonly string[]
  readonly quorum?: number
}

export interface CaseResult {
  readonly file: string
  readonly name: string
  readonly passed: boolean
  /** What differs, one sentence each; empty when it passed. */
  readonly problems: readonly string[]
  readonly evaluation: Evaluation
}

/** What a case means that names no agent. */
export const caseAgent: AgentRecord = {
  id: 'agent',
  roles: [],
  environment: '',
  owner: '',
  riskTier: '',
  trustMax: trustMaxDefault,
  forceApproval: false,
}
/** The clock of a case that names no time: 2026-01-01T00:00:00.000Z. */
export const caseNowMs = 1_767_225_600_000

/** Decides every case of a bundle; pure, so that a case that passes passes everywhere. */
export function runCases(
  bundle: { readonly policySet: PolicySet; readonly cases: readonly BundleCase[] },
  means: DecisionMeans,
): readonly CaseResult[] {
  return bundle.cases.map((one) => {
    const evaluation = decide({ ...one, policySet: bundle.policySet }, means)
    const problems = differences(one.expect, evaluation)
    return { file: one.file, name: one.name, passed: problems.length === 0, problems, evaluation }
  })
}

function differences(want: ExpectedDecision, got: Evaluation): readonly string[] {
  const problems: string[] = []
  const compare = (what: string, wanted: string | undefined, given: string): void => {
    if (wanted !== undefined && wanted !== given) problems.push(`${what}: want ${wanted}, got ${given}`)
  }
  const list = (names: readonly string[] | undefined): string | undefined =>
    names === undefined ? undefined : [...names].sort().join(', ') || 'none'
  compare('decision', want.decision, got.decision)
  compare('code', want.code, got.code)
  compare('matched_rules', list(want.matchedRules), list(got.matchedRules) ?? '')
  compare('groups', list(want.groups), list(got.approval?.groups ?? []) ?? '')
  compare('quorum', want.quorum?.toString(), String(got.approval?.quorum ?? 0))
  return problems
}

/** Reads one file of cases: a JSON array. */
export function parseCases(file: string, value: JsonValue, report: Report): readonly BundleCase[] {
  if (!Array.isArray(value)) {
    report(
      [],
      'wrong_type',
      'the file is not a list of cases',
      'write [{"name": …, "request": …, "expect": …}]',
    )
    return []
  }
  const cases: BundleCase[] = []
  const names = new Set<string>()
  for (const [at, item] of (value as readonly JsonValue[]).entries()) {
    const members = Members.of(item, [String(at)], report)
    if (members === undefined) continue
    members.mustHave('name', '"name": what the case shows')
    const name = members.string('name') ?? ''
    if (names.has(name)) members.refuse('name', 'duplicate_name', 'is the name of another case', 'rename it')
    names.add(name)
    const nowText = members.string('now')
    const now = nowText === undefined ? undefined : parseDatetime(nowText)
    if (nowText !== undefined && now === undefined) {
      members.refuse('now', 'wrong_type', 'is not a time', 'write it like 2026-01-01T00:00:00.000Z')
    }
    const agent = parseAgent(members.value('agent'), members.at('agent'), report)
    const request = parseRequest(members.value('request'), members.at('request'), report)
    const expect = parseExpect(members.value('expect'), members.at('expect'), report)
    members.end()
    if (request === undefined || expect === undefined) continue
    cases.push({ file, name, request, agent, nowMs: now === undefined ? caseNowMs : Date.parse(now), expect })
  }
  return cases
}

/** An agent's record in part, as cases and `aegis try` give it; what is absent is as in {@link caseAgent}. */
export function parseAgent(
  value: JsonValue | undefined,
  path: readonly string[],
  report: Report,
): AgentRecord {
  if (value === undefined) return caseAgent
  const members = Members.of(value, path, report)
  if (members === undefined) return caseAgent
  const trustMax = members.oneOf('trust_max', trustLevels)
  const agent: AgentRecord = {
    id: members.string('id') ?? caseAgent.id,
    roles: strings(members, 'roles') ?? [],
    environment: members.string('environment') ?? '',
    owner: members.string('owner') ?? '',
    riskTier: members.string('risk_tier') ?? '',
    trustMax: trustMax ?? caseAgent.trustMax,
    forceApproval: members.boolean('force_approval') ?? false,
  }
  members.end()
  return agent
}

/**
 * The part of an authorize body that a decision reads (authorize.md §2), from a case or a file of `explain`.
 * `mutates_state` defaults to false and `resource` to null: the catalogue decides the one, the arguments the other.
 */
export function parseRequest(
  value: JsonValue | undefined,
  path: readonly string[],
  report: Report,
): DecisionRequest | undefined {
  const body = Members.of(value, path, report)
  const call = body && Members.of(body.value('tool_call'), body.at('tool_call'), report)
  const context = body && Members.of(body.value('context'), body.at('context'), report)
  if (body === undefined || call === undefined || context === undefined) return undefined
  // What a whole authorize body has beside these decides nothing.
  for (const name of ['request_id', 'timestamp', 'nonce', 'action_hash', 'metadata']) body.has(name)
  call.mustHave('tool', '"tool": the tool’s name')
  call.mustHave('action', '"action": the action’s name')
  context.mustHave('source_trust', `"source_trust": one of ${trustLevels.join(', ')}`)
  const trust = context.string('source_trust')
  const sourceTrust = parseTrust(trust)
  if (trust !== undefined && sourceTrust === undefined) {
    context.refuse(
      'source_trust',
      'unknown_value',
      'is not a trust level',
      `write one of ${trustLevels.join(', ')}`,
    )
  }
  const parameters = call.value('parameters') ?? {}
  if (!isJsonObject(parameters)) call.refuse('parameters', 'wrong_type', 'is not an object', 'write {…}')
  const resource = call.value('resource') ?? null
  if (resource !== null && typeof resource !== 'string') {
    call.refuse('resource', 'wrong_type', 'is neither a string nor null', 'write a string')
  }
  const user = context.value('user')
  const userMembers = user === undefined ? undefined : Members.of(user, context.at('user'), report)
  const userId = userMembers?.string('id')
  userMembers?.end()
  const session = context.string('session')
  const sensitive = context.boolean('contains_sensitive_data')
  const request: DecisionRequest = {
    toolCall: {
      tool: call.string('tool') ?? '',
      action: call.string('action') ?? '',
      resource: typeof resource === 'string' ? resource : null,
      mutates_state: call.boolean('mutates_state') ?? false,
      parameters: isJsonObject(parameters) ? parameters : {},
    },
    sourceTrust: sourceTrust ?? 'unknown',
    ...(sensitive === undefined ? {} : { containsSensitiveData: sensitive }),
    ...(session === undefined ? {} : { session }),
    ...(userId === undefined ? {} : { userId }),
  }
  for (const members of [body, call, context]) members.end()
  return request
}

function parseExpect(
  value: JsonValue | undefined,
  path: readonly string[],
  report: Report,
): ExpectedDecision | undefined {
  const members = Members.of(value, path, report)
  if (members === undefined) return undefined
  members.mustHave('decision', '"decision": "allow", "deny" or "require_approval"')
  const decision = members.oneOf('decision', ['allow', 'deny', 'require_approval'])
  const code = members.string('code')
  const matchedRules = strings(members, 'matched_rules')
  const groups = strings(members, 'groups')
  const quorum = members.integer('quorum', 1, 1_000)
  members.end()
  if (decision === undefined) return undefined
  return {
    decision,
    ...(code === undefined ? {} : { code }),
    ...(matchedRules === undefined ? {} : { matchedRules }),
    ...(groups === undefined ? {} : { groups }),
    ...(quorum === undefined ? {} : { quorum }),
  }
}

function strings(members: Members, name: string): readonly string[] | undefined {
  const value = members.value(name)
  if (value === undefined) return undefined
  const list = Array.isArray(value) ? (value as readonly JsonValue[]) : undefined
  if (list?.every((item) => typeof item === 'string') === true) return list
  members.refuse(name, 'wrong_type', 'is not a list of strings', 'write ["…"]')
  return undefined
}
