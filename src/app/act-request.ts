/**
 * The body of an act: read to its limit, hashed as it arrived, held against its schema. What is wrong with it is answered
 * here, before anything is asked of the tenant's object; nothing is recorded of it.
 */
import type { Actor, BareCall } from '../../durable-objects/rpc.ts'
import { type StrictBody, describeRefusedMembers } from '../protocol/index.ts'
import { requestDigest } from '../record/index.ts'
import { answerProblem } from './answers.ts'
import { readBody } from './body.ts'
import type { RequestContext } from './request-scope.ts'
import type { Services } from './services.ts'

/** The longest is a group of 200 subjects: some 50 KiB. */
export const actBytesMax = 65_536

export type ReadAct<T> =
  | { readonly kind: 'act'; readonly value: T; readonly call: BareCall }
  | { readonly kind: 'answered'; readonly response: Response }

export async function readAct<T>(
  services: Services,
  c: RequestContext,
  actor: Actor,
  parse: (bytes: Uint8Array) => StrictBody<T>,
): Promise<ReadAct<T>> {
  const body = await c.get('timing').measure('read', () => readBody(c.req.raw, actBytesMax))
  if (body.kind === 'refused') return { kind: 'answered', response: answerProblem(c, body.code) }
  const request = body.bytes
  const parsed = parse(request)
  if (!parsed.ok) return { kind: 'answered', response: answerStrictRefusal(c, parsed) }
  const call = { actor, request, requestDigest: requestDigest(request, services.digester) }
  return { kind: 'act', value: parsed.value, call }
}

export function answerStrictRefusal(
  c: RequestContext,
  refused: Extract<StrictBody<unknown>, { ok: false }>,
): Response {
  if (refused.code === 'body_malformed') return answerProblem(c, refused.code, { detail: refused.detail })
  const { members } = refused
  return answerProblem(c, refused.code, { detail: describeRefusedMembers(members), members })
}

/** The actor that the caller of a route is. */
export function adminOf(c: RequestContext): Actor {
  return { role: 'admin', keyId: c.get('caller').keyId }
}
