/**
 * A deep, frozen copy of what a caller wants to send, read exactly once: what is hashed, sent and later run is this copy,
 * whatever the original does meanwhile. A value that JSON would change, drop or read twice (a getter, a Date, undefined,
 * -0, a hole) is refused with its path instead (SPEC.md §3.5, §6.1). Not a parser of bytes.
 */
import type { JsonValue } from '../record/json.ts'
import { AegisActionError } from './errors.ts'

/** Most nested containers of a request body; its outermost object counts as 1. */
const depthMax = 64
/** A body has at most 1 MiB, and every value and key takes at least a byte of it: what is larger cannot be sent. */
const sizeMax = 1_048_576

/**
 * Copies and freezes.
 *
 * @param path what the value is called in errors, e.g. `$.parameters`.
 * @param outerLevels containers that the copy will be put into.
 * @throws AegisActionError naming the path of the first thing wrong.
 */
export function frozenCopy(value: unknown, path: string, outerLevels = 0): JsonValue {
  const copy = new Copier().copy(value, path, outerLevels)
  if (isObject(value)) refuseProxies(value, path)
  return copy
}

class Copier {
  /** Containers being copied, outermost first: one that comes again is a cycle. */
  readonly #open = new Set<object>()
  #size = 0

  copy(value: unknown, path: string, depth: number): JsonValue {
    switch (typeof value) {
      case 'string':
        this.#count(value.length, path)
        if (/\p{Surrogate}/u.test(value)) refuse(path, 'holds half of a surrogate pair')
        return value
      case 'number':
        this.#count(1, path)
        checkNumber(value, path)
        return value
      case 'boolean':
        this.#count(1, path)
        return value
      case 'object': {
        this.#count(1, path)
        if (value === null) return null
        if (depth >= depthMax) refuse(path, `would be nested deeper than ${String(depthMax)} levels`)
        if (this.#open.has(value)) refuse(path, 'contains itself')
        this.#open.add(value)
        const copy = guarded(path, () => this.#container(value, path, depth + 1))
        this.#open.delete(value)
        return copy
      }
      case 'undefined':
        return refuse(path, 'is undefined; leave it out, or send null')
      case 'bigint':
        return refuse(path, 'is a BigInt; send a string')
      case 'symbol':
        return refuse(path, 'is a symbol')
      case 'function':
        return refuse(path, 'is a function')
    }
  }

  #container(value: object, path: string, depth: number): JsonValue {
    return Array.isArray(value) ? this.#array(value, path, depth) : this.#object(value, path, depth)
  }

  #array(array: readonly unknown[], path: string, depth: number): JsonValue {
    // Array.prototype is itself an array, in every realm; the prototype of a subclass is not.
    if (!Array.isArray(Object.getPrototypeOf(array))) refuse(path, 'is of a class derived from Array')
    const { length } = array
    if (length > sizeMax) refuse(path, 'is larger than a request')
    const copy: JsonValue[] = []
    for (let at = 0; at < length; at += 1) {
      const name = `${path}[${String(at)}]`
      if (!Object.hasOwn(array, at)) refuse(name, 'is a hole')
      copy.push(this.copy(readMember(array, String(at), name), name, depth))
    }
    for (const key of Reflect.ownKeys(array)) {
      if (typeof key === 'symbol') refuse(path, 'has a member whose name is a symbol')
      if (key === 'length' || (/^(0|[1-9][0-9]*)$/.test(key) && Number(key) < length)) continue
      refuse(step(path, key), 'is a member that JSON would drop')
    }
    return Object.freeze(copy)
  }

  #object(object: object, path: string, depth: number): JsonValue {
    if (!isPlain(object)) refuse(path, `is ${describe(object)}, not a plain object; send what it stands for`)
    const copy: Record<string, JsonValue> = {}
    for (const key of Reflect.ownKeys(object)) {
      if (typeof key === 'symbol') refuse(path, 'has a member whose name is a symbol')
      const name = step(path, key)
      this.#count(key.length, name)
      if (/\p{Surrogate}/u.test(key)) refuse(name, 'has a name with half of a surrogate pair')
      if (/[\ud800-\udbff]/.test(key)) refuse(name, 'has a name with a character above U+FFFF')
      const member = this.copy(readMember(object, key, name), name, depth)
      // Not an assignment: a member named __proto__ would set the prototype.
      Object.defineProperty(copy, key, { value: member, enumerable: true })
    }
    return Object.freeze(copy)
  }

  #count(size: number, path: string): void {
    this.#size += size
    if (this.#size > sizeMax) refuse(path, 'is beyond the size of a request')
  }
}

/** The value of a member without running a getter; anything but plain data is refused. */
export function readMember(holder: object, key: string, path: string): unknown {
  const property = Object.getOwnPropertyDescriptor(holder, key)
  if (property === undefined) return refuse(path, 'vanished while it was read')
  if (!('value' in property)) return refuse(path, 'is a getter; send its value')
  if (property.enumerable !== true) return refuse(path, 'is not enumerable; JSON would drop it')
  return property.value
}

function checkNumber(value: number, path: string): void {
  if (Number.isNaN(value)) refuse(path, 'is NaN; send null or a string')
  if (!Number.isFinite(value)) refuse(path, 'is not finite; send null or a string')
  if (Object.is(value, -0)) refuse(path, 'is a negative zero; send 0 or a string')
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    refuse(path, 'is an integer beyond 2^53-1; send a string')
  }
}

/** An object literal of any realm, or one without a prototype. */
function isPlain(object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object)
  if (prototype === null || prototype === Object.prototype) return true
  if (typeof prototype !== 'object' || Object.getPrototypeOf(prototype) !== null) return false
  return Object.hasOwn(prototype, 'isPrototypeOf')
}

function describe(object: object): string {
  const property = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(object) as object, 'constructor')
  const maker: unknown = property?.value
  const name: unknown = typeof maker === 'function' ? maker.name : undefined
  return typeof name === 'string' && /^[\w$]{1,64}$/.test(name) ? `of class ${name}` : 'of a class'
}

/**
 * The language hides proxies, but the structured clone algorithm refuses them in every runtime that has it. The copy is
 * safe without this (each member was read once); a caller should still learn that what he passed is not plain data.
 */
function refuseProxies(value: object, path: string): void {
  if (typeof structuredClone !== 'function' || isCloneable(value)) return
  let at = value
  let name = path
  // Bounded, because a trap may hand out a new proxy each time.
  for (let level = 0; level < depthMax; level += 1) {
    const inside = guarded(name, () => Object.entries(at).find(([, member]) => !isCloneable(member)))
    if (inside === undefined || !isObject(inside[1])) break
    name = Array.isArray(at) ? `${name}[${inside[0]}]` : step(name, inside[0])
    at = inside[1]
  }
  refuse(name, 'is a Proxy or a host object; send a plain copy')
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function isCloneable(value: unknown): boolean {
  try {
    structuredClone(value)
    return true
  } catch {
    return false
  }
}

/** A trap of a proxy may throw anything; that too is an error with a path. */
function guarded<T>(path: string, read: () => T): T {
  try {
    return read()
  } catch (thrown) {
    if (thrown instanceof AegisActionError) throw thrown
    return refuse(path, 'could not be read')
  }
}

function step(path: string, key: string): string {
  return /^[A-Za-z_$][\w$-]{0,63}$/.test(key)
    ? `${path}.${key}`
    : `${path}[${JSON.stringify(key.slice(0, 64))}]`
}

function refuse(path: string, why: string): never {
  throw new AegisActionError(path.length > 256 ? `${path.slice(0, 256)}…` : path, why)
}
