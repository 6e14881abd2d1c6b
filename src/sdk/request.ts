/**
 * The bytes of one authorize or consume request (authorize.md §2, §4), made once: every attempt sends these and no others, so that a
 * retry is the same request. `request_id` and `timestamp` are made here, for reading actions too, because without
 * them a retry would be a second Call.
 */
import { type SourceTrust, sourceTrusts } from '../protocol/source-trust.ts'
import { canonicalText } from '../record/jcs.ts'
import type { JsonValue } from '../record/json.ts'
import { type FrozenAction, readFlag, readMembers, readText } from './action.ts'
import { isObject } from './answer-json.ts'
import { AegisActionError } from './errors.ts'
import { frozenCopy } from './frozen-copy.ts'
import { toBytes } from './hash.ts'

/** Where the wish for the action came from, as the caller knows it. */
export interface ActionContext {
  /** Default `unknown`, the worst: say what you know. */
  readonly sourceTrust?: SourceTrust
  readonly containsSensitiveData?: boolean
  /** Run or conversation, at most 256 bytes. */
  readonly session?: string
  /** On whose behalf; `id` at most 256 bytes. */
  readonly user?: { readonly id: string }
}

/** Recorded and never decides anything: at most 16 pairs, each key and value at most 256 bytes. */
export type Metadata = Readonly<Record<string, string>>

export interface RequestParts {
  /** The call's own members win over those of the client. */
  readonly contexts: readonly (ActionContext | undefined)[]
  readonly metadata: Metadata | undefined
  /** Integer ms since the epoch. */
  readonly now: number
  readonly random: (count: number) => Uint8Array
  /** Whether to send a single-use nonce besides the `request_id`. */
  readonly nonce: boolean
}

export interface OutgoingRequest {
  readonly requestId: string
  readonly bytes: Uint8Array
}

/** The server's hard cap; most deployments allow 256 KiB. */
const bodyBytesMax = 1_048_576
const textBytesMax = 256
const metadataPairsMax = 16

/**
 * Reads context and metadata now, since they are the caller's and may change; the action's hash may take a moment.
 *
 * @throws AegisActionError for a context or metadata that the server would refuse; what it returns, for a body that is
 *   too long.
 */
export function makeRequest(parts: RequestParts): (action: FrozenAction) => OutgoingRequest {
  const requestId = newId('req', parts.random)
  const metadata = toWireMetadata(parts.metadata)
  const members: Record<string, JsonValue> = {
    request_id: requestId,
    timestamp: new Date(parts.now).toISOString(),
    context: toWireContext(parts.contexts),
  }
  if (parts.nonce) members['nonce'] = newId('non', parts.random)
  if (metadata !== undefined) members['metadata'] = metadata
  return ({ toolCall, actionHash }) =>
    toOutgoing(requestId, { ...members, tool_call: { ...toolCall }, action_hash: actionHash })
}

function toOutgoing(requestId: string, body: Readonly<Record<string, JsonValue>>): OutgoingRequest {
  const bytes = toBytes(canonicalText(body))
  if (bytes.length > bodyBytesMax) {
    throw new AegisActionError('$', 'makes a request of more than 1 MiB')
  }
  return { requestId, bytes }
}

/** The bytes of a consume, with a `request_id` of its own. */
export function makeConsume(
  hashes: { readonly action_hash: string; readonly binding_hash: string },
  random: RequestParts['random'],
): OutgoingRequest {
  const requestId = newId('req', random)
  return { requestId, bytes: toBytes(canonicalText({ ...hashes, request_id: requestId })) }
}

const contextMembers: ReadonlySet<string> = new Set([
  'sourceTrust',
  'containsSensitiveData',
  'session',
  'user',
])

function toWireContext(contexts: RequestParts['contexts']): JsonValue {
  const members = new Map<string, unknown>()
  for (const context of contexts) {
    if (context === undefined) continue
    for (const [name, value] of readMembers(context, '$context', contextMembers)) {
      if (value !== undefined) members.set(name, value)
    }
  }
  const trust = members.has('sourceTrust') ? members.get('sourceTrust') : 'unknown'
  if (!(sourceTrusts as readonly unknown[]).includes(trust)) {
    throw new AegisActionError('$context.sourceTrust', `is not one of ${sourceTrusts.join(', ')}`)
  }
  const wire: Record<string, JsonValue> = { source_trust: trust as SourceTrust }
  const sensitive = members.get('containsSensitiveData')
  if (sensitive !== undefined) {
    wire['contains_sensitive_data'] = readFlag(sensitive, '$context.containsSensitiveData')
  }
  const session = members.get('session')
  if (session !== undefined) wire['session'] = readShort(session, '$context.session')
  const user = members.get('user')
  if (user !== undefined) {
    const { id } = Object.fromEntries(readMembers(user, '$context.user', new Set(['id'])))
    wire['user'] = { id: readShort(id, '$context.user.id') }
  }
  return wire
}

function toWireMetadata(metadata: unknown): JsonValue | undefined {
  if (metadata === undefined) return undefined
  const copy = frozenCopy(metadata, '$metadata', 1)
  if (!isObject(copy)) throw new AegisActionError('$metadata', 'is not an object')
  const pairs = Object.entries(copy)
  if (pairs.length > metadataPairsMax) throw new AegisActionError('$metadata', 'has more than 16 pairs')
  for (const [name, value] of pairs) {
    const path = `$metadata[${JSON.stringify(name.slice(0, 64))}]`
    readShort(name, path)
    readShort(value, path)
  }
  return copy
}

function readShort(value: unknown, path: string): string {
  const text = readText(value, path)
  if (toBytes(text).length > textBytesMax) throw new AegisActionError(path, 'is longer than 256 bytes')
  return text
}

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

/** 26 characters of 5 random bits each, behind a prefix. */
export function newId(prefix: string, random: RequestParts['random']): string {
  let id = `${prefix}_`
  for (const byte of random(26)) id += alphabet.charAt(byte & 31)
  return id
}
