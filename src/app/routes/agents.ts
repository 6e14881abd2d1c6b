/**
 * `/v1/agents`: agents are created, changed, frozen, unfrozen, revoked and listed. Each act is a Call of the tenant's
 * Chain, and no decision after its answer is made under what was before. Keys of agents: routes/api-keys.ts.
 */
import { Hono } from 'hono'
import type { DirectAct, ListedAgent } from '../../../durable-objects/rpc.ts'
import {
  type AgentBody,
  type AgentList,
  agentIdPattern,
  formatInstant,
  parseAgent,
} from '../../protocol/index.ts'
import { actBytesMax, adminOf, readAct } from '../act-request.ts'
import { answerAct, bareCall } from '../acts.ts'
import { answerJson, answerProblem, answerRefusedReading } from '../answers.ts'
import {
  describeAgent,
  describeAgentAct,
  describeAgents,
  describeChangeAgent,
  describeCreateAgent,
} from '../descriptions-administration.ts'
import { answerList } from '../listing.ts'
import { requireCaller } from '../middleware/require-caller.ts'
import { requireJson } from '../middleware/require-json.ts'
import type { RequestContext, RequestScope } from '../request-scope.ts'
import type { Services } from '../services.ts'

export function agentRoutes(services: Services): Hono<RequestScope> {
  const admin = requireCaller(services, ['admin'])
  const readers = requireCaller(services, ['admin', 'auditor'])
  const json = requireJson(actBytesMax)
  const app = new Hono<RequestScope>()
    .get('/v1/agents', describeAgents, readers, (c) => list(services, c))
    .post('/v1/agents', describeCreateAgent, json, admin, (c) => write(services, c, 'agent.create'))
    .get('/v1/agents/:id', describeAgent, readers, (c) => show(services, c))
    .put('/v1/agents/:id', describeChangeAgent, json, admin, (c) => write(services, c, 'agent.change'))
  for (const act of ['freeze', 'unfreeze', 'revoke'] as const) {
    app.post(`/v1/agents/:id/${act}`, describeAgentAct(act), admin, (c) => change(services, c, act))
  }
  return app
}

function list(services: Services, c: RequestContext): Promise<Response> {
  const { chain, keyId } = c.get('caller')
  const toEntry = (agent: ListedAgent): AgentList['agents'][number] => toBody(agent)
  return answerList(services, c, 'agents', (after) => chain.agents(keyId, after), toEntry)
}

async function show(services: Services, c: RequestContext): Promise<Response> {
  const { chain, keyId } = c.get('caller')
  const result = await c.get('timing').measure('record', () => chain.agent(keyId, c.req.param('id') ?? ''))
  switch (result.kind) {
    case 'agent':
      return answerJson(c, toBody(result.agent))
    case 'not_found':
      return answerProblem(c, 'not_found')
    default:
      return answerRefusedReading(services, c, result)
  }
}

async function write(
  services: Services,
  c: RequestContext,
  act: 'agent.create' | 'agent.change',
): Promise<Response> {
  const id = act === 'agent.change' ? (c.req.param('id') ?? '') : undefined
  if (id !== undefined && !agentIdPattern.test(id)) return answerProblem(c, 'not_found')
  const read = await readAct(services, c, adminOf(c), (bytes) => parseAgent(bytes, id))
  if (read.kind === 'answered') return read.response
  const { chain } = c.get('caller')
  const result = await c
    .get('timing')
    .measure('record', () => chain.administer({ ...read.call, act: { act, agent: read.value } }))
  return answerAct(c, result)
}

async function change(
  services: Services,
  c: RequestContext,
  what: 'freeze' | 'unfreeze' | 'revoke',
): Promise<Response> {
  await c.req.raw.body?.cancel()
  const agentId = c.req.param('id') ?? ''
  if (!agentIdPattern.test(agentId)) return answerProblem(c, 'not_found')
  const { chain } = c.get('caller')
  const act = { act: `agent.${what}`, agentId } as const satisfies DirectAct
  const call = bareCall(services, adminOf(c), act.act, { agent: agentId })
  return answerAct(c, await c.get('timing').measure('record', () => chain.administer({ ...call, act })))
}

function toBody(agent: ListedAgent): AgentBody {
  return {
    id: agent.id,
    owner: agent.owner,
    environment: agent.environment,
    risk_tier: agent.riskTier,
    trust_max: agent.trustMax,
    force_approval: agent.forceApproval,
    roles: [...agent.roles],
    frozen: agent.frozen,
    revoked: agent.revoked,
    ...(agent.lastCallAt === undefined ? {} : { last_call_at: formatInstant(agent.lastCallAt) }),
  }
}
