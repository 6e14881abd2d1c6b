/**
 * API keys as they are issued and listed: `POST` and `GET /v1/keys`, `POST /v1/tenants/{tenant}/keys`. A key's text is in
 * one answer, once; a list has neither secrets nor their hashes. How a key is written: api-key.ts.
 */
import * as v from 'valibot'
import { actAnswerSchema } from './administration.ts'
import { keyRoles } from './api-key.ts'
import { instantPattern } from './instant.ts'
import { aBoolean, aString, instant, label, mustBeObject, subject } from './strict-body.ts'

export const keyRequestSchema = v.strictObject(
  {
    role: v.picklist(keyRoles, `must be one of ${keyRoles.join(', ')}`),
    /** Whose it is. */
    subject,
    /** Of role `agent`: which one. */
    agent: v.exactOptional(label(128)),
    /** Of role `auditor`: reads Envelopes too. */
    envelopes: v.exactOptional(v.boolean(aBoolean)),
    expires_at: instant,
  },
  mustBeObject,
)
export type KeyRequest = v.InferOutput<typeof keyRequestSchema>

/** The operator makes admins, and they everybody else. */
export const adminKeyRequestSchema = v.strictObject(
  { role: v.literal('admin', 'must be admin'), subject, expires_at: instant },
  mustBeObject,
)

export const keyIssuedSchema = v.strictObject({
  ...actAnswerSchema.entries,
  key_id: v.string(),
  /** The whole key. It is shown here and never again. */
  key: v.string(),
  /** `false`: it opens nothing until an admin of another subject has confirmed it. */
  confirmed: v.boolean(),
})
export type KeyIssued = v.InferOutput<typeof keyIssuedSchema>

const keySchema = v.strictObject({
  key_id: v.string(),
  role: v.picklist(keyRoles),
  subject: v.string(),
  agent: v.exactOptional(v.string()),
  envelopes: v.exactOptional(v.boolean()),
  expires_at: v.pipe(v.string(aString), v.regex(instantPattern)),
  revoked: v.boolean(),
  confirmed: v.boolean(),
  /** The subject of the admin who issued it; absent when it was the operator. */
  issued_by: v.exactOptional(v.string()),
})

export const keyListSchema = v.strictObject({
  keys: v.array(keySchema),
  /** What to send as `after` for the rest. */
  next: v.exactOptional(v.string()),
})
export type KeyList = v.InferOutput<typeof keyListSchema>
