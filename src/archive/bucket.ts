/**
 * What the archive needs of an R2 bucket, and the one way in which immutable objects get there: only where nothing is,
 * with their digest, and read back. An object whose name is its hash is never overwritten, by us least of all.
 */
import { type Digester, encodeHex } from '../record/index.ts'

/** The part of `R2Bucket` that is used. */
export interface Bucket {
  get(key: string): Promise<{ arrayBuffer(): Promise<ArrayBuffer> } | null>
  /** `null` when the condition did not hold. */
  put(
    key: string,
    value: Uint8Array,
    options: {
      readonly onlyIf: { readonly etagDoesNotMatch: string }
      readonly sha256: string
      readonly httpMetadata: { readonly contentType: string }
    },
  ): Promise<object | null>
}

export type PutResult =
  /** It is there, byte for byte, whoever put it. */
  | { readonly kind: 'kept' }
  /** Other bytes have that name, and stay. */
  | { readonly kind: 'conflict' }

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
): Promise<PutResult> {
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
