/**
 * The Cedar request of an action: first in the form that the Chain records, then, by one function, as Cedar's JSON.
 * What is evaluated is always made from what can be recorded, so that a recorded one is the same request again
 * (record.md §4, decision_axes). Not for the caller's JSON: binding.ts has typed it by then.
 */
import type { CedarValueJson, EntityJson, TypeAndId } from '@cedar-policy/cedar-wasm/web'
import type { EntityReference, RecordedPrincipal, TaggedValue } from '../record/index.ts'
import type { Bound } from './binding.ts'
import type { RiskLevel, ToolAction } from './catalogue.ts'
import { type Trust, trustRank } from './trust.ts'
import { type NoCedarValue, datetimeText, toCedarRecord } from './value.ts'

/** What an administrator keeps about an agent, as far as a decision reads it. */
export interface AgentRecord {
  readonly id: string
  readonly roles: readonly string[]
  /** Empty when it has none; likewise the owner and the tier. */
  readonly environment: string
  readonly owner: string
  readonly riskTier: string
  readonly trustMax: Trust
  readonly forceApproval: boolean
}

/** The evaluated request in the record's values, with nothing digested yet. */
export interface TaggedRequest {
  readonly principal: RecordedPrincipal
  readonly action: EntityReference
  readonly resource: EntityReference
  readonly context: { readonly [name: string]: TaggedValue }
}

/** What `statefulIsAuthorized` takes, the set aside. */
export interface CedarRequest {
  readonly principal: TypeAndId
  readonly action: TypeAndId
  readonly resource: TypeAndId
  readonly context: Record<string, CedarValueJson>
  readonly entities: EntityJson[]
}

export function principalOf(agent: AgentRecord): RecordedPrincipal {
  return {
    type: 'Agent',
    id: agent.id,
    attrs: {
      environment: agent.environment,
      force_approval: agent.forceApproval,
      owner: agent.owner,
      risk_tier: agent.riskTier,
      trust_max: agent.trustMax,
    },
    parents: [...new Set(agent.roles)].sort().map((id) => ({ type: 'Role', id })),
  }
}

export interface ContextFacts {
  readonly sourceTrust: Trust
  readonly mutatesState: boolean
  readonly risk: RiskLevel
  readonly riskScore: number
  readonly containsSensitiveData: boolean
  readonly environment: string
  readonly nowMs: number
  readonly userId?: string
  readonly session?: string
}

/** The common context and the bound arguments; policy.md §2 lists it. */
export function contextOf(facts: ContextFacts, bound: Bound): TaggedRequest['context'] {
  const now = datetimeText(facts.nowMs)
  if (now === undefined) throw new Error('the clock is outside the years 0 to 9999')
  return {
    args: bound.args,
    contains_sensitive_data: facts.containsSensitiveData,
    environment: facts.environment,
    mutates_state: facts.mutatesState,
    now: { datetime: now },
    risk: { long: String(facts.riskScore) },
    risk_level: facts.risk,
    source_trust: facts.sourceTrust,
    trust: { long: String(trustRank(facts.sourceTrust)) },
    ...(bound.fs === undefined ? {} : { fs: { path: bound.fs.path_canonical } }),
    ...(bound.net === undefined
      ? {}
      : { net: { host: bound.net.host, port: { long: String(bound.net.port) }, scheme: bound.net.scheme } }),
    ...(facts.session === undefined ? {} : { session: facts.session }),
    ...(facts.userId === undefined ? {} : { user: { id: facts.userId } }),
  }
}

/** The groups that an action is in, given whether this call of it changes state: a caller may tighten that. */
export function actionGroups(action: ToolAction, mutatesState: boolean): readonly string[] {
  return [mutatesState ? 'mutating' : 'reading', `risk:${action.risk}`, `tool:${action.tool}`]
}

/**
 * @returns Cedar's request, or why the recorded values do not hold one: `digest` needs the Envelope, `malformed`
 *   was not written by us.
 */
export function toCedarRequest(
  request: TaggedRequest,
  groups: readonly string[],
):
  { readonly ok: true; readonly request: CedarRequest } | { readonly ok: false; readonly why: NoCedarValue } {
  const context = toCedarRecord(request.context)
  if (!context.ok) return context
  const attrs = toCedarRecord(request.principal.attrs)
  if (!attrs.ok) return attrs
  const principal = uid(request.principal)
  const action = uid(request.action)
  const entities: EntityJson[] = [
    { uid: principal, attrs: attrs.value, parents: request.principal.parents.map(uid) },
    // Without a schema the engine knows no action groups: they come with the action.
    { uid: action, attrs: {}, parents: groups.map((id) => ({ type: 'Action', id })) },
  ]
  return {
    ok: true,
    request: { principal, action, resource: uid(request.resource), context: context.value, entities },
  }
}

function uid(reference: EntityReference): TypeAndId {
  return { type: reference.type, id: reference.id }
}
