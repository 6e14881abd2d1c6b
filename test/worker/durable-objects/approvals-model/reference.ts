/**
 * What approvals should do, as small as it can be said: maps, a clock, and one function for each thing that can happen,
 * which answers in one word. Shares no code with src/chain; what both must agree on is compared after each step.
 */

export type RefState =
  'pending' | 'approved' | 'denied' | 'expired' | 'cancelled' | 'consumed' | 'lapsed' | 'withdrawn'

/** What the policy says of every request: yes, no, or ask. */
export type Mode = 'allow' | 'deny' | { readonly groups: readonly string[]; readonly quorum: number }

export interface RefApproval {
  readonly agent: string
  readonly ownerThen: string
  readonly groups: readonly string[]
  readonly quorum: number
  readonly approveBy: number
  votes: { readonly who: string; readonly groups: readonly string[] }[]
  state: RefState
  useBy: number
}

export interface Person {
  readonly role: 'agent' | 'approver' | 'admin'
  /** Lower case. */
  readonly who: string
}

export const approveByMs = 30 * 60_000
export const useWithinMs = 10 * 60_000

export class Reference {
  now: number
  mode: Mode = { groups: ['leads'], quorum: 1 }
  readonly owners = new Map<string, string>()
  readonly members = new Map<string, readonly string[]>()
  readonly frozen = new Set<string>()
  readonly approvals = new Map<string, RefApproval>()
  /** Of those that were answered: by agent, route and id, the bytes that asked. */
  readonly #asked = new Map<string, string>()

  constructor(now: number) {
    this.now = now
  }

  /** @param key of agent, route and id; `undefined` in the answer: it goes on. */
  #before(agent: string, key: string, bytes: string): string | undefined {
    if (this.frozen.has('tenant')) return 'tenant_frozen'
    if (this.frozen.has(agent)) return 'agent_frozen'
    if (this.frozen.has('tool')) return 'tool_frozen'
    const known = this.#asked.get(`${agent} ${key}`)
    if (known !== undefined) return known === bytes ? 'repeated' : 'conflict'
    this.#asked.set(`${agent} ${key}`, bytes)
    return undefined
  }

  authorize(agent: string, requestId: string, bytes: string): string {
    const early = this.#before(agent, `authorize ${requestId}`, bytes)
    if (early !== undefined) return early
    const { mode } = this
    if (mode === 'allow') return 'allowed'
    if (mode === 'deny') return 'policy_denied'
    const owner = this.#ownerOf(agent)
    const reachable = mode.groups.every(
      (group) => this.#membersOf(group).filter((member) => member !== owner).length >= mode.quorum,
    )
    return reachable ? 'pending_approval' : 'quorum_unreachable'
  }

  /** It was answered `pending_approval`, under this id. */
  asked(id: string, agent: string): void {
    if (typeof this.mode === 'string') throw new Error('nothing was to be asked')
    this.approvals.set(id, {
      agent,
      ownerThen: this.#ownerOf(agent),
      groups: this.mode.groups,
      quorum: this.mode.quorum,
      approveBy: this.now + approveByMs,
      votes: [],
      state: 'pending',
      useBy: 0,
    })
  }

  consume(agent: string, id: string, requestId: string, bytes: string, isSame: boolean): string {
    this.settle(id)
    const early = this.#before(agent, `consume ${id} ${requestId}`, bytes)
    if (early !== undefined) return early
    const approval = this.approvals.get(id)
    if (approval?.agent !== agent) return 'not_found'
    if (approval.state === 'consumed') return 'already_consumed'
    if (approval.state === 'expired' || approval.state === 'lapsed') return 'expired'
    if (approval.state !== 'approved') return 'not_approved'
    if (!isSame) return 'hash_mismatch'
    if (this.mode === 'deny') return 'policy_denied'
    if (this.mode !== 'allow' && !enough(approval.votes, this.mode.groups, this.mode.quorum)) {
      return 'approval_insufficient'
    }
    approval.state = 'consumed'
    return 'allowed'
  }

  approve(person: Person, id: string, isSame: boolean): string {
    const approval = this.#toDecide(person, id, 'pending')
    if (typeof approval === 'string') {
      const repeats = approval === 'lost approved' && isSame && this.#hasVoted(person.who, id)
      return repeats ? 'approved' : approval
    }
    if (!isSame) return 'approval_changed'
    const owner = this.#ownerOf(approval.agent)
    const counting = () => approval.votes.filter(({ who }) => who !== owner)
    const groups = approval.groups.filter((group) => this.#membersOf(group).includes(person.who))
    const short = groups.some((group) => !enough(counting(), [group], approval.quorum))
    if (short && !this.#hasVoted(person.who, id)) approval.votes.push({ who: person.who, groups })
    if (!enough(counting(), approval.groups, approval.quorum)) return 'pending'
    approval.votes = counting()
    approval.state = 'approved'
    approval.useBy = this.now + useWithinMs
    return 'approved'
  }

  deny(person: Person, id: string, isSame: boolean): string {
    const approval = this.#toDecide(person, id, 'pending')
    if (typeof approval === 'string') return approval
    if (!isSame) return 'approval_changed'
    approval.state = 'denied'
    return 'denied'
  }

  withdraw(person: Person, id: string, isSame: boolean): string {
    const approval = this.#toDecide(person, id, 'approved')
    if (typeof approval === 'string') return approval
    if (!isSame) return 'approval_changed'
    approval.state = 'withdrawn'
    return 'withdrawn'
  }

  cancel(person: Person, id: string): string {
    this.settle(id)
    const approval = this.approvals.get(id)
    const may = person.role === 'admin' || (person.role === 'agent' && approval?.agent === person.who)
    if (approval === undefined || !may) return 'not_found'
    if (approval.state === 'cancelled') return 'cancelled'
    if (approval.state !== 'pending') return `lost ${approval.state}`
    approval.state = 'cancelled'
    return 'cancelled'
  }

  /** What the clock has made of one; of all, when the alarm comes. */
  settle(id: string): void {
    const approval = this.approvals.get(id)
    if (approval?.state === 'pending' && this.now >= approval.approveBy) approval.state = 'expired'
    if (approval?.state === 'approved' && this.now >= approval.useBy) approval.state = 'lapsed'
  }

  #toDecide({ role, who }: Person, id: string, wanted: RefState): RefApproval | string {
    this.settle(id)
    const approval = this.approvals.get(id)
    if (approval === undefined) return 'not_found'
    if (role !== 'approver') return 'role_not_allowed'
    if (who === approval.ownerThen || who === this.#ownerOf(approval.agent)) return 'owner_excluded'
    if (!approval.groups.some((group) => this.#membersOf(group).includes(who))) return 'not_in_group'
    return approval.state === wanted ? approval : `lost ${approval.state}`
  }

  #hasVoted(who: string, id: string): boolean {
    return this.approvals.get(id)?.votes.some((vote) => vote.who === who) === true
  }

  #ownerOf(agent: string): string {
    return this.owners.get(agent) ?? ''
  }

  #membersOf(group: string): readonly string[] {
    return this.members.get(group) ?? []
  }
}

function enough(votes: RefApproval['votes'], groups: readonly string[], quorum: number): boolean {
  return groups.every((group) => votes.filter((vote) => vote.groups.includes(group)).length >= quorum)
}
