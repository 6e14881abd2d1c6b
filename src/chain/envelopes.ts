/**
 * Envelopes at the writer (authorize.md §5): whether the bytes of a request are kept, and said in its Line when they are
 * not. A digest that was erased has a tombstone, so that neither a retry nor the same bytes again bring it back.
 */
import type { RequestDigest } from '../record/index.ts'
import type { ChainContext } from './ports.ts'
import type { TenantRecord } from './records.ts'

/** How long staged bytes usually wait for the alarm: R2 gets them in batches, and a lost object loses at most these. */
export const envelopesEveryMs = 60_000

/** What the Line says of the bytes: nothing when they are kept. */
export type EnvelopeNote = { readonly envelope?: 'off' | 'erased' }

/** Asked before the Line is made; {@link stageRequest} then does as it was said. */
export function envelopeNote(
  { store }: ChainContext,
  tenant: TenantRecord,
  digest: RequestDigest,
): EnvelopeNote {
  if (tenant.settings.envelope === 'off') return { envelope: 'off' }
  return store.isErased(digest) ? { envelope: 'erased' } : {}
}

/** Keeps the bytes with the Call, in its transaction, unless its Line says that they are not kept. */
export function stageRequest(
  { store }: ChainContext,
  { envelope }: EnvelopeNote,
  digest: RequestDigest,
  bytes: Uint8Array,
): void {
  if (envelope === undefined) store.stageEnvelope(digest, bytes)
}
