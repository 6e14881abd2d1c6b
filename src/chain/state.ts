/**
 * What a Worker is told of a tenant, to decide with (authorize.md §3, the fence): one key, its agent, the revision they
 * were read at, and which policy sets to evaluate. A secret never leaves as more than its hash.
 */
import type { PolicySetHash } from '../record/index.ts'
import type { ChainContext } from './ports.ts'
import type { AgentRecord, KeyRecord, TenantRecord } from './records.ts'

/** Clocks of Worker and object may differ by this much before the decision is taken again. */
export const evaluationAgeMaxMs = 5_000

export interface Current {
  readonly tenant: string
  readonly revision: number
  /** The object's clock, integer ms. */
  readonly now: number
  readonly key: KeyRecord
  /** The key's own, or the one that an explanation is about. */
  readonly agent?: AgentRecord
  readonly policySetHash?: PolicySetHash
  readonly shadowHash?: PolicySetHash
  readonly agentsMayExplain: boolean
}

export function currentState(
  context: ChainContext,
  tenant: TenantRecord,
  key: KeyRecord,
  agent: AgentRecord | undefined,
): Current {
  return {
    tenant: tenant.tenant,
    revision: tenant.revision,
    now: context.now,
    key,
    ...(agent === undefined ? {} : { agent }),
    ...(tenant.policySetHash === undefined ? {} : { policySetHash: tenant.policySetHash }),
    ...(tenant.shadowHash === undefined ? {} : { shadowHash: tenant.shadowHash }),
    agentsMayExplain: tenant.settings.agents_may_explain,
  }
}
