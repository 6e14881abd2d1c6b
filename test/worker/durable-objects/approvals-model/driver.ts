/**
 * One seeded sequence: whatever agents, approvers, admins, the clock and crashes may do, in any order, done to a subject
 * and to the reference; after each step the answers, the states and the Chain are compared.
 */
import type { AdministrativeCall } from '../../../../src/chain/acts.ts'
import type { DirectAct } from '../../../../durable-objects/rpc.ts'
import type { ApprovalAct } from '../../../../src/chain/approvals.ts'
import type { AdmitResult, AuthorizeDraft, DraftEvaluation } from '../../../../src/chain/draft.ts'
import { nodeSuite } from '../../../../src/crypto-node/index.ts'
import { type ActionHash, type BindingHash, requestDigest, utf8 } from '../../../../src/record/index.ts'
import { act, agentFields, draft, keyFields } from '../../../harness/drafts.ts'
import type { Random } from '../../../harness/random.ts'
import { Ledger } from './ledger.ts'
import { type Mode, type Person, Reference, approveByMs, useWithinMs } from './reference.ts'
import { Crashed, StoreSubject, type Subject } from './subject.ts'
import { wordOfAct } from '../../../harness/approval-word.ts'

/** By the id of their key; `lena` has two. */
const people: Readonly<Record<string, Person & { readonly subject: string }>> = {
  lena: { role: 'approver', who: 'lena@example.com', subject: 'Lena@Example.com' },
  lena2: { role: 'approver', who: 'lena@example.com', subject: 'LENA@example.com' },
  max: { role: 'approver', who: 'max@example.com', subject: 'max@example.com' },
  kim: { role: 'approver', who: 'kim@example.com', subject: 'kim@example.com' },
  owner: { role: 'approver', who: 'owner@example.com', subject: 'Owner@example.com' },
  adm: { role: 'admin', who: 'admin@example.com', subject: 'admin@example.com' },
  bot: { role: 'agent', who: 'bot', subject: 'bot@example.com' },
  other: { role: 'agent', who: 'other', subject: 'other@example.com' },
}
const voters = ['lena', 'lena', 'lena2', 'max', 'max', 'kim', 'owner', 'adm', 'bot'] as const
const canceller = ['bot', 'bot', 'other', 'adm', 'max'] as const
const modes: readonly Mode[] = [
  { groups: ['leads'], quorum: 1 },
  { groups: ['leads'], quorum: 2 },
  { groups: ['leads'], quorum: 2 },
  { groups: ['leads', 'security'], quorum: 1 },
  'allow',
  'deny',
]
const memberships = [
  ['lena', 'max', 'owner'],
  ['lena', 'max', 'owner', 'kim'],
  ['max', 'kim'],
  ['lena'],
  [],
] as const
const owners = ['Owner@Example.com', 'owner@example.com', 'LENA@example.com', 'max@example.com', ''] as const
const toolId = 'github.create_issue'

interface Sent {
  readonly agent: string
  readonly draft: AuthorizeDraft
  /** What the reference knows its bytes by. */
  readonly body: string
  readonly isSame: boolean
}

export class Driver {
  readonly #subject: Subject
  readonly #random: Random
  readonly #reference: Reference
  readonly #ledger: Ledger
  readonly #receipts: string[] = []
  readonly #sent: Sent[] = []
  readonly #counts: Map<string, number>
  /** What happened, for whoever must find out why it failed. */
  readonly #told: string[] = []
  #serial = 0
  #revision = 0

  /** @param counts how often each answer was met, over all sequences. */
  constructor(subject: Subject, random: Random, counts: Map<string, number>) {
    this.#subject = subject
    this.#random = random
    this.#counts = counts
    this.#reference = new Reference(subject.now)
    this.#ledger = new Ledger(subject.tenant)
  }

  get told(): string {
    return this.#told.join('\n')
  }

  async setUp(isProvisioned = false): Promise<void> {
    const agents = ['bot', 'other'].map((agent) => ({
      act: 'agent.create' as const,
      agent: agentFields(agent),
    }))
    const keys = Object.entries(people)
      .filter(([, { role }]) => !isProvisioned || role === 'approver')
      .map(([id, { role, subject }]) => ({
        act: 'key.issue' as const,
        key: keyFields(id, { role, subject, ...(role === 'agent' ? { agentId: id } : {}) }),
      }))
    const todo: readonly DirectAct[] = isProvisioned ? keys : [...agents, ...keys]
    await this.#subject.changePolicy(0)
    this.#reference.mode = this.#random.pick(modes.slice(0, 4))
    for (const what of todo) await this.#subject.administer(act(what))
    for (const agent of ['bot', 'other']) this.#reference.owners.set(agent, 'owner@example.com')
    await this.#changeGroup('leads', memberships[0])
    await this.#changeGroup('security', ['kim', 'max'])
    await this.#look()
  }

  async step(): Promise<void> {
    const random = this.#random
    const moves = this.#subject instanceof StoreSubject
    // What is frozen does not stay so for long, or nothing else would happen.
    if (this.#reference.frozen.size > 0 && random.below(3) === 0) return this.#freeze()
    const roll = random.below(moves ? 31 : 27)
    if (this.#ledger.newest === '' || roll < 4) return this.#authorize()
    if (roll < 10) return this.#decide('approve')
    if (roll < 11) return this.#decide('deny')
    if (roll < 12) return this.#decide('cancel')
    if (roll < 13) return this.#decide('withdraw')
    if (roll < 18) return this.#consume()
    if (roll < 20) return this.#retry()
    if (roll < 22) return this.#changePolicy()
    if (roll < 23) return this.#someGroup()
    if (roll < 25) return this.#changeOwner()
    if (roll < 27) return this.#freeze()
    if (roll < 30) {
      this.#advance()
      return
    }
    if (random.below(2) === 0) return this.#seal()
    return this.#alarm()
  }

  /** Everything ends by the clock; then the whole Chain is verified, and held against what was answered. */
  async finish(): Promise<void> {
    if (this.#subject instanceof StoreSubject) {
      this.#moveTo(this.#subject.now + approveByMs + useWithinMs)
      await this.#alarm()
      for (const [id, { state }] of this.#reference.approvals) {
        this.#ensure(state !== 'pending' && state !== 'approved', `${id} has ended`)
      }
    }
    this.#ledger.verifyWhole()
    this.#ensure(this.#ledger.holdsAll(this.#receipts), 'every receipt stands in the Chain')
  }

  #authorize(): Promise<void> {
    const agent = this.#random.pick(['bot', 'bot', 'bot', 'other'])
    const name = this.#name()
    const made = draft(agent, this.#fence(), this.#subject.now, {
      body: name,
      requestId: name,
      evaluation: evaluationOf(this.#reference.mode),
    })
    return this.#send({ agent, draft: made, body: name, isSame: true })
  }

  #consume(): Promise<void> {
    const random = this.#random
    const id = this.#someApproval()
    const { actionHash, bindingHash } = this.#ledger.bindingOf(id)
    const wrong = random.below(8)
    const asked = {
      approvalId: id,
      actionHash: wrong === 0 ? bindingHash : actionHash,
      bindingHash: wrong === 1 ? actionHash : bindingHash,
    }
    const agent = random.below(10) === 0 ? 'other' : (this.#reference.approvals.get(id)?.agent ?? 'bot')
    const name = this.#name()
    const made = draft(agent, this.#fence(), this.#subject.now, {
      body: name,
      requestId: name,
      actionHash: actionHash as ActionHash,
      consume: asked,
      evaluation: evaluationOf(this.#reference.mode),
    })
    return this.#send({ agent, draft: made, body: name, isSame: wrong > 1 })
  }

  /** The same bytes once more, decided again as a Worker does; now and then other bytes under the same id. */
  #retry(): Promise<void> {
    if (this.#sent.length === 0) return this.#authorize()
    const random = this.#random
    const sent = random.pick(this.#sent.slice(-6))
    const fenced = {
      ...sent.draft,
      revision: this.#fence(),
      evaluatedAt: this.#subject.now,
      evaluation: { ...sent.draft.evaluation, ...evaluationOf(this.#reference.mode) },
    }
    if (random.below(5) > 0) return this.#send({ ...sent, draft: fenced })
    const body = this.#name()
    const request = utf8(body)
    const changed = { ...fenced, request, requestDigest: requestDigest(request, nodeSuite) }
    return this.#send({ ...sent, draft: changed, body })
  }

  async #send(sent: Sent): Promise<void> {
    const { agent, draft: made, body, isSame } = sent
    this.#sent.push(sent)
    const requestId = made.requestId ?? ''
    const { consume } = made
    await this.#do(
      consume === undefined ? `authorize ${agent}` : `consume ${agent} ${consume.approvalId}`,
      () => this.#subject.admit(made),
      (result) => this.#wordOf(result),
      () => {
        if (made.revision !== this.#revision) return 'stale'
        if (consume !== undefined) {
          return this.#reference.consume(agent, consume.approvalId, requestId, body, isSame)
        }
        const word = this.#reference.authorize(agent, requestId, body)
        if (word === 'pending_approval') this.#reference.asked(this.#ledger.newest, agent)
        return word
      },
    )
  }

  #wordOf(result: AdmitResult): string {
    if (result.kind !== 'admitted' && result.kind !== 'repeated') return result.kind
    this.#receipts.push(result.line)
    if (result.kind === 'repeated') return 'repeated'
    const { policy } = JSON.parse(result.line) as { policy: { status: string; reason?: string } }
    return policy.reason ?? policy.status
  }

  #decide(what: ApprovalAct['act']): Promise<void> {
    const random = this.#random
    const id = this.#someApproval()
    const keyId = random.pick<string>(what === 'cancel' ? canceller : voters)
    const person = people[keyId] as Person
    const { actionHash, bindingHash } = this.#ledger.bindingOf(id)
    const isSame = random.below(12) > 0
    const request = utf8(this.#name())
    const asked: ApprovalAct = {
      keyId,
      approvalId: id,
      act: what,
      bindingHash: (isSame ? bindingHash : actionHash) as BindingHash,
      request,
      requestDigest: requestDigest(request, nodeSuite),
    }
    const reference = this.#reference
    return this.#do(
      `${what} ${keyId} ${id}`,
      () => this.#subject.act(asked),
      wordOfAct,
      () => (what === 'cancel' ? reference.cancel(person, id) : reference[what](person, id, isSame)),
    )
  }

  #changePolicy(): Promise<void> {
    const mode = this.#random.pick(modes)
    const serial = (this.#serial += 1)
    return this.#change(
      `policy ${JSON.stringify(mode)}`,
      () => this.#subject.changePolicy(serial),
      () => {
        this.#reference.mode = mode
      },
    )
  }

  #someGroup(): Promise<void> {
    const members = this.#random.pick<readonly string[]>(memberships)
    return this.#changeGroup(this.#random.pick(['leads', 'security']), members)
  }

  #changeGroup(group: string, keys: readonly string[]): Promise<void> {
    const members = keys.map((key) => people[key]?.subject ?? '')
    const call = act({ act: 'group.change', group, members } as const)
    return this.#administer(`group ${group} ${keys.join()}`, call, () => {
      this.#reference.members.set(
        group,
        keys.map((key) => people[key]?.who ?? ''),
      )
    })
  }

  #changeOwner(): Promise<void> {
    const random = this.#random
    // Often somebody who has voted for it: then his vote must not count.
    const waiting = [...this.#reference.approvals.values()].filter(
      ({ state, votes }) => state === 'pending' && votes.length > 0,
    )
    const voted = waiting.at(-1)
    const isVoter = voted !== undefined && random.below(2) === 0
    const agent = isVoter ? voted.agent : random.pick(['bot', 'other'])
    const owner = isVoter ? (voted.votes[0]?.who ?? '') : random.pick<string>(owners)
    const call = act({ act: 'agent.change', agent: agentFields(agent, { owner }) } as const)
    return this.#administer(`owner of ${agent} ${owner}`, call, () => {
      this.#reference.owners.set(agent, owner.toLowerCase())
    })
  }

  #freeze(): Promise<void> {
    const { frozen } = this.#reference
    const [lifted] = frozen
    const what = lifted ?? this.#random.pick(['tenant', 'bot', 'bot', 'other', 'tool'])
    const verb = lifted === undefined ? 'freeze' : 'unfreeze'
    const acts: Readonly<Record<string, DirectAct>> = {
      tenant: { act: `tenant.${verb}` },
      tool: { act: `tool.${verb}`, toolId },
    }
    return this.#administer(
      `${verb} ${what}`,
      act(acts[what] ?? { act: `agent.${verb}`, agentId: what }),
      () => {
        if (lifted === undefined) frozen.add(what)
        else frozen.delete(what)
      },
    )
  }

  #seal(): Promise<void> {
    return this.#administer('seal', act({ act: 'chain.seal' }), () => undefined)
  }

  #administer(told: string, call: AdministrativeCall<DirectAct>, does: () => void): Promise<void> {
    return this.#change(told, () => this.#subject.administer(call), does)
  }

  #change(told: string, run: () => void | Promise<void>, does: () => void): Promise<void> {
    return this.#do(
      told,
      run,
      () => 'done',
      () => {
        does()
        return 'done'
      },
    )
  }

  /** To a deadline, a millisecond before or behind it, or some minutes on. */
  #advance(): void {
    const random = this.#random
    const deadlines = [...this.#reference.approvals.values()]
      .filter(({ state }) => state === 'pending' || state === 'approved')
      .map(({ state, approveBy, useBy }) => (state === 'pending' ? approveBy : useBy))
      .map((at) => at + random.below(3) - 1)
      .filter((at) => at > this.#subject.now)
    const some = this.#subject.now + random.below(4 * 60_000)
    this.#moveTo(random.below(3) > 0 ? some : random.pick([...deadlines, some]))
  }

  #moveTo(now: number): void {
    if (!(this.#subject instanceof StoreSubject)) return
    this.#subject.now = now
    this.#reference.now = now
    this.#told.push(`at ${String(now)}`)
  }

  #alarm(): Promise<void> {
    const subject = this.#subject
    return this.#change(
      'alarm',
      () => {
        if (subject instanceof StoreSubject) subject.alarm()
      },
      () => {
        for (const id of this.#reference.approvals.keys()) this.#reference.settle(id)
      },
    )
  }

  /** One step, perhaps cut off. What did not happen is not told to the reference. */
  async #do<T>(
    told: string,
    run: () => T | Promise<T>,
    wordOf: (answer: T) => string,
    refer: () => string,
  ): Promise<void> {
    const random = this.#random
    const mayCrash = this.#ledger.newest !== '' && told !== 'alarm'
    const crash = mayCrash && random.below(12) === 0
    const how = random.below(3) === 0 ? 'before_answer' : { atStatement: 1 + random.below(24) }
    if (crash) await this.#subject.crashNext(how)
    let word: string | undefined
    try {
      word = wordOf(await run())
    } catch (cause) {
      if (!(cause instanceof Crashed)) throw cause
    }
    this.#ledger.take(await this.#subject.newLines(), {
      ownerOf: (agent) => this.#reference.owners.get(agent) ?? '',
      allowsUnasked: this.#reference.mode === 'allow',
    })
    const happened = word !== undefined || how === 'before_answer'
    const expected = happened ? refer() : undefined
    const answered = word ?? (happened ? 'crashed behind it' : 'crashed in it')
    this.#told.push(`${told}: ${answered}`)
    this.#counts.set(answered, (this.#counts.get(answered) ?? 0) + 1)
    if (word !== undefined) this.#ensure(word === expected, `it is ${String(expected)}`)
    await this.#look()
  }

  async #look(): Promise<void> {
    this.#revision = await this.#subject.revision()
    for (const [id, { state, votes }] of this.#reference.approvals) {
      const recorded = this.#ledger.stateOf(id)
      this.#ensure(recorded === state, `${id} is ${state}, and not ${String(recorded)} in the Chain`)
      if (!(this.#subject instanceof StoreSubject)) continue
      const stored = this.#subject.stateOf(id)
      this.#ensure(stored === state, `${id} is ${state}, and not ${String(stored)} in the store`)
      if (state !== 'pending' && state !== 'approved') continue
      const kept = this.#subject.votesOf(id).join()
      this.#ensure(kept === votes.map(({ who }) => who).join(), `${id} has other votes: ${kept}`)
    }
  }

  #someApproval(): string {
    const all = [...this.#reference.approvals]
    const live = all.filter(([, { state }]) => state === 'pending' || state === 'approved')
    const from = live.length > 0 && this.#random.below(5) > 0 ? live.slice(-3) : all
    return this.#random.pick(from)[0]
  }

  /** Now and then one revision behind. */
  #fence(): number {
    return this.#random.below(25) === 0 ? this.#revision - 1 : this.#revision
  }

  #name(): string {
    return `n${String((this.#serial += 1))}`
  }

  #ensure(holds: boolean, what: string): void {
    if (!holds) throw new Error(`does not hold: ${what}`)
  }
}

function evaluationOf(mode: Mode): Pick<DraftEvaluation, 'decision' | 'code' | 'approval'> {
  if (mode === 'allow') return { decision: 'allow', code: 'permitted' }
  if (mode === 'deny') return { decision: 'deny', code: 'policy_denied' }
  return { decision: 'require_approval', code: 'approval_required', approval: mode }
}
