/** Tenants as the operator creates and sees them: the routes under `/v1/tenants`. */
import * as v from 'valibot'
import { count, digest } from './answer-members.ts'
import { actAnswerSchema } from './administration.ts'
import { instantPattern } from './instant.ts'
import { instant, mustBeObject, subject } from './strict-body.ts'

export const tenantCreateSchema = v.strictObject(
  {
    /** Whose the first admin key is. */
    admin_subject: subject,
    /** 90 days from now when left out. */
    key_expires_at: v.exactOptional(instant),
  },
  mustBeObject,
)

/** The act in it is the last one: the issue of the first admin's key. */
export const tenantCreatedSchema = v.strictObject({
  ...actAnswerSchema.entries,
  policy_set_hash: digest,
  key_id: v.string(),
  /** The whole key. It is shown here and never again. */
  admin_key: v.string(),
})
export type TenantCreated = v.InferOutput<typeof tenantCreatedSchema>

export const tenantListSchema = v.strictObject({
  tenants: v.array(v.strictObject({ tenant: v.string() })),
  /** What to send as `after` for the rest. */
  next: v.exactOptional(v.string()),
})
export type TenantList = v.InferOutput<typeof tenantListSchema>

export const tenantSchema = v.strictObject({
  tenant: v.string(),
  created_at: v.pipe(v.string(), v.regex(instantPattern)),
  revision: count,
  frozen: v.boolean(),
  policy_set_hash: v.exactOptional(digest),
  /** What the deployment carries for it, and whether that is in force. */
  deployed: v.strictObject({ policy_set_hash: digest, active: v.boolean() }),
  key_epoch: count,
  /** Subjects with an admin key that may be used now. */
  admins: count,
})
export type TenantBody = v.InferOutput<typeof tenantSchema>
