/**
 * The body of an act: read to its limit, hashed as it arrived, held against its schema. What is wrong with it is answered
 * here, before anything is asked of the tenant's object; nothing is recorded of it.
 */
import type { Actor, BareCall } from '../../durable-objects/rpc.ts'
import type { StrictBody } from '../protocol/index.ts'
import { requestDigest } from '../record/index.ts'
import { type AnsweredBody, readParsedBody } from './parsed-body.ts'
import type { RequestContext } from './request-scope.ts'
import type { Services } from './services.ts'

/** The longest is a group of 200 subjects: some 50 KiB. */
export const actBytesMax = 65_536

export type ReadAct<T> = { readonly kind: 'act'; readonly value: T; readonly call: BareCall } | AnsweredBody

export async function readAct<T>(
  services: Services,
  c: RequestContext,
  actor: Actor,
  parse: (bytes: Uint8Array) => StrictBody<T>,
): Promise<ReadAct<T>> {
  const read = await readParsedBody(c, actBytesMax, parse)
  if (read.kind === 'answered') return read
  const { bytes: request, parsed } = read
  const call = { actor, request, requestDigest: requestDigest(request, services.digester) }
  return { kind: 'act', value: parsed.value, call }
}

/** The actor that the caller of a route is. */
export function adminOf(c: RequestContext): Actor {
  return { role: 'admin', keyId: c.get('caller').keyId }
}
