/**
 * What a recovery would do, found out before its transaction: where the archive's Chain ends, under which generation it
 * would go on, and whether there is anything to recover at all. The transaction is src/chain/recover.ts.
 */
import type { Act, AdministerRefusal } from '../src/chain/acts.ts'
import { compareHead } from '../src/chain/continuity.ts'
import { findTail } from '../src/chain/find-tail.ts'
import type { ChainArchive, ChainContext } from '../src/chain/ports.ts'
import type { HeadRecord, LineKeyRecord, SegmentRecord, TenantRecord } from '../src/chain/records.ts'
import type { LineKeys } from './line-keys.ts'
import { freshTenant } from './new-tenant.ts'

export type RecoveryPlan =
  | {
      readonly kind: 'planned'
      readonly act: Extract<Act, { act: 'tenant.recover' }>
      /** Of an object that has lost everything: to be made first. */
      readonly lost?: { readonly tenant: TenantRecord; readonly head: HeadRecord }
    }
  | { readonly kind: 'refused'; readonly code: AdministerRefusal }
  /** Neither here nor in the archive is such a tenant. */
  | { readonly kind: 'unknown' }

/** Generations beyond the known ones that are tried for a key that this object does not remember. */
const epochsBeyond = 64

/** @throws what the archive throws, and NotConfigured. */
export async function planRecovery(
  name: string,
  context: ChainContext,
  archive: ChainArchive,
  keys: LineKeys,
): Promise<RecoveryPlan> {
  const { store, suite, now } = context
  const stored = store.readTenant()
  const tenant = stored ?? freshTenant(name, now, keys)
  const publicEpoch = await archive.readKeyEpoch()
  const epochsMax = Math.max(tenant.keyEpoch, publicEpoch) + epochsBeyond
  const found = await findTail(
    archive,
    {
      chainId: tenant.tenant,
      publication: stored === undefined ? {} : store.readPublication(),
      segment: (sessionIndex) => (stored === undefined ? undefined : store.readSegment(sessionIndex)),
    },
    (keyId) => keys.find(tenant, keyId, epochsMax),
    suite,
  )
  const refuse = (code: AdministerRefusal): RecoveryPlan =>
    stored === undefined ? { kind: 'unknown' } : { kind: 'refused', code }
  if (found.kind === 'not_ours') return refuse('archive_not_ours')
  if (found.kind === 'absent') return refuse('not_behind')
  if (stored !== undefined && !(await isElsewhere(context, archive, found.tail))) return refuse('not_behind')
  const keyEpoch = Math.max(tenant.keyEpoch, publicEpoch, found.keyEpoch) + 1
  const { tail, segments } = found
  const find = (keyId: string): FoundKey | undefined => keys.find(tenant, keyId, epochsMax)
  const signed = generationsOf(stored === undefined ? [] : tenant.keys, segments, tail.sessionIndex, find)
  const plan = { tail, segments, keys: signed, keyEpoch, seedNumber: keys.currentSeed }
  return {
    kind: 'planned',
    act: { act: 'tenant.recover', plan },
    ...(stored === undefined ? { lost: { tenant, head: emptyHead(tenant, now) } } : {}),
  }
}

type FoundKey = Pick<LineKeyRecord, 'keyEpoch' | 'seedNumber'>

/**
 * Which generations signed which Sessions: as stored up to the segments that the store does not know, and by those from
 * there on. One whose seed is gone cannot be found.
 */
function generationsOf(
  stored: readonly LineKeyRecord[],
  segments: readonly SegmentRecord[],
  tail: number,
  find: (keyId: string) => FoundKey | undefined,
): readonly LineKeyRecord[] {
  const unknown = segments.toSorted((left, right) => left.sessionIndex - right.sessionIndex)
  const first = unknown[0]?.sessionIndex ?? tail + 1
  const generations = stored.filter(({ firstSession }) => firstSession < first)
  let keyId: string | undefined
  for (const segment of unknown) {
    if (segment.keyId === keyId) continue
    keyId = segment.keyId
    const key = find(keyId)
    if (key === undefined || key.keyEpoch === generations.at(-1)?.keyEpoch) continue
    const { keyEpoch, seedNumber } = key
    generations.push({ keyEpoch, seedNumber, firstSession: segment.sessionIndex })
  }
  return generations
}

/** Whether the archive's tail is one that this object does not have. */
async function isElsewhere(
  context: ChainContext,
  archive: ChainArchive,
  tail: { readonly sessionIndex: number; readonly lineHash: string },
): Promise<boolean> {
  if (compareHead(context, await archive.readHead()).kind === 'behind') return true
  const segment = context.store.readSegment(tail.sessionIndex)
  if (segment !== undefined) return segment.tail !== tail.lineHash
  // Not published from here: a segment whose head or mark is missing is ours when its Session waits here.
  return context.store.readPublication().stopped !== undefined || !isOwnSession(context, tail.sessionIndex)
}

function isOwnSession({ store }: ChainContext, sessionIndex: number): boolean {
  return store.readLastRow(sessionIndex) !== undefined
}

function emptyHead({ tenant, settings }: TenantRecord, now: number): HeadRecord {
  return {
    head: { state: 'empty', chainId: tenant },
    openedAt: 0,
    calls: 0,
    bytes: 0,
    bucket: { tokens: settings.tenant_burst, at: now },
    day: { day: 0, calls: 0 },
    pendingApprovals: 0,
  }
}
