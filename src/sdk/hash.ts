/** SHA-256 as the client is given it: at once, or by a promise where the platform's own is used. */
import { encodeHex } from '../record/digest.ts'

/** Any bytes to 32 bytes. */
export type Hash = (bytes: Uint8Array) => Uint8Array | Promise<Uint8Array>

/** As UTF-8. Only for text without a lone surrogate, which would be replaced: canonical text has none. */
export const toBytes = (text: string): Uint8Array => new TextEncoder().encode(text)

/** 64 lowercase hex characters. */
export async function hexHash(hash: Hash, bytes: Uint8Array): Promise<string> {
  return encodeHex(await hash(bytes))
}
