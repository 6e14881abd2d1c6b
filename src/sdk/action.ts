/**
 * An action as a caller writes it, and as it goes over the wire (authorize.md §2): read once, copied deep and frozen,
 * hashed over that copy. A member that is not known is an error, since a misspelt `mutates` would change the meaning.
 * Not a judge of names: whether a tool exists is the policy's to say, and is recorded.
 */
import type { ActionHash, JsonObject, ToolCall } from '../record/index.ts'
import { canonicalText } from '../record/jcs.ts'
import { isObject } from './answer-json.ts'
import { AegisActionError } from './errors.ts'
import { frozenCopy, readMember } from './frozen-copy.ts'
import { type Hash, hexHash, toBytes } from './hash.ts'

/** What an agent wants to do. */
export interface Action {
  /** E.g. `github`. */
  readonly tool: string
  /** E.g. `merge_pr`. */
  readonly action: string
  /** What it is done to, e.g. `repo:acme/widgets#57`. Default null. */
  readonly resource?: string | null
  /** Whether it changes anything. Default true, which is the stricter one. */
  readonly mutates?: boolean
  /**
   * The arguments: plain data, as JSON has it. Values that JSON would change or drop are an {@link AegisActionError}.
   * Default `{}`.
   */
  readonly parameters?: Readonly<Record<string, unknown>>
}

/** The copy that was hashed and sent: deep, frozen, plain data. */
export interface FrozenAction {
  readonly toolCall: ToolCall
  readonly actionHash: ActionHash
}

const known: ReadonlySet<string> = new Set(['tool', 'action', 'resource', 'mutates', 'parameters'])

/** `$.tool_call.parameters` stands in two containers of the body. */
const levelsAroundParameters = 2

/** @throws AegisActionError naming the path of the first thing wrong. */
export function freezeAction(action: Action): ToolCall {
  const members = readMembers(action, '$', known)
  const resource = members.get('resource')
  const mutates = members.get('mutates')
  const parameters = members.get('parameters')
  return Object.freeze({
    tool: readText(members.get('tool'), '$.tool'),
    action: readText(members.get('action'), '$.action'),
    resource: resource === undefined || resource === null ? null : readText(resource, '$.resource'),
    mutates_state: mutates === undefined ? true : readFlag(mutates, '$.mutates'),
    parameters: readParameters(parameters === undefined ? {} : parameters),
  })
}

/** The hash of a frozen action (SPEC.md §6.1), which has exactly the five members that are hashed. */
export async function hashAction(toolCall: ToolCall, hash: Hash): Promise<FrozenAction> {
  const preimage = canonicalText(toolCall as unknown as JsonObject)
  const actionHash = (await hexHash(hash, toBytes(preimage))) as ActionHash
  return Object.freeze({ toolCall, actionHash })
}

/** The members of an options-like object, each read once; `undefined` counts as left out. */
export function readMembers(
  holder: unknown,
  path: string,
  names: ReadonlySet<string>,
): ReadonlyMap<string, unknown> {
  if (typeof holder !== 'object' || holder === null || Array.isArray(holder)) {
    throw new AegisActionError(path, 'is not an object')
  }
  const members = new Map<string, unknown>()
  for (const name of Reflect.ownKeys(holder)) {
    if (typeof name === 'symbol' || !names.has(name)) {
      throw new AegisActionError(path, `has a member that is not known: ${JSON.stringify(String(name))}`)
    }
    members.set(name, readMember(holder, name, `${path}.${name}`))
  }
  return members
}

export function readText(value: unknown, path: string): string {
  if (typeof value !== 'string') throw new AegisActionError(path, 'is not a string')
  frozenCopy(value, path)
  return value
}

export function readFlag(value: unknown, path: string): boolean {
  if (typeof value !== 'boolean') throw new AegisActionError(path, 'is neither true nor false')
  return value
}

export function readParameters(value: unknown): JsonObject {
  const copy = frozenCopy(value, '$.parameters', levelsAroundParameters)
  if (!isObject(copy)) throw new AegisActionError('$.parameters', 'is not an object')
  return copy
}
