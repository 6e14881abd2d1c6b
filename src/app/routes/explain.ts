/**
 * `POST /v1/explain?agent=ID` (authorize.md §3): the whole evaluation of a body, fenced and limited like a Call, and
 * no Line, no grant, no receipt. What the writer alone knows (freezes, limits, repeats, the replay window) is not in it.
 */
import { Hono } from 'hono'
import type { ExplainAsk } from '../../../durable-objects/rpc.ts'
import { bodyBytesHardMax } from '../../policy/index.ts'
import type { Explanation } from '../../protocol/index.ts'
import type { JsonObject } from '../../record/index.ts'
import { answerJson, answerLimited, answerProblem, answerRefusedReading } from '../answers.ts'
import type { Caller } from '../authenticate.ts'
import { type ReadCall, readCall } from '../call-request.ts'
import { type CallerState, clockOf } from '../caller-states.ts'
import { type DecidedCall, decideCall } from '../decide-call.ts'
import { describeExplain } from '../descriptions.ts'
import { requireCaller } from '../middleware/require-caller.ts'
import { requireJson } from '../middleware/require-json.ts'
import type { RequestContext, RequestScope } from '../request-scope.ts'
import type { Services } from '../services.ts'

const attemptsMax = 3

export function explainRoute(services: Services): Hono<RequestScope> {
  return new Hono<RequestScope>().post(
    '/v1/explain',
    describeExplain,
    requireJson(bodyBytesHardMax),
    requireCaller(services, ['auditor', 'admin', 'agent']),
    (c) => explain(services, c),
  )
}

async function explain(services: Services, c: RequestContext): Promise<Response> {
  const caller = c.get('caller')
  const agentId = agentToExplain(c, caller)
  if (typeof agentId !== 'string') return agentId
  const found = await c
    .get('timing')
    .measure('auth', () => services.callerStates.lookUp(caller.chain, caller.tenant, caller.keyId, agentId))
  if (found.kind === 'not_found') return explainNobody(services, c)
  if (found.kind !== 'known') return answerProblem(c, found.kind)
  let { state } = found
  const first = await loadSet(services, caller, state)
  const read = await readCall(c, first?.settings.body_bytes_max)
  if (read.kind === 'answered') return read.response
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    const evaluatedAt = clockOf(state, services.now())
    const decided = await evaluate(services, c, caller, state, read, evaluatedAt)
    if (decided === undefined) return answerProblem(c, 'not_found')
    const ask: ExplainAsk = { keyId: caller.keyId, agentId, revision: state.current.revision, evaluatedAt }
    const result = await c.get('timing').measure('record', () => caller.chain.explain(ask))
    switch (result.kind) {
      case 'counted':
        return answerJson(c, toExplanation(agentId, decided))
      case 'limited':
        return answerLimited(c, 'tenant_rate', result.retryAfterMs)
      case 'stale':
        c.get('noted').stale = attempt
        state = services.callerStates.remember(caller.tenant, caller.keyId, result.current, agentId)
        break
      case 'unavailable':
        c.get('noted').fault = result.code
        return answerProblem(c, 'unavailable')
      case 'unauthorized':
      case 'not_found':
        services.callerStates.forget(caller.tenant, caller.keyId, agentId)
        services.callerStates.forget(caller.tenant, caller.keyId)
        return answerProblem(c, result.kind)
    }
  }
  return answerProblem(c, 'still_stale')
}

/** Names that nobody has cannot be tried for nothing. */
async function explainNobody(services: Services, c: RequestContext): Promise<Response> {
  const { chain, keyId } = c.get('caller')
  const leave = await c
    .get('timing')
    .measure('record', () => chain.mayRead(keyId, ['auditor', 'admin', 'agent']))
  return leave.kind === 'granted' ? answerProblem(c, 'not_found') : answerRefusedReading(services, c, leave)
}

/** Whose evaluation; an agent's own key may ask only for its own, and only where the settings say so. */
function agentToExplain(c: RequestContext, { role, state }: Caller): string | Response {
  const [named, ...more] = c.req.queries('agent') ?? []
  const wanted = role === 'agent' ? (named ?? state.current.agent?.id) : named
  if (more.length > 0 || wanted === undefined || wanted === '') {
    return answerProblem(c, 'query_invalid', { detail: 'agent must be given, once' })
  }
  if (role === 'agent' && (!state.current.agentsMayExplain || wanted !== state.current.agent?.id)) {
    return answerProblem(c, 'explain_not_allowed')
  }
  return wanted
}

function loadSet({ policySets }: Services, { tenant }: Caller, { current }: CallerState) {
  return policySets.get(tenant, current.policySetHash)
}

async function evaluate(
  services: Services,
  c: RequestContext,
  caller: Caller,
  state: CallerState,
  { request }: Extract<ReadCall, { kind: 'call' }>,
  nowMs: number,
): Promise<DecidedCall | undefined> {
  const { agent, policySetHash, shadowHash } = state.current
  if (agent === undefined) return undefined
  const policySet = await loadSet(services, caller, state)
  const shadow = await services.policySets.get(caller.tenant, shadowHash)
  return c.get('timing').measureSync('decide', () =>
    decideCall(
      {
        request,
        agent,
        ...(policySetHash === undefined ? {} : { policySetHash }),
        ...(policySet === undefined ? {} : { policySet }),
        ...(shadow === undefined ? {} : { shadow }),
        nowMs,
      },
      services,
    ),
  )
}

function toExplanation(agentId: string, decided: DecidedCall): Explanation {
  const { evaluation, detail, risk, matchedRules } = decided
  return {
    decision: evaluation.decision,
    reason: { code: evaluation.code, detail },
    risk,
    agent_id: agentId,
    tool_id: evaluation.toolId,
    ...(evaluation.policySetHash === undefined ? {} : { policy_set_hash: evaluation.policySetHash }),
    matched_rules: [...matchedRules],
    ...(evaluation.approval === undefined
      ? {}
      : { approval: { groups: [...evaluation.approval.groups], quorum: evaluation.approval.quorum } }),
    decision_axes: evaluation.axes as unknown as JsonObject,
  }
}
