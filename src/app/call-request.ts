/** The body that authorize and explain share: read to its limit, hashed as it arrived, held against the schema. */
import { bodyBytesHardMax } from '../policy/index.ts'
import { type AuthorizeRequest, parseAuthorizeRequest } from '../protocol/index.ts'
import { answerProblem } from './answers.ts'
import { readBody } from './body.ts'
import { answerRefusedBody } from './parsed-body.ts'
import type { RequestContext } from './request-scope.ts'

/** Where a tenant has no bundle, or it cannot be read: the default of `body_bytes_max`. */
const bodyBytesStandard = 262_144

export type ReadCall =
  | { readonly kind: 'call'; readonly request: AuthorizeRequest; readonly bytes: Uint8Array }
  | { readonly kind: 'answered'; readonly response: Response }

export async function readCall(c: RequestContext, bodyBytesMax = bodyBytesStandard): Promise<ReadCall> {
  const timing = c.get('timing')
  const bytesMax = Math.min(bodyBytesMax, bodyBytesHardMax)
  const body = await timing.measure('read', () => readBody(c.req.raw, bytesMax))
  if (body.kind === 'refused') {
    const detail = `the body is longer than ${String(bytesMax)} bytes`
    const extras = body.code === 'body_too_large' ? { detail } : {}
    return { kind: 'answered', response: answerProblem(c, body.code, extras) }
  }
  const key = c.req.raw.headers.get('idempotency-key') ?? undefined
  const parsed = timing.measureSync('read', () => parseAuthorizeRequest(body.bytes, key))
  if (parsed.ok) return { kind: 'call', request: parsed.request, bytes: body.bytes }
  const { code } = parsed
  const response = code === 'idempotency_key_mismatch' ? answerProblem(c, code) : answerRefusedBody(c, parsed)
  return { kind: 'answered', response }
}
