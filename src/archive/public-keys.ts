/**
 * `keys/<tenant>.json`: the public keys of a tenant, in the form of a trust store (SPEC.md §7), for whoever asks. Written
 * with each new generation. A generation that was made public stays, also when the object no longer knows it, because it
 * was restored from the past, or cannot derive it any more, because its seed leaked and is gone.
 */
import {
  type Digester,
  type JsonObject,
  type JsonValue,
  type KeyId,
  type PublicKeyHex,
  encodeHex,
  isJsonObject,
  parseBody,
  parseDigest,
  utf8,
} from '../record/index.ts'
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

/** @throws what the bucket throws, and an Error when somebody else writes at the same time. */
export async function putPublicKeys(bucket: Bucket, keys: PublicKeys, digester: Digester): Promise<void> {
  const path = keysPath(keys.chain_id)
  const found = await bucket.get(path)
  const known = found === null ? [] : readEntries(new Uint8Array(await found.arrayBuffer()))
  const bytes = utf8(`${JSON.stringify({ ...keys, keys: mergeEntries(known, keys.keys) })}\n`)
  const put = await bucket.put(path, bytes, {
    onlyIf: found === null ? { etagDoesNotMatch: '*' } : { etagMatches: found.etag },
    sha256: encodeHex(digester.sha256(bytes)),
    httpMetadata: { contentType: 'application/json' },
  })
  if (put === null) throw new Error('the public keys were replaced meanwhile')
}

/** By generation, each up to the Session before the next one's first; one that never signed a Session is left out. */
function mergeEntries(
  known: readonly PublicKeyEntry[],
  given: readonly PublicKeyEntry[],
): readonly PublicKeyEntry[] {
  const byEpoch = new Map([...known, ...given].map((entry) => [entry.key_epoch, entry]))
  const sorted = [...byEpoch.values()].sort((left, right) => left.key_epoch - right.key_epoch)
  return sorted.flatMap(({ last_session: _last, ...entry }, at) => {
    const later = sorted.slice(at + 1).map(({ first_session: first }) => first)
    if (later.length === 0) return [entry]
    const last = Math.min(...later) - 1
    return last < entry.first_session ? [] : [{ ...entry, last_session: last }]
  })
}

/** More than one an hour for ten years: what lies there may be anything, and is counted up to by a recovery. */
const keyEpochMax = 100_000

/** Those that are well formed. */
function readEntries(bytes: Uint8Array): readonly PublicKeyEntry[] {
  return readObjects(bytes).flatMap((entry) => {
    const { key_epoch: epoch, first_session: first } = entry
    const key = parseDigest<PublicKeyHex>(entry['public_key'])
    const id = parseDigest<KeyId>(entry['key_id'])
    if (key === undefined || id === undefined || !isCount(epoch) || !isCount(first)) return []
    return epoch > keyEpochMax
      ? []
      : [{ public_key: key, key_id: id, key_epoch: epoch, first_session: first }]
  })
}

function isCount(value: JsonValue | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

/** The highest `key_epoch` in the object; -1 for what is not one. */
export function highestEpoch(bytes: Uint8Array): number {
  return Math.max(-1, ...readEntries(bytes).map((entry) => entry.key_epoch))
}

function readObjects(bytes: Uint8Array): readonly JsonObject[] {
  const body = parseBody(bytes)
  const keys: JsonValue | undefined = body.ok ? body.value['keys'] : undefined
  return Array.isArray(keys) ? (keys as readonly JsonValue[]).filter(isJsonObject) : []
}
