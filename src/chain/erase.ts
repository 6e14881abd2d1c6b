/**
 * Erasing (authorize.md §5): an Envelope whose digest has a tombstone is deleted from the archive, and again until no put
 * that was under way can arrive any more; and Envelopes whose time is over go with the Sessions that name them. The Chain
 * keeps every digest; nothing in it changes.
 */
import {
  type JsonObject,
  type RequestDigest,
  encodeCanonical,
  encodeHex,
  noPolicySet,
  parseDigest,
  parseLineObject,
  requestDigest,
} from '../record/index.ts'
import { appendEntry } from './administrative-call.ts'
import type { ChainArchive, ChainContext } from './ports.ts'
import type { SegmentRecord } from './records.ts'
import { decodeRow } from './row.ts'

const dayMs = 24 * 60 * 60 * 1000

/** A put that was answered with an error may still arrive; none is on its way for longer than this. */
export const eraseForMs = 15 * 60_000
/** Between two deletions of the same object. */
const eraseEveryMs = 5 * 60_000
/** Objects in one request to R2. */
const digestsPerDelete = 1_000
/** Segments read in one run: at 4 MiB each some seconds. */
const segmentsPerRun = 16

/**
 * Deletes the objects of tombstones.
 *
 * @returns when to do it again, or `undefined` when nothing is left.
 * @throws what the archive throws.
 */
export async function eraseTombstones(
  context: () => ChainContext,
  archive: ChainArchive,
): Promise<number | undefined> {
  const { store, now: begun } = context()
  const erasing = store.listErasing(digestsPerDelete)
  if (erasing.length === 0) return undefined
  await archive.deleteEnvelopes(erasing.map(({ digest }) => digest))
  const { now } = context()
  return store.transaction(() => {
    // Deleted after its time, by when the deletion began: nothing can have come behind it.
    for (const { digest, deleteUntil } of erasing) if (deleteUntil <= begun) store.endErasing(digest)
    return store.listErasing(1).length === 0 ? undefined : now + eraseEveryMs
  })
}

/**
 * Erases the Envelopes of Sessions that ended more than `envelope_retention_days` ago. A run is one Call, which is
 * recorded before anything is deleted; the deletions are repeated until they are done.
 *
 * @returns when the next Session's time is over, or `undefined`.
 * @throws what the archive throws, and an Error when a segment is not what was published.
 */
export async function eraseExpired(
  context: () => ChainContext,
  archive: ChainArchive,
): Promise<number | undefined> {
  const { store, now, isContinuous } = context()
  if (!isContinuous) throw new Error('nothing is appended before the archive was compared')
  const retentionMs = (store.readTenant()?.settings.envelope_retention_days ?? 0) * dayMs
  const publication = store.readPublication()
  const from = publication.erasedThrough ?? -1
  const before = now - retentionMs
  const page = store.listSegments(from, segmentsPerRun)
  const announced = page.filter(({ sessionIndex }) => sessionIndex <= (publication.erasingThrough ?? -1))
  // What a Call has announced is done first, and no Session is passed over for a later one that ended earlier, by a
  // clock that was set back.
  const young = page.findIndex(({ closedAt }) => closedAt > before)
  const sessions = announced.length > 0 ? announced : page.slice(0, young < 0 ? page.length : young)
  const last = sessions.at(-1)
  if (last !== undefined) {
    const digests = new Set<RequestDigest>()
    for (const session of sessions) await collectDigests(context(), archive, session, digests)
    if ((publication.erasingThrough ?? -1) < last.sessionIndex) {
      record(context(), { before, count: digests.size, through: last.sessionIndex })
    }
    // A crash here leaves the Call and `erasingThrough`: the next run deletes without a second Call.
    const all = [...digests]
    for (let at = 0; at < all.length; at += digestsPerDelete) {
      await archive.deleteEnvelopes(all.slice(at, at + digestsPerDelete))
    }
    finish(context(), last.sessionIndex, all)
  }
  const [next] = store.listSegments(last?.sessionIndex ?? from, 1)
  return next === undefined ? undefined : Math.max(next.closedAt + retentionMs, context().now)
}

/** The Call of the alarm (SPEC.md §4.9), in front of what it announces. None where there is nothing to erase. */
function record(
  context: ChainContext,
  { before, count, through }: { readonly before: number; readonly count: number; readonly through: number },
): void {
  const { store, suite } = context
  store.transaction(() => {
    const tenant = store.readTenant()
    if (tenant === undefined) throw new Error('the tenant does not exist')
    if (count > 0) {
      const request = encodeCanonical({ before, cause: 'retention', count })
      appendEntry(context, tenant, {
        toolId: 'aegis/envelope.erase',
        requestDigest: requestDigest(request, suite),
        policySetHash: tenant.policySetHash ?? noPolicySet,
        actor: { role: 'system' },
        // What it says is in its digest's preimage, which SPEC.md prints: no bytes are kept.
        envelope: { envelope: 'off' },
        request,
      })
    }
    store.writePublication({ ...store.readPublication(), erasingThrough: through })
  })
}

function finish({ store }: ChainContext, through: number, digests: readonly RequestDigest[]): void {
  store.transaction(() => {
    // Those that the archive never took are over too.
    for (const digest of digests) store.deleteEnvelope(digest)
    store.writePublication({ ...store.readPublication(), erasedThrough: through, erasingThrough: through })
  })
}

async function collectDigests(
  { suite }: ChainContext,
  archive: ChainArchive,
  { sessionIndex, sha256 }: SegmentRecord,
  digests: Set<RequestDigest>,
): Promise<void> {
  const bytes = await archive.readSegment(sessionIndex)
  if (bytes === undefined || encodeHex(suite.sha256(bytes)) !== sha256) {
    throw new Error(`the segment of Session ${String(sessionIndex)} is not what was published`)
  }
  for (const line of decodeRow(bytes)) {
    const parsed = parseLineObject(line)
    const digest = parsed.ok ? keptDigest(parsed.value) : undefined
    if (digest !== undefined) digests.add(digest)
  }
}

/** The digest of an outcome whose bytes were kept. */
function keptDigest({ line_type: type, request_digest: digest, decision_axes: axes }: JsonObject) {
  if (type !== 'outcome') return undefined
  const isKept = typeof axes === 'object' && axes !== null && !('envelope' in axes)
  return isKept ? parseDigest<RequestDigest>(digest) : undefined
}
