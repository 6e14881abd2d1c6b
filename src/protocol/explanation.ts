/**
 * The answer of `POST /v1/explain` (authorize.md §3): a whole evaluation, for those who write policies. It is no
 * decision: there is no Line, no grant and no receipt behind it.
 */
import * as v from 'valibot'
import { reasonSchema, riskSchema } from './authorize-answer.ts'

export const explanationSchema = v.strictObject({
  decision: v.picklist(['allow', 'deny', 'require_approval']),
  reason: reasonSchema,
  risk: riskSchema,
  agent_id: v.string(),
  /** `-` where the identifiers were refused. */
  tool_id: v.string(),
  /** Absent where there is no policy set. */
  policy_set_hash: v.exactOptional(v.string()),
  matched_rules: v.array(v.string()),
  approval: v.exactOptional(
    v.strictObject({
      groups: v.array(v.string()),
      quorum: v.pipe(v.number(), v.integer(), v.minValue(1)),
    }),
  ),
  /** What an outcome Line would record: SPEC.md, decision_axes. */
  decision_axes: v.looseObject({}),
})
export type Explanation = v.InferOutput<typeof explanationSchema>
