/**
 * How an `open` continues the Chain (SPEC.md §7.3, step 7): its `prev_session_tail`, `chain_id` and `session_index`
 * against the Session before it, or by themselves in the first `open` of an input. Each answer is the evidence of §7.6,
 * or `undefined` where the member is right.
 */
import { asciiText, equalBytes } from './ascii.ts'
import { type Evidence, cutForReport } from './report.ts'
import type { JudgedMember, RowScanner } from './scan.ts'

/** What a later `open` is compared with. */
export interface OpenedSession {
  readonly index: number
  readonly chainId: string | undefined
  /** Whether its `open` states `session_index`. */
  readonly stated: boolean
}

/**
 * A first `open` cannot be compared with the Session before it, but 0 is the one ordinal that has none.
 *
 * @param lastHash ASCII hex of the last Line's hash; `undefined` in the first `open`.
 */
export function findWrongTail(
  scanner: RowScanner,
  bytes: Uint8Array,
  lastHash: Uint8Array | undefined,
): Evidence | undefined {
  const start = scanner.hexStart('prev_session_tail', 64)
  const got = shownMember(scanner, 'prev_session_tail')
  if (lastHash !== undefined) {
    if (start !== undefined && equalBytes(bytes, start, start + 64, lastHash)) return undefined
    return { want: asciiText(lastHash, 0, 64), got }
  }
  const stated = scanner.integer('session_index')
  const present = scanner.has('prev_session_tail')
  if (present ? start === undefined : stated !== undefined && stated > 0) return { want: 'digest', got }
  return present && stated === 0 ? { want: 'absent', got } : undefined
}

export function findWrongChainId(
  scanner: RowScanner,
  previous: OpenedSession | undefined,
): Evidence | undefined {
  const chainId = scanner.text('chain_id')
  if (previous === undefined) {
    if (chainId !== undefined || !scanner.has('chain_id')) return undefined
    return { want: 'string', got: shownMember(scanner, 'chain_id') }
  }
  const isTyped = chainId !== undefined || !scanner.has('chain_id')
  if (isTyped && chainId === previous.chainId) return undefined
  return { want: shownChainId(previous.chainId), got: shownMember(scanner, 'chain_id') }
}

export function findWrongIndex(
  scanner: RowScanner,
  previous: OpenedSession | undefined,
): Evidence | undefined {
  const stated = scanner.integer('session_index')
  const isTyped = stated !== undefined || !scanner.has('session_index')
  const want = previous?.stated === true ? previous.index + 1 : undefined
  if (isTyped && (previous === undefined || stated === want)) return undefined
  const wanted = previous === undefined ? 'integer' : (want ?? 'absent')
  return { want: wanted, got: shownMember(scanner, 'session_index') }
}

/** A member as evidence (SPEC.md §7.6): a string cut, an integer, or the name of what it is instead. */
export function shownMember(scanner: RowScanner, member: JudgedMember): string | number {
  const text = scanner.text(member)
  return text === undefined ? (scanner.integer(member) ?? scanner.kind(member)) : cutForReport(text)
}

export function shownChainId(chainId: string | undefined): string {
  return chainId === undefined ? 'absent' : cutForReport(chainId)
}
