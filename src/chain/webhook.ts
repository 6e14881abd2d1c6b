/**
 * Notices to approver groups (authorize.md §4): which are waiting, when each is sent and sent again, and when it is given
 * up. A notice waits in the store from the transaction in which its approval was asked for, and the alarm sends it: no
 * decision waits for a receiver. Not the request that is sent, nor where it may go: that is durable-objects/webhook-*.ts.
 */
import type { ChainContext } from './ports.ts'
import type { ApprovalRecord, NoticeRecord, WebhookTarget } from './records.ts'

/** What a group is told: who asks for which tool, and until when. No value of an argument. */
export interface Notice {
  /** The same for every attempt: a receiver that has seen it drops it. */
  readonly id: string
  readonly group: string
  readonly target: WebhookTarget
  readonly tenant: string
  readonly approvalId: string
  readonly agentId: string
  readonly toolId: string
  readonly requestedAt: number
  readonly approveBy: number
}

export type Sent =
  | { readonly kind: 'delivered' }
  /** `isFinal`: there is no point in another attempt. */
  | { readonly kind: 'failed'; readonly why: string; readonly isFinal?: boolean }

/** A notice that will not be sent again. */
export interface GivenUp {
  readonly group: string
  readonly approvalId: string
  readonly attempts: number
  readonly why: string
}

export interface NoticePorts {
  /** A fresh one each time: its clock is read when it is made. */
  readonly context: () => ChainContext
  /** Never throws, and ends by itself within seconds. */
  readonly send: (notice: Notice) => Promise<Sent>
  readonly gaveUp: (what: GivenUp) => void
}

/** Between two attempts; with the first one ten, over a day. Each is longer than all before it would need to recover. */
export const retryDelaysMs: readonly number[] = [
  5_000, 30_000, 120_000, 600_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 50_400_000,
]

/** Of one alarm, and at a time: at 5 s each a receiver that hangs holds the alarm's other tasks up for ten. */
const noticesPerRun = 12
const noticesAtOnce = 6

/** In the transaction that creates the approval: one for each group that has a webhook. */
export function queueNotices({ store, now }: ChainContext, approval: ApprovalRecord): void {
  const told = approval.groups.filter((group) => store.readGroup(group)?.webhook !== undefined)
  if (told.length === 0) return
  for (const group of told)
    store.writeNotice({ approvalId: approval.approvalId, group, at: now, attempts: 0 })
  const due = store.listDue().find(({ name }) => name === 'webhooks')
  if (due === undefined || now < due.at) store.writeDue({ name: 'webhooks', at: now, attempts: 0 })
}

/**
 * What the alarm does: sends what is due, a few at a time.
 *
 * A crash behind a send and before it is settled sends it again, under the same id.
 *
 * @returns when there is more to send, or `undefined`.
 */
export async function sendNotices(ports: NoticePorts): Promise<number | undefined> {
  const waiting = takeDue(ports.context(), noticesPerRun)
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      settle(ports, next.record, await ports.send(next.notice))
    }
  }
  await Promise.all(Array.from({ length: noticesAtOnce }, work))
  return ports.context().store.nextNoticeAt()
}

interface Due {
  readonly record: NoticeRecord
  readonly notice: Notice
}

/** What is due, without what nobody needs any more: those go. */
function takeDue(context: ChainContext, limit: number): Due[] {
  const { store, now } = context
  return store.transaction(() => {
    const tenant = store.readTenant()?.tenant ?? ''
    return store.listNotices(now, limit).flatMap((record) => {
      const notice = toNotice(context, tenant, record)
      if (notice !== undefined) return [{ record, notice }]
      store.deleteNotice(record)
      return []
    })
  })
}

/** `undefined` once there is nothing left to decide, or nobody to be told. */
function toNotice(
  { store, now }: ChainContext,
  tenant: string,
  { approvalId, group }: NoticeRecord,
): Notice | undefined {
  const approval = store.readApproval(approvalId)
  const target = store.readGroup(group)?.webhook
  if (approval?.state !== 'pending' || now >= approval.approveBy || target === undefined) return undefined
  const { agentId, toolId, requestedAt, approveBy } = approval
  return {
    // No full stop: it divides what is signed.
    id: `${approvalId}_${group}`,
    group,
    target,
    tenant,
    approvalId,
    agentId,
    toolId,
    requestedAt,
    approveBy,
  }
}

function settle({ context, gaveUp }: NoticePorts, record: NoticeRecord, sent: Sent): void {
  const { store, now } = context()
  const attempts = record.attempts + 1
  const delayMs = sent.kind === 'failed' && sent.isFinal !== true ? retryDelaysMs[record.attempts] : undefined
  store.transaction(() => {
    if (delayMs === undefined) store.deleteNotice(record)
    else store.writeNotice({ ...record, at: now + delayMs, attempts })
  })
  if (sent.kind === 'failed' && delayMs === undefined) {
    gaveUp({ group: record.group, approvalId: record.approvalId, attempts, why: sent.why })
  }
}
