/**
 * What the alarm does (authorize.md §5): each task under its deadline in `due`, in a fixed order, each by itself. It never
 * throws: a task that fails has its next attempt written down, and the others go on. Everything here may run late,
 * twice, or be cut off anywhere.
 */
import type { RequestDigest } from '../record/index.ts'
import { append } from './append.ts'
import { endOverdue } from './approvals.ts'
import { envelopesEveryMs } from './envelopes.ts'
import { eraseExpired, eraseForMs, eraseTombstones } from './erase.ts'
import type { ChainArchive, ChainContext } from './ports.ts'
import { publishSessions } from './publish.ts'
import type { DueName, DueRecord } from './records.ts'
import { closeDraft, isFull, sessionAgeMaxMs } from './seal.ts'
import { type GivenUp, type Notice, type Sent, sendNotices } from './webhook.ts'

export interface UpkeepPorts {
  /** A fresh one each time: its clock is read when it is made. */
  readonly context: () => ChainContext
  readonly archive: ChainArchive
  /** Tells a group of an approval. */
  readonly send: (notice: Notice) => Promise<Sent>
  /** What an operator should know; a fault is one, whatever came of it. */
  readonly report: (event: UpkeepEvent) => void
  /** Told when the archive's Chain turns out to go on elsewhere. */
  readonly foundBehind: () => void
}

export interface UpkeepEvent {
  readonly event:
    'upkeep_failed' | 'webhook_gave_up' | 'archive_conflict' | 'archive_behind' | 'envelope_conflict'
  readonly task: DueName
  readonly detail?: string
  readonly sessionIndex?: number
}

/** Ends first, which are Lines; then seals, since a closed Session is what the rest work on; people before bytes. */
const order: readonly DueName[] = [
  'approvals',
  'seal',
  'webhooks',
  'publish',
  'envelopes',
  'erase',
  'retention',
]

/** 1 s, 2 s, 4 s … 5 min. */
function retryAfterMs(attempts: number): number {
  return Math.min(1_000 * 2 ** Math.min(attempts, 16), 5 * 60_000)
}

/** Does what is due. */
export async function upkeep(ports: UpkeepPorts): Promise<void> {
  for (const name of order) {
    // Read anew each time: a task before may have brought this one's deadline forward.
    const due = ports
      .context()
      .store.listDue()
      .find((candidate) => candidate.name === name)
    if (due === undefined || due.at > ports.context().now) continue
    const begun = begin(ports.context(), due)
    try {
      const next = await tasks[name](ports)
      settle(ports.context(), begun, next)
    } catch (cause) {
      ports.report({ event: 'upkeep_failed', task: name, detail: describe(cause) })
      settle(ports.context(), begun, 'retry')
    }
  }
}

/**
 * Writes down when a task is tried again if it is cut off now. What sets its deadline anew meanwhile is then another
 * record, whatever the clock says.
 */
function begin({ store, now }: ChainContext, { name, attempts }: DueRecord): DueRecord {
  const begun: DueRecord = { name, at: now + retryAfterMs(attempts), attempts: attempts + 1 }
  store.writeDue(begun)
  return begun
}

/** When to do a task again: a time, a retry after a failure, or not until something sets its deadline. */
type Next = { readonly at: number } | 'retry' | undefined

const tasks: Readonly<Record<DueName, (ports: UpkeepPorts) => Promise<Next>>> = {
  approvals: ({ context }) => Promise.resolve(toNext(endOverdue(context()))),
  seal: ({ context }) => Promise.resolve(sealOld(context())),
  async webhooks({ context, send, report }) {
    const gaveUp = ({ group, approvalId, attempts, why }: GivenUp): void => {
      const detail = `${approvalId} to ${group}, ${String(attempts)} attempts: ${why}`
      report({ event: 'webhook_gave_up', task: 'webhooks', detail })
    }
    return toNext(await sendNotices({ context, send, gaveUp }))
  },
  async publish({ context, archive, report, foundBehind }) {
    const { kind, ...detail } = await publishSessions(context, archive)
    switch (kind) {
      case 'all':
        return undefined
      case 'more':
        return { at: context().now }
      case 'conflict':
        stop(context())
        report({ event: 'archive_conflict', task: 'publish', ...detail })
        return 'retry'
      case 'behind':
        foundBehind()
        report({ event: 'archive_behind', task: 'publish' })
        return 'retry'
    }
  },
  envelopes: (ports) => moveEnvelopes(ports),
  async erase({ context, archive }) {
    return toNext(await eraseTombstones(context, archive))
  },
  async retention({ context, archive }) {
    return toNext(await eraseExpired(context, archive))
  },
}

function toNext(at: number | undefined): Next {
  return at === undefined ? undefined : { at }
}

/** Closes a Session whose time is over. Before the archive could be compared it waits, as long as it is not too large. */
function sealOld(context: ChainContext): Next {
  const { store, now, isContinuous } = context
  return store.transaction(() => {
    const tenant = store.readTenant()
    const head = store.readHead()
    if (tenant === undefined || head.head.state !== 'open') return undefined
    // The deadline may be that of an earlier Session.
    if (head.openedAt + sessionAgeMaxMs > now) return { at: head.openedAt + sessionAgeMaxMs }
    if (!isContinuous && !isFull(head, false)) return 'retry'
    const sealed = append(context, tenant, head, head, [closeDraft(now, head.calls)])
    if (sealed.kind === 'too_long') throw new Error('a close is too long')
    return undefined
  })
}

/** Digests that one run moves; with bodies of 256 KiB each about 64 MiB pass through memory, six at a time. */
const envelopesPerRun = 256
const envelopesAtOnce = 6

/** Staged bytes to the archive, then the end of their rows. What conflicts is reported and passed over. */
async function moveEnvelopes(ports: UpkeepPorts): Promise<Next> {
  const digests = ports.context().store.listEnvelopes(envelopesPerRun)
  const waiting = [...digests]
  let conflicts = 0
  const work = async (): Promise<void> => {
    for (let digest = waiting.shift(); digest !== undefined; digest = waiting.shift()) {
      if ((await moveEnvelope(ports, digest)) === 'conflict') conflicts += 1
    }
  }
  const workers = Array.from({ length: envelopesAtOnce }, async () => {
    try {
      await work()
    } catch (cause) {
      // The others finish what they have begun and take nothing more.
      waiting.length = 0
      throw cause
    }
  })
  for (const worker of await Promise.allSettled(workers))
    if (worker.status === 'rejected') throw worker.reason
  if (conflicts > 0) return 'retry'
  const { now } = ports.context()
  if (digests.length === envelopesPerRun) return { at: now }
  return digests.length === 0 ? undefined : { at: now + envelopesEveryMs }
}

async function moveEnvelope(
  { context, archive, report }: UpkeepPorts,
  digest: RequestDigest,
): Promise<'moved' | 'conflict'> {
  const bytes = context().store.readEnvelope(digest)
  if (bytes === undefined) return 'moved'
  const put = await archive.putEnvelope(digest, bytes)
  if (put.kind === 'conflict') {
    report({ event: 'envelope_conflict', task: 'envelopes', detail: digest })
    return 'conflict'
  }
  const { store, now } = context()
  store.transaction(() => {
    if (store.isErased(digest)) {
      // Erased while it was on its way: the tombstone stands, and the object goes again, however long the put took.
      store.insertErased(digest, now + eraseForMs)
      store.writeDue({ name: 'erase', at: now, attempts: 0 })
    }
    store.deleteEnvelope(digest)
  })
  return 'moved'
}

function stop({ store }: ChainContext): void {
  store.transaction(() => {
    store.writePublication({ ...store.readPublication(), stopped: 'archive_conflict' })
  })
}

/** Only if nothing has set the deadline anew meanwhile: what came during the run is not forgotten. */
function settle({ store, now }: ChainContext, begun: DueRecord, next: Next): void {
  store.transaction(() => {
    const { name } = begun
    const stored = store.listDue().find((candidate) => candidate.name === name)
    if (stored === undefined || stored.at !== begun.at || stored.attempts !== begun.attempts) return
    if (next === undefined) store.deleteDue(name)
    else if (next === 'retry') store.writeDue({ ...begun, at: now + retryAfterMs(begun.attempts - 1) })
    else store.writeDue({ name, at: next.at, attempts: 0 })
  })
}

function describe(cause: unknown): string {
  return (cause instanceof Error ? cause.message : String(cause)).slice(0, 200)
}
