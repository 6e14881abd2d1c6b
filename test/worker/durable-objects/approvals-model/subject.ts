/**
 * What the model is held against, two ways: the object's own store and src/chain inside the object, under a clock that
 * moves and a storage that fails at a chosen statement; and the object itself, over its methods, lost when it crashes.
 */
import { SqlChainStore } from '../../../../durable-objects/store.ts'
import type { AdministrativeCall } from '../../../../src/chain/acts.ts'
import { administer, createTenant } from '../../../../src/chain/administer.ts'
import { admit } from '../../../../src/chain/admit.ts'
import {
  type ApprovalAct,
  type ApprovalResult,
  actOnApproval,
  endOverdue,
} from '../../../../src/chain/approvals.ts'
import type { AdmitResult, AuthorizeDraft } from '../../../../src/chain/draft.ts'
import type { ChainContext } from '../../../../src/chain/ports.ts'
import type { DirectAct } from '../../../../durable-objects/rpc.ts'
import { nodeSuite } from '../../../../src/crypto-node/index.ts'
import { type PolicySetHash, requestDigest, toDigest, utf8 } from '../../../../src/record/index.ts'
import { act, wideSettings } from '../../../harness/drafts.ts'
import { chainContext, countingRandom, tenantRecord } from '../../../harness/memory-tenant.ts'
import type { ObjectUnderTest } from '../object.ts'

type Answer<T> = T | Promise<T>

/** Where a step is cut off: at a statement of its transaction, or behind it and before its answer. */
export type Crash = { readonly atStatement: number } | 'before_answer'

export interface Subject {
  readonly tenant: string
  /** Thrown by each of these when they crash. */
  admit(draft: AuthorizeDraft): Answer<AdmitResult>
  act(act: ApprovalAct): Answer<ApprovalResult>
  administer(call: AdministrativeCall<DirectAct>): Answer<void>
  /** Another policy set comes into force. */
  changePolicy(serial: number): Answer<void>
  revision(): Answer<number>
  /** Lines since the last time. */
  newLines(): Answer<Uint8Array>
  /** The next step crashes. */
  crashNext(crash: Crash): Answer<void>
  readonly now: number
}

/** The step was cut off, and nobody was answered. */
export class Crashed extends Error {}

export class StoreSubject implements Subject {
  readonly tenant: string
  now: number
  readonly #real: DurableObjectStorage
  readonly #storage: DurableObjectStorage
  readonly #random = countingRandom()
  #store: SqlChainStore
  #crash: Crash | undefined
  #statements = 0
  #armed: number | undefined
  #session = 0
  #seq = 0

  /** On an empty storage. */
  constructor(tenant: string, storage: DurableObjectStorage, now: number) {
    this.tenant = tenant
    this.now = now
    this.#real = storage
    this.#storage = this.#watched(storage)
    this.#store = new SqlChainStore(this.#storage)
    const request = utf8('{}')
    createTenant(this.#context(), tenantRecord(tenant), {
      request,
      requestDigest: requestDigest(request, nodeSuite),
    })
  }

  /** The same storage: it fails where it is told to, and its alarm is written down instead of set. */
  #watched(storage: DurableObjectStorage): DurableObjectStorage {
    const exec = (query: string, ...bindings: unknown[]) => {
      this.#statements += 1
      const { atStatement } = typeof this.#crash === 'object' ? this.#crash : { atStatement: 0 }
      if (this.#statements === atStatement) throw new Crashed()
      return storage.sql.exec(query, ...bindings)
    }
    const sql = {
      exec,
      get databaseSize() {
        return storage.sql.databaseSize
      },
    }
    return {
      sql,
      transactionSync: (work: () => unknown) => storage.transactionSync(work),
      setAlarm: (at: number) => {
        this.#armed = at
        return Promise.resolve()
      },
      deleteAlarm: () => {
        this.#armed = undefined
        return Promise.resolve()
      },
    } as unknown as DurableObjectStorage
  }

  #context(): ChainContext {
    return chainContext(this.#store, this.now, this.#random)
  }

  #step<T>(work: (context: ChainContext) => T): T {
    const armedBefore = this.#armed
    this.#statements = 0
    try {
      const answer = work(this.#context())
      if (this.#crash === 'before_answer') throw new Crashed()
      // It had fewer statements than that.
      this.#crash = undefined
      this.#watch()
      return answer
    } catch (cause) {
      // An alarm set in a transaction goes back with it.
      if (cause instanceof Crashed && this.#crash !== 'before_answer') this.#armed = armedBefore
      this.#store = new SqlChainStore(this.#storage)
      throw cause
    } finally {
      this.#crash = undefined
    }
  }

  /** The alarm is set for whatever ends first, and what is pending is counted right. */
  #watch(): void {
    const due = this.#store.listDue()
    const first = Math.min(...due.map(({ at }) => at))
    if (due.length > 0 && this.#armed !== first) throw new Error('the alarm is not the earliest deadline')
    const deadline = this.#store.nextApprovalDeadline()
    const approvals = due.find(({ name }) => name === 'approvals')
    if (deadline !== undefined && (approvals === undefined || approvals.at > deadline)) {
      throw new Error('an approval ends unseen')
    }
    const pending = this.#store.listApprovals('pending', '', 1_000)
    if (this.#store.readHead().pendingApprovals !== pending.length) throw new Error('pending ones miscounted')
    for (const agent of ['bot', 'other']) {
      const own = pending.filter(({ agentId }) => agentId === agent).length
      if ((this.#store.readCounters(agent)?.pendingApprovals ?? 0) !== own) throw new Error('miscounted')
    }
  }

  revision(): number {
    return this.#store.readTenant()?.revision ?? -1
  }

  admit(draft: AuthorizeDraft): AdmitResult {
    return this.#step((context) => admit(context, draft))
  }

  act(act: ApprovalAct) {
    return this.#step((context) => actOnApproval(context, act))
  }

  administer(call: AdministrativeCall): void {
    this.#step((context) => {
      const result = administer(context, call)
      if (result.kind !== 'done' && result.kind !== 'unchanged') throw new Error(JSON.stringify(result))
    })
  }

  changePolicy(serial: number): void {
    const policySetHash = toDigest<PolicySetHash>(nodeSuite.sha256(utf8(`set ${String(serial)}`)))
    this.administer(act({ act: 'policy.activate', policySetHash, settings: wideSettings }))
  }

  /** As the alarm does it: only when its time has come, and then it is set anew. */
  alarm(): void {
    this.#step((context) => {
      const due = this.#store.listDue().find(({ name }) => name === 'approvals')
      if (due === undefined || due.at > this.now) return
      const next = endOverdue(context)
      if (next === undefined) this.#store.deleteDue('approvals')
      else this.#store.writeDue({ name: 'approvals', at: next, attempts: 0 })
    })
  }

  stateOf(id: string): string | undefined {
    return this.#store.readApproval(id)?.state
  }

  votesOf(id: string): readonly string[] {
    return this.#store.readApproval(id)?.votes.map(({ subject }) => subject) ?? []
  }

  crashNext(crash: Crash): void {
    this.#crash = crash
  }

  newLines(): Uint8Array {
    const store = new SqlChainStore(this.#real)
    const pieces: Uint8Array[] = []
    for (;;) {
      let rows = 0
      for (const { seq, bytes } of store.readRows(this.#session, this.#seq)) {
        // Behind the last row the last row is found again.
        if (seq < this.#seq) continue
        pieces.push(bytes)
        this.#seq += bytes.filter((byte) => byte === 0x0a).length
        rows += 1
      }
      const { head } = store.readHead()
      if (head.state === 'empty' || head.sessionIndex === this.#session) break
      if (rows > 0) continue
      this.#session += 1
      this.#seq = 0
    }
    return new Uint8Array(Buffer.concat(pieces))
  }
}

/** The object as it is deployed: its own clock, its own commits, lost where it crashes. */
export class ObjectSubject implements Subject {
  readonly #object: ObjectUnderTest
  #seen = 0
  #crash: Crash | undefined

  constructor(object: ObjectUnderTest) {
    this.#object = object
  }

  get tenant(): string {
    return this.#object.tenant
  }

  get now(): number {
    return Date.now()
  }

  async #step<T>(work: () => Promise<T>): Promise<T> {
    const crash = this.#crash
    this.#crash = undefined
    if (crash === undefined) return work()
    // Lost before it began, or once it was durable and nobody had heard of it.
    if (crash === 'before_answer') await work()
    await this.#object.lose()
    throw new Crashed()
  }

  admit(draft: AuthorizeDraft): Promise<AdmitResult> {
    return this.#step(() => this.#object.rpc.admit(draft))
  }

  act(act: ApprovalAct) {
    return this.#step(() => this.#object.rpc.actOnApproval(act))
  }

  administer(call: AdministrativeCall<DirectAct>): Promise<void> {
    return this.#step(async () => {
      const result = await this.#object.rpc.administer(call)
      if (result.kind !== 'done' && result.kind !== 'unchanged') throw new Error(JSON.stringify(result))
    })
  }

  changePolicy(serial: number): Promise<void> {
    return this.#step(async () => {
      await this.#object.activate({ agent_daily_quota: 100_000 + serial })
    })
  }

  async revision(): Promise<number> {
    const overview = await this.#object.rpc.overview()
    if (overview.kind !== 'overview') throw new Error(JSON.stringify(overview))
    return overview.revision
  }

  crashNext(crash: Crash): void {
    this.#crash = crash
  }

  async newLines(): Promise<Uint8Array> {
    const live = await this.#object.live()
    const bytes = live.subarray(this.#seen)
    this.#seen = live.length
    return bytes
  }
}
