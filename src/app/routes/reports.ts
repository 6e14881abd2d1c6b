/**
 * `POST /v1/reports` and `GET /v1/grants` (authorize.md §5): an agent says what came of a grant, and asks for the grants
 * of which it has said nothing. What it says is recorded as its own statement.
 */
import { Hono } from 'hono'
import { type GrantList, type ReportAnswer, formatInstant, parseReportRequest } from '../../protocol/index.ts'
import { requestDigest } from '../../record/index.ts'
import { answerJson, answerProblem, answerRefusedReading } from '../answers.ts'
import { describeGrants, describeReport } from '../descriptions.ts'
import { requireCaller } from '../middleware/require-caller.ts'
import { requireJson } from '../middleware/require-json.ts'
import { readParsedBody } from '../parsed-body.ts'
import type { RequestContext, RequestScope } from '../request-scope.ts'
import type { Services } from '../services.ts'

/** Ids, a digest and a sentence. */
const bodyBytesMax = 8_192

export function reportRoutes(services: Services): Hono<RequestScope> {
  const agents = requireCaller(services, ['agent'])
  return new Hono<RequestScope>()
    .post('/v1/reports', describeReport, requireJson(bodyBytesMax), agents, (c) => report(services, c))
    .get('/v1/grants', describeGrants, agents, (c) => grants(services, c))
}

async function report(services: Services, c: RequestContext): Promise<Response> {
  const { chain, keyId } = c.get('caller')
  const read = await readParsedBody(c, bodyBytesMax, parseReportRequest)
  if (read.kind === 'answered') return read.response
  const digest = requestDigest(read.bytes, services.digester)
  const result = await c
    .get('timing')
    .measure('record', () =>
      chain.report({ keyId, ...read.parsed.request, request: read.bytes, requestDigest: digest }),
    )
  switch (result.kind) {
    case 'reported': {
      c.get('noted').callId = result.callId
      const answer: ReportAnswer = {
        call_id: result.callId,
        receipt: { line: result.line, line_hash: result.lineHash },
      }
      return answerJson(c, answer)
    }
    case 'refused':
      return answerProblem(c, result.code, { callId: result.callId })
    default:
      return answerRefusedReading(services, c, result)
  }
}

async function grants(services: Services, c: RequestContext): Promise<Response> {
  const { chain, keyId } = c.get('caller')
  if (c.req.query('unreported') !== 'true') {
    return answerProblem(c, 'query_invalid', { detail: 'unreported must be true: no other list is kept' })
  }
  const after = c.req.query('after') ?? ''
  if (!/^(grt_[0-9a-z]{26})?$/.test(after)) {
    return answerProblem(c, 'query_invalid', { detail: 'after must be a grant_id' })
  }
  const result = await c.get('timing').measure('record', () => chain.unreported(keyId, after))
  if (result.kind !== 'grants') return answerRefusedReading(services, c, result)
  const list: GrantList = {
    grants: result.grants.map(({ grantId, callId, toolId, expiresAt }) => ({
      grant_id: grantId,
      call_id: callId,
      tool_id: toolId,
      expires_at: formatInstant(expiresAt),
    })),
    ...(result.next === undefined ? {} : { next: result.next }),
  }
  return answerJson(c, list)
}
