/**
 * Continuity (authorize.md §5): whether the archive's Chain goes on where this store stands. An object that was restored
 * from an earlier state would fork its Chain with its next Line, and its own rows cannot tell; the head in the archive
 * can. Compared on each waking, before anything is appended.
 */
import type { ArchivedHead, ChainContext } from './ports.ts'
import { type ArchivedTail, readClose } from './tail.ts'
import { decodeRow } from './row.ts'

export type Continuity =
  | { readonly kind: 'continuous' }
  /** As before, but the archive has lost its head or holds an older one of ours: publishing puts it right. */
  | { readonly kind: 'head_missing' }
  /** Nothing may be appended. */
  | { readonly kind: 'behind'; readonly why: 'ahead' | 'other_hash' | 'not_ours' }

/** Compares what was read from the archive with what is stored. Writes nothing. */
export function compareHead(context: ChainContext, archived: ArchivedHead | undefined): Continuity {
  const { store, suite } = context
  const tenant = store.readTenant()
  if (tenant === undefined) return { kind: 'continuous' }
  const { published } = store.readPublication()
  if (archived === undefined)
    return published === undefined ? { kind: 'continuous' } : { kind: 'head_missing' }
  const theirs = readClose(archived.bytes, tenant.tenant, suite)
  if (theirs === undefined) return { kind: 'behind', why: 'not_ours' }
  const ours = tailHashOf(context, theirs.sessionIndex)
  if (ours === undefined) return { kind: 'behind', why: 'ahead' }
  if (ours !== theirs.lineHash) return { kind: 'behind', why: 'other_hash' }
  return theirs.sessionIndex < (published?.sessionIndex ?? -1)
    ? { kind: 'head_missing' }
    : { kind: 'continuous' }
}

/**
 * Hash of the `close` of a Session of ours, published or about to be: a crash between the put of a head and its mark here
 * leaves the archive one Session further, with the bytes that wait here.
 */
function tailHashOf(
  { store, suite }: ChainContext,
  sessionIndex: number,
): ArchivedTail['lineHash'] | undefined {
  const segment = store.readSegment(sessionIndex)
  if (segment !== undefined) return segment.tail
  const { head } = store.readHead()
  if (head.state === 'empty' || sessionIndex > head.sessionIndex) return undefined
  if (head.state === 'open' && sessionIndex === head.sessionIndex) return undefined
  const row = store.readLastRow(sessionIndex)
  const line = row === undefined ? undefined : decodeRow(row.bytes).at(-1)
  return line === undefined ? undefined : (readClose(line, head.chainId, suite)?.lineHash ?? undefined)
}
