/**
 * Tenants a few Calls before each bound of a Session, and one that has just begun: made once in a process and copied for
 * each test, since a thousand Calls take a third of a second.
 */
import type { HeadRecord } from '../../src/chain/records.ts'
import { sessionBytesMax, sessionCallsMax } from '../../src/chain/seal.ts'
import { decodeUtf8 } from '../../src/record/index.ts'
import { ArchivedTenant, type Snapshot } from './archived-tenant.ts'
import { type DraftGiven, somePolicySet, wideSettings } from './drafts.ts'
import { countingRandom } from './memory-tenant.ts'

export type Start = 'new' | 'calls' | 'bytes'

/** About 50 KiB of Line. */
export const big: DraftGiven = {
  evaluation: { axes: { decided_by: 'policy', context: { body: 'x'.repeat(50_000) } } },
}

/** Shared, so that no id of what grows out of a snapshot was drawn before. */
const random = countingRandom()
const made = new Map<Start, Snapshot>()

/** A tenant of its own that goes on from there: four Calls before the bound, or two big ones. */
export async function startFrom(start: Start): Promise<ArchivedTenant> {
  const snapshot = made.get(start) ?? (await make(start))
  made.set(start, snapshot)
  return new ArchivedTenant(snapshot, random)
}

async function make(start: Start): Promise<Snapshot> {
  switch (start) {
    case 'new':
      return new ArchivedTenant({}, random).snapshot
    case 'calls':
      return filled(({ calls }) => calls >= sessionCallsMax - 4)
    case 'bytes':
      return filled(({ bytes }) => bytes >= sessionBytesMax - 120_000, big)
  }
}

/** Whose Calls have no Envelopes, but for those that come. */
async function filled(isEnough: (head: HeadRecord) => boolean, given: DraftGiven = {}): Promise<Snapshot> {
  const tenant = await startFrom('new')
  const settings = { ...wideSettings, envelope: 'off' } as const
  await tenant.do({ act: 'policy.activate', policySetHash: somePolicySet, settings })
  while (!isEnough(tenant.store.readHead())) await tenant.admit(given)
  await tenant.do({ act: 'policy.activate', policySetHash: somePolicySet, settings: wideSettings })
  return tenant.snapshot
}

/** The Sessions in the archive, by what they count. */
export function callsOf(tenant: ArchivedTenant): number[] {
  return [...tenant.bucket.segments.values()].map((bytes) => {
    const close = decodeUtf8(bytes).trimEnd().split('\n').at(-1) ?? ''
    return (JSON.parse(close) as { calls: number }).calls
  })
}
