/**
 * One segment as it comes: fetched, and compared with what the index said of it before anything is made of its bytes.
 * Whether its Lines are good is for the walk.
 */
import { type HttpClient, RequestError } from '../http-client.ts'
import { type LineFacts, sha256 } from './line-facts.ts'
import type { SegmentEntry } from './segment-index.ts'
import { PullStop, atSession } from './stop.ts'

/** Its file in the folder; the names sort as the Sessions follow each other. */
export function segmentName(sessionIndex: number): string {
  return `segments/${String(sessionIndex).padStart(10, '0')}.aarl`
}

/** @throws PullStop where the index promised something else. */
export async function fetchSegment(client: HttpClient, entry: SegmentEntry): Promise<Uint8Array> {
  const path = `/v1/chain/segments/${String(entry.sessionIndex)}`
  try {
    return await client.send({ path, bytesMax: entry.bytes })
  } catch (error) {
    const at = atSession(entry.sessionIndex)
    if (error instanceof RequestError && error.code === 'body_too_long') {
      throw new PullStop(
        'segment_length',
        at,
        `the index says ${String(entry.bytes)} bytes, and more came; they were cut off`,
      )
    }
    if (error instanceof RequestError && error.status === 404) {
      throw new PullStop('segment_missing', at, 'the index lists it, and it is not there')
    }
    throw error
  }
}

/** @throws PullStop for the first thing in which bytes and index differ. */
export function checkSegment(entry: SegmentEntry, bytes: Uint8Array, facts: LineFacts, tenant: string): void {
  const at = atSession(entry.sessionIndex)
  if (bytes.length !== entry.bytes) {
    const got = String(bytes.length)
    throw new PullStop('segment_length', at, `the index says ${String(entry.bytes)} bytes; there are ${got}`)
  }
  const hash = sha256(bytes)
  if (hash !== entry.sha256) {
    throw new PullStop('segment_sha256', at, `the index says ${entry.sha256}; the bytes have ${hash}`)
  }
  if (facts.opens > 0 && facts.chainId !== tenant) {
    throw new PullStop('foreign_chain', at, `it is not of the Chain ${tenant}`)
  }
  const tail = facts.lastHash
  if (tail !== entry.tail) {
    throw new PullStop('segment_tail', at, `the index says that it ends in ${entry.tail}; it ends in ${tail}`)
  }
}
