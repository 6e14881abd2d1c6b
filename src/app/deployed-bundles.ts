/**
 * The bundle that the deployment carries for a tenant: its own folder under policies/tenants, else policies/default. The
 * data is written by the build step of wrangler.toml, which also validated it; it is not in the repository.
 */
import { type PolicySetHash, parseDigest, utf8 } from '../record/index.ts'
import carried from './deployed-bundles.json' with { type: 'json' }

export interface DeployedBundle {
  readonly policySetHash: PolicySetHash
  /** The bundle object. */
  readonly bytes: Uint8Array
}

const tenants = new Map<string, { readonly policy_set_hash: string; readonly object: string }>(
  Object.entries(carried.tenants),
)

export function deployedBundle(tenant: string): DeployedBundle {
  const { policy_set_hash: hash, object } = tenants.get(tenant) ?? carried.default
  const policySetHash = parseDigest<PolicySetHash>(hash)
  if (policySetHash === undefined) throw new Error('the deployed bundles are not what the build step writes')
  return { policySetHash, bytes: utf8(object) }
}
