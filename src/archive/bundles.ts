/** Bundle objects in the archive: what a `policy_set_hash` names. Whoever reads one hashes it before use, here. */
import type { KeptResult } from '../chain/ports.ts'
import { type Digester, type PolicySetHash, toDigest } from '../record/index.ts'
import { type Bucket, putAbsent, readBytes } from './bucket.ts'
import { bundlePath } from './paths.ts'

/**
 * Keeps a bundle object under its hash.
 *
 * @param bytes whose SHA-256 is `policySetHash`; anything else is a broken invariant and throws.
 */
export async function putBundle(
  bucket: Bucket,
  tenant: string,
  policySetHash: PolicySetHash,
  bytes: Uint8Array,
  digester: Digester,
): Promise<KeptResult> {
  if (toDigest<PolicySetHash>(digester.sha256(bytes)) !== policySetHash) {
    throw new Error('a bundle object was to be kept under the hash of another')
  }
  const object = { bytes, contentType: 'application/json' }
  return putAbsent(bucket, bundlePath(tenant, policySetHash), object, digester)
}

export type BundleResult =
  | { readonly kind: 'found'; readonly bytes: Uint8Array }
  | { readonly kind: 'absent' }
  /** What lies there does not hash to its name: not to be used. */
  | { readonly kind: 'corrupt' }

/** Reads a bundle object. @throws what the bucket throws. */
export async function getBundle(
  bucket: Bucket,
  tenant: string,
  policySetHash: PolicySetHash,
  digester: Digester,
): Promise<BundleResult> {
  const bytes = await readBytes(bucket, bundlePath(tenant, policySetHash))
  if (bytes === undefined) return { kind: 'absent' }
  const found = toDigest<PolicySetHash>(digester.sha256(bytes)) === policySetHash
  return found ? { kind: 'found', bytes } : { kind: 'corrupt' }
}
