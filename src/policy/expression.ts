/**
 * Cedar's JSON expressions, walked: which attributes of principal, action, resource and context a policy touches
 * and how (policy.md §3). Reads shapes, evaluates nothing. guard.ts has bounded the depth before anything comes here.
 */
import { type JsonObject, type JsonValue, isJsonObject } from '../record/index.ts'

export type Root = 'principal' | 'action' | 'resource' | 'context'

export interface Access {
  readonly root: Root
  /** Attribute names from the root; empty when the variable is used as a whole. */
  readonly path: readonly string[]
  /** `has`, or reading the value. */
  readonly kind: 'has' | 'read'
}

/** Every access of an expression, in reading order; of `context.a.b` the longest only. */
export function accessesOf(expression: JsonValue): readonly Access[] {
  const found: Access[] = []
  visit(expression, found)
  return found
}

/** The expression's one operator and its operand; undefined where it is not an expression. */
export function operatorOf(expression: JsonValue | undefined): readonly [string, JsonValue] | undefined {
  if (!isJsonObject(expression)) return undefined
  const [entry, more] = Object.entries(expression)
  return entry !== undefined && more === undefined ? entry : undefined
}

/** `{left, right}`, `{arg}` and the like as an object; empty where it is none. */
export function operandsOf(operand: JsonValue): JsonObject {
  return isJsonObject(operand) ? operand : {}
}

/** Every operator of an expression with its operand, outermost first. */
export function* operatorsIn(expression: JsonValue | undefined): Generator<readonly [string, JsonValue]> {
  const operator = operatorOf(expression)
  if (operator === undefined) return
  yield operator
  for (const child of childrenOf(operator)) yield* operatorsIn(child)
}

/** The access that a whole expression is, if it is one. */
export function accessOf(expression: JsonValue | undefined): Access | undefined {
  const operator = operatorOf(expression)
  if (operator === undefined) return undefined
  const [name, operand] = operator
  if (name === 'Var' && isRoot(operand)) return { root: operand, path: [], kind: 'read' }
  if (name !== '.' && name !== 'has') return undefined
  const { left, attr } = operandsOf(operand)
  const outer = accessOf(left)
  // `has` answers a boolean: nothing is inside it.
  if (outer === undefined || outer.kind === 'has') return undefined
  const steps = Array.isArray(attr) ? (attr as readonly JsonValue[]) : [attr]
  if (!steps.every((step) => typeof step === 'string')) return undefined
  return { root: outer.root, path: [...outer.path, ...steps], kind: name === 'has' ? 'has' : 'read' }
}

function visit(expression: JsonValue, found: Access[]): void {
  const access = accessOf(expression)
  if (access !== undefined) {
    found.push(access)
    return
  }
  const operator = operatorOf(expression)
  if (operator === undefined) return
  for (const child of childrenOf(operator)) visit(child, found)
}

function childrenOf([name, operand]: readonly [string, JsonValue]): readonly JsonValue[] {
  if (name === 'Value' || name === 'Var' || name === 'Slot') return []
  if (Array.isArray(operand)) return operand as readonly JsonValue[]
  const operands = operandsOf(operand)
  if (name === 'Record') return Object.values(operands)
  const children: JsonValue[] = []
  for (const role of ['left', 'right', 'arg', 'if', 'then', 'else', 'in']) {
    const child = operands[role]
    if (child !== undefined) children.push(child)
  }
  return children
}

function isRoot(value: JsonValue): value is Root {
  return value === 'principal' || value === 'action' || value === 'resource' || value === 'context'
}
