/**
 * `GET /v1/chain/segments` and `GET /v1/chain/segments/{n}` (authorize.md §5): what is published, and the segments
 * themselves, verbatim and in ranges. A segment never changes, so that a client may keep it for good; nobody else may.
 */
import { Hono } from 'hono'
import { openSegment } from '../../archive/segments.ts'
import type { SegmentIndex } from '../../protocol/index.ts'
import { answerJson, answerProblem, answerRefusedReading, answerUnavailable } from '../answers.ts'
import { readByteRange } from '../byte-range.ts'
import { describeSegment, describeSegments } from '../descriptions.ts'
import { requireCaller } from '../middleware/require-caller.ts'
import type { RequestContext, RequestScope } from '../request-scope.ts'
import type { Services } from '../services.ts'

export function segmentRoutes(services: Services): Hono<RequestScope> {
  return new Hono<RequestScope>()
    .get('/v1/chain/segments', describeSegments, requireCaller(services, ['auditor']), (c) =>
      listSegments(services, c),
    )
    .get('/v1/chain/segments/:n', describeSegment, requireCaller(services, ['auditor']), (c) =>
      getSegment(services, c),
    )
}

async function listSegments(services: Services, c: RequestContext): Promise<Response> {
  const { chain, keyId } = c.get('caller')
  const given = c.req.query('after')
  const after = given === undefined ? -1 : parseSessionIndex(given)
  if (after === undefined) {
    return answerProblem(c, 'query_invalid', { detail: 'after must be the session_index of a Session' })
  }
  const result = await c.get('timing').measure('record', () => chain.segments(keyId, after))
  if (result.kind !== 'index') return answerRefusedReading(services, c, result)
  const last = result.segments.at(-1)
  const index: SegmentIndex = {
    segments: result.segments.map((segment) => ({
      session_index: segment.sessionIndex,
      bytes: segment.bytes,
      sha256: segment.sha256,
      calls: segment.calls,
      opened_at: segment.openedAt,
      closed_at: segment.closedAt,
      tail: segment.tail,
      key_id: segment.keyId,
    })),
    ...(result.more && last !== undefined ? { next: last.sessionIndex } : {}),
    unpublished: {
      sessions: result.waiting,
      ...(result.waitingSince === undefined ? {} : { oldest_closed_at: result.waitingSince }),
      ...(result.stopped === undefined ? {} : { stopped: result.stopped }),
    },
  }
  return answerJson(c, index)
}

async function getSegment(services: Services, c: RequestContext): Promise<Response> {
  const { chain, keyId, tenant } = c.get('caller')
  const sessionIndex = parseSessionIndex(c.req.param('n') ?? '')
  if (sessionIndex === undefined) return answerProblem(c, 'not_found')
  const timing = c.get('timing')
  const known = await timing.measure('record', () => chain.segment(keyId, sessionIndex))
  if (known.kind === 'not_found') return answerProblem(c, 'not_found')
  if (known.kind !== 'segment') return answerRefusedReading(services, c, known)
  const { segment } = known
  const tag = `"${segment.sha256}"`
  const { headers } = c.req.raw
  const lasting = {
    etag: tag,
    'accept-ranges': 'bytes',
    'cache-control': 'private, immutable, max-age=31536000',
  }
  if (matches(headers.get('if-none-match'), tag)) return c.body(null, 304, lasting)
  const isSame = headers.get('if-range') === null || headers.get('if-range') === tag
  const range = readByteRange(isSame ? headers.get('range') : null, segment.bytes)
  if (range.kind === 'unsatisfiable') {
    c.header('content-range', `bytes */${String(segment.bytes)}`)
    return answerProblem(c, 'range_not_satisfiable')
  }
  const part = range.kind === 'part' ? { offset: range.offset, length: range.length } : undefined
  const opened = await timing.measure('archive', () => openSegment(services.archive, tenant, segment, part))
  if (opened.kind !== 'found') return answerUnavailable(c, `segment_${opened.kind}`)
  const common = { ...lasting, 'content-type': 'application/jsonl; charset=utf-8' }
  if (part === undefined) {
    return c.body(opened.object.body, 200, { ...common, 'content-length': String(segment.bytes) })
  }
  const last = part.offset + part.length - 1
  return c.body(opened.object.body, 206, {
    ...common,
    'content-length': String(part.length),
    'content-range': `bytes ${String(part.offset)}-${String(last)}/${String(segment.bytes)}`,
  })
}

function parseSessionIndex(text: string): number | undefined {
  return /^(0|[1-9]\d{0,9})$/.test(text) ? Number(text) : undefined
}

/** Of a list of tags, ours or the one that stands for any; also one that a proxy has made weak (RFC 9110 §13.1.2). */
function matches(header: string | null, tag: string): boolean {
  const listed = (header ?? '').split(',').map((part) => part.trim().replace(/^W\//, ''))
  return listed.includes(tag) || listed.includes('*')
}
