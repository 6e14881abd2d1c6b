/**
 * What bench/policy.ts measures, the same in Node and in workerd: policy sets of a given size over 50 actions, one
 * request an action, and five ways to decide it. Before anything is timed every way must give the same answers.
 */
import type { StatefulAuthorizationCall } from '@cedar-policy/cedar-wasm/web'
import { parseCatalogue } from '../src/policy/catalogue.ts'
import {
  type AgentRecord,
  type DecisionRequest,
  type Engine,
  caseAgent,
  caseNowMs,
  decide,
} from '../src/policy/index.ts'
import { type PolicySet, composePolicySet } from '../src/policy/policy-set.ts'
import { cedarRequestFromAxes } from '../src/policy/redecide.ts'
import type { CedarRequest } from '../src/policy/request.ts'
import { parseSettings } from '../src/policy/settings.ts'
import { sliceFor, wholeSet } from '../src/policy/slice.ts'
import { type Digester, type JsonObject, canonicalText } from '../src/record/index.ts'

export const actionsCount = 50

export interface Shape {
  readonly policies: number
  /** Every policy names one action, or none names any. */
  readonly scoped: boolean
}

export const shapes: readonly Shape[] = [
  { policies: 3, scoped: true },
  { policies: 20, scoped: true },
  { policies: 100, scoped: true },
  { policies: 1_000, scoped: true },
  { policies: 100, scoped: false },
  { policies: 1_000, scoped: false },
]

export const ways = ['decide', 'sliced', 'unsliced', 'bare', 'casbin'] as const
export type Way = (typeof ways)[number]

/** µs a decision, by the way to decide. */
export interface Measured<W extends string = Way> {
  /** Medians of samples. */
  readonly micros: { readonly [way in W]: number }
  /** The quickest samples: what is left when nothing else runs. */
  readonly quickest: { readonly [way in W]: number }
}

/** The package's own functions, with nothing of ours in between. */
export interface BareCedar {
  readonly preparsePolicySet: (
    name: string,
    policies: { staticPolicies: Record<string, JsonObject> },
  ) => unknown
  readonly statefulIsAuthorized: (call: StatefulAuthorizationCall) => unknown
}

export interface Enforcer {
  enforceSync(...request: unknown[]): boolean
}

export interface WorkloadMeans {
  readonly engine: Engine
  readonly digester: Digester
  readonly bare: BareCedar
  /** casbin with this model and these policy lines. */
  readonly casbin: (model: string, policy: string) => Promise<Enforcer>
  readonly now: () => number
  /** How long a sample is, about: as short as the clock allows, since what is short is seldom disturbed. */
  readonly sampleMs: number
  /** How long a shape is measured, about. */
  readonly shapeMs: number
}

/** A policy denies beyond its limit or permits below it; all test three attributes, as policies that people write do. */
export interface Rule {
  readonly action: string
  readonly limit: number
  readonly permits: boolean
}

export function rulesOf({ policies }: Shape): readonly Rule[] {
  return Array.from({ length: policies }, (_, at) => ({
    action: `action_${String(at % actionsCount)}`,
    limit: 1_000 + at,
    // The first of an action permits, so that there is something to forbid.
    permits: at < actionsCount || at % 4 !== 0,
  }))
}

function cedarText(rule: Rule, id: string, scoped: boolean): string {
  const head = scoped ? `action == Action::"bench.${rule.action}"` : 'action'
  const test = rule.permits
    ? `context.args.total < ${String(rule.limit)}`
    : `context.args.total > ${String(rule.limit)}`
  return (
    `@id("${id}") ${rule.permits ? 'permit' : 'forbid'} (principal, ${head}, resource)\n` +
    `when { context.trust >= 3 && context.environment == "prod" && ${test} };`
  )
}

export function casbinLine(rule: Rule, scoped: boolean): string {
  const test = rule.permits ? `r.ctx.total < ${String(rule.limit)}` : `r.ctx.total > ${String(rule.limit)}`
  const when = `r.ctx.trust >= 3 && r.ctx.environment == 'prod' && ${test}`
  return `p, ${scoped ? rule.action : 'any'}, ${when}, ${rule.permits ? 'allow' : 'deny'}`
}

export const casbinModel = `[request_definition]
r = act, ctx
[policy_definition]
p = act, rule, eft
[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))
[matchers]
m = (p.act == 'any' || r.act == p.act) && eval(p.rule)
`

export const benchAgent: AgentRecord = {
  ...caseAgent,
  id: 'bench-agent',
  roles: ['clerk', 'night-shift'],
  environment: 'prod',
  owner: 'desk',
  riskTier: 'standard',
}

export interface Prepared {
  readonly set: PolicySet
  /** Of the set. */
  readonly objectBytes: Uint8Array
  readonly requests: readonly DecisionRequest[]
}

/** A policy set of this shape, and one request an action. */
export function prepare(shape: Shape, means: Pick<WorkloadMeans, 'engine' | 'digester'>): Prepared {
  const fail = (_: unknown, code: string, message: string): never => {
    throw new Error(`${code}: ${message}`)
  }
  const actions = Array.from({ length: actionsCount }, (_, at) => [
    `action_${String(at)}`,
    {
      risk: 'medium',
      mutates_state: true,
      resource: { from: 'order:{order}' },
      args: {
        order: { at: '/order', type: 'string', required: true },
        total: { at: '/items/*/price', type: 'integer', aggregate: 'sum', required: true },
        note: { at: '/note', type: 'string' },
        express: { at: '/express', type: 'boolean' },
      },
    },
  ])
  const catalogue = parseCatalogue({ bench: Object.fromEntries(actions) as JsonObject }, means.digester, fail)
  const policies = new Map<string, JsonObject>()
  for (const [at, rule] of rulesOf(shape).entries()) {
    const id = `policy-${String(at).padStart(4, '0')}`
    const parsed = means.engine.call((cedar) => cedar.policyToJson(cedarText(rule, id, shape.scoped)))
    if (!parsed.ok || parsed.value.type === 'failure') throw new Error('a policy of the bench does not parse')
    policies.set(id, parsed.value.json as unknown as JsonObject)
  }
  const composed = composePolicySet(
    { settings: parseSettings({}, fail), catalogue, policies },
    means.digester,
    [],
  )
  if (composed === undefined) throw new Error('the set of the bench is invalid')
  // Only actions that some policy names: an empty slice would flatter small sets.
  const requests = Array.from(
    { length: Math.min(actionsCount, shape.policies) },
    (_, at): DecisionRequest => ({
      toolCall: {
        tool: 'bench',
        action: `action_${String(at)}`,
        resource: null,
        mutates_state: true,
        parameters: {
          order: `order-${String(at)}`,
          items: [{ price: 100 + at }, { price: 250 }, { price: 7 }],
          note: 'leave at the door',
          express: at % 2 === 0,
        },
      },
      sourceTrust: 'semi_trusted_customer',
      session: 'session-1',
      userId: 'customer-7',
    }),
  )
  return { set: composed.policySet, objectBytes: composed.objectBytes, requests }
}

interface BareRequest {
  readonly call: StatefulAuthorizationCall
  readonly action: string
  readonly ctx: { readonly trust: number; readonly environment: string; readonly total: number }
}

/** Measures one shape in every way. */
export async function measureShape(shape: Shape, means: WorkloadMeans): Promise<Measured> {
  const { set, requests } = prepare(shape, means)
  const name = `bench ${canonicalText({ ...shape })}`
  const decided = requests.map((request) =>
    decide({ request, agent: benchAgent, policySet: set, nowMs: caseNowMs }, means),
  )
  const cedar: CedarRequest[] = []
  const bare: BareRequest[] = []
  const actions = requests.map(({ toolCall }) => set.catalogue.toolAction(`bench.${toolCall.action}`))
  for (const [at, evaluation] of decided.entries()) {
    const action = actions[at]
    const request = action && cedarRequestFromAxes(evaluation.axes, action)
    if (action === undefined || request === undefined)
      throw new Error('a request of the bench has no Cedar form')
    cedar.push(request)
    bare.push({
      call: { ...request, preparsedPolicySetId: name, validateRequest: false },
      action: action.action,
      ctx: { trust: 3, environment: 'prod', total: 357 + at },
    })
  }
  const group = wholeSet(set)
  means.bare.preparsePolicySet(name, {
    staticPolicies: group.policies() as unknown as Record<string, JsonObject>,
  })
  const lines = rulesOf(shape).map((rule) => casbinLine(rule, shape.scoped))
  const enforcer = await means.casbin(casbinModel, lines.join('\n'))

  const runs: { readonly [way in Way]: (at: number) => boolean } = {
    decide: (at) =>
      decide(
        { request: requests[at] as DecisionRequest, agent: benchAgent, policySet: set, nowMs: caseNowMs },
        means,
      ).decision === 'allow',
    sliced: (at) => {
      const action = actions[at]
      if (action === undefined) return false
      const answer = means.engine.authorize(sliceFor(set, action, true), cedar[at] as CedarRequest)
      return answer.kind === 'answered' && answer.allow
    },
    unsliced: (at) => {
      const answer = means.engine.authorize(group, cedar[at] as CedarRequest)
      return answer.kind === 'answered' && answer.allow
    },
    bare: (at) => isAllowed(means.bare.statefulIsAuthorized((bare[at] as BareRequest).call)),
    casbin: (at) => {
      const { action, ctx } = bare[at] as BareRequest
      return enforcer.enforceSync(action, ctx)
    },
  }
  return measureWays(runs, requests.length, means)
}

function isAllowed(answer: unknown): boolean {
  const { response } = answer as { readonly response?: { readonly decision: string } }
  return response?.decision === 'allow'
}

const samplesMin = 15
const samplesMax = 200

type Runs<W extends string> = { readonly [way in W]: (at: number) => boolean }

/** Ways to answer the same requests, by their number: first that all answer alike, then what each costs. */
export function measureWays<W extends string>(
  runs: Runs<W>,
  requests: number,
  means: Pick<WorkloadMeans, 'now' | 'sampleMs' | 'shapeMs'>,
): Measured<W> {
  const names = Object.keys(runs) as W[]
  for (let at = 0; at < requests; at += 1) {
    const answers = names.map((way) => runs[way](at))
    if (new Set(answers).size !== 1)
      throw new Error(`the ways disagree about ${String(at)}: ${answers.join()}`)
  }
  return timeWays(runs, names, requests, means)
}

/** Samples of all ways in turn, so that what disturbs the machine disturbs each of them. */
function timeWays<W extends string>(
  runs: Runs<W>,
  names: readonly W[],
  requests: number,
  { now, sampleMs, shapeMs }: Pick<WorkloadMeans, 'now' | 'sampleMs' | 'shapeMs'>,
): Measured<W> {
  // Each way goes round and round over the requests; how many decisions make a sample is found out while warming up.
  const next = new Map<W, number>()
  const decideSome = (way: W, count: number): void => {
    const from = next.get(way) ?? 0
    for (let one = 0; one < count; one += 1) runs[way]((from + one) % requests)
    next.set(way, (from + count) % requests)
  }
  const counts = new Map<W, number>()
  for (const way of names) {
    const start = now()
    let done = 0
    for (; done < 2 * requests || now() - start < 200; done += requests) decideSome(way, requests)
    counts.set(way, Math.max(1, Math.ceil((done * sampleMs) / (now() - start))))
  }
  const samples = new Map<W, number[]>(names.map((way) => [way, []]))
  const until = now() + shapeMs
  for (let taken = 0; taken < samplesMax && (taken < samplesMin || now() < until); taken += 1) {
    // To and fro: none is always the one behind another.
    for (const way of taken % 2 === 0 ? names : [...names].reverse()) {
      const count = counts.get(way) ?? 1
      const start = now()
      decideSome(way, count)
      samples.get(way)?.push(((now() - start) * 1_000) / count)
    }
  }
  const micros = {} as Record<W, number>
  const quickest = {} as Record<W, number>
  for (const way of names) {
    micros[way] = median(samples.get(way) ?? [])
    quickest[way] = Math.min(...(samples.get(way) ?? []))
  }
  return { micros, quickest }
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
