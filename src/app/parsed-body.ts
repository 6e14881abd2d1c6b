/**
 * A short body: read to its limit and held against its schema. What is wrong with it is answered here, before anything is
 * asked of the tenant's object. The body of authorize has a limit of its tenant's, and is call-request.ts.
 */
import { type RefusedBody, describeRefusedMembers } from '../protocol/index.ts'
import { answerProblem } from './answers.ts'
import { readBody } from './body.ts'
import type { RequestContext } from './request-scope.ts'

/** It was refused, and this says so. */
export interface AnsweredBody {
  readonly kind: 'answered'
  readonly response: Response
}

export async function readParsedBody<Parsed extends { readonly ok: true }>(
  c: RequestContext,
  bytesMax: number,
  parse: (bytes: Uint8Array) => Parsed | RefusedBody,
): Promise<{ readonly kind: 'read'; readonly parsed: Parsed; readonly bytes: Uint8Array } | AnsweredBody> {
  const body = await c.get('timing').measure('read', () => readBody(c.req.raw, bytesMax))
  if (body.kind === 'refused') return { kind: 'answered', response: answerProblem(c, body.code) }
  const parsed = parse(body.bytes)
  if (!parsed.ok) return { kind: 'answered', response: answerRefusedBody(c, parsed) }
  return { kind: 'read', parsed, bytes: body.bytes }
}

/** Names the place where it cannot be read, or every member that is wrong. */
export function answerRefusedBody(c: RequestContext, refused: RefusedBody): Response {
  if (refused.code === 'body_malformed') return answerProblem(c, refused.code, { detail: refused.detail })
  const { members } = refused
  return answerProblem(c, refused.code, { detail: describeRefusedMembers(members), members })
}
