/**
 * Recovery (authorize.md §5, continuity): the archive's Chain goes on further than this store knows, or elsewhere, so
 * that what lies here was restored from the past. The Chain goes on behind the archive's tail, under a key that was
 * never used, and with the tenant frozen: agents, keys and policies here are those of the past too, and what was
 * revoked since may be good again until somebody has looked.
 */
import type { RecoveryPlan } from './acts.ts'
import type { Applied } from './apply-act.ts'
import type { ChainContext } from './ports.ts'
import type { HeadRecord, TenantRecord } from './records.ts'

/** In the caller's transaction; the `open` that names the tail comes with the Call that says so. */
export function recover(
  { store, now }: ChainContext,
  tenant: TenantRecord,
  { tail, segments, keys, keyEpoch, seedNumber }: RecoveryPlan,
): Applied {
  // Planned beside another recovery that came first: its key is in use, and what it wrote must not be set aside.
  if (keyEpoch <= tenant.keyEpoch) return { kind: 'refused', tenant, code: 'not_behind' }
  // Lines that the archive does not have were answered to somebody: they are kept, though the Chain goes on without.
  const aside = store.setRowsAside(0, now)
  // What asked for them may stand in those Lines, and nothing may be used that the Chain does not know of.
  store.forgetApprovals()
  // Moved since, or erased since: what the archive does not have must not get there from a past that knows no tombstone.
  for (const digest of store.listEnvelopes(Number.MAX_SAFE_INTEGER)) store.deleteEnvelope(digest)
  const stored = store.readHead()
  const { sessionIndex, seq, lineHash, keyId, close } = tail
  const head: HeadRecord = {
    ...stored,
    head: { state: 'closed', chainId: tenant.tenant, sessionIndex, seq, lineHash, keyId },
    openedAt: 0,
    calls: 0,
    bytes: 0,
    pendingApprovals: 0,
  }
  store.replaceHead(stored, head)
  for (const segment of segments) store.insertSegment(segment)
  store.writePublication({
    ...store.readPublication(),
    stopped: undefined,
    published: { sessionIndex, seq, lineHash, close },
  })
  const generation = { keyEpoch, seedNumber, firstSession: sessionIndex + 1 }
  const recovered: TenantRecord = {
    ...tenant,
    keyEpoch,
    seedNumber,
    keys: [...keys, generation],
    frozen: true,
    // Above every revision that any Worker may remember from before the restore: the fence compares for equality.
    revision: Math.max(tenant.revision + 1, now),
  }
  return {
    kind: 'applied',
    tenant: recovered,
    reasonText: `the tenant is frozen; rows set aside: ${String(aside)}`,
  }
}
