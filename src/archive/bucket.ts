/**
 * What the archive needs of an R2 bucket, and the one way in which immutable objects get there: only where nothing is,
 * with their digest, and read back. An object whose name is its hash is never overwritten, by us least of all.
 */
import type { KeptResult } from '../chain/ports.ts'
import { type Digester, encodeHex } from '../record/index.ts'

/** The part of `R2Bucket` that is used. */
export interface Bucket {
  get(key: string, options?: { readonly range?: Range }): Promise<StoredObject | null>
  head(key: string): Promise<ObjectFacts | null>
  /** `null` when the condition did not hold. */
  put(
    key: string,
    value: Uint8Array,
    options: {
      readonly onlyIf?: { readonly etagDoesNotMatch: string } | { readonly etagMatches: string }
      readonly sha256: string
      readonly httpMetadata: { readonly contentType: string }
    },
  ): Promise<object | null>
  /** What is not there is no error. */
  delete(keys: string[]): Promise<void>
}

/** A bucket whose names are looked through: for what people are shown, never for what is decided. */
export interface ListedBucket extends Bucket {
  list(options: {
    readonly prefix: string
    readonly startAfter?: string
    readonly limit: number
  }): Promise<{ readonly objects: readonly ListedObject[]; readonly truncated: boolean }>
}

export interface ListedObject {
  readonly key: string
  readonly size: number
  readonly uploaded: Date
}

export interface Range {
  readonly offset: number
  readonly length: number
}

export interface ObjectFacts {
  readonly etag: string
  readonly size: number
  /** The digest that was sent with the put, and that R2 checked. */
  readonly checksums: { readonly sha256?: ArrayBuffer }
}

export interface StoredObject extends ObjectFacts {
  readonly body: ReadableStream<Uint8Array>
  arrayBuffer(): Promise<ArrayBuffer>
}

/**
 * Puts an object that must never change. Idempotent, also when an earlier put was answered with an error.
 *
 * @throws what the bucket throws, and an Error when the object cannot be read back.
 */
export async function putAbsent(
  bucket: Bucket,
  key: string,
  object: { readonly bytes: Uint8Array; readonly contentType: string },
  digester: Digester,
): Promise<KeptResult> {
  const sha256 = encodeHex(digester.sha256(object.bytes))
  // `null` says that something is there; what it is, the reading below decides in either case.
  await bucket.put(key, object.bytes, {
    onlyIf: { etagDoesNotMatch: '*' },
    sha256,
    httpMetadata: { contentType: object.contentType },
  })
  const stored = await readBytes(bucket, key)
  if (stored === undefined) throw new Error('an object that was put is not there')
  return encodeHex(digester.sha256(stored)) === sha256 ? { kind: 'kept' } : { kind: 'conflict' }
}

/** The bytes of an object, or `undefined` when there is none. */
export async function readBytes(bucket: Bucket, key: string): Promise<Uint8Array | undefined> {
  const object = await bucket.get(key)
  return object === null ? undefined : new Uint8Array(await object.arrayBuffer())
}
