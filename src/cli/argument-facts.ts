/**
 * What is known of a tool's arguments: from a JSON Schema that declares them, or from calls that were made. The common
 * ground of both is a list of facts, from which catalogue-draft.ts makes bindings. Not a validator.
 */
import { type JsonObject, type JsonValue, isJsonObject } from '../record/index.ts'

export type ArgumentKind =
  | 'string'
  /** Text for people or models: nothing that a policy compares. */
  | 'prose'
  | 'path'
  | 'url'
  | 'boolean'
  | 'integer'
  | 'decimal'
  | 'strings'
  /** An array of anything else: its length can be tested. */
  | 'array'
  /** Its members are facts of their own. */
  | 'object'
  | 'other'

export interface ArgumentFact {
  /** Member names from the parameters down; `*` for each element of an array. */
  readonly steps: readonly string[]
  readonly kind: ArgumentKind
  readonly required: boolean
}

/** What a schema declares, down to two levels. */
export function declaredFacts(schema: JsonObject): readonly ArgumentFact[] {
  return declaredIn(schema, [], true)
}

function declaredIn(schema: JsonObject, above: readonly string[], reached: boolean): ArgumentFact[] {
  const properties = schema['properties']
  if (!isJsonObject(properties)) return []
  const listed = schema['required']
  const names = Array.isArray(listed) ? (listed as readonly JsonValue[]) : []
  return Object.entries(properties).flatMap(([name, declared]): ArgumentFact[] => {
    if (!isJsonObject(declared) || !isBindable(name)) return []
    const steps = [...above, name]
    const required = reached && names.includes(name)
    const type = typeNamed(declared)
    if (type === 'object') return above.length === 0 ? declaredIn(declared, steps, required) : []
    if (type !== 'array') return [{ steps, kind: declaredKind(name, type, declared), required }]
    const items = declared['items']
    if (isJsonObject(items) && typeNamed(items) === 'string') return [{ steps, kind: 'strings', required }]
    const elements = isJsonObject(items) ? declaredIn(items, [...steps, '*'], required) : []
    return [{ steps, kind: 'array', required }, ...elements.filter(({ kind }) => isNumber(kind))]
  })
}

/** A pointer cannot name a member `*`, and nobody writes a policy about a name of a page. */
function isBindable(name: string): boolean {
  return name !== '*' && name !== '' && name.length <= 64
}

/** The one type that is not null; nothing where there are several. */
function typeNamed({ type, anyOf }: JsonObject): string | undefined {
  if (typeof type === 'string') return type
  const options = Array.isArray(type)
    ? (type as readonly JsonValue[])
    : Array.isArray(anyOf)
      ? (anyOf as readonly JsonValue[]).map((one) => (isJsonObject(one) ? (one['type'] ?? null) : null))
      : []
  const named = options.filter((one) => one !== 'null')
  return named.length === 1 && typeof named[0] === 'string' ? named[0] : undefined
}

function declaredKind(name: string, type: string | undefined, schema: JsonObject): ArgumentKind {
  switch (type) {
    case 'string':
      if (schema['format'] === 'uri' || schema['format'] === 'url') return 'url'
      if (Array.isArray(schema['enum'])) return 'string'
      return isProseName(name) ? 'prose' : 'string'
    case 'boolean':
      return 'boolean'
    case 'integer':
      return 'integer'
    case 'number':
      // A decimal has four digits behind the point; what is no money may have more, and would be denied.
      return /amount|price|total|cost|fee|budget|quantity/i.test(name) ? 'decimal' : 'other'
    default:
      return 'other'
  }
}

const proseNames =
  /^(body|code|command|comment|content|contents|data|description|html|input|markdown|message|note|notes|prompt|query|reason|script|sql|summary|text|thought|title)$/i

function isProseName(name: string): boolean {
  return proseNames.test(name)
}

export function isNumber(kind: ArgumentKind): boolean {
  return kind === 'integer' || kind === 'decimal'
}

/** Longer strings, and those of several lines, are prose. */
const comparedCharsMax = 128

/** Collects what the calls of one tool action had in common. */
export class ObservedArguments {
  #calls = 0
  readonly #seen = new Map<
    string,
    { readonly steps: readonly string[]; readonly kinds: ArgumentKind[]; times: number }
  >()
  /** Elements of arrays, by the array's key. */
  readonly #elements = new Map<string, number>()

  get calls(): number {
    return this.#calls
  }

  add(parameters: JsonObject): void {
    this.#calls += 1
    this.#addMembers(parameters, [])
  }

  /** An argument is required when every call had it: what was seen once is a guess, and the draft says so. */
  facts(): readonly ArgumentFact[] {
    const facts: ArgumentFact[] = []
    for (const { steps, kinds, times } of this.#seen.values()) {
      const kind = commonKind(kinds)
      const each = steps.indexOf('*')
      // What was an object here and something else there has no members that a pointer could count on.
      const parent = steps.slice(0, each < 0 ? -1 : each)
      if (parent.length > 0 && !this.#isAlways(parent, each < 0 ? ['object'] : ['array', 'strings'])) continue
      if (each < 0) {
        facts.push({ steps, kind, required: times === this.#calls })
        continue
      }
      // A sum needs the number in every element; as an argument it is there whenever the array is.
      const array = keyOf(steps.slice(0, each))
      const always = times === this.#elements.get(array)
      if (isNumber(kind) && always) {
        facts.push({ steps, kind, required: this.#seen.get(array)?.times === this.#calls })
      }
    }
    return facts
  }

  #isAlways(steps: readonly string[], kinds: readonly ArgumentKind[]): boolean {
    return this.#seen.get(keyOf(steps))?.kinds.every((kind) => kinds.includes(kind)) === true
  }

  #addMembers(members: JsonObject, above: readonly string[]): void {
    for (const [name, value] of Object.entries(members)) {
      // null counts as absent, as in bindings.
      if (value === null || !isBindable(name)) continue
      const steps = [...above, name]
      if (isJsonObject(value)) {
        this.#note(steps, 'object')
        if (above.length === 0) this.#addMembers(value, steps)
        continue
      }
      this.#note(steps, typeof value === 'string' && isProseName(name) ? 'prose' : kindOf(value))
      if (Array.isArray(value) && above.length === 0) this.#addElements(value as readonly JsonValue[], steps)
    }
  }

  #addElements(items: readonly JsonValue[], steps: readonly string[]): void {
    const key = keyOf(steps)
    this.#elements.set(key, (this.#elements.get(key) ?? 0) + items.length)
    for (const item of items) {
      if (!isJsonObject(item)) continue
      for (const [name, value] of Object.entries(item)) {
        if (typeof value === 'number' && isBindable(name)) this.#note([...steps, '*', name], kindOf(value))
      }
    }
  }

  #note(steps: readonly string[], kind: ArgumentKind): void {
    const key = keyOf(steps)
    const seen = this.#seen.get(key) ?? { steps, kinds: [], times: 0 }
    seen.times += 1
    if (!seen.kinds.includes(kind)) seen.kinds.push(kind)
    this.#seen.set(key, seen)
  }
}

function keyOf(steps: readonly string[]): string {
  return JSON.stringify(steps)
}

function kindOf(value: JsonValue): ArgumentKind {
  switch (typeof value) {
    case 'boolean':
      return 'boolean'
    case 'number':
      if (Number.isSafeInteger(value)) return 'integer'
      return /^-?\d+(\.\d{1,4})?$/.test(String(value)) ? 'decimal' : 'other'
    case 'string':
      if (value.length > comparedCharsMax || value.includes('\n')) return 'prose'
      if (/^https?:\/\/\S+$/.test(value)) return 'url'
      return /^\/[^\s%\\]*$/.test(value) ? 'path' : 'string'
    default:
      return Array.isArray(value) && value.every((item) => typeof item === 'string') ? 'strings' : 'array'
  }
}

/** One kind that takes every value seen. */
function commonKind(kinds: readonly ArgumentKind[]): ArgumentKind {
  const [first] = kinds
  if (first !== undefined && kinds.length === 1) return first
  const within = (...wider: readonly ArgumentKind[]): boolean => kinds.every((kind) => wider.includes(kind))
  if (within('integer', 'decimal')) return 'decimal'
  if (within('strings', 'array')) return 'array'
  if (within('string', 'path', 'url')) return 'string'
  return within('string', 'path', 'url', 'prose') ? 'prose' : 'other'
}
