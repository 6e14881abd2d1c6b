/**
 * Approvals over HTTP (authorize.md §4): seen, approved, denied, withdrawn and cancelled. Who may do what is decided in
 * the tenant's object, which records a refusal; so every role gets that far with an act. Its use is routes/consume.ts.
 */
import { Hono } from 'hono'
import type { ApprovalAct, ApprovalResult } from '../../../durable-objects/rpc.ts'
import { type ApprovalList, approvalStates, bareRequest, parseApprovalAct } from '../../protocol/index.ts'
import { requestDigest } from '../../record/index.ts'
import { viewApproval } from '../approval-view.ts'
import { answerJson, answerProblem, answerRefusedReading } from '../answers.ts'
import { describeApproval, describeApprovalAct, describeApprovals } from '../descriptions.ts'
import { requireCaller } from '../middleware/require-caller.ts'
import { requireJson } from '../middleware/require-json.ts'
import { readParsedBody } from '../parsed-body.ts'
import type { RequestContext, RequestScope } from '../request-scope.ts'
import type { Services } from '../services.ts'

/** A hash and a sentence. */
const bodyBytesMax = 4_096

export function approvalRoutes(services: Services): Hono<RequestScope> {
  const anyone = requireCaller(services, ['agent', 'approver', 'auditor', 'admin'])
  const watchers = requireCaller(services, ['agent', 'approver', 'admin'])
  const json = requireJson(bodyBytesMax)
  const app = new Hono<RequestScope>()
    .get('/v1/approvals', describeApprovals, watchers, (c) => list(services, c))
    .get('/v1/approvals/:id', describeApproval, watchers, (c) => show(services, c))
    .post(
      '/v1/approvals/:id/cancel',
      describeApprovalAct('cancel'),
      requireCaller(services, ['agent', 'admin']),
      (c) => cancel(services, c),
    )
  for (const act of ['approve', 'deny', 'withdraw'] as const) {
    app.post(`/v1/approvals/:id/${act}`, describeApprovalAct(act), json, anyone, (c) =>
      decide(services, c, act),
    )
  }
  return app
}

async function list(services: Services, c: RequestContext): Promise<Response> {
  const { chain, keyId } = c.get('caller')
  const status = c.req.query('status')
  const state = approvalStates.find((name) => name === status)
  if (status !== undefined && state === undefined) {
    return answerProblem(c, 'query_invalid', { detail: `status must be one of ${approvalStates.join(', ')}` })
  }
  const after = c.req.query('after') ?? ''
  if (!/^(apr_[0-9a-z]{26})?$/.test(after)) {
    return answerProblem(c, 'query_invalid', { detail: 'after must be an approval_id' })
  }
  const page = { ...(state === undefined ? {} : { state }), after }
  const result = await c.get('timing').measure('record', () => chain.approvals(keyId, page))
  if (result.kind !== 'approvals') return answerRefusedReading(services, c, result)
  const body: ApprovalList = {
    approvals: result.approvals.map((approval) => viewApproval(approval, result.viewer)),
    ...(result.next === undefined ? {} : { next: result.next }),
  }
  return answerJson(c, body)
}

async function show(services: Services, c: RequestContext): Promise<Response> {
  const { chain, keyId } = c.get('caller')
  const id = idOf(c)
  if (id === undefined) return answerProblem(c, 'not_found')
  const result = await c.get('timing').measure('record', () => chain.approval(keyId, id))
  return answerApproval(services, c, result)
}

async function decide(
  services: Services,
  c: RequestContext,
  act: 'approve' | 'deny' | 'withdraw',
): Promise<Response> {
  const read = await readParsedBody(c, bodyBytesMax, (bytes) => parseApprovalAct(bytes, act))
  if (read.kind === 'answered') return read.response
  const { bindingHash, reason } = read.parsed.request
  return send(services, c, act, read.bytes, {
    bindingHash,
    ...(reason === undefined ? {} : { reasonText: reason }),
  })
}

async function cancel(services: Services, c: RequestContext): Promise<Response> {
  await c.req.raw.body?.cancel()
  return send(
    services,
    c,
    'cancel',
    bareRequest('approval.cancel', { approval_id: c.req.param('id') ?? '' }),
    {},
  )
}

async function send(
  services: Services,
  c: RequestContext,
  act: ApprovalAct['act'],
  request: Uint8Array,
  said: Pick<ApprovalAct, 'bindingHash' | 'reasonText'>,
): Promise<Response> {
  const { chain, keyId } = c.get('caller')
  const approvalId = idOf(c)
  if (approvalId === undefined) return answerProblem(c, 'not_found')
  const digest = requestDigest(request, services.digester)
  const result = await c
    .get('timing')
    .measure('record', () =>
      chain.actOnApproval({ keyId, approvalId, act, ...said, request, requestDigest: digest }),
    )
  return answerApproval(services, c, result)
}

function answerApproval(services: Services, c: RequestContext, result: ApprovalResult): Response {
  switch (result.kind) {
    case 'approval':
      return answerJson(c, viewApproval(result.approval, result.viewer))
    case 'lost':
      return answerProblem(c, 'approval_decided', { state: result.state })
    case 'refused':
      return answerProblem(c, result.code, { callId: result.callId })
    case 'not_found':
      return answerProblem(c, 'not_found')
    default:
      return answerRefusedReading(services, c, result)
  }
}

function idOf(c: RequestContext): string | undefined {
  const id = c.req.param('id') ?? ''
  return /^apr_[0-9a-z]{26}$/.test(id) ? id : undefined
}
