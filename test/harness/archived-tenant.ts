/**
 * A tenant's object over a store and an archive in memory, as its Durable Object runs it: requests wait for the
 * comparison with the archive, the alarm does what is due, the object may be lost at any call of the archive and another
 * one found in its place. The clock and the alarm are the test's. What it acknowledged is remembered, and the whole
 * Chain, segments and rows, is judged by src/verify.
 */
import { Keeper } from '../../durable-objects/keeper.ts'
import { LineKeys } from '../../durable-objects/line-keys.ts'
import { publicKeysOf } from '../../durable-objects/new-tenant.ts'
import { planRecovery } from '../../durable-objects/recovery.ts'
import type { Act, AdministerResult } from '../../src/chain/acts.ts'
import { administer, createTenant } from '../../src/chain/administer.ts'
import { admit } from '../../src/chain/admit.ts'
import type { AdmitResult } from '../../src/chain/draft.ts'
import { MemoryStore } from '../../src/chain/memory-store.ts'
import type { ChainContext } from '../../src/chain/ports.ts'
import { type Unavailable, unavailable } from '../../src/chain/unavailable.ts'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { type RequestDigest, decodeUtf8, requestDigest, utf8 } from '../../src/record/index.ts'
import { type Report, Walk, parseTrustStore, toText } from '../../src/verify/index.ts'
import { joinBytes } from './chain.ts'
import { type DraftGiven, act, agentFields, draft, keyFields, somePolicySet, wideSettings } from './drafts.ts'
import { rememberingSuite } from './judge.ts'
import { type ArchiveFault, MemoryArchive, MemoryBucket } from './memory-archive.ts'
import { chainContext, countingRandom, someNoon, tenantRecord } from './memory-tenant.ts'

const suite = rememberingSuite(nodeSuite)
const lineKeys = new LineKeys({ AEGIS_SEED: `0:${'07'.repeat(32)}`, AEGIS_DEPLOYMENT: 'test' })

/** Counted over all tenants, since one may go on from a snapshot of another. */
let drafts = 0

/** Thrown to whoever waits for an object that is gone. */
export class Lost extends Error {}

/** What the first half of every test has to make, made once and copied. */
export interface Snapshot {
  readonly store: MemoryStore
  readonly now: number
  readonly acknowledged: readonly string[]
}

export class ArchivedTenant {
  readonly bucket: MemoryBucket
  store: MemoryStore
  now: number
  acknowledged: string[]
  /** What the object told its log. */
  readonly log: { readonly event: string; readonly facts: Readonly<Record<string, unknown>> }[] = []
  /** Calls of the archive so far, and what becomes of each. */
  calls: string[] = []
  fault: (at: number, name: string) => ArchiveFault | undefined = () => undefined
  /** R2 does not answer. */
  down = false
  /** Done while a call of the archive is under way. */
  during: ((at: number) => Promise<void> | void) | undefined
  /** Done whenever the alarm looks at the clock: between any two of its steps. */
  between: (() => void) | undefined
  #keeper: Keeper
  #archive: MemoryArchive
  #gone: { readonly promise: Promise<never>; readonly reject: (lost: Lost) => void }
  readonly #random: (count: number) => Uint8Array

  constructor(
    from: Partial<Snapshot> & { readonly bucket?: MemoryBucket; readonly name?: string } = {},
    random = countingRandom(),
  ) {
    this.#random = random
    this.bucket = from.bucket ?? new MemoryBucket()
    this.store = from.store?.copy() ?? new MemoryStore()
    this.now = from.now ?? someNoon
    this.acknowledged = [...(from.acknowledged ?? [])]
    this.#gone = cutOff()
    this.#archive = this.#open()
    this.#keeper = this.#keep()
    if (this.store.readTenant() !== undefined) return
    const request = utf8('{}')
    const created = createTenant(this.context(), tenantRecord(from.name ?? 'acme'), {
      request,
      requestDigest: requestDigest(request, nodeSuite),
    })
    this.#acknowledge(created)
    const first: readonly Act[] = [
      { act: 'policy.activate', policySetHash: somePolicySet, settings: wideSettings },
      { act: 'key.issue', key: keyFields('adm') },
      { act: 'key.issue', key: keyFields('aud', { role: 'auditor', envelopes: true }) },
      { act: 'agent.create', agent: agentFields('bot') },
      { act: 'key.issue', key: keyFields('bot', { agentId: 'bot' }) },
    ]
    for (const one of first) this.#acknowledge(administer(this.context(), act(one)))
  }

  /** An archive of this life: once the object is lost, nothing of it is heard any more. */
  #open(): MemoryArchive {
    const life = this.#gone
    return new MemoryArchive(this.bucket, async (name, effect) => {
      if (life !== this.#gone) return new Promise<never>(() => undefined)
      this.calls.push(name)
      const at = this.calls.length
      await this.during?.(at)
      if (life !== this.#gone) return new Promise<never>(() => undefined)
      if (this.down) throw new Error('R2 is down')
      const fault = this.fault(at, name)
      switch (fault) {
        case undefined:
          return effect()
        case 'twice':
          effect()
          return effect()
        case 'before':
          throw new Error('R2 failed')
        case 'after':
          effect()
          throw new Error('R2 failed, and it happened')
        case 'late':
          this.bucket.late.push(effect)
          throw new Error('R2 failed, and it will happen')
        case 'lost_before':
        case 'lost_after':
          if (fault === 'lost_after') effect()
          this.lose()
          return new Promise<never>(() => undefined)
      }
    })
  }

  /** Over the store of this life: what is still under way when the object is lost changes nothing any more. */
  #keep(): Keeper {
    const [archive, store] = [this.#archive, this.store]
    const keeper: Keeper = new Keeper({
      context: () => {
        this.between?.()
        return this.#contextOf(store, keeper)
      },
      archive: () => archive,
      send: () => Promise.resolve({ kind: 'delivered' }),
      log: (event, facts) => this.log.push({ event, facts }),
    })
    return keeper
  }

  #contextOf(store: MemoryStore, { isContinuous }: Keeper): ChainContext {
    return { ...chainContext(store, this.now, this.#random), isContinuous }
  }

  context(): ChainContext {
    return this.#contextOf(this.store, this.#keeper)
  }

  get isBehind(): boolean {
    return this.#keeper.isBehind
  }

  get snapshot(): Snapshot {
    return { store: this.store.copy(), now: this.now, acknowledged: [...this.acknowledged] }
  }

  /** The object is gone; the next one finds what was durable, or what is given instead: a state from before. */
  lose(found: MemoryStore = this.store): void {
    const gone = this.#gone
    this.#gone = cutOff()
    this.store = found.copy()
    this.#archive = this.#open()
    this.#keeper = this.#keep()
    gone.reject(new Lost('the object was lost'))
  }

  /** Everything is lost, tables and all. */
  loseAll(): void {
    this.lose(new MemoryStore())
  }

  async #heard<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.#gone.promise])
  }

  /** What appends, as the object lets it: after the comparison, and not behind the archive. */
  async #append<T>(work: () => T): Promise<T | Unavailable> {
    await this.#heard(Promise.resolve(this.#keeper.ready()))
    return this.#keeper.isBehind ? unavailable('behind_archive') : this.#answered(work())
  }

  #answered<T>(answer: T): T {
    this.#acknowledge(answer)
    return answer
  }

  #acknowledge(answer: unknown): void {
    if (typeof answer !== 'object' || answer === null || !('line' in answer)) return
    if (typeof answer.line === 'string') this.acknowledged.push(answer.line)
  }

  do(what: Act): Promise<AdministerResult> {
    return this.#append(() => administer(this.context(), act(what)))
  }

  /** An ordinary Call with a `request_id` of its own unless told otherwise. */
  admit(given: DraftGiven = {}): Promise<AdmitResult> {
    drafts += 1
    const requestId = `r${String(drafts)}`
    return this.#append(() => {
      const revision = this.store.readTenant()?.revision ?? -1
      return admit(this.context(), draft('bot', revision, this.now, { requestId, body: requestId, ...given }))
    })
  }

  async erase(digest: RequestDigest): Promise<AdministerResult> {
    const staged = this.store.readEnvelope(digest) !== undefined
    const found = staged || (await this.#heard(this.#archive.hasEnvelope(digest)))
    return this.do({ act: 'envelope.erase', digest, found })
  }

  /** As the object does it: planned from the archive, then one transaction. */
  async recover(): Promise<AdministerResult> {
    const call = act({ act: 'tenant.recover' })
    const plan = await this.#heard(planRecovery('acme', this.context(), this.#archive, lineKeys))
    if (plan.kind === 'unknown') return { kind: 'unauthorized' }
    if (plan.kind === 'refused') {
      const refused = await this.#append(() => administer(this.context(), { ...call, refusal: plan.code }))
      const isForeign = refused.kind === 'unavailable' && plan.code === 'archive_not_ours'
      return isForeign ? unavailable('archive_not_ours') : refused
    }
    const result = this.store.transaction(() => {
      const { lost } = plan
      if (lost !== undefined && this.store.readTenant() === undefined) {
        this.store.createTenant(lost.tenant, lost.head)
      }
      return administer(this.context(), { ...call, act: plan.act })
    })
    if (result.kind === 'done') this.#keeper.recovered()
    return this.#answered(result)
  }

  /** When the alarm is set for; `undefined` when it is not. */
  get alarmAt(): number | undefined {
    const deadlines = this.store.listDue().map(({ at }) => at)
    return deadlines.length === 0 ? undefined : Math.min(...deadlines)
  }

  /** The alarm fires now, whether it is time or not. */
  alarm(): Promise<void> {
    return this.#heard(this.#keeper.run())
  }

  /** Time goes on to the next deadline, and the alarm fires; `false` when it is not set, or for later than `until`. */
  async nextAlarm(until = Infinity): Promise<boolean> {
    const at = this.alarmAt
    if (at === undefined || at > until) return false
    this.now = Math.max(this.now, at)
    await this.alarm()
    return true
  }

  /** Alarms until nothing waits but what is due in days. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 200; turn += 1) {
      if (!(await this.nextAlarm(this.now + 3_600_000))) return
    }
    throw new Error(
      `no end of alarms: ${JSON.stringify(this.store.listDue())} ${JSON.stringify(this.log.slice(-3))}`,
    )
  }

  /** Every published Session, then what waits, then the open one. */
  get chain(): Uint8Array {
    const published = this.store.readPublication().published?.sessionIndex ?? -1
    const segments: Uint8Array[] = []
    for (let session = 0; session <= published; session += 1) {
      segments.push(this.bucket.segments.get(session) ?? new Uint8Array())
    }
    return joinBytes([...segments, this.store.chainBytes()])
  }

  /** The keys as they are made public, with their Sessions. */
  get trustStore(): Uint8Array {
    return utf8(JSON.stringify(publicKeysOf(this.store, lineKeys)))
  }

  /** The report on the whole Chain, pinned to every generation with its Sessions. */
  report(chain = this.chain): Report {
    const pins = parseTrustStore(this.trustStore)
    if (!pins.ok) throw new Error(`the public keys are no trust store: ${pins.error.code} ${pins.error.path}`)
    const walk = new Walk({
      digester: suite,
      check: ({ publicKey, message, signature }) => suite.verify(publicKey, message, signature),
      pins: pins.value,
    })
    walk.push(chain)
    return walk.end()
  }

  /** One whole Chain, nothing acknowledged missing, nothing twice, no Session empty, nothing overwritten. */
  verify(): void {
    const { chain } = this
    const report = this.report(chain)
    const isOpen =
      report.verdict === 'indeterminate' &&
      report.finding.reason === 'unanchored_tail' &&
      report.inFlight.length === 0
    if (report.verdict !== 'verified' && !isOpen)
      throw new Error(`the Chain does not hold:\n${toText(report)}`)
    const lines = decodeUtf8(chain).split('\n').slice(0, -1)
    const known = new Set(lines)
    if (known.size !== lines.length) throw new Error('a Line stands twice')
    for (const line of this.acknowledged) {
      if (!known.has(line)) throw new Error(`an acknowledged Line is lost: ${line}`)
    }
    checkSessions(lines)
    this.bucket.checkUnchanged()
  }

  /** That, and everything is in the archive, its head last; no row and no Envelope waits. */
  verifyPublished(): void {
    this.verify()
    const { head } = this.store.readHead()
    if (head.state !== 'closed') throw new Error(`the Chain is ${head.state}`)
    if (this.report().verdict !== 'verified') throw new Error('not verified')
    if (this.store.chainBytes().length > 0) throw new Error('rows were left behind')
    if (this.store.listEnvelopes(1).length > 0) throw new Error('an Envelope was left behind')
    const published = this.store.readPublication().published
    if (published?.sessionIndex !== head.sessionIndex)
      throw new Error('not everything is marked as published')
    const close = decodeUtf8(this.bucket.head ?? new Uint8Array())
    if (close !== `${published.close}\n`) throw new Error('the head in the archive is another')
    for (let session = 0; session <= head.sessionIndex; session += 1) {
      if (this.store.readSegment(session) === undefined) throw new Error('the index has a gap')
    }
  }
}

function cutOff() {
  let reject: (lost: Lost) => void = () => undefined
  const promise = new Promise<never>((_, rejected) => {
    reject = rejected
  })
  promise.catch(() => undefined)
  return { promise, reject }
}

interface SessionLine {
  readonly line_type: string
  readonly session_index?: number
  readonly calls?: number
}

/** From 0 without a gap, each from its `open` to its `close`, something in each, and the count of Calls right. */
function checkSessions(lines: readonly string[]): void {
  let session = -1
  let calls = 0
  let others = 0
  for (const text of lines) {
    const line = JSON.parse(text) as SessionLine
    if (line.line_type === 'open') {
      session += 1
      calls = 0
      others = 0
      if (line.session_index !== session) throw new Error(`Session ${String(session)} is missing`)
    } else if (line.line_type === 'close') {
      if (calls + others === 0) throw new Error(`Session ${String(session)} is empty`)
      if (line.calls !== calls)
        throw new Error(`Session ${String(session)} counts ${String(line.calls)} Calls`)
    } else if (line.line_type === 'outcome') calls += 1
    else if (line.line_type === 'decision') others += 1
  }
}
