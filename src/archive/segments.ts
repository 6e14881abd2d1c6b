/**
 * Segments and Envelopes as they are read back: held against what the writer knows of them, so that an object that was
 * replaced in the bucket is never passed on. R2 checked the digest of a put; whatever was put otherwise has none.
 */
import { type Digester, type RequestDigest, encodeHex, requestDigest } from '../record/index.ts'
import { type Bucket, type Range, type StoredObject, readBytes } from './bucket.ts'
import { envelopePath, segmentPath } from './paths.ts'

/** What a segment must be. */
export interface SegmentFacts {
  readonly sessionIndex: number
  readonly bytes: number
  /** 64 hex. */
  readonly sha256: string
}

export type OpenedSegment =
  | { readonly kind: 'found'; readonly object: StoredObject }
  | { readonly kind: 'absent' }
  /** Not the object that was published. */
  | { readonly kind: 'altered' }

/** Opens a segment, or a range of it. @throws what the bucket throws. */
export async function openSegment(
  bucket: Bucket,
  tenant: string,
  facts: SegmentFacts,
  range?: Range,
): Promise<OpenedSegment> {
  const path = segmentPath(tenant, facts.sessionIndex)
  const object = await bucket.get(path, range === undefined ? {} : { range })
  if (object === null) return { kind: 'absent' }
  const { sha256 } = object.checksums
  const isTheirs =
    sha256 !== undefined && encodeHex(new Uint8Array(sha256)) === facts.sha256 && object.size === facts.bytes
  if (isTheirs) return { kind: 'found', object }
  await object.body.cancel()
  return { kind: 'altered' }
}

const lf = 0x0a

/**
 * One Line out of a published Session, without its LF.
 *
 * @returns `undefined` when the segment is not there, is not the one that was published, or has no such Line.
 * @throws what the bucket throws.
 */
export async function readPublishedLine(
  bucket: Bucket,
  tenant: string,
  {
    sessionIndex,
    seq,
    sha256,
  }: { readonly sessionIndex: number; readonly seq: number; readonly sha256: string },
  digester: Digester,
): Promise<Uint8Array | undefined> {
  const bytes = await readBytes(bucket, segmentPath(tenant, sessionIndex))
  if (bytes === undefined || encodeHex(digester.sha256(bytes)) !== sha256) return undefined
  let start = 0
  for (let at = 0; at < seq; at += 1) {
    const end = bytes.indexOf(lf, start)
    if (end < 0) return undefined
    start = end + 1
  }
  const end = bytes.indexOf(lf, start)
  return end < 0 ? undefined : bytes.subarray(start, end)
}

/** The bytes of a request, or `undefined` when they are not there or are others. @throws what the bucket throws. */
export async function readArchivedEnvelope(
  bucket: Bucket,
  tenant: string,
  digest: RequestDigest,
  digester: Digester,
): Promise<Uint8Array | undefined> {
  const bytes = await readBytes(bucket, envelopePath(tenant, digest))
  return bytes !== undefined && requestDigest(bytes, digester) === digest ? bytes : undefined
}
