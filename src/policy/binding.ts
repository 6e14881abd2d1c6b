/**
 * From an action's parameters to the typed arguments that policies see (policy.md §2). All or nothing: one argument
 * that does not fit is a `binding_failed`, by name and never by value. Which arguments there are: catalogue.ts.
 */
import {
  type JsonObject,
  type JsonValue,
  type TaggedValue,
  canonicalText,
  encodeUtf8,
} from '../record/index.ts'
import { type Binding, type TemplatePart, type ToolAction, pathBinding, urlBinding } from './catalogue.ts'
import { type Address, type CleanPath, cleanPath, parseAddress } from './location.ts'
import { type PointerStep, follow } from './pointer.ts'
import {
  decimalText,
  elementsMax,
  fitsString,
  inDecimalRange,
  parseDecimal,
  parseValue,
  toStringSet,
} from './value.ts'

/** Bytes of canonical JSON of everything derived from one request. */
const derivedBytesMax = 16_384

export interface Bound {
  readonly args: { readonly [name: string]: TaggedValue }
  readonly fs?: CleanPath
  readonly net?: Address
  /** The derived resource; absent when the rule is `claimed`. */
  readonly resource?: string
}

export type BindingResult =
  | { readonly ok: true; readonly bound: Bound }
  | { readonly ok: false; readonly name: string; readonly why: BindingFailure }

export type BindingFailure =
  | 'missing'
  | 'ambiguous in the resource'
  | 'wrong type'
  | 'too many elements'
  | 'out of range'
  | 'too much in all'

/** Evaluates every binding of the action, and its rule for the resource. */
export function bindArguments(action: ToolAction, parameters: JsonObject): BindingResult {
  const args: Record<string, TaggedValue> = {}
  let fs: CleanPath | undefined
  let net: Address | undefined
  for (const binding of action.args) {
    const found = bindOne(binding, parameters)
    if (found.kind === 'failed') return { ok: false, name: binding.name, why: found.why }
    if (found.kind === 'absent') {
      if (binding.required) return { ok: false, name: binding.name, why: 'missing' }
      continue
    }
    if (binding.name === pathBinding) {
      fs = cleanPath(found.value as string)
      if (fs === undefined) return { ok: false, name: binding.name, why: 'wrong type' }
    } else if (binding.name === urlBinding) {
      net = parseAddress(found.value as string)
      if (net === undefined) return { ok: false, name: binding.name, why: 'wrong type' }
    } else args[binding.name] = found.value
  }
  const resource = deriveResource(action, parameters, args)
  if (resource?.ok === false) return { ok: false, name: 'resource', why: resource.why }
  const bound: Bound = {
    args,
    ...(fs === undefined ? {} : { fs }),
    ...(net === undefined ? {} : { net }),
    ...(resource === undefined ? {} : { resource: resource.value }),
  }
  const bytes = encodeUtf8(canonicalText(bound as unknown as JsonValue))?.length ?? Number.POSITIVE_INFINITY
  return bytes <= derivedBytesMax ? { ok: true, bound } : { ok: false, name: '*', why: 'too much in all' }
}

type Found =
  | { readonly kind: 'value'; readonly value: TaggedValue }
  | { readonly kind: 'absent' }
  | { readonly kind: 'failed'; readonly why: BindingFailure }

const mistyped: Found = { kind: 'failed', why: 'wrong type' }

function bindOne(binding: Binding, parameters: JsonObject): Found {
  const eachAt = binding.steps.findIndex((step) => step.kind === 'each')
  const outer = follow(parameters, eachAt < 0 ? binding.steps : binding.steps.slice(0, eachAt))
  if (outer.kind === 'absent') return outer
  if (outer.kind === 'mistyped') return mistyped
  if (eachAt >= 0) return aggregateOver(binding, outer.value, binding.steps.slice(eachAt + 1))
  if (Array.isArray(outer.value) && outer.value.length > elementsMax) return failed('too many elements')
  const value = parseValue(outer.value, binding.type)
  return value === undefined ? mistyped : { kind: 'value', value }
}

function failed(why: BindingFailure): Found {
  return { kind: 'failed', why }
}

function aggregateOver(binding: Binding, value: JsonValue, rest: readonly PointerStep[]): Found {
  if (!Array.isArray(value)) return mistyped
  const items = value as readonly JsonValue[]
  if (items.length > elementsMax) return failed('too many elements')
  const elements: JsonValue[] = []
  for (const item of items) {
    const element = follow(item, rest)
    // An element that lacks the value must not fall out of a sum.
    if (element.kind === 'absent') return failed('missing')
    if (element.kind === 'mistyped') return mistyped
    elements.push(element.value)
  }
  if (binding.aggregate === 'count') return { kind: 'value', value: { long: String(elements.length) } }
  if (binding.aggregate === 'set') {
    const set = toStringSet(elements)
    return set === undefined ? mistyped : { kind: 'value', value: set }
  }
  return binding.type === 'decimal'
    ? aggregateDecimals(binding, elements)
    : aggregateIntegers(binding, elements)
}

function aggregateIntegers(binding: Binding, elements: readonly JsonValue[]): Found {
  let total = binding.aggregate === 'max' ? undefined : 0
  for (const element of elements) {
    if (typeof element !== 'number' || !Number.isSafeInteger(element)) return mistyped
    if (binding.aggregate === 'max') total = total === undefined ? element : Math.max(total, element)
    else {
      total = (total ?? 0) + element
      // Two safe integers add up exactly enough to see that they left the range.
      if (!Number.isSafeInteger(total)) return failed('out of range')
    }
  }
  return total === undefined ? { kind: 'absent' } : { kind: 'value', value: { long: String(total) } }
}

function aggregateDecimals(binding: Binding, elements: readonly JsonValue[]): Found {
  let total = binding.aggregate === 'max' ? undefined : 0n
  for (const element of elements) {
    const units = parseDecimal(element)
    if (units === undefined) return mistyped
    if (binding.aggregate === 'max') total = total === undefined || units > total ? units : total
    else {
      total = inDecimalRange((total ?? 0n) + units)
      if (total === undefined) return failed('out of range')
    }
  }
  return total === undefined ? { kind: 'absent' } : { kind: 'value', value: { decimal: decimalText(total) } }
}

type Derived =
  { readonly ok: true; readonly value: string } | { readonly ok: false; readonly why: BindingFailure }

function deriveResource(
  action: ToolAction,
  parameters: JsonObject,
  args: Readonly<Record<string, TaggedValue>>,
): Derived | undefined {
  const rule = action.resource
  if (rule.kind === 'claimed') return undefined
  let text = ''
  if (rule.kind === 'pointer') {
    const found = follow(parameters, rule.steps)
    if (found.kind !== 'value') return { ok: false, why: found.kind === 'absent' ? 'missing' : 'wrong type' }
    const { value } = found
    if (typeof value === 'string') text = value
    else if (typeof value === 'number' && Number.isSafeInteger(value)) text = String(value)
    else return { ok: false, why: 'wrong type' }
  } else {
    for (const [at, part] of rule.parts.entries()) {
      const value = 'literal' in part ? part.literal : plainText(args[part.binding])
      if ('binding' in part && isAmbiguous(value, rule.parts.slice(at + 1))) {
        return { ok: false, why: 'ambiguous in the resource' }
      }
      text += value
    }
  }
  return fitsString(text) ? { ok: true, value: text } : { ok: false, why: 'out of range' }
}

/**
 * Whether a value holds the text that ends it in the template, so that `a/b` + `c` and `a` + `b/c` would be one
 * resource. Behind the last binding nothing can shift.
 */
function isAmbiguous(value: string, rest: readonly TemplatePart[]): boolean {
  const [next] = rest
  if (next === undefined || !rest.some((part) => 'binding' in part)) return false
  return 'literal' in next && (value + next.literal).indexOf(next.literal) !== value.length
}

/** Templates name required string and integer bindings only; the catalogue saw to it. */
function plainText(value: TaggedValue | undefined): string {
  if (typeof value === 'string') return value
  return (value as { readonly long: string }).long
}
