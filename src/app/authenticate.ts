/**
 * Who calls (authorize.md §1, §3 steps 1 and 2): tag, flood limit, the key's record, the secret, the role, in this
 * order. A tag that we did not make is refused here and wakes no object. Whatever is wrong with a key, the answer is
 * the same 401.
 */
import type { TenantChainRpc } from '../../durable-objects/rpc.ts'
import {
  type KeyRole,
  type ParsedApiKey,
  hasTrueTag,
  isSecretOf,
  parseApiKey,
  secretHash,
} from '../protocol/index.ts'
import { readAuthorization } from './authorization-header.ts'
import type { CallerState } from './caller-states.ts'
import type { Services } from './services.ts'

/** Someone who proved who he is, in a role that the route takes. */
export interface Caller {
  readonly tenant: string
  readonly keyId: string
  readonly role: KeyRole
  readonly chain: TenantChainRpc
  readonly state: CallerState
}

export type Authenticated =
  | { readonly kind: 'caller'; readonly caller: Caller }
  | {
      readonly kind: 'refused'
      readonly code:
        'authorization_malformed' | 'unauthorized' | 'role_not_allowed' | 'rate_limited' | 'unavailable'
      readonly retryAfterMs?: number
      /** Known ones, for the log. */
      readonly tenant?: string
      readonly keyId?: string
    }

/** The flood limit is the platform's, over 60 s at most. */
export const floodRetryMs = 10_000

export async function authenticate(
  services: Services,
  header: string | null,
  roles: readonly KeyRole[],
): Promise<Authenticated> {
  const read = readAuthorization(header)
  if (read.kind === 'malformed') return { kind: 'refused', code: 'authorization_malformed' }
  const key = read.kind === 'bearer' ? parseApiKey(read.key) : undefined
  if (key === undefined) return { kind: 'refused', code: 'unauthorized' }
  if (key.kind === 'operator') return refuseOperator(services, key.secret)
  return authenticateTenantKey(services, key, roles)
}

function refuseOperator(services: Services, secret: Uint8Array): Authenticated {
  return { kind: 'refused', code: isOperatorSecret(services, secret) ? 'role_not_allowed' : 'unauthorized' }
}

function isOperatorSecret({ config, digester }: Services, secret: Uint8Array): boolean {
  return (
    config.kind === 'configured' && isSecretOf(secret, secretHash(config.operatorSecret, digester), digester)
  )
}

/** Whether the header holds the operator's key; a tenant's key is not looked up, since no role of one is enough. */
export function authenticateOperator(
  services: Services,
  header: string | null,
): 'operator' | 'authorization_malformed' | 'unauthorized' {
  const read = readAuthorization(header)
  if (read.kind === 'malformed') return 'authorization_malformed'
  const key = read.kind === 'bearer' ? parseApiKey(read.key) : undefined
  if (key?.kind === 'operator' && isOperatorSecret(services, key.secret)) return 'operator'
  return 'unauthorized'
}

async function authenticateTenantKey(
  services: Services,
  key: Extract<ParsedApiKey, { kind: 'tenant' }>,
  roles: readonly KeyRole[],
): Promise<Authenticated> {
  const { config, digester, floodLimit, callerStates } = services
  const { tenant, id: keyId } = key
  if (config.kind !== 'configured' || !config.tagHmacs.some((hmac) => hasTrueTag(key, hmac))) {
    return { kind: 'refused', code: 'unauthorized' }
  }
  const named = { tenant, keyId } as const
  if (floodLimit !== undefined && !(await floodLimit(keyId))) {
    return { kind: 'refused', code: 'rate_limited', retryAfterMs: floodRetryMs, ...named }
  }
  const chain = services.chainOf(tenant)
  const found = await callerStates.lookUp(chain, tenant, keyId)
  if (found.kind === 'unavailable') return { kind: 'refused', code: 'unavailable', ...named }
  const record = found.kind === 'known' ? found.state.current.key : undefined
  // An unknown key costs the same comparison as a known one with another secret.
  const isTheirs = isSecretOf(key.secret, record?.secretHash ?? noSecretHash, digester)
  const isLive =
    record !== undefined &&
    !record.revoked &&
    record.confirmed !== false &&
    record.role === key.role &&
    record.expiresAt > services.now()
  if (found.kind !== 'known' || !isTheirs || !isLive)
    return { kind: 'refused', code: 'unauthorized', ...named }
  if (!roles.includes(key.role)) return { kind: 'refused', code: 'role_not_allowed', ...named }
  return { kind: 'caller', caller: { tenant, keyId, role: key.role, chain, state: found.state } }
}

/** No secret has it: it is not the hash of 32 bytes that anyone knows. */
const noSecretHash = '0'.repeat(64)
