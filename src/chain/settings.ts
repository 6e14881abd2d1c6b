/**
 * Settings for a tenant that has no bundle yet: narrow, since nothing can be allowed before the first activation
 * anyway (`policy_unavailable`). Every bundle brings its own, complete.
 */
import type { ChainSettings } from './records.ts'

export const settingsBeforeFirstBundle: ChainSettings = {
  agent_rate_per_s: 20,
  agent_burst: 100,
  tenant_rate_per_s: 500,
  tenant_burst: 1_000,
  agent_daily_quota: 100_000,
  tenant_daily_quota: 1_000_000,
  replay_window_ms: 300_000,
  grant_ttl_ms: 60_000,
  approve_by_ms: 1_800_000,
  use_within_ms: 600_000,
  refused_calls_per_minute: 60,
  pending_per_agent: 20,
  pending_per_tenant: 1_000,
  envelope: 'on',
  agents_may_explain: false,
}
