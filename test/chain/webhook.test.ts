/** Notices to approver groups: which wait, when each is sent, and when it is given up. */
import { describe, expect, it } from 'vitest'
import { actOnApproval } from '../../src/chain/approvals.ts'
import { upkeep } from '../../src/chain/upkeep.ts'
import type { UpkeepEvent } from '../../src/chain/upkeep.ts'
import { type Notice, type Sent, retryDelaysMs, sendNotices } from '../../src/chain/webhook.ts'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { type BindingHash, requestDigest, utf8 } from '../../src/record/index.ts'
import { keyFields } from '../harness/drafts.ts'
import { MemoryTenant, admittedLine } from '../harness/memory-tenant.ts'

const hook = { url: 'https://hooks.example.com/leads', format: 'standard' } as const
const dayMs = 24 * 60 * 60_000

class Hooked extends MemoryTenant {
  readonly sent: Notice[] = []
  readonly events: UpkeepEvent[] = []
  answer: (notice: Notice) => Sent | Promise<Sent> = () => ({ kind: 'delivered' })

  constructor(approveByMs = 30 * 60_000) {
    super({ settings: { approve_by_ms: approveByMs } })
    this.do({ act: 'group.change', group: 'leads', members: ['lena'], webhook: hook })
    this.do({ act: 'group.change', group: 'quiet', members: ['lena'] })
    this.do({ act: 'key.issue', key: keyFields('lena', { role: 'approver', subject: 'lena' }) })
  }

  ask(groups: readonly string[] = ['leads']): { readonly id: string; readonly binding: BindingHash } {
    const approval = { groups, quorum: 1 }
    const evaluation = { decision: 'require_approval', code: 'approval_required', approval } as const
    const line = JSON.parse(admittedLine(this.admit('bot', { evaluation, body: 'a secret value' }))) as {
      readonly policy: { readonly approval_id: string }
      readonly decision_axes: { readonly approval: { readonly binding_hash: BindingHash } }
    }
    return { id: line.policy.approval_id, binding: line.decision_axes.approval.binding_hash }
  }

  act(act: 'approve' | 'deny', { id, binding }: ReturnType<Hooked['ask']>): void {
    const request = utf8(act + id)
    const digest = requestDigest(request, nodeSuite)
    const given = { keyId: 'lena', approvalId: id, act, bindingHash: binding, request, requestDigest: digest }
    const result = actOnApproval(this.context(), given)
    if (result.kind !== 'approval') throw new Error(JSON.stringify(result))
  }

  get due(): number | undefined {
    return this.store.listDue().find(({ name }) => name === 'webhooks')?.at
  }

  /** Moves to the time at which the alarm has webhooks to do with, and does only that. */
  async alarm(): Promise<void> {
    if (this.due === undefined) throw new Error('there is no deadline')
    this.now = Math.max(this.now, this.due)
    for (const due of this.store.listDue()) if (due.name !== 'webhooks') this.store.deleteDue(due.name)
    await upkeep({
      context: () => this.context(),
      archive: {} as never,
      send: async (notice) => {
        this.sent.push(notice)
        return this.answer(notice)
      },
      report: (event) => this.events.push(event),
      foundBehind: () => undefined,
    })
  }
}

describe('a notice', () => {
  it('waits from the transaction in which its approval is asked for, for each group with a webhook', async () => {
    const tenant = new Hooked()
    const security = { url: 'https://chat.example.com/x', format: 'slack' } as const
    tenant.do({ act: 'group.change', group: 'security', members: ['max'], webhook: security })
    const { id } = tenant.ask(['leads', 'security', 'quiet'])
    expect(tenant.due).toBe(tenant.now)
    await tenant.alarm()
    const common = { tenant: 'acme', approvalId: id, agentId: 'bot', toolId: 'github.create_issue' }
    const times = { requestedAt: tenant.now, approveBy: tenant.now + 30 * 60_000 }
    expect(tenant.sent).toEqual([
      { id: `${id}_leads`, group: 'leads', target: hook, ...common, ...times },
      { id: `${id}_security`, group: 'security', target: security, ...common, ...times },
    ])
    expect(JSON.stringify(tenant.sent)).not.toContain('a secret value')
    expect([tenant.due, tenant.store.nextNoticeAt()]).toEqual([undefined, undefined])
  })

  it('does not wait where no group has one, nor when nothing is asked', () => {
    const tenant = new Hooked()
    tenant.ask(['quiet'])
    tenant.admit('bot')
    expect([tenant.due, tenant.store.nextNoticeAt()]).toEqual([undefined, undefined])
  })

  it('that fails is sent again over about a day, under one id, then given up and logged', async () => {
    const tenant = new Hooked(7 * dayMs)
    tenant.answer = () => ({ kind: 'failed', why: 'status 500' })
    const { id } = tenant.ask()
    const from = tenant.now
    const times: number[] = []
    while (tenant.due !== undefined) {
      await tenant.alarm()
      times.push(tenant.now - from)
    }
    const total = retryDelaysMs.reduce((sum, delay) => sum + delay, 0)
    expect(times).toHaveLength(10)
    expect(times.at(-1)).toBe(total)
    expect(total / dayMs).toBeGreaterThan(0.9)
    expect(total / dayMs).toBeLessThan(1.1)
    // Each delay at least half as long again as the one before it.
    expect(retryDelaysMs.slice(1).every((delay, at) => delay >= 1.5 * (retryDelaysMs[at] ?? 0))).toBe(true)
    expect(new Set(tenant.sent.map((notice) => notice.id))).toEqual(new Set([`${id}_leads`]))
    expect(tenant.events).toEqual([
      { event: 'webhook_gave_up', task: 'webhooks', detail: `${id} to leads, 10 attempts: status 500` },
    ])
  })

  it('that is not wanted any more is given up at once', async () => {
    const tenant = new Hooked()
    tenant.answer = () => ({ kind: 'failed', why: 'status 410', isFinal: true })
    tenant.ask()
    await tenant.alarm()
    expect([tenant.sent.length, tenant.due, tenant.events.length]).toEqual([1, undefined, 1])
  })

  it('that arrives in the end is not sent again', async () => {
    const tenant = new Hooked()
    tenant.answer = () =>
      tenant.sent.length < 3 ? { kind: 'failed', why: 'timeout' } : { kind: 'delivered' }
    tenant.ask()
    for (let attempt = 0; attempt < 3; attempt += 1) await tenant.alarm()
    expect([tenant.sent.length, tenant.due, tenant.events]).toEqual([3, undefined, []])
  })

  it.each([
    ['approved', (tenant: Hooked, asked: ReturnType<Hooked['ask']>) => tenant.act('approve', asked)],
    ['denied', (tenant: Hooked, asked: ReturnType<Hooked['ask']>) => tenant.act('deny', asked)],
    ['over', (tenant: Hooked) => void (tenant.now += 30 * 60_000)],
    [
      'of a group without a webhook by now',
      (tenant: Hooked) =>
        void tenant.do({ act: 'group.change', group: 'leads', members: ['lena'], webhook: null }),
    ],
  ])('of an approval that is %s goes without being sent', async (_what, happens) => {
    const tenant = new Hooked()
    happens(tenant, tenant.ask())
    await tenant.alarm()
    expect([tenant.sent, tenant.due, tenant.store.nextNoticeAt()]).toEqual([[], undefined, undefined])
  })

  it('goes where the webhook leads when it is sent', async () => {
    const tenant = new Hooked()
    tenant.ask()
    const moved = { url: 'https://elsewhere.example.com/', format: 'slack' } as const
    tenant.do({ act: 'group.change', group: 'leads', members: ['lena'], webhook: moved })
    await tenant.alarm()
    expect(tenant.sent[0]?.target).toEqual(moved)
  })
})

describe('a change of a group', () => {
  it('that does not name its webhook leaves it; null takes it away', () => {
    const tenant = new Hooked()
    tenant.do({ act: 'group.change', group: 'leads', members: ['max'] })
    expect(tenant.store.readGroup('leads')).toEqual({ name: 'leads', members: ['max'], webhook: hook })
    tenant.do({ act: 'group.change', group: 'leads', members: ['max'], webhook: null })
    expect(tenant.store.readGroup('leads')).toEqual({ name: 'leads', members: ['max'] })
  })
})

describe('the alarm', () => {
  it('sends a few at a time, and comes again for the rest', async () => {
    const tenant = new Hooked()
    for (let at = 0; at < 30; at += 1) tenant.ask()
    let under = 0
    let most = 0
    tenant.answer = async () => {
      under += 1
      most = Math.max(most, under)
      await new Promise((resolve) => setTimeout(resolve, 1))
      under -= 1
      return { kind: 'delivered' }
    }
    const runs: number[] = []
    while (tenant.due !== undefined) {
      await tenant.alarm()
      runs.push(tenant.sent.length)
    }
    expect([runs, most]).toEqual([[12, 24, 30], 6])
    expect(new Set(tenant.sent.map(({ id }) => id)).size).toBe(30)
  })

  it('does not forget what was asked while it was sending', async () => {
    const tenant = new Hooked()
    tenant.ask()
    tenant.answer = () => {
      if (tenant.sent.length === 1) tenant.ask()
      return { kind: 'delivered' }
    }
    await tenant.alarm()
    expect(tenant.due).toBeDefined()
    await tenant.alarm()
    expect([tenant.sent.length, tenant.due]).toEqual([2, undefined])
  })

  it('that was cut off behind a send sends it again under the same id', async () => {
    const tenant = new Hooked()
    const { id } = tenant.ask()
    const lost = sendNotices({
      context: () => tenant.context(),
      send: () => new Promise(() => undefined),
      gaveUp: () => undefined,
    })
    await Promise.race([lost, new Promise((resolve) => setTimeout(resolve, 5))])
    await tenant.alarm()
    expect(tenant.sent.map((notice) => notice.id)).toEqual([`${id}_leads`])
  })
})

describe('a refused request', () => {
  it('tells nobody', () => {
    const tenant = new Hooked()
    tenant.do({ act: 'agent.freeze', agentId: 'bot' })
    expect(() => tenant.ask()).toThrow('undefined')
    expect(tenant.store.nextNoticeAt()).toBeUndefined()
  })
})
