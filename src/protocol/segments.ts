/** The index of published Sessions: `GET /v1/chain/segments`. Numbers of ms are integer, like in the record. */
import * as v from 'valibot'
import { count, digest } from './answer-members.ts'

export const segmentIndexSchema = v.strictObject({
  /** In order, at most 1,000. */
  segments: v.array(
    v.strictObject({
      session_index: count,
      bytes: count,
      /** Of the object. */
      sha256: digest,
      calls: count,
      opened_at: count,
      closed_at: count,
      /** Hash of the `close`. */
      tail: digest,
      key_id: digest,
    }),
  ),
  /** To be given as `after`; only where there are more. */
  next: v.exactOptional(count),
  /** Closed Sessions that wait for the archive. */
  unpublished: v.strictObject({
    sessions: count,
    oldest_closed_at: v.exactOptional(count),
    /** Publishing has stopped: the archive holds other bytes where the next segment belongs. */
    stopped: v.exactOptional(v.literal('archive_conflict')),
  }),
})
export type SegmentIndex = v.InferOutput<typeof segmentIndexSchema>

/** The public keys of a tenant: `GET /v1/keys/{tenant}`; a trust store (SPEC.md §7). */
export const publicKeysSchema = v.strictObject({
  chain_id: v.string(),
  deployment: v.string(),
  keys: v.array(
    v.strictObject({
      public_key: digest,
      key_id: digest,
      key_epoch: count,
      first_session: count,
      last_session: v.exactOptional(count),
    }),
  ),
})
