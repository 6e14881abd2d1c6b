/**
 * The body of `POST /v1/authorize` (authorize.md §2): read strictly from its bytes, then held against one schema;
 * every member that is wrong is named. Not for `action_hash`, identifiers and the replay fields of an action that
 * changes state: those are decided, and recorded.
 */
import * as v from 'valibot'
import {
  type ActionHash,
  type JsonObject,
  type JsonValue,
  type ToolCall,
  describeFormatError,
  isJsonObject,
  parseBody,
  parseDigest,
} from '../record/index.ts'
import { parseInstant } from './instant.ts'
import type { RefusedMember } from './problem.ts'
import { refusedMembers } from './refused-members.ts'
import { type SourceTrust, sourceTrusts } from './source-trust.ts'
import {
  type RefusedBody,
  aBoolean,
  aString,
  digestText,
  instant,
  mustBeObject,
  text,
} from './strict-body.ts'
import { utf8Length } from './utf8-length.ts'

const metadataPairsMax = 16
const metadataBytesMax = 256

/** What `request_id`, `nonce` and Idempotency-Key are made of. */
export const requestIdPattern = /^[\u0021-\u007e]{1,128}$/

export const requestId = v.pipe(
  v.string(aString),
  v.regex(requestIdPattern, 'must be 1 to 128 characters of U+0021 to U+007E'),
)

/** Kept as it was read: a copy would lose keys such as `__proto__`, and with them the hash. */
const jsonObject = v.custom<JsonObject>((value) => isJsonObject(value as JsonValue), mustBeObject)
const metadata = v.custom<Readonly<Record<string, string>>>(
  (value) => isJsonObject(value as JsonValue) && Object.keys(value as object).length <= metadataPairsMax,
  `must be an object of at most ${String(metadataPairsMax)} strings`,
)

export const authorizeRequestSchema = v.strictObject(
  {
    request_id: v.exactOptional(requestId),
    timestamp: v.exactOptional(instant),
    nonce: v.exactOptional(requestId),
    tool_call: v.strictObject(
      {
        tool: v.string(aString),
        action: v.string(aString),
        resource: v.nullable(text(2048)),
        mutates_state: v.boolean(aBoolean),
        parameters: jsonObject,
      },
      mustBeObject,
    ),
    action_hash: digestText,
    context: v.strictObject(
      {
        source_trust: v.picklist(sourceTrusts, `must be one of ${[...sourceTrusts].reverse().join(', ')}`),
        contains_sensitive_data: v.exactOptional(v.boolean(aBoolean)),
        session: v.exactOptional(text(256)),
        user: v.exactOptional(v.strictObject({ id: text(256) }, mustBeObject)),
      },
      mustBeObject,
    ),
    metadata: v.exactOptional(metadata),
  },
  mustBeObject,
)

/** How the two members that are checked by hand look in JSON Schema. */
export const authorizeRequestJsonSchemas: ReadonlyMap<unknown, Readonly<Record<string, unknown>>> = new Map<
  unknown,
  Readonly<Record<string, unknown>>
>([
  [jsonObject, { type: 'object' }],
  [
    metadata,
    {
      type: 'object',
      maxProperties: metadataPairsMax,
      additionalProperties: {
        type: 'string',
        description: `At most ${String(metadataBytesMax)} bytes of UTF-8`,
      },
    },
  ],
])

/** A body that passed, in the forms that the rest works with. */
export interface AuthorizeRequest {
  /** Of the body or of Idempotency-Key. */
  readonly requestId?: string
  /** Integer ms since the epoch. */
  readonly timestamp?: number
  readonly nonce?: string
  /** As the caller sent it. */
  readonly toolCall: ToolCall
  /** As the caller computed it. */
  readonly actionHash: ActionHash
  readonly sourceTrust: SourceTrust
  readonly containsSensitiveData?: boolean
  readonly session?: string
  readonly userId?: string
  readonly metadata?: Readonly<Record<string, string>>
}

export type ParsedAuthorizeRequest =
  | { readonly ok: true; readonly request: AuthorizeRequest }
  | RefusedBody
  | { readonly ok: false; readonly code: 'idempotency_key_mismatch' }

/**
 * Reads a body.
 *
 * @param bytes as they arrived.
 * @param idempotencyKey the header of that name, already known to match {@link requestIdPattern}.
 */
export function parseAuthorizeRequest(bytes: Uint8Array, idempotencyKey?: string): ParsedAuthorizeRequest {
  const body = parseBody(bytes)
  if (!body.ok) return { ok: false, code: 'body_malformed', detail: describeFormatError(body.error) }
  const read = v.safeParse(authorizeRequestSchema, body.value)
  const pairs = refusedMetadata(body.value)
  if (!read.success || pairs.length > 0) {
    const members = [...refusedMembers(authorizeRequestSchema, body.value), ...pairs]
    return { ok: false, code: 'body_invalid', members }
  }
  const { output } = read
  if (idempotencyKey !== undefined && (output.request_id ?? idempotencyKey) !== idempotencyKey) {
    return { ok: false, code: 'idempotency_key_mismatch' }
  }
  const id = output.request_id ?? idempotencyKey
  const timestamp = output.timestamp === undefined ? undefined : parseInstant(output.timestamp)
  const { context } = output
  return {
    ok: true,
    request: {
      ...(id === undefined ? {} : { requestId: id }),
      ...(timestamp === undefined ? {} : { timestamp }),
      ...(output.nonce === undefined ? {} : { nonce: output.nonce }),
      toolCall: output.tool_call,
      actionHash: parseDigest<ActionHash>(output.action_hash) as ActionHash,
      sourceTrust: context.source_trust,
      ...(context.contains_sensitive_data === undefined
        ? {}
        : { containsSensitiveData: context.contains_sensitive_data }),
      ...(context.session === undefined ? {} : { session: context.session }),
      ...(context.user === undefined ? {} : { userId: context.user.id }),
      // What the reader made has no prototype, and such an object does not cross an RPC.
      ...(output.metadata === undefined ? {} : { metadata: { ...output.metadata } }),
    },
  }
}

/** Names the pair and not only the member that holds it. */
function refusedMetadata(body: JsonObject): RefusedMember[] {
  const pairs = body['metadata']
  if (!isJsonObject(pairs) || Object.keys(pairs).length > metadataPairsMax) return []
  const limit = `must be at most ${String(metadataBytesMax)} bytes, name and value each`
  return Object.entries(pairs).flatMap(([name, value]) => {
    const member = `metadata[${JSON.stringify(name.slice(0, 64))}]`
    if (typeof value !== 'string') return [{ member, problem: aString }]
    const long = utf8Length(name) > metadataBytesMax || utf8Length(value) > metadataBytesMax
    return long ? [{ member, problem: limit }] : []
  })
}
