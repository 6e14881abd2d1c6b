/**
 * `/v1/groups`: who is in the groups that a bundle asks for approvals. Administered and not bundled, since hiring someone
 * must not change a `policy_set_hash`.
 */
import { Hono } from 'hono'
import type { GroupRecord } from '../../../durable-objects/rpc.ts'
import {
  type GroupList,
  type WebhookSecret,
  groupChangeSchema,
  groupNamePattern,
  readStrictBody,
} from '../../protocol/index.ts'
import { actBytesMax, adminOf, readAct } from '../act-request.ts'
import { answerAct } from '../acts.ts'
import { answerJson, answerProblem, answerRefusedReading } from '../answers.ts'
import { describeChangeGroup, describeGroups, describeWebhookSecret } from '../descriptions-administration.ts'
import { answerList } from '../listing.ts'
import { requireCaller } from '../middleware/require-caller.ts'
import { requireJson } from '../middleware/require-json.ts'
import type { RequestContext, RequestScope } from '../request-scope.ts'
import type { Services } from '../services.ts'

export function groupRoutes(services: Services): Hono<RequestScope> {
  return new Hono<RequestScope>()
    .get('/v1/groups', describeGroups, requireCaller(services, ['admin', 'auditor']), (c) =>
      list(services, c),
    )
    .put(
      '/v1/groups/:name',
      describeChangeGroup,
      requireJson(actBytesMax),
      requireCaller(services, ['admin']),
      (c) => change(services, c),
    )
    .get('/v1/groups/:name/webhook-secret', describeWebhookSecret, requireCaller(services, ['admin']), (c) =>
      webhookSecret(services, c),
    )
}

function list(services: Services, c: RequestContext): Promise<Response> {
  const { chain, keyId } = c.get('caller')
  const toEntry = ({ name, members, webhook }: GroupRecord): GroupList['groups'][number] => ({
    name,
    members: [...members],
    ...(webhook === undefined
      ? {}
      : { webhook: { origin: new URL(webhook.url).origin, format: webhook.format } }),
  })
  return answerList(services, c, 'groups', (after) => chain.groups(keyId, after), toEntry)
}

async function change(services: Services, c: RequestContext): Promise<Response> {
  const group = c.req.param('name') ?? ''
  if (!groupNamePattern.test(group)) {
    return answerProblem(c, 'not_found', { detail: 'no bundle can name a group like this' })
  }
  const read = await readAct(services, c, adminOf(c), (bytes) => readStrictBody(groupChangeSchema, bytes))
  if (read.kind === 'answered') return read.response
  const { chain } = c.get('caller')
  const { members, webhook } = read.value
  const said = { group, members, ...(webhook === undefined ? {} : { webhook }) }
  const result = await c
    .get('timing')
    .measure('record', () => chain.administer({ ...read.call, act: { act: 'group.change', ...said } }))
  return answerAct(c, result)
}

/** For whoever sets up the receiver. Made from the deployment's seed, so that it can be read again, and not changed. */
async function webhookSecret(services: Services, c: RequestContext): Promise<Response> {
  const { chain, keyId } = c.get('caller')
  const group = c.req.param('name') ?? ''
  if (!groupNamePattern.test(group)) return answerProblem(c, 'not_found')
  const result = await c.get('timing').measure('record', () => chain.webhookSecret(keyId, group))
  if (result.kind === 'not_found') return answerProblem(c, 'not_found')
  if (result.kind !== 'secret') return answerRefusedReading(services, c, result)
  return answerJson(c, { group, secret: result.secret } satisfies WebhookSecret)
}
