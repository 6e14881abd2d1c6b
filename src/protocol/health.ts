/** The answer of `GET /v1/health`: names no binding and no tenant, since anyone may ask. */
import * as v from 'valibot'

export const healthSchema = v.strictObject({
  live: v.literal(true),
  /** Whether requests are served: set up, and the archive answers. */
  ready: v.boolean(),
  versions: v.strictObject({ schema_version: v.literal(2), evaluator: v.string() }),
})
export type Health = v.InferOutput<typeof healthSchema>
