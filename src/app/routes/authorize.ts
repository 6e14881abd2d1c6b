/**
 * `POST /v1/authorize` (authorize.md §2, §3): decides in this Worker, lets the tenant's object admit it, and decides
 * again when the object knows a newer state. Not a policy and not a record: src/policy decides, the object writes.
 */
import { Hono } from 'hono'
import type { AuthorizeDraft } from '../../../durable-objects/rpc.ts'
import { bodyBytesHardMax } from '../../policy/index.ts'
import { requestDigest } from '../../record/index.ts'
import { type Sets, admitDecided, loadSets } from '../admit-decided.ts'
import { type ReadCall, readCall } from '../call-request.ts'
import { type CallerState, clockOf } from '../caller-states.ts'
import { decideCall } from '../decide-call.ts'
import { describeAuthorize } from '../descriptions.ts'
import { requireCaller } from '../middleware/require-caller.ts'
import { requireJson } from '../middleware/require-json.ts'
import type { RequestContext, RequestScope } from '../request-scope.ts'
import type { Services } from '../services.ts'

export function authorizeRoute(services: Services): Hono<RequestScope> {
  return new Hono<RequestScope>().post(
    '/v1/authorize',
    describeAuthorize,
    requireJson(bodyBytesHardMax),
    requireCaller(services, ['agent']),
    (c) => authorize(services, c),
  )
}

async function authorize(services: Services, c: RequestContext): Promise<Response> {
  const { keyId, state: known } = c.get('caller')
  const first = await loadSets(services, c, known)
  const read = await readCall(c, first.policySet?.settings.body_bytes_max)
  if (read.kind === 'answered') return read.response
  return admitDecided(services, c, (state, sets) => toDraft(services, c, keyId, state, sets, read), first)
}

function toDraft(
  services: Services,
  c: RequestContext,
  keyId: string,
  state: CallerState,
  sets: Sets,
  { request, bytes }: Extract<ReadCall, { kind: 'call' }>,
): AuthorizeDraft | undefined {
  const { agent, revision, policySetHash } = state.current
  if (agent === undefined) return undefined
  const evaluatedAt = clockOf(state, services.now())
  const decided = c.get('timing').measureSync('decide', () =>
    decideCall(
      {
        request,
        agent,
        ...(policySetHash === undefined ? {} : { policySetHash }),
        ...sets,
        nowMs: evaluatedAt,
      },
      services,
    ),
  )
  const { requestId, timestamp, nonce } = request
  return {
    keyId,
    revision,
    evaluatedAt,
    requestDigest: requestDigest(bytes, services.digester),
    actionHash: decided.actionHash,
    request: bytes,
    ...(requestId === undefined ? {} : { requestId }),
    ...(timestamp === undefined ? {} : { timestamp }),
    // Without a timestamp it was refused above, and must not be kept.
    ...(nonce === undefined || timestamp === undefined ? {} : { nonce }),
    evaluation: decided.evaluation,
  }
}
