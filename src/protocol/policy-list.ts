/** Policy sets as they are pushed, activated and listed: the routes under `/v1/policies`. A bundle's form is policy's. */
import * as v from 'valibot'
import { digest } from './answer-members.ts'
import { actAnswerSchema } from './administration.ts'
import { instantPattern } from './instant.ts'

export const policyPushedSchema = v.strictObject({ ...actAnswerSchema.entries, policy_set_hash: digest })
export type PolicyPushed = v.InferOutput<typeof policyPushedSchema>

export const policyActivatedSchema = v.strictObject({
  ...actAnswerSchema.entries,
  policy_set_hash: digest,
  /** What holds though it was activated. */
  warnings: v.array(
    v.strictObject({
      /** `quorum_unreachable`: fewer people are in the group than must approve. */
      code: v.literal('quorum_unreachable'),
      group: v.string(),
      quorum: v.pipe(v.number(), v.integer()),
      members: v.pipe(v.number(), v.integer()),
    }),
  ),
})
export type PolicyActivated = v.InferOutput<typeof policyActivatedSchema>

export const policyListSchema = v.strictObject({
  policies: v.array(
    v.strictObject({
      policy_set_hash: digest,
      bytes: v.pipe(v.number(), v.integer()),
      /** Absent for one that came with the deployment and was not pushed to this tenant yet. */
      pushed_at: v.exactOptional(v.pipe(v.string(), v.regex(instantPattern))),
      active: v.boolean(),
      /** It was active before the one that is: what a roll-back activates. */
      previous: v.boolean(),
      shadow: v.boolean(),
      /** What the deployment carries for this tenant. */
      deployed: v.boolean(),
    }),
  ),
  /** What to send as `after` for the rest. */
  next: v.exactOptional(v.string()),
})
export type PolicyList = v.InferOutput<typeof policyListSchema>
