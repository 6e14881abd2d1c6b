/** Who is in an approver group, and which tools are frozen: `PUT` and `GET /v1/groups`, `GET /v1/tools`. */
import * as v from 'valibot'
import { aString, mustBeObject, subject } from './strict-body.ts'

/** As settings name them. */
export const groupNamePattern = /^[a-z0-9][a-z0-9_-]{0,63}$/

const webhookSchema = v.strictObject(
  {
    url: v.pipe(
      v.string(aString),
      v.regex(/^https?:\/\/[!-~]{1,1000}$/, 'must be a URL of at most 1000 characters'),
      v.description('Where it may lead is judged when it is set, and before each notice'),
    ),
    format: v.picklist(['standard', 'slack'], 'must be standard or slack'),
  },
  mustBeObject,
)

/** A group is read as a whole with each vote. */
const membersMax = 200

export const groupChangeSchema = v.strictObject(
  {
    /** All of them: who is not named is no longer in it. */
    members: v.pipe(
      v.array(subject, 'must be an array of subjects'),
      v.maxLength(membersMax, `must be at most ${String(membersMax)} subjects`),
    ),
    /** Told of each approval that the group is asked for. Absent: as it was; `null`: none any more. */
    webhook: v.exactOptional(v.nullable(webhookSchema)),
  },
  mustBeObject,
)

export const groupListSchema = v.strictObject({
  groups: v.array(
    v.strictObject({
      name: v.string(),
      members: v.array(v.string()),
      /** Of a webhook only where it leads: the rest of its URL may be a secret. */
      webhook: v.exactOptional(v.strictObject({ origin: v.string(), format: v.string() })),
    }),
  ),
  /** What to send as `after` for the rest. */
  next: v.exactOptional(v.string()),
})
export type GroupList = v.InferOutput<typeof groupListSchema>

export const webhookSecretSchema = v.strictObject({
  group: v.string(),
  /** As Standard Webhooks writes it. */
  secret: v.string(),
})
export type WebhookSecret = v.InferOutput<typeof webhookSecretSchema>

export const toolListSchema = v.strictObject({
  /** Frozen ones; what else there is, the catalogue of the active policy set says. */
  tools: v.array(v.strictObject({ tool_id: v.string(), frozen: v.literal(true) })),
  next: v.exactOptional(v.string()),
})
export type ToolList = v.InferOutput<typeof toolListSchema>
