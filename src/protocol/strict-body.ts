/**
 * Bodies of acts: read strictly from their bytes (record.md §5), then held against one schema; every member that is wrong
 * is named. Also the kinds of text that administrators write. Not for authorize, which has members of its own to check.
 */
import * as v from 'valibot'
import { describeFormatError, parseBody } from '../record/index.ts'
import { instantPattern, parseInstant } from './instant.ts'
import type { RefusedMember } from './problem.ts'
import { refusedMembers } from './refused-members.ts'
import { utf8Length } from './utf8-length.ts'

export type StrictBody<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly code: 'body_malformed'; readonly detail: string }
  | { readonly ok: false; readonly code: 'body_invalid'; readonly members: readonly RefusedMember[] }

/** Why a body was not taken. */
export type RefusedBody = Extract<StrictBody<never>, { readonly ok: false }>

/** @param schema a strict object; its output crosses an RPC as it is. */
export function readStrictBody<S extends v.GenericSchema>(
  schema: S,
  bytes: Uint8Array,
): StrictBody<v.InferOutput<S>> {
  const body = parseBody(bytes)
  if (!body.ok) return { ok: false, code: 'body_malformed', detail: describeFormatError(body.error) }
  const read = v.safeParse(schema, body.value)
  if (read.success) return { ok: true, value: read.output }
  return { ok: false, code: 'body_invalid', members: refusedMembers(schema, body.value) }
}

export const mustBeObject = 'must be an object'
export const aString = 'must be a string'
export const aBoolean = 'must be true or false'

/** SHA-256, as a body has to spell it. */
export const digestText = v.pipe(
  v.string(aString),
  v.regex(/^[0-9a-f]{64}$/, 'must be 64 lowercase hex characters'),
)

/** Text of a bounded length. */
export const text = (bytesMax: number) =>
  v.pipe(
    v.string(aString),
    v.check((value) => utf8Length(value) <= bytesMax, `must be at most ${String(bytesMax)} bytes`),
    v.description(`At most ${String(bytesMax)} bytes of UTF-8`),
  )

/** As long as any prose of a Line may be (SPEC.md §4.4). */
export const prose = text(512)

/** What an administrator calls something: may be empty, holds no control characters. */
export const label = (bytesMax: number) =>
  v.pipe(
    v.string(aString),
    v.check((value) => utf8Length(value) <= bytesMax, `must be at most ${String(bytesMax)} bytes`),
    v.check((value) => !hasControls(value), 'must not hold control characters'),
    v.description(`At most ${String(bytesMax)} bytes of UTF-8, no control characters`),
  )

/** Whose a key is, whose an agent is, who is in a group: a person, in whatever way the tenant names people. */
export const subject = v.pipe(
  label(256),
  v.minLength(1, 'must not be empty'),
  v.check((value) => value.trim() === value, 'must not begin or end with white space'),
)

/** A moment in UTC. */
export const instant = v.pipe(
  v.string(aString),
  v.regex(instantPattern, 'must be a time in UTC like 2026-11-30T12:00:00.000Z'),
  v.check((value) => parseInstant(value) !== undefined, 'must be a day and time that exist'),
)

function hasControls(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    if (unit < 0x20 || (unit >= 0x7f && unit < 0xa0)) return true
  }
  return false
}
