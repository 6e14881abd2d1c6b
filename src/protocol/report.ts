/**
 * `POST /v1/reports` and `GET /v1/grants` (authorize.md §5): what came of a grant, as its agent says, and the grants of
 * which nothing was said. A report is the caller's statement and proves nothing of the tool.
 */
import * as v from 'valibot'
import { type ExecutionStatus, type ResponseDigest, parseDigest } from '../record/index.ts'
import { receiptSchema } from './answer-members.ts'
import { instantPattern } from './instant.ts'
import { type RefusedBody, aString, digestText, mustBeObject, prose, readStrictBody } from './strict-body.ts'

const id = v.pipe(v.string(aString), v.regex(/^[\u0021-\u007e]{1,128}$/, 'must be an id'))

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
    response_digest: v.exactOptional(digestText),
    wall_ms: v.exactOptional(
      v.pipe(
        v.number('must be a number'),
        v.safeInteger('must be an integer'),
        v.minValue(0, 'must not be negative'),
      ),
    ),
  },
  mustBeObject,
)

export interface ReportRequest {
  readonly callId: string
  readonly grantId: string
  readonly execution: Exclude<ExecutionStatus, { readonly status: 'delegated' }>
  readonly responseDigest?: ResponseDigest
  readonly wallMs?: number
}

export type ParsedReportRequest = { readonly ok: true; readonly request: ReportRequest } | RefusedBody

/** Reads a body, strictly. */
export function parseReportRequest(bytes: Uint8Array): ParsedReportRequest {
  const read = readStrictBody(reportRequestSchema, bytes)
  if (!read.ok) return read
  const { call_id: callId, grant_id: grantId, execution, response_digest, wall_ms: wallMs } = read.value
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
  /** The signed outcome Line of the report. */
  receipt: receiptSchema,
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
