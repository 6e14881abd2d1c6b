/**
 * What this isolate was last told of each key: its record, its agent, the revision and the policy sets to decide with.
 * May be out of date at any time: the writer's fence finds that out for decisions, and everything else looks again
 * after 30 s (authorize.md §3). Not for secrets: only their hashes are in here.
 */
import type { Current, ResolveResult, TenantChainRpc, Unavailable } from '../../durable-objects/rpc.ts'
import { BoundedCache, SharedLoads } from './bounded-cache.ts'

export interface CallerState {
  readonly current: Current
  /** This isolate's clock when it was told. */
  readonly readAt: number
}

export type LookedUp =
  | { readonly kind: 'known'; readonly state: CallerState }
  | Exclude<ResolveResult | Unavailable, { kind: 'resolved' }>

/** About 1 KiB each: 5 MB. */
const statesMax = 5_000
const ageMsMax = 30_000

export class CallerStates {
  readonly #now: () => number
  readonly #states = new BoundedCache<CallerState>(statesMax)
  readonly #loads = new SharedLoads<LookedUp>()

  constructor(now: () => number) {
    this.#now = now
  }

  get size(): number {
    return this.#states.size
  }

  /** What is remembered and not too old, else what the tenant's object says. Throws when that cannot be asked. */
  async lookUp(chain: TenantChainRpc, tenant: string, keyId: string, agentId?: string): Promise<LookedUp> {
    const name = nameOf(tenant, keyId, agentId)
    const state = this.#states.get(name)
    if (state !== undefined && this.#now() - state.readAt < ageMsMax) return { kind: 'known', state }
    return this.#loads.run(name, async () => {
      const result = await chain.resolve(keyId, agentId)
      if (result.kind === 'resolved') {
        return { kind: 'known', state: this.remember(tenant, keyId, result.current, agentId) }
      }
      if (result.kind !== 'unavailable') this.#states.delete(name)
      return result
    })
  }

  /** The object said something newer. */
  remember(tenant: string, keyId: string, current: Current, agentId?: string): CallerState {
    const state = { current, readAt: this.#now() }
    this.#states.set(nameOf(tenant, keyId, agentId), state)
    return state
  }

  forget(tenant: string, keyId: string, agentId?: string): void {
    this.#states.delete(nameOf(tenant, keyId, agentId))
  }
}

/** The object's clock now, as far as it can be told from its last answer: clocks of two machines differ. */
export function clockOf(state: CallerState, now: number): number {
  return state.current.now + Math.max(0, now - state.readAt)
}

/** None of the parts holds a `/`. */
function nameOf(tenant: string, keyId: string, agentId = ''): string {
  return `${tenant}/${keyId}/${agentId}`
}
