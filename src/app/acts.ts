/**
 * Acts of an operator or an admin over HTTP: who may, what stands for a request without a body, and what each result is
 * answered with. What an act means, and whether it is refused, is decided in the tenant's object.
 */
import type { Actor, AdministerResult, BareCall } from '../../durable-objects/rpc.ts'
import { type ActAnswer, bareRequest } from '../protocol/index.ts'
import { type JsonObject, requestDigest } from '../record/index.ts'
import { answerJson, answerLimited, answerProblem, answerUnavailable } from './answers.ts'
import type { RequestContext } from './request-scope.ts'
import type { Services } from './services.ts'

/** An act that is all said by its path. */
export function bareCall(services: Services, actor: Actor, act: string, names: JsonObject = {}): BareCall {
  const request = bareRequest(act, names)
  return { actor, request, requestDigest: requestDigest(request, services.digester) }
}

/**
 * The answer to an act; every one that was recorded says so, also when it was refused.
 *
 * @param more what the answer to one that was done says besides.
 */
export function answerAct(
  c: RequestContext,
  result: AdministerResult,
  more: Readonly<Record<string, unknown>> = {},
): Response {
  const noted = c.get('noted')
  switch (result.kind) {
    case 'done': {
      noted.callId = result.callId
      const answer: ActAnswer = {
        outcome: 'done',
        revision: result.revision,
        call_id: result.callId,
        receipt: { line: result.line, line_hash: result.lineHash },
      }
      return answerJson(c, { ...answer, ...more })
    }
    case 'unchanged':
      return answerJson(c, { outcome: 'unchanged', revision: result.revision } satisfies ActAnswer)
    case 'refused':
      if (result.code === undefined) throw new Error('a refusal without its code')
      return answerProblem(c, result.code, { callId: result.callId })
    case 'unauthorized':
      return answerProblem(c, 'unauthorized')
    case 'limited':
      return answerLimited(c, 'tenant_rate', result.retryAfterMs)
    case 'unavailable':
      return answerUnavailable(c, result.code)
  }
}
