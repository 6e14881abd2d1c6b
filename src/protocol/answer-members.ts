/** Members that many answers have: what we write ourselves, so that they carry no words about what is wrong. */
import * as v from 'valibot'
import { instantPattern } from './instant.ts'

/** SHA-256, 64 lowercase hex. */
export const digest = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/))

export const count = v.pipe(v.number(), v.integer(), v.minValue(0))

/** RFC 3339, UTC, three digits. */
export const answeredInstant = v.pipe(v.string(), v.regex(instantPattern))

export const receiptSchema = v.strictObject({
  /** The signed outcome Line, verbatim. */
  line: v.string(),
  line_hash: digest,
})
