/**
 * Makes a tenant's public keys known, after whatever gave it a new one. The Worker does it and not the object: what the
 * archive says of keys must not depend on which objects were woken.
 */
import type { TenantChainRpc } from '../../durable-objects/rpc.ts'
import { putPublicKeys } from '../archive/public-keys.ts'
import type { RequestContext } from './request-scope.ts'
import type { Services } from './services.ts'

/** A failure is logged and no more: the act has happened, and the next one of its kind writes them again. */
export async function publishKeys(
  services: Services,
  c: RequestContext,
  chain: TenantChainRpc,
): Promise<void> {
  try {
    const result = await chain.publicKeys()
    if (result.kind !== 'keys') throw new Error(`no keys: ${result.kind}`)
    await putPublicKeys(services.archive, result.publicKeys, services.digester)
  } catch (cause) {
    c.get('noted').fault = `keys_not_published: ${cause instanceof Error ? cause.message : 'not an Error'}`
  }
}
