/**
 * Calls as people look through them: `GET /v1/calls` and `GET /v1/calls/{call_id}`. Made from outcome Lines and nothing
 * else; the Lines themselves are what counts, and the second route has them verbatim.
 */
import * as v from 'valibot'
import { answeredInstant as instant, count, digest } from './answer-members.ts'
import { reasonSchema, riskSchema } from './authorize-answer.ts'

/** The answer that a Call got; `rate_limited` is the 429 that was recorded. */
export const callDecisions = ['allow', 'deny', 'require_approval', 'rate_limited'] as const
export type CallDecision = (typeof callDecisions)[number]

export const callSchema = v.strictObject({
  call_id: v.string(),
  /** Where its outcome stands in the Chain. */
  session_index: count,
  seq: count,
  decided_at: instant,
  tool_id: v.string(),
  /** Absent where no agent acts. */
  agent: v.exactOptional(v.string()),
  decision: v.picklist(callDecisions),
  reason: reasonSchema,
  /** Absent where no policy was evaluated. */
  risk: v.exactOptional(riskSchema),
  matched_rules: v.array(v.string()),
  overrides: v.exactOptional(v.array(v.string())),
  policy_set_hash: digest,
  /** Who did an administrative act. */
  actor: v.exactOptional(
    v.strictObject({
      role: v.string(),
      subject: v.exactOptional(v.string()),
      api_key: v.exactOptional(v.string()),
    }),
  ),
  /** Of an administrative act and of a report: what came of it. */
  execution: v.exactOptional(v.string()),
  grant_id: v.exactOptional(v.string()),
  /** The approval that it waits for. */
  approval_id: v.exactOptional(v.string()),
  /** The approval that it uses. */
  approval_ref: v.exactOptional(v.string()),
  /** The Call that it belongs to: of a report, and of the use of an approval. */
  call_ref: v.exactOptional(v.string()),
})
export type Call = v.InferOutput<typeof callSchema>

/** SESSION:SEQ. */
const position = v.pipe(v.string(), v.regex(/^\d{1,10}:\d{1,10}$/))

/** How much was read for an answer. */
const scanned = v.strictObject({ sessions: count, bytes: count })

export const callListSchema = v.strictObject({
  /** Newest first. */
  calls: v.array(callSchema),
  /** What to send as `after`, also where a page is not full: each request looks through a bounded part of the Chain. */
  next: v.exactOptional(position),
  /** The last Line there was: what to send as `behind` for those that come later. */
  head: position,
  scanned,
})
export type CallList = v.InferOutput<typeof callListSchema>

export const foundCallSchema = v.union([
  v.strictObject({
    call: callSchema,
    /** Verbatim, without LF. */
    intent: v.exactOptional(v.string()),
    outcome: v.string(),
    line_hash: digest,
    /** Lines behind it that are about it: the decision on its approval, the approval's use, reports. Verbatim. */
    related: v.array(v.string()),
    /** Whether all was looked through where they can stand. */
    related_complete: v.boolean(),
    scanned,
  }),
  /** Not in the part that was looked through; `next` is what to send as `after`. */
  v.strictObject({ next: v.string(), scanned }),
])
export type FoundCall = v.InferOutput<typeof foundCallSchema>
