/**
 * The k-th call of the storage fails, for every k: once without having happened, once having happened and answered with
 * an error. Then the object is opened again: what it holds verifies, what it acknowledged is there, and a retry of
 * everything writes nothing twice.
 */
import { describe, expect, it } from 'vitest'
import type { Act } from '../../src/chain/acts.ts'
import { administer, createTenant } from '../../src/chain/administer.ts'
import { admit } from '../../src/chain/admit.ts'
import type { AdmitResult, AuthorizeDraft } from '../../src/chain/draft.ts'
import { GroupCommit } from '../../src/chain/group-commit.ts'
import { MemoryStore } from '../../src/chain/memory-store.ts'
import type { ChainContext, ChainStore } from '../../src/chain/ports.ts'
import { unavailable } from '../../src/chain/unavailable.ts'
import { type DraftGiven, act, agentFields, denial, draft, keyFields } from '../harness/drafts.ts'
import { linesOf, outcomesOf, verifyLive } from '../harness/follower.ts'
import { chainContext, countingRandom, someNoon, tenantRecord } from '../harness/memory-tenant.ts'

type Mode = 'before' | 'after'

class Fault extends Error {}

/** A tenant's object on a storage of which one call fails. */
class World {
  /** What the object works on, and what would be found if it were lost now. */
  #store = new MemoryStore()
  #durable = this.#store.copy()
  #commits = this.#open()
  readonly #random = countingRandom()
  readonly #failAt: number
  readonly #mode: Mode
  calls = 0
  readonly acknowledged: string[] = []

  constructor(failAt: number, mode: Mode) {
    this.#failAt = failAt
    this.#mode = mode
  }

  #open(): GroupCommit<AuthorizeDraft, AdmitResult> {
    return new GroupCommit<AuthorizeDraft, AdmitResult>({
      transaction: (work) => this.#faulty().transaction(work),
      judge: (one) => admit(this.#context(), one),
      sync: () => this.#sync(),
      failed: () => unavailable('storage_failed'),
      overloaded: () => unavailable('overloaded'),
      bytesOf: (one) => one.request.length,
    })
  }

  #context(): ChainContext {
    return chainContext(this.#faulty(), someNoon, this.#random)
  }

  #count<T>(effect: () => T): T {
    this.calls += 1
    const fails = this.calls === this.#failAt
    if (fails && this.#mode === 'before') throw new Fault()
    const result = effect()
    if (fails) throw new Fault()
    return result
  }

  /** Every call of the store is one that can fail; a transaction that fails before has rolled back. */
  #faulty(): ChainStore {
    return new Proxy<ChainStore>(this.#store, {
      get: (target, name) => {
        const method = Reflect.get(target, name) as (...given: unknown[]) => unknown
        return (...given: unknown[]) => this.#count(() => method.apply(target, given))
      },
    })
  }

  /** A storage that fails to become durable takes its object with it: the next one finds what was durable. */
  async #sync(): Promise<void> {
    await Promise.resolve()
    try {
      this.#count(() => {
        this.#durable = this.#store.copy()
      })
    } catch (fault) {
      this.reopen()
      throw fault
    }
  }

  reopen(): void {
    this.#store = this.#durable.copy()
    this.#commits = this.#open()
  }

  /** An act, acknowledged when it is durable; tried again when it was not. */
  async act(what: Act | 'create'): Promise<void> {
    for (let attempt = 0; attempt < 2; attempt += 1) {
      try {
        const call = what === 'create' ? act({ act: 'tenant.freeze' }) : act(what)
        const result =
          what === 'create'
            ? createTenant(this.#context(), tenantRecord('acme'), call)
            : administer(this.#context(), call)
        await this.#sync()
        if ('line' in result) this.acknowledged.push(result.line)
        return
      } catch (thrown) {
        if (!(thrown instanceof Fault)) throw thrown
      }
    }
  }

  async admit(requestId: string, given: DraftGiven = {}): Promise<AdmitResult> {
    const revision = this.#store.readTenant()?.revision ?? 0
    const one = draft('bot', revision, someNoon, { ...given, requestId, body: requestId })
    const result = await this.#commits.submit(one)
    if (result.kind === 'admitted') this.acknowledged.push(result.line)
    return result
  }

  /** What the storage holds now, and what would be left of it. */
  check(): void {
    const [now, left] = [this.#store.chainBytes(), this.#durable.chainBytes()]
    for (const chain of Buffer.compare(now, left) === 0 ? [now] : [now, left]) {
      if (chain.length > 0) verifyLive('acme', chain)
      const lines = new Set(linesOf(chain))
      for (const line of this.acknowledged) {
        if (!lines.has(line)) throw new Error(`call ${String(this.#failAt)}: an acknowledged Line is lost`)
      }
    }
  }

  get chain(): Uint8Array {
    return this.#store.chainBytes()
  }
}

const requests: readonly (readonly [string, DraftGiven])[] = [
  ['r1', {}],
  ['r2', { nonce: 'n', timestamp: someNoon }],
  ['r3', { evaluation: denial() }],
  [
    'r4',
    {
      evaluation: {
        decision: 'require_approval',
        code: 'approval_required',
        approval: { groups: ['leads'], quorum: 1 },
      },
    },
  ],
  ['r5', { timestamp: 0 }],
  ['r6', {}],
]

async function live(world: World): Promise<void> {
  await world.act('create')
  await world.act({ act: 'group.change', group: 'leads', members: ['lead@example.com'] })
  await world.act({ act: 'agent.create', agent: agentFields('bot') })
  await world.act({ act: 'key.issue', key: keyFields('bot', { agentId: 'bot' }) })
  // Some alone, some sharing a commit, one twice at once.
  await world.admit('r1')
  await Promise.all([...requests.slice(1), requests[5]].flatMap((one) => (one ? [world.admit(...one)] : [])))
  await world.act({ act: 'agent.change', agent: agentFields('bot', { environment: 'test' }) })
}

async function callsOf(): Promise<number> {
  const world = new World(0, 'before')
  await live(world)
  expect(world.acknowledged.length).toBe(11)
  return world.calls
}

describe.each(['before', 'after'] as const)('the k-th call of the storage fails %s its effect', (mode) => {
  it('for every k: nothing acknowledged is lost, and nothing is written twice', async () => {
    const calls = await callsOf()
    expect(calls).toBeGreaterThan(100)
    for (let failAt = 1; failAt <= calls; failAt += 1) {
      const world = new World(failAt, mode)
      await live(world)
      world.check()
      world.reopen()
      const kinds = []
      for (const one of requests) kinds.push((await world.admit(...one)).kind)
      const answered = kinds.filter((kind) => kind === 'admitted' || kind === 'repeated')
      world.check()
      const recorded = outcomesOf(world.chain).length
      expect({ failAt, answered: answered.length, calls: recorded }).toEqual({
        failAt,
        answered: requests.length,
        calls: requests.length,
      })
    }
  }, 120_000)
})
