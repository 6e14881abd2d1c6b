/** A closed Session as one run of bytes: what stands in the index about it. */
import {
  type CryptoSuite,
  type JsonObject,
  encodeHex,
  parseLineObject,
  zeroPrevHash,
} from '../record/index.ts'
import type { SegmentRecord } from './records.ts'
import { decodeRow } from './row.ts'
import { type ArchivedTail, readClose } from './tail.ts'

export interface ClosedSession {
  readonly segment: SegmentRecord
  readonly bytes: Uint8Array
  readonly close: ArchivedTail
  /** The tail of the Session before, as its `open` names it; absent in the first Session. */
  readonly previous?: string
}

/** `undefined` when the bytes are not one whole Session of this Chain, from its `open` to its `close`. */
export function readClosedSession(
  bytes: Uint8Array,
  { chainId, sessionIndex }: { readonly chainId: string; readonly sessionIndex: number },
  suite: CryptoSuite,
): ClosedSession | undefined {
  const lines = bytes.at(-1) === 0x0a ? decodeRow(bytes) : []
  const last = lines.at(-1)
  const close = last === undefined ? undefined : readClose(last, chainId, suite)
  const open = memberOf(lines[0])
  if (close?.sessionIndex !== sessionIndex || close.seq !== lines.length - 1) return undefined
  if (open?.['line_type'] !== 'open' || open['session_index'] !== sessionIndex) return undefined
  const { closed_at: closedAt, calls } = memberOf(last) ?? {}
  const segment: SegmentRecord = {
    sessionIndex,
    bytes: bytes.length,
    sha256: encodeHex(suite.sha256(bytes)),
    calls: Number(calls),
    openedAt: Number(open['opened_at']),
    closedAt: Number(closedAt),
    tail: close.lineHash,
    keyId: close.keyId,
  }
  const previous = open['prev_session_tail']
  return { segment, bytes, close, ...(typeof previous === 'string' ? { previous } : {}) }
}

/** Whether each Line names the hash of the one before, up to the `close`: what that one signs is then all of them. */
export function isLinked({ bytes }: ClosedSession, suite: CryptoSuite): boolean {
  let previous = zeroPrevHash as string
  return decodeRow(bytes).every((line, seq) => {
    const { prev_hash: named, seq: at } = memberOf(line) ?? {}
    const follows = named === previous && at === seq
    previous = encodeHex(suite.sha256(line))
    return follows
  })
}

function memberOf(line: Uint8Array | undefined): JsonObject | undefined {
  const parsed = line === undefined ? undefined : parseLineObject(line)
  return parsed?.ok === true ? parsed.value : undefined
}
