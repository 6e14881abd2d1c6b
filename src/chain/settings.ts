/**
 * The settings that the writer itself enforces: those of a tenant without a bundle, and those read out of a bundle
 * object. What they mean and how they are bounded stands with the policy's settings; here only what this floor would
 * break without is checked again.
 */
import { type JsonValue, isJsonObject } from '../record/index.ts'
import { replayWindowMaxMs } from './ids.ts'
import type { ChainSettings } from './records.ts'

/**
 * Settings for a tenant that has no bundle yet: narrow, since nothing can be allowed before the first activation
 * anyway (`policy_unavailable`). Every bundle brings its own, complete.
 */
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
  envelope_retention_days: 90,
  agents_may_explain: false,
}

type IntegerName = Exclude<keyof ChainSettings, 'envelope' | 'agents_may_explain'>

/**
 * The writer's part of a bundle object's `settings`; its other members are the Worker's.
 *
 * @returns `undefined` when a member is missing, of another type, below 1, or a window that nonces would not outlive.
 */
export function readChainSettings(value: JsonValue | undefined): ChainSettings | undefined {
  if (value === undefined || !isJsonObject(value)) return undefined
  const integers = {} as Record<IntegerName, number>
  for (const name of Object.keys(settingsBeforeFirstBundle) as (keyof ChainSettings)[]) {
    if (name === 'envelope' || name === 'agents_may_explain') continue
    const member = value[name]
    if (typeof member !== 'number' || !Number.isSafeInteger(member) || member < 1) return undefined
    integers[name] = member
  }
  const { envelope, agents_may_explain } = value
  if (envelope !== 'on' && envelope !== 'off') return undefined
  if (typeof agents_may_explain !== 'boolean') return undefined
  if (integers.replay_window_ms > replayWindowMaxMs) return undefined
  return { ...integers, envelope, agents_may_explain }
}
