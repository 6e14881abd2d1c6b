/**
 * `POST /v1/freeze`, `/v1/tools`: an admin stops his whole tenant, or one tool for all agents. They go on when the
 * tenant's bucket is empty (src/chain/administer.ts). A tenant is unfrozen by the operator: routes/tenants.ts.
 */
import { Hono } from 'hono'
import type { DirectAct } from '../../../durable-objects/rpc.ts'
import { normaliseIdentifiers } from '../../policy/index.ts'
import type { ToolList } from '../../protocol/index.ts'
import { adminOf } from '../act-request.ts'
import { answerAct, bareCall } from '../acts.ts'
import { answerProblem } from '../answers.ts'
import { describeFreeze, describeToolAct, describeTools } from '../descriptions-administration.ts'
import { answerList } from '../listing.ts'
import { requireCaller } from '../middleware/require-caller.ts'
import type { RequestContext, RequestScope } from '../request-scope.ts'
import type { Services } from '../services.ts'

export function killSwitchRoutes(services: Services): Hono<RequestScope> {
  const admin = requireCaller(services, ['admin'])
  const app = new Hono<RequestScope>()
    .post('/v1/freeze', describeFreeze, admin, (c) => freezeTenant(services, c))
    .get('/v1/tools', describeTools, requireCaller(services, ['admin', 'auditor']), (c) => list(services, c))
  for (const act of ['freeze', 'unfreeze'] as const) {
    app.post(`/v1/tools/:tool_id/${act}`, describeToolAct(act), admin, (c) => change(services, c, act))
  }
  return app
}

async function freezeTenant(services: Services, c: RequestContext): Promise<Response> {
  await c.req.raw.body?.cancel()
  const { chain, tenant } = c.get('caller')
  const call = bareCall(services, adminOf(c), 'tenant.freeze', { tenant })
  const act = { act: 'tenant.freeze' } as const
  return answerAct(c, await c.get('timing').measure('record', () => chain.administer({ ...call, act })))
}

function list(services: Services, c: RequestContext): Promise<Response> {
  const { chain, keyId } = c.get('caller')
  const toEntry = (toolId: string): ToolList['tools'][number] => ({ tool_id: toolId, frozen: true })
  return answerList(services, c, 'tools', (after) => chain.frozenTools(keyId, after), toEntry)
}

async function change(services: Services, c: RequestContext, what: 'freeze' | 'unfreeze'): Promise<Response> {
  await c.req.raw.body?.cancel()
  const toolId = c.req.param('tool_id') ?? ''
  if (!isNormalised(toolId)) return answerProblem(c, 'tool_id_invalid')
  const { chain } = c.get('caller')
  const act = { act: `tool.${what}`, toolId } as const satisfies DirectAct
  const call = bareCall(services, adminOf(c), act.act, { tool_id: toolId })
  return answerAct(c, await c.get('timing').measure('record', () => chain.administer({ ...call, act })))
}

/** Whether Calls can carry it: freezing another spelling would stop nothing. */
function isNormalised(toolId: string): boolean {
  const dot = toolId.lastIndexOf('.')
  const names = normaliseIdentifiers(toolId.slice(0, Math.max(0, dot)), toolId.slice(dot + 1))
  return names.ok && names.toolId === toolId
}
