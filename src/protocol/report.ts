/**
 * `POST /v1/reports` and `GET /v1/grants` (authorize.md §5): what came of a grant, as its agent says, and the grants of
 * which nothing was said. A report is the caller's statement and proves nothing of the tool.
 */
import * as v from 'valibot'
import {
  type ExecutionStatus,
  type ResponseDigest,
  describeFormatError,
  parseBody,
  parseDigest,
} from '../record/index.ts'
import { instantPattern } from './instant.ts'
import type { RefusedMember } from './problem.ts'
import { refusedMembers } from './refused-members.ts'
import { utf8Length } from './utf8-length.ts'

const aString = 'must be a string'
const id = v.pipe(v.string(aString), v.regex(/^[\u0021-\u007e]{1,128}$/, 'must be an id'))
/** As long as any prose of a Line may be (SPEC.md §4.4). */
const proseBytesMax = 512
const prose = v.pipe(
  v.string(aString),
  v.check((value) => utf8Length(value) <= proseBytesMax, `must be at most ${String(proseBytesMax)} bytes`),
  v.description(`At most ${String(proseBytesMax)} bytes of UTF-8`),
)

export const reportRequestSchema = v.strictObject(
  {
    call_id: id,
    grant_id: id,
    execution: v.variant(
      'status',
      [
        v.strictObject({ status: v.literal('success') }),
        v.strictObject({ status: v.literal('trap'), message: prose }),
        v.strictObject({ status: v.literal('resource_exceeded'), kind: prose }),
        v.strictObject({ status: v.literal('host_denied'), reason: prose }),
      ],
      'must be an object whose status is success, trap, resource_exceeded or host_denied',
    ),
    /** SHA-256 of what the tool answered, in whatever form the caller keeps it. */
    response_digest: v.exactOptional(
      v.pipe(v.string(aString), v.regex(/^[0-9a-f]{64}$/, 'must be 64 lowercase hex characters')),
    ),
    wall_ms: v.exactOptional(
      v.pipe(
        v.number('must be a number'),
        v.safeInteger('must be an integer'),
        v.minValue(0, 'must not be negative'),
      ),
    ),
  },
  'must be an object',
)

export interface ReportRequest {
  readonly callId: string
  readonly grantId: string
  readonly execution: Exclude<ExecutionStatus, { readonly status: 'delegated' }>
  readonly responseDigest?: ResponseDigest
  readonly wallMs?: number
}

export type ParsedReportRequest =
  | { readonly ok: true; readonly request: ReportRequest }
  | { readonly ok: false; readonly code: 'body_malformed'; readonly detail: string }
  | { readonly ok: false; readonly code: 'body_invalid'; readonly members: readonly RefusedMember[] }

/** Reads a body, strictly. */
export function parseReportRequest(bytes: Uint8Array): ParsedReportRequest {
  const body = parseBody(bytes)
  if (!body.ok) return { ok: false, code: 'body_malformed', detail: describeFormatError(body.error) }
  const read = v.safeParse(reportRequestSchema, body.value)
  if (!read.success) {
    return { ok: false, code: 'body_invalid', members: refusedMembers(reportRequestSchema, body.value) }
  }
  const { call_id: callId, grant_id: grantId, execution, response_digest, wall_ms: wallMs } = read.output
  const responseDigest = parseDigest<ResponseDigest>(response_digest)
  return {
    ok: true,
    request: {
      callId,
      grantId,
      // What the reader made has no prototype, and such an object does not cross an RPC.
      execution: { ...execution },
      ...(responseDigest === undefined ? {} : { responseDigest }),
      ...(wallMs === undefined ? {} : { wallMs }),
    },
  }
}

export const reportAnswerSchema = v.strictObject({
  /** The Call of the report. */
  call_id: v.string(),
  receipt: v.strictObject({
    /** The signed outcome Line of the report, verbatim. */
    line: v.string(),
    line_hash: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)),
  }),
})
export type ReportAnswer = v.InferOutput<typeof reportAnswerSchema>

/** `GET /v1/grants?unreported=true`: what was granted, has expired and was never reported. */
export const grantListSchema = v.strictObject({
  grants: v.array(
    v.strictObject({
      grant_id: v.string(),
      call_id: v.string(),
      tool_id: v.string(),
      expires_at: v.pipe(v.string(), v.regex(instantPattern)),
    }),
  ),
  /** What to send as `after` for the rest. */
  next: v.exactOptional(v.string()),
})
export type GrantList = v.InferOutput<typeof grantListSchema>
