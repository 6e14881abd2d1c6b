/**
 * What a Worker asks the writer without a Call of its own: the state to decide with, leave to read, and explanations,
 * which are counted into the agent's next Line. Each checks the key in its own transaction, like everything here.
 */
import { readLiveKey } from './admit.ts'
import { draw, freshCounters } from './limits.ts'
import type { ChainContext } from './ports.ts'
import type { AgentRecord, KeyRecord, Role, TenantRecord } from './records.ts'
import { type Current, currentState } from './state.ts'

export type ResolveResult =
  | { readonly kind: 'resolved'; readonly current: Current }
  /** No such tenant, no such key, revoked or expired: the asker learns no more. */
  | { readonly kind: 'unauthorized' }
  | { readonly kind: 'not_found' }

/** The state for a key; `agentId` asks for another agent than the key's own, for an explanation. */
export function resolve(context: ChainContext, keyId: string, agentId?: string): ResolveResult {
  const { store, now } = context
  const tenant = store.readTenant()
  const key = tenant === undefined ? undefined : store.readKey(keyId)
  if (tenant === undefined || key === undefined || key.revoked || key.expiresAt <= now) {
    return { kind: 'unauthorized' }
  }
  const wanted = agentId ?? key.agentId
  const agent = wanted === undefined ? undefined : store.readAgent(wanted)
  if (agent === undefined && wanted !== undefined) return { kind: 'not_found' }
  return { kind: 'resolved', current: currentState(context, tenant, key, agent) }
}

export type LeaveResult =
  | { readonly kind: 'granted' }
  | { readonly kind: 'limited'; readonly retryAfterMs: number }
  | { readonly kind: 'unauthorized' }

/** Whether a key may read now: its role, and a token of the tenant's bucket. */
export function leaveToRead(context: ChainContext, keyId: string, roles: readonly Role[]): LeaveResult {
  const { store, now } = context
  return store.transaction(() => {
    const tenant = store.readTenant()
    const key = tenant === undefined ? undefined : findKey(context, keyId, roles)
    if (tenant === undefined || key === undefined) return { kind: 'unauthorized' }
    const stored = store.readHead()
    // Readers share the tenant's bucket, and not a day's quota: an auditor must not use up what agents may do.
    const reader = freshCounters(key.id, tenant.settings, now)
    const drawn = draw({ head: stored, counters: reader }, tenant.settings, now)
    if (drawn.kind === 'limited' && drawn.limit === 'tenant_rate') {
      return { kind: 'limited', retryAfterMs: drawn.retryAfterMs }
    }
    store.replaceHead(stored, { ...stored, bucket: drawn.head.bucket })
    return { kind: 'granted' }
  })
}

export interface ExplainAsk {
  readonly keyId: string
  readonly agentId: string
  readonly revision: number
  readonly evaluatedAt: number
}

export type ExplainResult =
  | { readonly kind: 'counted' }
  | { readonly kind: 'stale'; readonly current: Current }
  | { readonly kind: 'limited'; readonly retryAfterMs: number }
  | { readonly kind: 'unauthorized' }
  | { readonly kind: 'not_found' }

/** As old as an evaluation may be; the same bound as in `admit`. */
const evaluationAgeMaxMs = 5_000

/** Fenced and limited like a Call, but appends nothing: the agent's next Line says how many there were. */
export function countExplanation(context: ChainContext, ask: ExplainAsk): ExplainResult {
  const { store, now } = context
  return store.transaction(() => {
    const tenant = store.readTenant()
    const key = tenant === undefined ? undefined : findKey(context, ask.keyId, ['auditor', 'admin', 'agent'])
    if (tenant === undefined || key === undefined || !mayExplain(tenant, key, ask.agentId)) {
      return { kind: 'unauthorized' }
    }
    const agent = store.readAgent(ask.agentId)
    if (agent === undefined) return { kind: 'not_found' }
    if (ask.revision !== tenant.revision || Math.abs(now - ask.evaluatedAt) > evaluationAgeMaxMs) {
      return { kind: 'stale', current: currentState(context, tenant, key, agent) }
    }
    return countFor(context, tenant, agent)
  })
}

function countFor(context: ChainContext, tenant: TenantRecord, agent: AgentRecord): ExplainResult {
  const { store, now } = context
  const stored = store.readHead()
  const counters = store.readCounters(agent.id) ?? freshCounters(agent.id, tenant.settings, now)
  const drawn = draw({ head: stored, counters }, tenant.settings, now)
  store.replaceHead(stored, drawn.head)
  if (drawn.kind === 'limited') {
    store.writeCounters(drawn.counters)
    return { kind: 'limited', retryAfterMs: drawn.retryAfterMs }
  }
  store.writeCounters({ ...drawn.counters, explained: drawn.counters.explained + 1 })
  return { kind: 'counted' }
}

/** An agent's own key explains only itself, and only where the settings say so. */
function mayExplain(tenant: TenantRecord, key: KeyRecord, agentId: string): boolean {
  if (key.role !== 'agent') return true
  return tenant.settings.agents_may_explain && key.agentId === agentId
}

function findKey(context: ChainContext, keyId: string, roles: readonly Role[]): KeyRecord | undefined {
  for (const role of roles) {
    const key = readLiveKey(context, keyId, role)
    if (key !== undefined) return key
  }
  return undefined
}
