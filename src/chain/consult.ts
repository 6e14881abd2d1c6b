/**
 * What a Worker asks the writer without a Call of its own: the state to decide with, leave to read, and explanations,
 * which are counted into the agent's next Line. Each checks the key in its own transaction, like everything here.
 */
import { readLiveKey } from './key.ts'
import { draw, drawForReading, freshCounters } from './limits.ts'
import type { ChainContext } from './ports.ts'
import type { AgentRecord, KeyRecord, Role, TenantRecord } from './records.ts'
import { type Current, currentState, evaluationAgeMaxMs } from './state.ts'

const everyRole: readonly Role[] = ['agent', 'approver', 'auditor', 'admin']

export type ResolveResult =
  | { readonly kind: 'resolved'; readonly current: Current }
  /** No such tenant, no such key, revoked or expired: the asker learns no more. */
  | { readonly kind: 'unauthorized' }
  | { readonly kind: 'not_found' }

/** The state for a key; `agentId` asks for another agent than the key's own, for an explanation. */
export function resolve(context: ChainContext, keyId: string, agentId?: string): ResolveResult {
  const { store } = context
  const tenant = store.readTenant()
  const key = tenant === undefined ? undefined : readLiveKey(context, keyId, everyRole)
  if (tenant === undefined || key === undefined) {
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
    const key = tenant === undefined ? undefined : readLiveKey(context, keyId, roles)
    if (tenant === undefined || key === undefined) return { kind: 'unauthorized' }
    const stored = store.readHead()
    const drawn = drawForReading(stored, tenant.settings, now)
    if (drawn.kind === 'limited') return drawn
    store.replaceHead(stored, drawn.head)
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

/** Fenced and limited like a Call, but appends nothing: the agent's next Line says how many there were. */
export function countExplanation(context: ChainContext, ask: ExplainAsk): ExplainResult {
  const { store, now } = context
  return store.transaction(() => {
    const tenant = store.readTenant()
    const key =
      tenant === undefined ? undefined : readLiveKey(context, ask.keyId, ['auditor', 'admin', 'agent'])
    if (tenant === undefined || key === undefined || !mayExplain(tenant, key, ask.agentId)) {
      return { kind: 'unauthorized' }
    }
    const agent = store.readAgent(ask.agentId)
    if (agent === undefined) return { kind: 'not_found' }
    if (ask.revision !== tenant.revision || Math.abs(now - ask.evaluatedAt) > evaluationAgeMaxMs) {
      return { kind: 'stale', current: currentState(context, tenant, key, agent) }
    }
    return countFor(context, tenant, key, agent)
  })
}

/** An agent that asks for itself pays from its own bucket; whoever asks about another pays as for a read. */
function countFor(
  context: ChainContext,
  tenant: TenantRecord,
  key: KeyRecord,
  agent: AgentRecord,
): ExplainResult {
  const { store, now } = context
  const stored = store.readHead()
  const counters = store.readCounters(agent.id) ?? freshCounters(agent.id, tenant.settings, now)
  const own = key.role === 'agent'
  const drawn = own
    ? draw({ head: stored, counters }, tenant.settings, now)
    : { ...drawForReading(stored, tenant.settings, now), counters }
  // Nothing is written: a bucket without a token refills from the time that it already holds.
  if (drawn.kind === 'limited') return { kind: 'limited', retryAfterMs: drawn.retryAfterMs }
  store.replaceHead(stored, drawn.head)
  store.writeCounters({ ...drawn.counters, explained: drawn.counters.explained + 1 })
  return { kind: 'counted' }
}

/** An agent's own key explains only itself, and only where the settings say so. */
function mayExplain(tenant: TenantRecord, key: KeyRecord, agentId: string): boolean {
  if (key.role !== 'agent') return true
  return tenant.settings.agents_may_explain && key.agentId === agentId
}
