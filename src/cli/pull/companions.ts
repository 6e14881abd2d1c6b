/**
 * What is pulled beside the Lines: the policy sets that they name, whose bytes are their own proof, and what the
 * deployment says of its keys, which proves nothing and is never a pin by itself.
 */
import type { PolicySetHash } from '../../record/index.ts'
import { parseTrustStore } from '../../verify/index.ts'
import { type HttpClient, RequestError } from '../http-client.ts'
import type { PullFolder } from './folder.ts'
import { sha256 } from './line-facts.ts'
import { PullStop } from './stop.ts'

/** What a bundle object may have (src/policy/guard.ts). */
const policyBytesMax = 1_048_576
/** Of a trust store: a key a kilobyte, and ten thousand of them. */
const keysBytesMax = 10_000_000
const keysName = 'keys.json'

/** @returns whether it was fetched; one that is there is only read. */
export async function pullPolicy(
  client: HttpClient,
  folder: PullFolder,
  hash: PolicySetHash,
): Promise<boolean> {
  const name = `policies/${hash}.json`
  const at = `policy ${hash}`
  const present = await folder.read(name, policyBytesMax)
  if (present !== undefined) {
    const got = sha256(present)
    if (got === hash) return false
    throw new PullStop('policy_hash', at, `the bytes of ${folder.pathOf(name)} have the hash ${got}`)
  }
  const bytes = await fetchWhole(client, `/v1/policies/${hash}`, policyBytesMax)
  if (bytes === 'absent') {
    throw new PullStop('policy_missing', at, 'the record names it, and the deployment does not have it')
  }
  if (bytes === 'too_long') {
    throw new PullStop('policy_hash', at, `it is longer than ${String(policyBytesMax)} bytes`)
  }
  const got = sha256(bytes)
  if (got !== hash) throw new PullStop('policy_hash', at, `the bytes that came have the hash ${got}`)
  await folder.keep(name, bytes)
  return true
}

/** A deployment that says nothing of its keys leaves the file as it is. */
export async function pullKeys(client: HttpClient, folder: PullFolder, tenant: string): Promise<void> {
  const bytes = await fetchWhole(client, `/v1/keys/${tenant}`, keysBytesMax)
  if (bytes === 'absent') return
  const store = bytes === 'too_long' ? undefined : parseTrustStore(bytes)
  if (bytes === 'too_long' || store?.ok !== true || store.value.some(({ chainId }) => chainId !== tenant)) {
    throw new PullStop('keys_malformed', 'keys', `what came is no trust store of the Chain ${tenant}`)
  }
  const present = await folder.read(keysName, keysBytesMax)
  if (present === undefined || sha256(present) !== sha256(bytes)) await folder.keep(keysName, bytes)
}

async function fetchWhole(
  client: HttpClient,
  path: string,
  bytesMax: number,
): Promise<Uint8Array | 'absent' | 'too_long'> {
  try {
    return await client.send({ path, bytesMax })
  } catch (error) {
    if (error instanceof RequestError && error.status === 404) return 'absent'
    if (error instanceof RequestError && error.code === 'body_too_long') return 'too_long'
    throw error
  }
}
