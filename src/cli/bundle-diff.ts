/**
 * What differs between two bundle objects, in words: policies by their id, tools by theirs, settings by name. Not what
 * that would change for calls that were made: `aegis recheck` and `aegis try` say that.
 */
import { type JsonObject, type JsonValue, canonicalText, isJsonObject } from '../record/index.ts'

export interface Difference {
  readonly kind: 'policy' | 'tool' | 'setting'
  readonly change: 'added' | 'removed' | 'changed'
  readonly name: string
  /** Of what was changed, each part in words; of what was added or removed, what it is. */
  readonly parts: readonly string[]
}

/** In the order policies, tools, settings, each by name. Texts of the bundles are in it as they are. */
export function diffBundles(before: JsonObject, after: JsonObject): readonly Difference[] {
  return [
    ...diffNamed(
      'policy',
      objectOf(before['policies']),
      objectOf(after['policies']),
      describePolicy,
      comparePolicies,
    ),
    ...diffNamed('tool', toolActions(before), toolActions(after), describeTool, compareLeaves),
    ...diffNamed(
      'setting',
      leavesOf(objectOf(before['settings'])),
      leavesOf(objectOf(after['settings'])),
      (value) => [valueText(value)],
      (from, to) => [`${valueText(from)} -> ${valueText(to)}`],
    ),
  ]
}

function diffNamed(
  kind: Difference['kind'],
  before: JsonObject,
  after: JsonObject,
  describe: (value: JsonValue) => readonly string[],
  compare: (from: JsonValue, to: JsonValue) => readonly string[],
): Difference[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort()
  return names.flatMap((name): Difference[] => {
    const [from, to] = [own(before, name), own(after, name)]
    if (from === undefined)
      return to === undefined ? [] : [{ kind, change: 'added', name, parts: describe(to) }]
    if (to === undefined) return [{ kind, change: 'removed', name, parts: describe(from) }]
    return isSame(from, to) ? [] : [{ kind, change: 'changed', name, parts: compare(from, to) }]
  })
}

function describePolicy(value: JsonValue): readonly string[] {
  const policy = objectOf(value)
  const { decision, reason } = objectOf(policy['annotations'])
  const effect =
    decision === 'require_approval'
      ? 'permits after an approval'
      : policy['effect'] === 'permit'
        ? 'permits'
        : 'forbids'
  return [effect, ...(typeof reason === 'string' ? [`reason ${valueText(reason)}`] : [])]
}

const policyParts = {
  effect: 'effect',
  principal: 'whom it is about',
  action: 'which actions it is about',
  resource: 'which resources it is about',
  conditions: 'its conditions',
} as const

function comparePolicies(from: JsonValue, to: JsonValue): readonly string[] {
  const [before, after] = [objectOf(from), objectOf(to)]
  const parts: string[] = []
  for (const [member, words] of Object.entries(policyParts)) {
    const [was, is] = [own(before, member), own(after, member)]
    if (isSame(was, is)) continue
    parts.push(member === 'effect' ? `effect ${valueText(was)} -> ${valueText(is)}` : `${words} changed`)
  }
  const notes = compareLeaves(objectOf(before['annotations']), objectOf(after['annotations']))
  return [...parts, ...notes.map((note) => `@${note}`)]
}

/** `risk "low" -> "high"`, a part a leaf. */
function compareLeaves(from: JsonValue, to: JsonValue): readonly string[] {
  const [before, after] = [leavesOf(objectOf(from)), leavesOf(objectOf(to))]
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort()
  return names.flatMap((name) => {
    const [was, is] = [own(before, name), own(after, name)]
    return isSame(was, is) ? [] : [`${name} ${valueText(was)} -> ${valueText(is)}`]
  })
}

/** `tool.action` to what the catalogue says of it. */
function toolActions(bundle: JsonObject): JsonObject {
  const found: Record<string, JsonValue> = Object.create(null) as Record<string, JsonValue>
  for (const [tool, actions] of Object.entries(objectOf(bundle['tools']))) {
    for (const [action, entry] of Object.entries(objectOf(actions))) found[`${tool}.${action}`] = entry
  }
  return found
}

function describeTool(value: JsonValue): readonly string[] {
  const { risk, mutates_state: mutates } = objectOf(value)
  return [`risk ${valueText(risk)}`, mutates === true ? 'changes state' : 'reads']
}

/** Leaves by their path, `approver_groups.leads.quorum`; an empty object or a list is one. */
function leavesOf(object: JsonObject, prefix = ''): JsonObject {
  const leaves: Record<string, JsonValue> = Object.create(null) as Record<string, JsonValue>
  for (const [name, value] of Object.entries(object)) {
    if (isJsonObject(value) && Object.keys(value).length > 0)
      Object.assign(leaves, leavesOf(value, `${prefix}${name}.`))
    else leaves[`${prefix}${name}`] = value
  }
  return leaves
}

function isSame(left: JsonValue | undefined, right: JsonValue | undefined): boolean {
  return valueText(left) === valueText(right)
}

function valueText(value: JsonValue | undefined): string {
  return value === undefined ? 'nothing' : canonicalText(value)
}

function own(object: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}
