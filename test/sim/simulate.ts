/**
 * One seeded run of a tenant's object over a simulated store, archive, clock and alarm: requests and alarms interleave
 * with the archive's answers in any order, the object is lost at any point between two of its steps, and its alarm comes
 * late, twice, or not before the next request. At the end everything is let finish, and the history is judged from the
 * bytes alone: appended equals acknowledged, nothing twice, an approval used once, one Chain.
 */
import { Keeper } from '../../durable-objects/keeper.ts'
import type { Act } from '../../src/chain/acts.ts'
import { administer, createTenant } from '../../src/chain/administer.ts'
import { admit } from '../../src/chain/admit.ts'
import { actOnApproval } from '../../src/chain/approvals.ts'
import type { AuthorizeDraft } from '../../src/chain/draft.ts'
import { MemoryStore } from '../../src/chain/memory-store.ts'
import type { ChainContext } from '../../src/chain/ports.ts'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { type ActionHash, type BindingHash, decodeUtf8, requestDigest, utf8 } from '../../src/record/index.ts'
import { type Pin, Walk, toText } from '../../src/verify/index.ts'
import { act, agentFields, draft, keyFields, somePolicySet, wideSettings } from '../harness/drafts.ts'
import {
  chainContext,
  countingRandom,
  publicKeyOfEpoch,
  someNoon,
  tenantRecord,
} from '../harness/memory-tenant.ts'
import { type Random, randomFrom } from '../harness/random.ts'
import { type ArchiveFaults, type Bucket, SimArchive } from './archive.ts'

/** Each seed switches a random subset of these on. */
export const faultKinds = [
  'failBefore',
  'failAfter',
  'late',
  'twice',
  'crash',
  'alarmLate',
  'alarmTwice',
  'alarmNever',
  'archiveDown',
  'clockJumps',
] as const
export type FaultKind = (typeof faultKinds)[number]

export interface SimReport {
  readonly seed: number
  readonly kinds: readonly FaultKind[]
  readonly steps: number
  readonly faults: number
  readonly acknowledged: number
  readonly sessions: number
  /** Fingerprints of what the store held after each step. */
  readonly states: ReadonlySet<string>
}

export async function simulate(seed: number, steps: number): Promise<SimReport> {
  const simulation = new Simulation(seed)
  for (let step = 0; step < steps; step += 1) await simulation.step()
  await simulation.finish()
  return { ...simulation.judge(), seed, steps }
}

interface Approval {
  readonly id: string
  readonly actionHash: string
  readonly bindingHash: string
}

class Simulation {
  readonly #random: Random
  readonly #kinds: ReadonlySet<FaultKind>
  readonly #draw = countingRandom()
  readonly #bucket: Bucket = { segments: new Map(), envelopes: new Map(), head: undefined }
  readonly #archive: SimArchive
  #store = new MemoryStore()
  /** What a lost object would be found with: written before anything left it. */
  #durable = this.#store.copy()
  #keeper = this.#newKeeper()
  #now = someNoon
  #life = 0
  #faults = 0
  #acts = 0
  #firstPut = new Map<number, Uint8Array>()
  readonly #acknowledged: string[] = []
  readonly #sent: AuthorizeDraft[] = []
  readonly #approvals: Approval[] = []
  readonly #states = new Set<string>()

  constructor(seed: number) {
    this.#random = randomFrom(seed)
    this.#kinds = new Set(faultKinds.filter(() => this.#random.below(2) === 0))
    const faults: ArchiveFaults = {
      failBefore: this.#kinds.has('failBefore'),
      failAfter: this.#kinds.has('failAfter'),
      late: this.#kinds.has('late'),
      twice: this.#kinds.has('twice'),
    }
    this.#archive = new SimArchive(this.#bucket, this.#random, faults, () => {
      this.#durable = this.#store.copy()
    })
    this.#archive.moveTo(this.#now)
    const request = utf8('{}')
    createTenant(this.#context(), tenantRecord('acme'), {
      request,
      requestDigest: requestDigest(request, nodeSuite),
    })
    this.#act({ act: 'policy.activate', policySetHash: somePolicySet, settings: wideSettings })
    this.#act({ act: 'key.issue', key: keyFields('adm') })
    this.#act({ act: 'group.change', group: 'leads', members: ['lena@example.com'] })
    this.#act({ act: 'key.issue', key: keyFields('lena', { role: 'approver', subject: 'lena@example.com' }) })
    this.#act({ act: 'agent.create', agent: agentFields('bot') })
    this.#act({ act: 'key.issue', key: keyFields('bot', { agentId: 'bot' }) })
  }

  #newKeeper(): Keeper {
    return new Keeper({
      context: () => this.#context(),
      archive: () => this.#archive,
      send: () => Promise.resolve({ kind: 'delivered' }),
      log: () => undefined,
    })
  }

  #context(): ChainContext {
    return { ...chainContext(this.#store, this.#now, this.#draw), isContinuous: this.#keeper.isContinuous }
  }

  /** One thing happens. */
  async step(): Promise<void> {
    const random = this.#random
    switch (random.below(10)) {
      case 0:
        this.#advance(random.below(this.#kinds.has('clockJumps') ? 40 * 60_000 : 60_000))
        break
      case 1:
        this.#alarm()
        break
      case 2:
      case 3:
        if (this.#kinds.has('crash') && random.below(6) === 0) this.#crash()
        else this.#archive.step()
        break
      case 4:
        this.#archive.arrive()
        if (this.#kinds.has('archiveDown') && random.below(8) === 0) this.#archive.down = !this.#archive.down
        break
      default:
        await this.#request()
    }
    this.#archive.step()
    // Whatever an answer has set free runs until it asks for something again.
    await settled()
    this.#watch()
  }

  #advance(ms: number): void {
    this.#archive.moveTo(this.#now + ms)
    this.#now += ms
  }

  #alarm(): void {
    if (this.#kinds.has('alarmNever') && this.#random.below(2) === 0) return
    const due = Math.min(...this.#store.listDue().map(({ at }) => at))
    if (due > this.#now) return
    if (this.#kinds.has('alarmLate') && this.#random.below(2) === 0) return
    void this.#keeper.run()
    if (this.#kinds.has('alarmTwice')) void this.#keeper.run()
  }

  /** The object is lost: what it was doing is never heard of, and the next one finds what was durable, or a little more. */
  #crash(): void {
    this.#faults += 1
    this.#life += 1
    this.#archive.abandon()
    this.#store = this.#random.below(2) === 0 ? this.#durable.copy() : this.#store.copy()
    this.#durable = this.#store.copy()
    this.#keeper = this.#newKeeper()
  }

  async #request(): Promise<void> {
    const life = this.#life
    const waiting = this.#keeper.ready()
    for (let turns = 0; waiting !== undefined && turns < 100 && this.#life === life; turns += 1) {
      if (this.#keeper.isContinuous || this.#archive.isIdle) break
      this.#archive.step()
      await settled()
    }
    if (this.#keeper.isBehind) throw new Error('an object that was never restored is behind its archive')
    const random = this.#random
    switch (random.below(9)) {
      case 0:
        this.#act({ act: 'chain.seal' })
        break
      case 1:
        this.#act(
          random.pick<Act>([
            { act: 'agent.freeze', agentId: 'bot' },
            { act: 'agent.unfreeze', agentId: 'bot' },
          ]),
        )
        break
      case 2:
        if (random.below(4) === 0) this.#act({ act: 'signing_key.rotate', seedNumber: 0 })
        break
      case 3:
        this.#decideSome()
        break
      case 4:
        this.#consumeSome()
        break
      case 5:
        this.#eraseSome()
        break
      case 6:
        // The same bytes again, as a client does that was not answered.
        if (this.#sent.length > 0) this.#admit({ ...random.pick(this.#sent), ...this.#fence() })
        break
      case 7:
        this.#admit(
          this.#draft({
            decision: 'require_approval',
            code: 'approval_required',
            approval: { groups: ['leads'], quorum: 1 },
          }),
        )
        break
      default:
        this.#admit(this.#draft({}))
    }
  }

  #fence() {
    return { revision: this.#store.readTenant()?.revision ?? -1, evaluatedAt: this.#now }
  }

  #draft(evaluation: Partial<AuthorizeDraft['evaluation']>): AuthorizeDraft {
    const name = `r${String(this.#sent.length)}`
    const made = draft('bot', this.#fence().revision, this.#now, { body: name, requestId: name, evaluation })
    this.#sent.push(made)
    return made
  }

  #admit(given: AuthorizeDraft): void {
    const result = admit(this.#context(), given)
    if (result.kind !== 'admitted') return
    this.#acknowledge(result.line)
    const line = JSON.parse(result.line) as PendingLine
    const { approval_id: id } = line.policy
    if (id === undefined || line.decision_axes.approval === undefined) return
    this.#approvals.push({
      id,
      actionHash: line.action_hash,
      bindingHash: line.decision_axes.approval.binding_hash,
    })
  }

  #decideSome(): void {
    if (this.#approvals.length === 0) return
    const { id, bindingHash } = this.#random.pick(this.#approvals)
    const request = utf8('{}')
    actOnApproval(this.#context(), {
      keyId: 'lena',
      approvalId: id,
      act: this.#random.pick(['approve', 'approve', 'deny', 'withdraw'] as const),
      bindingHash: bindingHash as BindingHash,
      request,
      requestDigest: requestDigest(request, nodeSuite),
    })
    this.#answered()
  }

  #consumeSome(): void {
    if (this.#approvals.length === 0) return
    const { id, ...hashes } = this.#random.pick(this.#approvals)
    const actionHash = hashes.actionHash as ActionHash
    this.#admit({ ...this.#draft({}), actionHash, consume: { approvalId: id, ...hashes } })
  }

  #eraseSome(): void {
    if (this.#sent.length === 0) return
    const { requestDigest: digest } = this.#random.pick(this.#sent)
    this.#act({ act: 'envelope.erase', digest, found: true })
  }

  #act(what: Act): void {
    // Bytes of its own, not drawn: the same seed is the same run.
    const request = utf8(JSON.stringify({ act: what.act, at: this.#acts }))
    this.#acts += 1
    const given = { ...act(what), request, requestDigest: requestDigest(request, nodeSuite) }
    const result = administer(this.#context(), given)
    if ('line' in result) this.#acknowledge(result.line)
    else this.#answered()
  }

  #acknowledge(line: string): void {
    this.#acknowledged.push(line)
    this.#answered()
  }

  /** An answer leaves only when what it says is durable. */
  #answered(): void {
    this.#durable = this.#store.copy()
  }

  /** What must hold at every step. */
  #watch(): void {
    for (const [session, bytes] of this.#bucket.segments) {
      const first = this.#firstPut.get(session)
      if (first === undefined) this.#firstPut.set(session, bytes)
      else if (Buffer.compare(first, bytes) !== 0)
        throw new Error(`segment ${String(session)} was overwritten`)
    }
    const { head } = this.#store.readHead()
    const due = this.#store.listDue().map(({ name, attempts }) => `${name}${String(Math.min(attempts, 3))}`)
    const published = this.#store.readPublication().published?.sessionIndex ?? -1
    const behind = head.state === 'empty' ? 0 : head.sessionIndex - published
    const envelopes = this.#store.listEnvelopes(9).length
    this.#states.add(
      [
        head.state,
        behind,
        due.join(),
        envelopes,
        this.#keeper.isContinuous,
        this.#bucket.segments.size % 4,
      ].join('|'),
    )
  }

  /** No more faults: what is due is done until nothing is. */
  async finish(): Promise<void> {
    this.#archive.down = false
    for (let turn = 0; turn < 2_000; turn += 1) {
      this.#archive.settle()
      this.#advance(60_000)
      void this.#keeper.run()
      for (let answers = 0; answers < 2_000; answers += 1) {
        await settled()
        if (this.#archive.isIdle) break
        this.#archive.step()
      }
      const waits = this.#store
        .listDue()
        .some(({ name }) => ['publish', 'envelopes', 'seal', 'erase'].includes(name))
      if (!waits && this.#store.readHead().head.state === 'closed') return
    }
    throw new Error('not everything was published in the end')
  }

  judge(): Omit<SimReport, 'seed' | 'steps'> {
    const head = this.#store.readHead().head
    if (head.state === 'empty') throw new Error('the Chain is empty')
    const walk = new Walk({
      digester: nodeSuite,
      check: ({ publicKey, message, signature }) => nodeSuite.verify(publicKey, message, signature),
      pins: this.#pins(),
    })
    const lines: string[] = []
    for (let session = 0; session <= head.sessionIndex; session += 1) {
      const bytes = this.#bucket.segments.get(session)
      if (bytes === undefined) throw new Error(`Session ${String(session)} was not published`)
      walk.push(bytes)
      walk.endFile()
      lines.push(...decodeUtf8(bytes).trimEnd().split('\n'))
    }
    const report = walk.end()
    if (report.verdict !== 'verified') throw new Error(`the Chain does not hold:\n${toText(report)}`)
    if (this.#store.chainBytes().length > 0) throw new Error('rows were left behind')
    judgeHistory(lines, this.#acknowledged)
    for (const { requestDigest: digest } of this.#sent) {
      if (this.#store.isErased(digest) && this.#bucket.envelopes.has(digest))
        throw new Error('an erased Envelope is still there')
    }
    return {
      kinds: [...this.#kinds],
      faults: this.#faults + this.#archive.faults,
      acknowledged: this.#acknowledged.length,
      sessions: head.sessionIndex + 1,
      states: this.#states,
    }
  }

  #pins(): readonly Pin[] {
    const keys = this.#store.readTenant()?.keys ?? []
    return keys.map((key, at) => {
      const next = keys[at + 1]
      return {
        publicKey: publicKeyOfEpoch('acme', key.keyEpoch),
        firstSession: key.firstSession,
        ...(next === undefined ? {} : { lastSession: next.firstSession - 1 }),
      }
    })
  }
}

interface PendingLine {
  readonly action_hash: string
  readonly policy: { readonly approval_id?: string }
  readonly decision_axes: { readonly approval?: { readonly binding_hash: string } }
}

interface HistoryLine {
  readonly line_type: string
  readonly call_id?: string
  readonly request_digest?: string
  readonly agent_id?: string
  readonly tool_id?: string
  readonly approval_id?: string
  readonly verdict?: { readonly verdict: string }
  readonly policy?: { readonly status: string; readonly reason?: string }
  readonly decision_axes?: { readonly approval_ref?: string }
}

/** Appended equals acknowledged, but for what was lost on its way back; nothing stands twice; an approval is used once. */
function judgeHistory(lines: readonly string[], acknowledged: readonly string[]): void {
  const all = new Set(lines)
  if (all.size !== lines.length) throw new Error('a Line stands twice')
  for (const line of acknowledged)
    if (!all.has(line)) throw new Error(`an acknowledged Line is lost: ${line}`)
  const granted = new Map<string, number>()
  const decided = new Map<string, string>()
  const ended = new Map<string, string>()
  for (const text of lines) {
    const line = JSON.parse(text) as HistoryLine
    if (line.line_type === 'decision' && line.approval_id !== undefined) {
      if (decided.has(line.approval_id)) throw new Error('an approval was decided twice')
      decided.set(line.approval_id, line.verdict?.verdict ?? '')
    }
    const ref = line.decision_axes?.approval_ref
    if (line.line_type !== 'outcome' || ref === undefined) continue
    if (line.tool_id === 'aegis/approval.lapse' || line.tool_id === 'aegis/approval.withdraw') {
      if (line.policy?.status === 'allowed') ended.set(ref, line.tool_id)
      continue
    }
    if (line.agent_id === undefined || line.policy?.status !== 'allowed') continue
    // Linearizable: at the place of the one allowed use the approval is approved, and not yet used or ended.
    if (decided.get(ref) !== 'approved') throw new Error('an approval was used that nobody gave')
    if (ended.has(ref)) throw new Error('an approval was used after its end')
    granted.set(ref, (granted.get(ref) ?? 0) + 1)
    if ((granted.get(ref) ?? 0) > 1) throw new Error('an approval was used twice')
  }
}

/** Until nothing is left to do but what waits for the archive. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve()
  await new Promise((resolve) => setImmediate(resolve))
}
