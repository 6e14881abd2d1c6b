/**
 * `tools.json`: the tool catalogue (policy.md §2). Per tool and action what it risks, whether it changes state, and
 * which of its arguments policies see under which name and type. A binding says which argument is the path or the
 * address, never which ones are allowed: its type has no member for a limit. Evaluating bindings: binding.ts.
 */
import {
  type BindingsHash,
  type Digester,
  type JsonObject,
  type JsonValue,
  encodeCanonical,
  toDigest,
} from '../record/index.ts'
import { normaliseIdentifiers } from './identifier.ts'
import { Members, type Report } from './members.ts'
import { type PointerStep, parsePointer } from './pointer.ts'

export const riskScores = { low: 10, medium: 40, high: 75, critical: 95 } as const
export type RiskLevel = keyof typeof riskScores
export const riskLevels: readonly RiskLevel[] = ['low', 'medium', 'high', 'critical']

export const actionDefaults = ['evaluate', 'deny', 'require_approval'] as const
export type ActionDefault = (typeof actionDefaults)[number]

export const bindingTypes = [
  'string',
  'boolean',
  'integer',
  'decimal',
  'ipaddr',
  'datetime',
  'set<string>',
] as const
export type BindingType = (typeof bindingTypes)[number]

export const aggregates = ['sum', 'max', 'count', 'set'] as const
export type Aggregate = (typeof aggregates)[number]

/** An argument under the name that policies know it by. */
export interface Binding {
  readonly name: string
  readonly at: string
  readonly steps: readonly PointerStep[]
  readonly type: BindingType
  readonly required: boolean
  readonly aggregate?: Aggregate
  /** `digest`: the value reaches policies, its SHA-256 reaches the Chain. */
  readonly record: 'value' | 'digest'
}

export type ResourceRule =
  | { readonly kind: 'claimed' }
  | { readonly kind: 'pointer'; readonly from: string; readonly steps: readonly PointerStep[] }
  /** Literal texts and names of bindings, alternating as in the template. */
  | { readonly kind: 'template'; readonly from: string; readonly parts: readonly TemplatePart[] }

export type TemplatePart = { readonly literal: string } | { readonly binding: string }

/** One action of one tool, defaults filled in. */
export interface ToolAction {
  readonly toolId: string
  readonly tool: string
  readonly action: string
  readonly risk: RiskLevel
  readonly riskScore: number
  readonly mutatesState: boolean
  readonly capability?: string
  readonly default: ActionDefault
  readonly resource: ResourceRule
  /** Sorted by name; `fs.path` and `net.url` among them. */
  readonly args: readonly Binding[]
  readonly bindingsHash: BindingsHash
}

export interface Catalogue {
  readonly actions: ReadonlyMap<string, ToolAction>
  readonly toolAction: (toolId: string) => ToolAction | undefined
  /** As the bundle object holds it, defaults filled in. */
  readonly object: JsonObject
}

/** Names that the recorded form uses as tags (record.md §4). */
const tagNames = ['long', 'decimal', 'ipaddr', 'datetime', 'set', 'digest']
const bindingName = /^[A-Za-z][A-Za-z0-9_]{0,63}$/
const capabilityName = /^[a-z][a-z0-9_.-]{0,63}$/
export const pathBinding = 'fs.path'
export const urlBinding = 'net.url'

/** A schema of 500 actions parses in about half a second; a recorded tool has fewer than 64 arguments. */
const actionsMax = 500
const argsMax = 64
const noteCharsMax = 1_024

/**
 * Reads `tools.json`. Everything readable is returned also when there were findings.
 *
 * @param digester for each action's `bindings_hash`.
 */
export function parseCatalogue(value: JsonValue, digester: Digester, report: Report): Catalogue {
  const actions = new Map<string, ToolAction>()
  const object: Record<string, Record<string, JsonValue>> = Object.create(null) as Record<
    string,
    Record<string, JsonValue>
  >
  const tools = Members.of(value, [], report)
  for (const tool of tools?.names ?? []) {
    const entries = Members.of(tools?.value(tool), [tool], report)
    if (entries === undefined) continue
    if (entries.names.length === 0) {
      report([tool], 'empty_tool', `\`${tool}\` has no action`, 'add one, or remove the tool')
    }
    const written: Record<string, JsonValue> = Object.create(null) as Record<string, JsonValue>
    for (const action of entries.names) {
      if (!checkNames(tool, action, report)) continue
      const entry = Members.of(entries.value(action), [tool, action], report)
      if (entry === undefined) continue
      const [parsedAction, canonical] = parseAction(tool, action, entry, digester, report)
      actions.set(parsedAction.toolId, parsedAction)
      written[action] = canonical
    }
    object[tool] = written
  }
  if (actions.size > actionsMax) {
    report([], 'too_many', `more than ${String(actionsMax)} actions`, 'split the tools over tenants')
  }
  return { actions, toolAction: (toolId) => actions.get(toolId), object }
}

function checkNames(tool: string, action: string, report: Report): boolean {
  const names = normaliseIdentifiers(tool, action)
  if (names.ok && names.tool === tool && names.action === action) return true
  const rule = 'lowercase letters, digits and . _ : / -; no dot in an action; no tool beginning with aegis/'
  report([tool, action], 'bad_name', `\`${tool}.${action}\` is not a normalised name`, `use ${rule}`)
  return false
}

function parseAction(
  tool: string,
  action: string,
  entry: Members,
  digester: Digester,
  report: Report,
): [ToolAction, JsonObject] {
  entry.mustHave('risk', '"risk": "low", "medium", "high" or "critical"')
  entry.mustHave('mutates_state', '"mutates_state": true or false')
  const risk = entry.oneOf('risk', riskLevels) ?? 'critical'
  const mutatesState = entry.boolean('mutates_state') ?? true
  const fallback = entry.oneOf('default', actionDefaults) ?? 'evaluate'
  const capability = entry.string('capability')
  if (capability !== undefined && !capabilityName.test(capability)) {
    entry.refuse('capability', 'bad_name', 'is not a capability', 'write it like fs.read or net.http')
  }
  const note = entry.string('note')
  if (note !== undefined && note.length > noteCharsMax) {
    entry.refuse('note', 'too_long', 'is over 1,024 characters', 'put prose into a comment of a policy')
  }
  const args = parseArgs(entry, report)
  const resource = parseResource(entry, args)
  entry.end()
  const argsObject: Record<string, JsonValue> = Object.create(null) as Record<string, JsonValue>
  for (const binding of args) argsObject[binding.name] = bindingObject(binding)
  const resourceObject = resource.kind === 'claimed' ? 'claimed' : { from: resource.from }
  const bindings = encodeCanonical({ args: argsObject, resource: resourceObject })
  return [
    {
      toolId: `${tool}.${action}`,
      tool,
      action,
      risk,
      riskScore: riskScores[risk],
      mutatesState,
      ...(capability === undefined ? {} : { capability }),
      default: fallback,
      resource,
      args,
      bindingsHash: toDigest<BindingsHash>(digester.sha256(bindings)),
    },
    {
      args: argsObject,
      default: fallback,
      mutates_state: mutatesState,
      resource: resourceObject,
      risk,
      ...(capability === undefined ? {} : { capability }),
      ...(note === undefined ? {} : { note }),
    },
  ]
}

function bindingObject(binding: Binding): JsonObject {
  return {
    at: binding.at,
    record: binding.record,
    required: binding.required,
    type: binding.type,
    ...(binding.aggregate === undefined ? {} : { aggregate: binding.aggregate }),
  }
}

function parseArgs(entry: Members, report: Report): readonly Binding[] {
  const value = entry.value('args')
  if (value === undefined) return []
  const members = Members.of(value, entry.at('args'), report)
  if (members === undefined) return []
  if (members.names.length > argsMax) {
    entry.refuse('args', 'too_many', `has more than ${String(argsMax)} bindings`, 'bind what policies test')
    return []
  }
  const args: Binding[] = []
  for (const name of members.names) {
    const reserved = name === pathBinding || name === urlBinding
    if (!reserved && (!bindingName.test(name) || tagNames.includes(name))) {
      const fix =
        'use a letter, then letters, digits and _; not a name of a type, not a path of a file system'
      members.refuse(name, 'bad_name', 'is not a name for a binding', fix)
    }
    const binding = Members.of(members.value(name), members.at(name), report)
    if (binding !== undefined) args.push(parseBinding(name, reserved, binding))
  }
  return args.sort((a, b) => (a.name < b.name ? -1 : 1))
}

function parseBinding(name: string, reserved: boolean, members: Members): Binding {
  members.mustHave('at', 'a JSON Pointer into the parameters, e.g. "at": "/path"')
  const at = members.string('at') ?? ''
  const pointer = parsePointer(at)
  if (!pointer.ok && members.has('at')) {
    members.refuse('at', 'bad_pointer', pointer.why, 'write a JSON Pointer with at most one *')
  }
  const steps = pointer.ok ? pointer.steps : []
  if (!reserved) members.mustHave('type', `"type": one of ${bindingTypes.join(', ')}`)
  const type = members.oneOf('type', reserved ? (['string'] as const) : bindingTypes) ?? 'string'
  const required = members.boolean('required') ?? false
  const record = members.oneOf('record', ['value', 'digest']) ?? 'value'
  const aggregate = members.oneOf('aggregate', aggregates)
  const each = steps.some((step) => step.kind === 'each')
  if (reserved && each) {
    members.refuse('at', 'bad_pointer', 'has a `*`, and this name is for one value', 'point at one value')
  }
  if (reserved && record === 'digest') {
    const fix = 'remove it, or bind the argument under another name'
    members.refuse('record', 'not_recordable', 'cannot be a digest: the Chain names what was touched', fix)
  }
  if (each && aggregate === undefined && !reserved) {
    members.refuse('at', 'missing_aggregate', 'has a `*`', `add "aggregate": ${aggregates.join(', ')}`)
  }
  if (pointer.ok && !each && aggregate !== undefined) {
    members.refuse(
      'aggregate',
      'aggregate_without_each',
      'needs a `*` in the pointer',
      'remove it or add one',
    )
  }
  if (aggregate !== undefined && !aggregateTypes[aggregate].includes(type)) {
    const fix = `use ${aggregateTypes[aggregate].join(' or ')}`
    members.refuse('type', 'wrong_type', `does not go with the aggregate ${aggregate}`, fix)
  }
  members.end()
  return { name, at, steps, type, required, record, ...(aggregate === undefined ? {} : { aggregate }) }
}

const aggregateTypes: Readonly<Record<Aggregate, readonly BindingType[]>> = {
  sum: ['integer', 'decimal'],
  max: ['integer', 'decimal'],
  count: ['integer'],
  set: ['set<string>'],
}

function parseResource(entry: Members, args: readonly Binding[]): ResourceRule {
  const value = entry.value('resource')
  if (value === undefined || value === 'claimed') return { kind: 'claimed' }
  const wanted = 'write "claimed" or {"from": "/pointer"} or {"from": "text {binding}"}'
  const from =
    typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 1
      ? (value as JsonObject)['from']
      : undefined
  if (typeof from !== 'string' || from === '') {
    entry.refuse('resource', 'wrong_type', 'is not a rule for the resource', wanted)
    return { kind: 'claimed' }
  }
  if (from.startsWith('/')) {
    const pointer = parsePointer(from)
    if (pointer.ok && pointer.steps.every((step) => step.kind === 'member')) {
      return { kind: 'pointer', from, steps: pointer.steps }
    }
    entry.refuse('resource', 'bad_pointer', 'does not point at one value', wanted)
    return { kind: 'claimed' }
  }
  const parts: TemplatePart[] = []
  for (const piece of from.split(/(\{[^{}]*\})/)) {
    if (piece === '') continue
    if (!piece.startsWith('{')) {
      parts.push({ literal: piece })
      continue
    }
    const name = piece.slice(1, -1)
    const binding = args.find((one) => one.name === name)
    const usable = binding?.type === 'string' || binding?.type === 'integer'
    if (binding === undefined || !usable || !binding.required || binding.record === 'digest') {
      const fix = 'name a required string or integer binding of this action that is recorded as its value'
      entry.refuse('resource', 'bad_template', `uses {${name}}`, fix)
    }
    const before = parts.at(-1)
    if (before !== undefined && 'binding' in before) {
      const fix = 'put a text between the two, which neither value may hold: {owner}/{repo}'
      entry.refuse('resource', 'bad_template', `has {${before.binding}} and {${name}} side by side`, fix)
    }
    parts.push({ binding: name })
  }
  return { kind: 'template', from, parts }
}
