/**
 * `keys/<tenant>.json`: the public keys of a tenant, in the form of a trust store (SPEC.md §7), for whoever asks. Written
 * with each new generation; never replaced by one that knows fewer.
 */
import { type Digester, type JsonValue, encodeHex, isJsonObject, parseBody, utf8 } from '../record/index.ts'
import type { Bucket } from './bucket.ts'
import { keysPath } from './paths.ts'

export interface PublicKeys {
  readonly chain_id: string
  readonly deployment: string
  readonly keys: readonly PublicKeyEntry[]
}

export interface PublicKeyEntry {
  readonly public_key: string
  readonly key_id: string
  readonly key_epoch: number
  readonly first_session: number
  /** Absent while it is the one that signs. */
  readonly last_session?: number
}

/** @throws what the bucket throws. */
export async function putPublicKeys(bucket: Bucket, keys: PublicKeys, digester: Digester): Promise<void> {
  const path = keysPath(keys.chain_id)
  const bytes = utf8(`${JSON.stringify(keys)}\n`)
  const found = await bucket.get(path)
  if (found !== null && highestEpoch(new Uint8Array(await found.arrayBuffer())) > lastEpoch(keys)) return
  const put = await bucket.put(path, bytes, {
    onlyIf: found === null ? { etagDoesNotMatch: '*' } : { etagMatches: found.etag },
    sha256: encodeHex(digester.sha256(bytes)),
    httpMetadata: { contentType: 'application/json' },
  })
  if (put === null) throw new Error('the public keys were replaced meanwhile')
}

/** The highest `key_epoch` in the object; -1 for what is not one. */
export function highestEpoch(bytes: Uint8Array): number {
  const body = parseBody(bytes)
  const keys = body.ok ? body.value['keys'] : undefined
  if (!Array.isArray(keys)) return -1
  return (keys as readonly JsonValue[]).reduce<number>((highest, entry) => {
    const epoch = isJsonObject(entry) ? entry['key_epoch'] : undefined
    return typeof epoch === 'number' && epoch > highest ? epoch : highest
  }, -1)
}

function lastEpoch({ keys }: PublicKeys): number {
  return Math.max(-1, ...keys.map((key) => key.key_epoch))
}
