/**
 * What an auditor can say of approvals from the Lines alone: each Line is verified as it comes, and every authority is
 * held against the approval that it claims. Told from outside is only what the Chain does not say: who owned an agent,
 * and whether the policy allowed without asking.
 */
import { nodeSuite } from '../../../../src/crypto-node/index.ts'
import { type ApprovalBinding, bindingHash } from '../../../../src/record/index.ts'
import { Walk, toText } from '../../../../src/verify/index.ts'
import { linesOf, publicKeyOf } from '../../../harness/follower.ts'
import type { RefState } from './reference.ts'

export interface Surroundings {
  /** Lower case, now. */
  readonly ownerOf: (agent: string) => string
  readonly allowsUnasked: boolean
}

interface KnownApproval {
  readonly agent: string
  readonly owner: string
  readonly actionHash: string
  readonly binding: string
  readonly groups: readonly string[]
  readonly quorum: number
  readonly approveBy: number
  readonly useWithinMs: number
  state: RefState
  useBy: number
}

interface Line {
  readonly line_type: string
  readonly session_index?: number
  readonly seq: number
  readonly tool_id: string
  readonly call_id: string
  readonly agent_id: string
  readonly action_hash: string
  readonly binding_hash: string
  readonly request_digest: string
  readonly policy_set_hash: string
  readonly decided_at: number
  readonly grant_id?: string
  readonly approval_id: string
  readonly verdict: { readonly verdict: string; readonly reason?: string }
  readonly approvers: readonly { readonly subject: string; readonly groups: readonly string[] }[]
  readonly policy: { readonly status: string; readonly approval_id?: string }
  readonly decision_axes: {
    readonly approval_ref?: string
    readonly approval?: {
      readonly groups: readonly string[]
      readonly quorum: number
      readonly approve_by: number
      readonly use_within_ms: number
      readonly binding_hash: string
    }
  }
}

export class Ledger {
  readonly #tenant: string
  readonly #walk: Walk
  readonly #bytes: Uint8Array[] = []
  readonly #grants = new Set<string>()
  readonly #approvals = new Map<string, KnownApproval>()
  #lines = 0
  #last: Line | undefined
  #newest = ''

  constructor(tenant: string) {
    this.#tenant = tenant
    this.#walk = newWalk(tenant)
  }

  get lines(): number {
    return this.#lines
  }

  /** The approval that was asked for last. */
  get newest(): string {
    return this.#newest
  }

  bindingOf(id: string): { readonly actionHash: string; readonly bindingHash: string } {
    const approval = this.#approvals.get(id)
    ensure(approval !== undefined, 'an approval is in the Chain')
    return { actionHash: approval.actionHash, bindingHash: approval.binding }
  }

  /** @param bytes new Lines, each with its LF. */
  take(bytes: Uint8Array, surroundings: Surroundings): void {
    if (bytes.length === 0) return
    const texts = linesOf(bytes)
    this.#walk.push(bytes)
    this.#bytes.push(bytes)
    this.#lines += texts.length
    for (const text of texts) {
      const line = JSON.parse(text) as Line
      this.#read(line, surroundings)
      this.#last = line
    }
    this.#verify(this.#walk)
  }

  /** The whole Chain once more, from its first byte. */
  verifyWhole(): void {
    const walk = newWalk(this.#tenant)
    for (const bytes of this.#bytes) walk.push(bytes)
    this.#verify(walk)
  }

  stateOf(id: string): RefState | undefined {
    return this.#approvals.get(id)?.state
  }

  /** Every receipt that somebody holds stands in the Chain. */
  holdsAll(receipts: readonly string[]): boolean {
    const known = new Set(linesOf(new Uint8Array(Buffer.concat(this.#bytes))))
    return receipts.every((receipt) => known.has(receipt))
  }

  #verify(walk: Walk): void {
    const report = walk.end()
    const isTail =
      report.verdict === 'indeterminate' &&
      report.finding.reason === 'unanchored_tail' &&
      report.inFlight.length === 0
    const isWhole = this.#last?.line_type === 'close' ? report.verdict === 'verified' : isTail
    const whole = isWhole && report.lines === this.#lines && report.coverage?.seq === this.#last?.seq
    if (!whole) throw new Error(`not one whole Chain of ${String(this.#lines)} Lines:\n${toText(report)}`)
  }

  #read(line: Line, surroundings: Surroundings): void {
    if (line.line_type === 'decision') this.#decided(line, surroundings)
    if (line.line_type !== 'outcome') return
    if (line.tool_id.startsWith('aegis/')) this.#administered(line)
    else if (line.policy.status === 'pending_approval') this.#asked(line, surroundings)
    else if (line.policy.status === 'allowed') this.#allowed(line, surroundings)
  }

  #asked(line: Line, { ownerOf }: Surroundings): void {
    const { approval } = line.decision_axes
    const id = line.policy.approval_id
    ensure(approval !== undefined && id !== undefined && !this.#approvals.has(id), 'an approval is new')
    const binding = bindingHash(
      {
        action_hash: line.action_hash,
        agent_id: line.agent_id,
        approval_id: id,
        approve_by: approval.approve_by,
        approver_groups: approval.groups,
        call_id: line.call_id,
        environment: 'production',
        policy_set_hash: line.policy_set_hash,
        quorum: approval.quorum,
        request_digest: line.request_digest,
        source_trust: 'trusted_internal_signed',
        tenant: this.#tenant,
        use_within_ms: approval.use_within_ms,
      } as ApprovalBinding,
      nodeSuite,
    )
    ensure(binding === approval.binding_hash, 'the binding is of what the Line says')
    this.#newest = id
    this.#approvals.set(id, {
      agent: line.agent_id,
      owner: ownerOf(line.agent_id),
      actionHash: line.action_hash,
      binding,
      groups: approval.groups,
      quorum: approval.quorum,
      approveBy: approval.approve_by,
      useWithinMs: approval.use_within_ms,
      state: 'pending',
      useBy: 0,
    })
  }

  #decided(line: Line, { ownerOf }: Surroundings): void {
    const approval = this.#approvals.get(line.approval_id)
    ensure(approval !== undefined, 'a decision is of an approval')
    ensure(approval.state === 'pending', 'there is one decision')
    ensure(line.binding_hash === approval.binding, 'a decision is of that very binding')
    ensure(line.action_hash === approval.actionHash, 'and of that action')
    const { verdict, reason } = line.verdict
    if (verdict !== 'approved') {
      ensure(reason === 'denied' || reason === 'expired' || reason === 'cancelled', 'a known reason')
      const isLate = line.decided_at >= approval.approveBy
      ensure(isLate === (reason === 'expired'), 'it expires when its time is over, and else never')
      approval.state = reason
      return
    }
    ensure(line.decided_at < approval.approveBy, 'it is approved in time')
    const subjects = line.approvers.map(({ subject }) => subject)
    ensure(new Set(subjects).size === subjects.length, 'nobody votes twice')
    ensure(!subjects.includes(approval.owner), 'the owner of then does not vote')
    ensure(!subjects.includes(ownerOf(approval.agent)), 'nor the owner of now')
    ensure(
      approval.groups.every(
        (group) => line.approvers.filter(({ groups }) => groups.includes(group)).length >= approval.quorum,
      ),
      'every group has its votes',
    )
    approval.state = 'approved'
    approval.useBy = line.decided_at + approval.useWithinMs
  }

  #allowed(line: Line, { allowsUnasked }: Surroundings): void {
    ensure(line.grant_id !== undefined && !this.#grants.has(line.grant_id), 'a grant is new')
    this.#grants.add(line.grant_id)
    const id = line.decision_axes.approval_ref
    if (id === undefined) {
      ensure(allowsUnasked, 'nothing is allowed unasked that must be asked')
      return
    }
    const approval = this.#approvals.get(id)
    ensure(approval?.state === 'approved', 'what is used was approved, and not used before')
    ensure(line.agent_id === approval.agent, 'it is used by its agent')
    ensure(line.action_hash === approval.actionHash, 'for its action')
    ensure(line.decided_at < approval.useBy, 'in time')
    approval.state = 'consumed'
  }

  #administered(line: Line): void {
    if (line.policy.status !== 'allowed') return
    const ends = { 'aegis/approval.lapse': 'lapsed', 'aegis/approval.withdraw': 'withdrawn' } as const
    const end = ends[line.tool_id as keyof typeof ends] as (typeof ends)[keyof typeof ends] | undefined
    if (end === undefined) return
    const approval = this.#approvals.get(line.decision_axes.approval_ref ?? '')
    ensure(approval?.state === 'approved', 'only what was approved ends so')
    ensure(line.decided_at >= approval.useBy === (end === 'lapsed'), 'it lapses when its time is over')
    approval.state = end
  }
}

function newWalk(tenant: string): Walk {
  return new Walk({
    digester: nodeSuite,
    check: ({ publicKey, message, signature }) => nodeSuite.verify(publicKey, message, signature),
    pins: [{ publicKey: publicKeyOf(tenant) }],
  })
}

function ensure(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(`does not hold: ${what}`)
}
