/**
 * Why the writer gives no answer (authorize.md §6): nothing was acknowledged, and a retry with the same `request_id` is
 * safe. One union for every method, so that one switch turns it into a status. Never a refusal: those are recorded.
 */
export type UnavailableCode =
  /** A secret or a name of the deployment is missing, malformed, or not the one that this tenant was made under. */
  | 'not_configured'
  | 'storage_full'
  /** The storage failed, or an invariant was found broken; everything of the call was rolled back. */
  | 'storage_failed'
  /** Too many drafts wait for a commit. */
  | 'overloaded'
  | 'line_too_long'
  /** The archive's Chain does not go on where this object stands: an operator must recover the tenant. */
  | 'behind_archive'
  /** It was to be recovered, but what lies there no key of this tenant signed, or does not hang together. */
  | 'archive_not_ours'
  /** The archive did not answer. */
  | 'archive_failed'
  /** The archive holds other bytes under a name that is their hash. */
  | 'archive_conflict'
  /** The stored tables are of a later version than this code. */
  | 'schema_newer'

export interface Unavailable {
  readonly kind: 'unavailable'
  readonly code: UnavailableCode
}

export function unavailable(code: UnavailableCode): Unavailable {
  return { kind: 'unavailable', code }
}
