/**
 * Where objects lie in the archive (authorize.md §5). Names are made of checked parts only: a tenant's name has no
 * slash and no dot, a digest is hex, so that no object of one tenant can be named under another's prefix.
 */
import type { PolicySetHash } from '../record/index.ts'

const tenantName = /^[a-z][a-z0-9-]{1,38}$/

/** `policies/<tenant>/<policy_set_hash>.json` in the bucket `CHAIN`. */
export function bundlePath(tenant: string, policySetHash: PolicySetHash): string {
  return `policies/${checkedTenant(tenant)}/${policySetHash}.json`
}

function checkedTenant(tenant: string): string {
  if (!tenantName.test(tenant)) throw new Error('not the name of a tenant')
  return tenant
}
