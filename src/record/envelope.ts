/**
 * Envelopes are addressed by their content: `request_digest` is the SHA-256 of the request bytes as they arrived
 * (SPEC.md §6.3). Nothing is parsed or normalised here, so that anyone who holds the bytes can repeat it.
 */
import { type RequestDigest, toDigest } from './digest.ts'
import type { Digester } from './signature.ts'

/** The content address of verbatim request bytes. */
export function requestDigest(bytes: Uint8Array, digester: Digester): RequestDigest {
  return toDigest<RequestDigest>(digester.sha256(bytes))
}
