/** The cap on refused Calls (authorize.md §3, bounds) for acts other than `admit`, which counts in its own transaction. */
import { countRefusal, freshCounters } from './limits.ts'
import type { ChainContext } from './ports.ts'
import type { TenantRecord } from './records.ts'

/**
 * Counts a refusal of an agent's act.
 *
 * @returns `undefined` when it is to be recorded, else how long until one is again.
 */
export function countRefusedAct(
  { store, now }: ChainContext,
  tenant: TenantRecord,
  agentId: string,
): number | undefined {
  const counters = store.readCounters(agentId) ?? freshCounters(agentId, tenant.settings, now)
  const refusal = countRefusal(counters, tenant.settings, now)
  store.writeCounters(refusal.counters)
  return refusal.kind === 'suppressed' ? refusal.retryAfterMs : undefined
}
