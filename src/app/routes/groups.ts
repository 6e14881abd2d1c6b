/**
 * `/v1/groups`: who is in the groups that a bundle asks for approvals. Administered and not bundled, since hiring someone
 * must not change a `policy_set_hash`.
 */
import { Hono } from 'hono'
import { groupChangeSchema, groupNamePattern, readStrictBody } from '../../protocol/index.ts'
import { actBytesMax, adminOf, readAct } from '../act-request.ts'
import { answerAct } from '../acts.ts'
import { answerProblem } from '../answers.ts'
import { describeChangeGroup, describeGroups } from '../descriptions-administration.ts'
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
}

function list(services: Services, c: RequestContext): Promise<Response> {
  const { chain, keyId } = c.get('caller')
  return answerList(
    services,
    c,
    'groups',
    (after) => chain.groups(keyId, after),
    ({ name, members }) => ({
      name,
      members,
    }),
  )
}

async function change(services: Services, c: RequestContext): Promise<Response> {
  const group = c.req.param('name') ?? ''
  if (!groupNamePattern.test(group)) {
    return answerProblem(c, 'not_found', { detail: 'no bundle can name a group like this' })
  }
  const read = await readAct(services, c, adminOf(c), (bytes) => readStrictBody(groupChangeSchema, bytes))
  if (read.kind === 'answered') return read.response
  const { chain } = c.get('caller')
  const { members } = read.value
  const result = await c
    .get('timing')
    .measure('record', () => chain.administer({ ...read.call, act: { act: 'group.change', group, members } }))
  return answerAct(c, result)
}
