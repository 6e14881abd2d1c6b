/**
 * The index of published Sessions, `GET /v1/chain/segments`, page by page and as a claim of the deployment: whatever it
 * says is checked against what was asked here, and against the bytes later. Members that are not known are ignored, so
 * that a later deployment can say more.
 */
import {
  type JsonObject,
  type JsonValue,
  type LineHash,
  isJsonObject,
  parseBody,
  parseDigest,
} from '../../record/index.ts'
import { type HttpClient, RequestError } from '../http-client.ts'
import { PullStop, atSession } from './stop.ts'

/**
 * A Session is sealed at 4 MiB, at four times that where the archive could not be compared, with the Call that reaches
 * it. Four times as much again leaves room for other limits, and still fits into memory.
 */
export const segmentBytesMax = 64 * 1_048_576
const entriesMax = 1_000
/** An entry has about 400 bytes. */
const pageBytesMax = 1_048_576
/** Ten digits in a file's name. */
const sessionIndexMax = 9_999_999_999

export interface SegmentEntry {
  readonly sessionIndex: number
  readonly bytes: number
  readonly sha256: string
  readonly tail: LineHash
}

/** Closed Sessions that the archive does not have yet, as the deployment says. */
export interface Unpublished {
  readonly sessions: number
  readonly stopped: boolean
}

export interface IndexPage {
  readonly segments: readonly SegmentEntry[]
  readonly more: boolean
  readonly unpublished: Unpublished
}

/**
 * One page, dense from the Session asked for.
 *
 * @param first `session_index` that the page must begin with, if it holds anything.
 * @throws PullStop for a page that is none.
 */
export async function readIndexPage(client: HttpClient, first: number): Promise<IndexPage> {
  const path = `/v1/chain/segments${first === 0 ? '' : `?after=${String(first - 1)}`}`
  let bytes: Uint8Array
  try {
    bytes = await client.send({ path, bytesMax: pageBytesMax })
  } catch (error) {
    if (error instanceof RequestError && error.code === 'body_too_long') {
      throw malformed(`a page is longer than ${String(pageBytesMax)} bytes`)
    }
    throw error
  }
  const read = parseBody(bytes)
  if (!read.ok) throw malformed('a page is not a JSON object')
  const { segments: entries, next } = read.value
  if (!Array.isArray(entries)) throw malformed('segments is not an array')
  if (entries.length > entriesMax) throw malformed(`a page has more than ${String(entriesMax)} segments`)
  const segments = (entries as readonly JsonValue[]).map((entry, at) => parseEntry(entry, first + at))
  const last = segments.at(-1)?.sessionIndex
  // A page that leads to itself, to one before it or past others would never end, or leave something out.
  if (next !== undefined && (last === undefined || next !== last)) {
    throw malformed('next is not the session_index of the last segment of its page')
  }
  return { segments, more: next !== undefined, unpublished: parseUnpublished(read.value['unpublished']) }
}

function parseEntry(entry: JsonValue, expected: number): SegmentEntry {
  if (!isJsonObject(entry)) throw malformed('a segment is not an object')
  const sessionIndex = integer(entry, 'session_index')
  if (sessionIndex !== expected || sessionIndex > sessionIndexMax) {
    const got = String(sessionIndex)
    throw new PullStop(
      'index_not_dense',
      'index',
      `it lists session ${got} where ${String(expected)} follows`,
    )
  }
  const bytes = integer(entry, 'bytes')
  if (bytes === 0 || bytes > segmentBytesMax) {
    throw new PullStop(
      'segment_length',
      atSession(sessionIndex),
      `the index says ${String(bytes)} bytes; a segment has 1 to ${String(segmentBytesMax)}`,
    )
  }
  const sha256 = parseDigest(entry['sha256'])
  if (sha256 === undefined)
    throw malformed(`sha256 of session ${String(sessionIndex)} is not 64 lowercase hex`)
  const tail = parseDigest<LineHash>(entry['tail'])
  if (tail === undefined) throw malformed(`tail of session ${String(sessionIndex)} is not 64 lowercase hex`)
  return { sessionIndex, bytes, sha256, tail }
}

function parseUnpublished(value: JsonValue | undefined): Unpublished {
  if (!isJsonObject(value)) throw malformed('unpublished is not an object')
  return { sessions: integer(value, 'sessions'), stopped: value['stopped'] !== undefined }
}

function integer(object: JsonObject, name: string): number {
  const value = object[name]
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  throw malformed(`${name} is not an integer from 0`)
}

function malformed(detail: string): PullStop {
  return new PullStop('index_malformed', 'index', detail)
}
