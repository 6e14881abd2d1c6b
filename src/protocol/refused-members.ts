/**
 * What a schema has against a value, member by member: where, and what is wrong, all of it. valibot stops at the
 * first unknown member of an object, so those are looked for here. Not a validator of its own.
 */
import * as v from 'valibot'
import { type JsonObject, type JsonValue, isJsonObject } from '../record/index.ts'
import type { RefusedMember } from './problem.ts'

/** A body can hold a hundred thousand wrong members; nobody reads more than these. */
const membersMax = 32

type AnySchema = v.GenericSchema

/** Every refused member, unknown ones last; empty when the schema takes the value. */
export function refusedMembers(schema: AnySchema, value: JsonObject): RefusedMember[] {
  const read = v.safeParse(schema, value)
  if (read.success) return []
  const members = new Map<string, string>()
  for (const issue of read.issues) {
    const path = (issue.path ?? []).map((item) => String(item.key))
    const last = issue.path?.[issue.path.length - 1]
    if (issue.type === 'strict_object' && last?.origin === 'key') {
      // Unknown ones are found below, all of them.
      if (issue.expected !== 'never') members.set(memberName(path), 'is missing')
    } else if (!members.has(memberName(path))) {
      members.set(memberName(path), issue.message)
    }
  }
  for (const path of unknownMembers(schema, value, [])) members.set(memberName(path), 'is not a member here')
  const listed = [...members].map(([member, problem]) => ({ member, problem }))
  return listed.slice(0, membersMax)
}

/** One sentence that names each of them. */
export function describeRefusedMembers(members: readonly RefusedMember[]): string {
  return members.map(({ member, problem }) => `${member} ${problem}`).join('; ')
}

function unknownMembers(
  schema: AnySchema,
  value: JsonValue | undefined,
  path: readonly string[],
): string[][] {
  if (!isJsonObject(value) || !hasEntries(schema)) return []
  const unknown: string[][] = []
  for (const key of Object.keys(value)) {
    const member = [...path, key]
    const inner = Object.hasOwn(schema.entries, key) ? schema.entries[key] : undefined
    if (inner === undefined) unknown.push(member)
    else unknown.push(...unknownMembers(unwrap(inner), value[key], member))
    if (unknown.length >= membersMax) break
  }
  return unknown
}

function hasEntries(
  schema: AnySchema,
): schema is AnySchema & { readonly entries: Record<string, AnySchema> } {
  return schema.type === 'strict_object' && 'entries' in schema
}

/** An optional object that may be null is wrapped twice. */
function unwrap(schema: AnySchema): AnySchema {
  return 'wrapped' in schema ? unwrap(schema.wrapped as AnySchema) : schema
}

/** Keys are the sender's: what is not a plain name is quoted and cut. */
function memberName(path: readonly string[]): string {
  if (path.length === 0) return 'the body'
  return path
    .map((key, at) => {
      if (!/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/.test(key)) return `[${JSON.stringify(key.slice(0, 64))}]`
      return at === 0 ? key : `.${key}`
    })
    .join('')
}
