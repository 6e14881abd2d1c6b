/**
 * What the routes work with: the world (clock, keys, archive, tenants' objects) comes in from worker.ts, and what an
 * isolate remembers is made here. Nothing in src/app reads the environment or a global clock.
 */
import type { TenantChainRpc } from '../../durable-objects/rpc.ts'
import type { Bucket, ListedBucket } from '../archive/bucket.ts'
import type { Engine } from '../policy/index.ts'
import type { Digester, PolicySetHash } from '../record/index.ts'
import { CallerStates } from './caller-states.ts'
import type { Config } from './config.ts'
import { PolicySets } from './policy-sets.ts'

/** What worker.ts brings. */
export interface World {
  readonly config: Config
  /** Integer ms since the epoch. */
  readonly now: () => number
  /** For durations only; ms. */
  readonly elapsed: () => number
  readonly randomId: () => string
  /** `count` random bytes. */
  readonly random: (count: number) => Uint8Array
  readonly digester: Digester
  readonly engine: Engine
  /** The object of a tenant; a new stub each time, since stubs belong to the request that made them. */
  readonly chainOf: (tenant: string) => TenantChainRpc
  /** Where bundle objects, segments and public keys lie. */
  readonly archive: ListedBucket
  /** Where request bytes lie. */
  readonly envelopes: Bucket
  /** The bundle that the deployment carries for a tenant. */
  readonly deployedBundle: (tenant: string) => {
    readonly policySetHash: PolicySetHash
    readonly bytes: Uint8Array
  }
  /** `false` for a key id that floods; absent where the platform's limit is not bound. */
  readonly floodLimit?: (keyId: string) => Promise<boolean>
  /** One line of JSON. */
  readonly log: (line: string) => void
}

export interface Services extends World {
  readonly callerStates: CallerStates
  readonly policySets: PolicySets
}

export function createServices(world: World): Services {
  return {
    ...world,
    callerStates: new CallerStates(world.now),
    policySets: new PolicySets(world.archive, world.digester),
  }
}
