/**
 * `GET /v1/calls` and `GET /v1/calls/{call_id}` (authorize.md §5): what agents and administrators did, newest first, out
 * of the unpublished Lines and the published segments. For auditors; whoever wants proof reads the Lines.
 */
import { Hono } from 'hono'
import {
  type CallDecision,
  type CallList,
  type FoundCall,
  callDecisions,
  parseInstant,
} from '../../protocol/index.ts'
import { type LineHash, toDigest, utf8 } from '../../record/index.ts'
import { answerJson, answerProblem, answerRefusedReading } from '../answers.ts'
import type { CallFilter } from '../call-entry.ts'
import { type CallQuery, findCall, scanCalls } from '../call-scan.ts'
import { describeCall, describeCalls } from '../descriptions-calls.ts'
import { requireCaller } from '../middleware/require-caller.ts'
import type { RequestContext, RequestScope } from '../request-scope.ts'
import type { Services } from '../services.ts'
import { type Position, SessionReader } from '../session-reader.ts'

export function callRoutes(services: Services): Hono<RequestScope> {
  const auditor = requireCaller(services, ['auditor'])
  return new Hono<RequestScope>()
    .get('/v1/calls', describeCalls, auditor, (c) => list(services, c))
    .get('/v1/calls/:call_id', describeCall, auditor, (c) => show(services, c))
}

async function list(services: Services, c: RequestContext): Promise<Response> {
  const query = readQuery(c)
  if (typeof query === 'string') return answerProblem(c, 'query_invalid', { detail: query })
  const reader = await openReader(services, c)
  if (reader instanceof Response) return reader
  const result = await c.get('timing').measure('archive', () => scanCalls(reader, query))
  if (result.kind !== 'calls') return answerRefusedReading(services, c, result)
  const body: CallList = {
    calls: [...result.calls],
    ...(result.next === undefined ? {} : { next: positionText(result.next) }),
    head: positionText(reader.head),
    scanned: { sessions: reader.sessions, bytes: reader.bytes },
  }
  return answerJson(c, body)
}

async function show(services: Services, c: RequestContext): Promise<Response> {
  const callId = c.req.param('call_id') ?? ''
  if (!/^call_[0-9a-z]{26}$/.test(callId)) return answerProblem(c, 'not_found')
  const before = readPosition(c, 'after')
  if (before === 'invalid') return answerProblem(c, 'query_invalid', { detail: positionDetail('after') })
  const reader = await openReader(services, c)
  if (reader instanceof Response) return reader
  const found = await c.get('timing').measure('archive', () => findCall(reader, callId, before))
  const scanned = { sessions: reader.sessions, bytes: reader.bytes }
  switch (found.kind) {
    case 'found': {
      const body: FoundCall = {
        call: found.call,
        ...(found.intent === undefined ? {} : { intent: found.intent }),
        outcome: found.outcome,
        line_hash: toDigest<LineHash>(services.digester.sha256(utf8(found.outcome))),
        related: [...found.related],
        related_complete: found.relatedComplete,
        scanned,
      }
      return answerJson(c, body)
    }
    case 'not_yet':
      return answerJson(c, { next: positionText(found.next), scanned } satisfies FoundCall)
    case 'not_found':
      return answerProblem(c, 'not_found')
    default:
      return answerRefusedReading(services, c, found)
  }
}

/** From where the Chain stands now; takes the token that reading takes. */
async function openReader(services: Services, c: RequestContext): Promise<SessionReader | Response> {
  const { chain, keyId, tenant } = c.get('caller')
  const head = await c.get('timing').measure('record', () => chain.head(keyId))
  if (head.kind !== 'head') return answerRefusedReading(services, c, head)
  return new SessionReader({ chain, keyId, archive: services.archive, tenant }, head)
}

const limitDefault = 100
const limitMax = 1_000
/** Longer than any name in a Line. */
const nameLengthMax = 256

/** @returns what is wrong with it, in words. */
function readQuery(c: RequestContext): CallQuery | string {
  const filter: { -readonly [name in keyof CallFilter]: CallFilter[name] } = {}
  for (const name of ['agent', 'tool', 'rule'] as const) {
    const value = c.req.query(name)
    if (value === undefined) continue
    if (value === '' || value.length > nameLengthMax) return `${name} must be a name`
    filter[name] = value
  }
  const decision = c.req.query('decision')
  if (decision !== undefined) {
    const known: CallDecision | undefined = callDecisions.find((one) => one === decision)
    if (known === undefined) return `decision must be one of ${callDecisions.join(', ')}`
    filter.decision = known
  }
  for (const name of ['since', 'until'] as const) {
    const value = c.req.query(name)
    if (value === undefined) continue
    const at = parseInstant(value)
    if (at === undefined) return `${name} must be a time in UTC like 2026-11-30T12:00:00.000Z`
    filter[name] = at
  }
  const limit = c.req.query('limit') ?? String(limitDefault)
  if (!/^[1-9]\d{0,3}$/.test(limit) || Number(limit) > limitMax) {
    return `limit must be 1 to ${String(limitMax)}`
  }
  const before = readPosition(c, 'after')
  if (before === 'invalid') return positionDetail('after')
  const behind = readPosition(c, 'behind')
  if (behind === 'invalid') return positionDetail('behind')
  return {
    filter,
    limit: Number(limit),
    ...(before === undefined ? {} : { before }),
    ...(behind === undefined ? {} : { behind }),
  }
}

function readPosition(c: RequestContext, name: string): Position | undefined | 'invalid' {
  const value = c.req.query(name)
  if (value === undefined) return undefined
  const parts = /^(0|[1-9]\d{0,9}):(0|[1-9]\d{0,9})$/.exec(value)
  return parts === null ? 'invalid' : { sessionIndex: Number(parts[1]), seq: Number(parts[2]) }
}

function positionDetail(name: string): string {
  return `${name} must be SESSION:SEQ, a position that was answered`
}

function positionText({ sessionIndex, seq }: Position): string {
  return `${String(sessionIndex)}:${String(seq)}`
}
