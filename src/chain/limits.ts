/**
 * What an agent and a tenant may ask for (authorize.md §3 step 10): token buckets, the daily quota, and the cap on
 * refused Calls that leave a Line. Pure: counters in, counters out.
 */
import type { AgentCounters, Bucket, ChainSettings, DayCount, HeadRecord } from './records.ts'
import { generationOf, nonceGenerationMs } from './ids.ts'

const secondMs = 1000
const minuteMs = 60 * secondMs
const dayMs = 24 * 60 * minuteMs

/** Nonces of one agent that are kept at once (authorize.md §3, bounds): about 2 MB of rows. */
export const noncesPerAgentMax = 20_000

export type Limit = 'agent_rate' | 'tenant_rate' | 'agent_day' | 'tenant_day'

/** What is counted for one Call. */
export interface Counted {
  readonly head: HeadRecord
  readonly counters: AgentCounters
}

export type Drawn =
  | ({ readonly kind: 'drawn' } & Counted)
  | ({ readonly kind: 'limited'; readonly limit: Limit; readonly retryAfterMs: number } & Counted)

/** Counters of an agent that has made no Call yet: a full bucket. */
export function freshCounters(agentId: string, settings: ChainSettings, now: number): AgentCounters {
  return {
    agentId,
    bucket: { tokens: settings.agent_burst, at: now },
    day: { day: Math.floor(now / dayMs), calls: 0 },
    refused: 0,
    refusedSince: now,
    suppressed: 0,
    explained: 0,
    pendingApprovals: 0,
    nonceGeneration: generationOf(now, nonceGenerationMs),
    nonces: 0,
    noncesBefore: 0,
  }
}

/** Takes one token from the agent's and the tenant's bucket and one from either day; all four or none. */
export function draw({ head, counters }: Counted, settings: ChainSettings, now: number): Drawn {
  const agent = refill(counters.bucket, settings.agent_rate_per_s, settings.agent_burst, now)
  const tenant = refill(head.bucket, settings.tenant_rate_per_s, settings.tenant_burst, now)
  const agentDay = today(counters.day, now)
  const tenantDay = today(head.day, now)
  const counted: Counted = {
    head: { ...head, bucket: tenant, day: tenantDay },
    counters: { ...counters, bucket: agent, day: agentDay },
  }
  const limited = (limit: Limit, retryAfterMs: number): Drawn => ({
    kind: 'limited',
    limit,
    retryAfterMs,
    ...counted,
  })
  if (agent.tokens < 1) return limited('agent_rate', untilOneToken(agent, settings.agent_rate_per_s))
  if (tenant.tokens < 1) return limited('tenant_rate', untilOneToken(tenant, settings.tenant_rate_per_s))
  if (agentDay.calls >= settings.agent_daily_quota) return limited('agent_day', untilNextDay(agentDay, now))
  if (tenantDay.calls >= settings.tenant_daily_quota)
    return limited('tenant_day', untilNextDay(tenantDay, now))
  return {
    kind: 'drawn',
    head: { ...head, bucket: take(tenant), day: { ...tenantDay, calls: tenantDay.calls + 1 } },
    counters: { ...counters, bucket: take(agent), day: { ...agentDay, calls: agentDay.calls + 1 } },
  }
}

export type ReadDrawn =
  | { readonly kind: 'drawn'; readonly head: HeadRecord }
  | { readonly kind: 'limited'; readonly retryAfterMs: number }

/**
 * Takes one token from the tenant's bucket: for reads and explanations, which share its rate but use up nobody's day
 * and no agent's bucket. An auditor must not be able to stop an agent.
 */
export function drawForReading(head: HeadRecord, settings: ChainSettings, now: number): ReadDrawn {
  const bucket = refill(head.bucket, settings.tenant_rate_per_s, settings.tenant_burst, now)
  if (bucket.tokens < 1) {
    return { kind: 'limited', retryAfterMs: untilOneToken(bucket, settings.tenant_rate_per_s) }
  }
  return { kind: 'drawn', head: { ...head, bucket: take(bucket) } }
}

function take(bucket: Bucket): Bucket {
  return { ...bucket, tokens: bucket.tokens - 1 }
}

/** A clock that was set back stays in the day already counted: a quota is never handed out twice. */
function today(count: DayCount, now: number): DayCount {
  const day = Math.floor(now / dayMs)
  return day > count.day ? { day, calls: 0 } : count
}

function untilNextDay(count: DayCount, now: number): number {
  return Math.max(secondMs, (count.day + 1) * dayMs - now)
}

function refill(bucket: Bucket, perSecond: number, burst: number, now: number): Bucket {
  const elapsed = Math.max(0, now - bucket.at)
  return {
    tokens: Math.min(burst, bucket.tokens + (elapsed * perSecond) / secondMs),
    at: Math.max(now, bucket.at),
  }
}

function untilOneToken(bucket: Bucket, perSecond: number): number {
  return Math.max(1, Math.ceil(((1 - bucket.tokens) * secondMs) / perSecond))
}

export type RefusalCounted =
  | { readonly kind: 'recorded'; readonly counters: AgentCounters }
  /** Past the cap: no Line; the agent's next Line says how many there were. */
  | { readonly kind: 'suppressed'; readonly counters: AgentCounters; readonly retryAfterMs: number }

/** Counts a Call that will be refused, in windows of one minute. */
export function countRefusal(counters: AgentCounters, settings: ChainSettings, now: number): RefusalCounted {
  const elapsed = now - counters.refusedSince
  const fresh = elapsed >= minuteMs || elapsed < 0
  const refused = fresh ? 0 : counters.refused
  const refusedSince = fresh ? now : counters.refusedSince
  if (refused >= settings.refused_calls_per_minute) {
    const retryAfterMs = Math.max(1, refusedSince + minuteMs - now)
    const suppressed = counters.suppressed + 1
    return { kind: 'suppressed', counters: { ...counters, refused, refusedSince, suppressed }, retryAfterMs }
  }
  return { kind: 'recorded', counters: { ...counters, refused: refused + 1, refusedSince } }
}

/** Whether one more nonce of an agent may be kept. */
export function hasNonceRoom(counters: AgentCounters, now: number): boolean {
  const rolled = rollNonces(counters, generationOf(now, nonceGenerationMs))
  return rolled.nonces + rolled.noncesBefore < noncesPerAgentMax
}

/** Counts a nonce that is being kept. */
export function countNonce(counters: AgentCounters, now: number): AgentCounters {
  const rolled = rollNonces(counters, generationOf(now, nonceGenerationMs))
  return { ...rolled, nonces: rolled.nonces + 1 }
}

function rollNonces(counters: AgentCounters, generation: number): AgentCounters {
  if (generation <= counters.nonceGeneration) return counters
  const noncesBefore = generation === counters.nonceGeneration + 1 ? counters.nonces : 0
  return { ...counters, nonceGeneration: generation, nonces: 0, noncesBefore }
}
