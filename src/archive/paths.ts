/**
 * Where objects lie in the archive (authorize.md §5). Names are made of checked parts only: a tenant's name has no
 * slash and no dot, a digest is hex, so that no object of one tenant can be named under another's prefix.
 */
import { type PolicySetHash, type RequestDigest, isTenantName } from '../record/index.ts'

/** `policies/<tenant>/<policy_set_hash>.json` in the bucket `CHAIN`. */
export function bundlePath(tenant: string, policySetHash: PolicySetHash): string {
  return `policies/${checkedTenant(tenant)}/${policySetHash}.json`
}

/** Names of objects between these are those of all bundles of a tenant, and of the keys of all tenants. */
export function bundlesPrefix(tenant: string): string {
  return `policies/${checkedTenant(tenant)}/`
}
export const keysPrefix = 'keys/'

/** `chains/<tenant>/<session_index, 10 digits>.aarl` in the bucket `CHAIN`: they sort as they follow each other. */
export function segmentPath(tenant: string, sessionIndex: number): string {
  return `chains/${checkedTenant(tenant)}/${String(sessionIndex).padStart(10, '0')}.aarl`
}

/** `heads/<tenant>.json` in the bucket `CHAIN`: the last published `close` and LF. */
export function headPath(tenant: string): string {
  return `heads/${checkedTenant(tenant)}.json`
}

/** `keys/<tenant>.json` in the bucket `CHAIN`: the public keys, for whoever asks. */
export function keysPath(tenant: string): string {
  return `keys/${checkedTenant(tenant)}.json`
}

/** `envelopes/<tenant>/<request_digest>` in the bucket `ENVELOPES`. */
export function envelopePath(tenant: string, digest: RequestDigest): string {
  return `envelopes/${checkedTenant(tenant)}/${digest}`
}

function checkedTenant(tenant: string): string {
  if (!isTenantName(tenant)) throw new Error('not the name of a tenant')
  return tenant
}
