/**
 * `/v1/keys`: API keys are issued, confirmed, revoked and listed (authorize.md §1). A key's text is in the answer to its
 * issue and nowhere else. The public keys of a tenant: routes/keys.ts.
 */
import { Hono } from 'hono'
import type { Actor, BareCall, DirectAct, ListedKey } from '../../../durable-objects/rpc.ts'
import {
  type ActAnswer,
  type KeyIssued,
  type KeyList,
  type KeyRequest,
  formatInstant,
  keyRequestSchema,
  parseInstant,
  readStrictBody,
} from '../../protocol/index.ts'
import { actBytesMax, adminOf, readAct } from '../act-request.ts'
import { answerRefusedBody } from '../parsed-body.ts'
import { answerAct, bareCall } from '../acts.ts'
import { answerProblem } from '../answers.ts'
import type { TenantChainRpc } from '../../../durable-objects/rpc.ts'
import { describeApiKeys, describeIssueKey, describeKeyAct } from '../descriptions-administration.ts'
import { answerList } from '../listing.ts'
import { makeKey } from '../make-key.ts'
import { requireCaller } from '../middleware/require-caller.ts'
import { requireJson } from '../middleware/require-json.ts'
import type { RequestContext, RequestScope } from '../request-scope.ts'
import type { Services } from '../services.ts'

export function apiKeyRoutes(services: Services): Hono<RequestScope> {
  const admin = requireCaller(services, ['admin'])
  const app = new Hono<RequestScope>()
    .get('/v1/keys', describeApiKeys, requireCaller(services, ['admin', 'auditor']), (c) => list(services, c))
    .post('/v1/keys', describeIssueKey, requireJson(actBytesMax), admin, (c) => issue(services, c))
  for (const act of ['confirm', 'revoke'] as const) {
    app.post(`/v1/keys/:id/${act}`, describeKeyAct(act), admin, (c) => change(services, c, act))
  }
  return app
}

function list(services: Services, c: RequestContext): Promise<Response> {
  const { chain, keyId } = c.get('caller')
  return answerList(services, c, 'keys', (after) => chain.apiKeys(keyId, after), toBody)
}

async function issue(services: Services, c: RequestContext): Promise<Response> {
  const read = await readAct(services, c, adminOf(c), (bytes) => readStrictBody(keyRequestSchema, bytes))
  if (read.kind === 'answered') return read.response
  const { chain, keyId, tenant } = c.get('caller')
  return issueKey(services, c, { chain, tenant, holder: keyId, call: read.call, wanted: read.value })
}

/** What issuing takes besides the request; the operator's route uses it too. */
export interface Issue {
  readonly chain: TenantChainRpc
  readonly tenant: string
  /** Whose Idempotency-Keys are kept apart from others'. */
  readonly holder: string
  readonly call: BareCall
  readonly wanted: KeyRequest
}

export async function issueKey(services: Services, c: RequestContext, issued: Issue): Promise<Response> {
  const { chain, tenant, holder, call, wanted } = issued
  const expiresAt = parseInstant(wanted.expires_at) ?? 0
  if (expiresAt <= services.now()) {
    const members = [{ member: 'expires_at', problem: 'must be in the future' }]
    return answerRefusedBody(c, { ok: false, code: 'body_invalid', members })
  }
  const once = c.req.raw.headers.get('idempotency-key')
  const key = makeKey(services, {
    role: wanted.role,
    tenant,
    ...(once === null ? {} : { names: [holder, once] }),
  })
  const result = await c.get('timing').measure('record', () =>
    chain.administer({
      ...call,
      act: {
        act: 'key.issue',
        key: {
          id: key.id,
          role: wanted.role,
          subject: wanted.subject,
          secretHash: key.secretHash,
          expiresAt,
          ...(wanted.agent === undefined ? {} : { agentId: wanted.agent }),
          ...(wanted.envelopes === undefined ? {} : { envelopes: wanted.envelopes }),
        },
        once: once !== null,
      },
    }),
  )
  if (result.kind === 'unchanged') return answerProblem(c, 'already_created')
  const confirmed = result.kind === 'done' && result.confirmed === true
  const shown: Omit<KeyIssued, keyof ActAnswer> = { key_id: key.id, key: key.text, confirmed }
  return answerAct(c, result, shown)
}

async function change(services: Services, c: RequestContext, what: 'confirm' | 'revoke'): Promise<Response> {
  await c.req.raw.body?.cancel()
  const id = c.req.param('id') ?? ''
  if (!/^[0-9a-z]{16}$/.test(id)) return answerProblem(c, 'not_found')
  const { chain } = c.get('caller')
  const actor: Actor = adminOf(c)
  const act = { act: `key.${what}`, keyId: id } as const satisfies DirectAct
  const call = bareCall(services, actor, act.act, { key_id: id })
  return answerAct(c, await c.get('timing').measure('record', () => chain.administer({ ...call, act })))
}

function toBody(key: ListedKey): KeyList['keys'][number] {
  return {
    key_id: key.id,
    role: key.role,
    subject: key.subject,
    ...(key.agentId === undefined ? {} : { agent: key.agentId }),
    ...(key.envelopes === undefined ? {} : { envelopes: key.envelopes }),
    expires_at: formatInstant(key.expiresAt),
    revoked: key.revoked,
    confirmed: key.confirmed,
    ...(key.issuedBy === undefined ? {} : { issued_by: key.issuedBy }),
  }
}
