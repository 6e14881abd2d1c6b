/** Who is in an approver group, and which tools are frozen: `PUT` and `GET /v1/groups`, `GET /v1/tools`. */
import * as v from 'valibot'
import { mustBeObject, subject } from './strict-body.ts'

/** As settings name them. */
export const groupNamePattern = /^[a-z0-9][a-z0-9_-]{0,63}$/

/** A group is read as a whole with each vote. */
const membersMax = 200

export const groupChangeSchema = v.strictObject(
  {
    /** All of them: who is not named is no longer in it. */
    members: v.pipe(
      v.array(subject, 'must be an array of subjects'),
      v.maxLength(membersMax, `must be at most ${String(membersMax)} subjects`),
    ),
  },
  mustBeObject,
)

export const groupListSchema = v.strictObject({
  groups: v.array(v.strictObject({ name: v.string(), members: v.array(v.string()) })),
  /** What to send as `after` for the rest. */
  next: v.exactOptional(v.string()),
})
export type GroupList = v.InferOutput<typeof groupListSchema>

export const toolListSchema = v.strictObject({
  /** Frozen ones; what else there is, the catalogue of the active policy set says. */
  tools: v.array(v.strictObject({ tool_id: v.string(), frozen: v.literal(true) })),
  next: v.exactOptional(v.string()),
})
export type ToolList = v.InferOutput<typeof toolListSchema>
