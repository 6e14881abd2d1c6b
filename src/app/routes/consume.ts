/**
 * `POST /v1/approvals/{id}/consume` (authorize.md §4): the single use of an approval. The frozen request is decided again
 * with today's policy set, agent record and clock; whether the approval can be used is judged by the writer.
 */
import { Hono } from 'hono'
import type { ApprovalRecord, AuthorizeDraft } from '../../../durable-objects/rpc.ts'
import { type ConsumeRequest, parseAuthorizeRequest, parseConsumeRequest } from '../../protocol/index.ts'
import { requestDigest } from '../../record/index.ts'
import { answerProblem, answerUnavailable } from '../answers.ts'
import { type CallerState, clockOf } from '../caller-states.ts'
import { decideCall, unevaluated } from '../decide-call.ts'
import { describeConsume } from '../descriptions.ts'
import { requireCaller } from '../middleware/require-caller.ts'
import { requireJson } from '../middleware/require-json.ts'
import { readParsedBody } from '../parsed-body.ts'
import type { RequestContext, RequestScope } from '../request-scope.ts'
import type { Services } from '../services.ts'
import { type Sets, admitDecided } from '../admit-decided.ts'

/** Two hashes and an id. */
const bodyBytesMax = 4_096

export function consumeRoute(services: Services): Hono<RequestScope> {
  return new Hono<RequestScope>().post(
    '/v1/approvals/:id/consume',
    describeConsume,
    requireJson(bodyBytesMax),
    requireCaller(services, ['agent']),
    (c) => consume(services, c),
  )
}

async function consume(services: Services, c: RequestContext): Promise<Response> {
  const { chain, keyId } = c.get('caller')
  const approvalId = c.req.param('id') ?? ''
  const read = await readParsedBody(c, bodyBytesMax, parseConsumeRequest)
  if (read.kind === 'answered') return read.response
  const { request } = read.parsed
  const header = c.req.raw.headers.get('idempotency-key')
  if (header !== null && header !== request.requestId) return answerProblem(c, 'idempotency_key_mismatch')
  // Not of the form of an id: nobody's, and nothing to put into a Line.
  if (!/^apr_[0-9a-z]{26}$/.test(approvalId)) return answerProblem(c, 'not_found')
  const found = await c.get('timing').measure('record', () => chain.frozen(keyId, approvalId))
  if (found.kind === 'unauthorized') return answerProblem(c, 'unauthorized')
  if (found.kind === 'unavailable') return answerUnavailable(c, found.code)
  const approval = found.kind === 'frozen' ? found.approval : undefined
  return admitDecided(services, c, (state, sets) =>
    toDraft(services, keyId, { state, sets }, { approvalId, approval, request, bytes: read.bytes }),
  )
}

interface Asked {
  readonly approvalId: string
  /** Absent where it is not this agent's, or never was. */
  readonly approval: ApprovalRecord | undefined
  readonly request: ConsumeRequest
  readonly bytes: Uint8Array
}

function toDraft(
  services: Services,
  keyId: string,
  { state, sets }: { readonly state: CallerState; readonly sets: Sets },
  { approvalId, approval, request, bytes }: Asked,
): AuthorizeDraft | undefined {
  const { agent, revision, policySetHash } = state.current
  if (agent === undefined) return undefined
  const evaluatedAt = clockOf(state, services.now())
  const frozen = approval?.request === undefined ? undefined : parseAuthorizeRequest(approval.request)
  const named = policySetHash === undefined ? {} : { policySetHash }
  const decided = frozen?.ok
    ? decideCall(
        { request: frozen.request, agent, ...named, ...sets, nowMs: evaluatedAt, isFrozen: true },
        services,
      )
    : undefined
  return {
    keyId,
    revision,
    evaluatedAt,
    requestDigest: requestDigest(bytes, services.digester),
    actionHash: decided?.actionHash ?? request.actionHash,
    request: bytes,
    requestId: request.requestId,
    evaluation: decided?.evaluation ?? unevaluated(approval?.toolId ?? '-', agent, policySetHash),
    consume: { approvalId, actionHash: request.actionHash, bindingHash: request.bindingHash },
  }
}
