/**
 * Where the Chain in the archive ends, for a recovery: behind its head, and behind any segment that was put without the
 * head that should have followed. Only what a key of this tenant signed counts: the tail's signature, and every Line that
 * it covers through the hashes before it.
 */
import type { CryptoSuite } from '../record/index.ts'
import type { ChainArchive } from './ports.ts'
import type { PublicationRecord, SegmentRecord } from './records.ts'
import { type ClosedSession, isLinked, readClosedSession } from './segment.ts'
import { type ArchivedTail, isSignedBy, readClose } from './tail.ts'

export type FoundTail =
  | {
      readonly kind: 'found'
      readonly tail: ArchivedTail
      /** Facts of every segment that the store does not know, or knows otherwise. */
      readonly segments: readonly SegmentRecord[]
      /** Generation of the key that signed the tail. */
      readonly keyEpoch: number
    }
  /** The archive holds nothing of this tenant. */
  | { readonly kind: 'absent' }
  /** Something lies there that no key of this tenant signed. */
  | { readonly kind: 'not_ours' }

/** A key of the tenant by its id, out of the deployment's seeds. */
export type FindLineKey = (
  keyId: string,
) => { readonly publicKey: Uint8Array; readonly keyEpoch: number } | undefined

/** Far more than one put without its head: years of Sessions that a restore may have forgotten. */
const sessionsMax = 100_000

/** @throws what the archive throws. */
export async function findTail(
  archive: ChainArchive,
  known: {
    readonly chainId: string
    readonly publication: PublicationRecord
    readonly segment: (sessionIndex: number) => SegmentRecord | undefined
  },
  findKey: FindLineKey,
  suite: CryptoSuite,
): Promise<FoundTail> {
  const head = await archive.readHead()
  const named = head === undefined ? undefined : readClose(head.bytes, known.chainId, suite)
  if (head !== undefined && named === undefined) return { kind: 'not_ours' }
  let tail = named
  // Without a head, from the last Session that was published from here, which is then read again.
  let last = named?.sessionIndex ?? (known.publication.published?.sessionIndex ?? 0) - 1
  for (let count = 0; count < sessionsMax; count += 1) {
    const session = await readSession(archive, known.chainId, last + 1, suite)
    if (session === 'absent') break
    const follows = tail === undefined || (session !== 'not_ours' && session.previous === tail.lineHash)
    if (session === 'not_ours' || !follows) return { kind: 'not_ours' }
    tail = session.close
    last += 1
  }
  if (tail === undefined) return { kind: 'absent' }
  const key = findKey(tail.keyId)
  if (key === undefined || !isSignedBy(tail, key.publicKey, suite)) return { kind: 'not_ours' }
  const segments = await readUnknown(archive, known, tail, suite)
  return segments === undefined
    ? { kind: 'not_ours' }
    : { kind: 'found', tail, segments, keyEpoch: key.keyEpoch }
}

/** Backwards from the tail, as long as the store knows another segment there, or none. */
async function readUnknown(
  archive: ChainArchive,
  known: Parameters<typeof findTail>[1],
  tail: ArchivedTail,
  suite: CryptoSuite,
): Promise<readonly SegmentRecord[] | undefined> {
  const segments: SegmentRecord[] = []
  let named: string | undefined = tail.lineHash
  for (let { sessionIndex } = tail; sessionIndex >= 0; sessionIndex -= 1) {
    const session = await readSession(archive, known.chainId, sessionIndex, suite)
    if (session === 'absent' || session === 'not_ours') return undefined
    if (session.close.lineHash !== named) return undefined
    if (known.segment(sessionIndex)?.sha256 === session.segment.sha256) return segments
    segments.push(session.segment)
    named = session.previous
  }
  return named === undefined ? segments : undefined
}

async function readSession(
  archive: ChainArchive,
  chainId: string,
  sessionIndex: number,
  suite: CryptoSuite,
): Promise<ClosedSession | 'absent' | 'not_ours'> {
  const bytes = await archive.readSegment(sessionIndex)
  if (bytes === undefined) return 'absent'
  const session = readClosedSession(bytes, { chainId, sessionIndex }, suite)
  return session !== undefined && isLinked(session, suite) ? session : 'not_ours'
}
