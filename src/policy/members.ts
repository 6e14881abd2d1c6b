/**
 * Strict reading of a bundle's JSON objects: each member is asked for by name, what nobody asked for is a finding.
 * Collects instead of stopping, so that an author sees everything at once. Not for requests.
 */
import { type JsonObject, type JsonValue, isJsonObject } from '../record/index.ts'
import { suggest } from './finding.ts'

/** Takes a finding about the value at a path of member names. */
export type Report = (path: readonly string[], code: string, message: string, fix: string) => void

export class Members {
  readonly #object: JsonObject
  readonly path: readonly string[]
  readonly #report: Report
  readonly #asked = new Set<string>()

  constructor(object: JsonObject, path: readonly string[], report: Report) {
    this.#object = object
    this.path = path
    this.#report = report
  }

  /** The members of a value that must be an object; a finding and `undefined` otherwise. */
  static of(value: JsonValue | undefined, path: readonly string[], report: Report): Members | undefined {
    if (isJsonObject(value)) return new Members(value, path, report)
    report(path, 'wrong_type', `${nameOf(path)} is not an object`, 'write an object: {…}')
    return undefined
  }

  get names(): readonly string[] {
    return Object.keys(this.#object)
  }

  has(name: string): boolean {
    this.#asked.add(name)
    return Object.hasOwn(this.#object, name)
  }

  value(name: string): JsonValue | undefined {
    return this.has(name) ? this.#object[name] : undefined
  }

  at(name: string): readonly string[] {
    return [...this.path, name]
  }

  refuse(name: string, code: string, message: string, fix: string): void {
    this.#report(this.at(name), code, `${nameOf(this.at(name))} ${message}`, fix)
  }

  string(name: string): string | undefined {
    return this.#typed(name, (value) => typeof value === 'string', 'a string') as string | undefined
  }

  boolean(name: string): boolean | undefined {
    return this.#typed(name, (value) => typeof value === 'boolean', 'true or false') as boolean | undefined
  }

  /** An integer from `min` to `max`. */
  integer(name: string, min: number, max: number): number | undefined {
    const fits = (value: JsonValue): boolean =>
      typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max
    return this.#typed(name, fits, `an integer from ${String(min)} to ${String(max)}`) as number | undefined
  }

  oneOf<T extends string>(name: string, allowed: readonly T[]): T | undefined {
    const fits = (value: JsonValue): boolean => allowed.some((one) => one === value)
    return this.#typed(name, fits, `one of ${allowed.join(', ')}`) as T | undefined
  }

  /** Reports a member that is not there. */
  mustHave(name: string, what: string): void {
    if (!this.has(name)) {
      this.#report(this.path, 'missing_member', `${nameOf(this.path)} has no \`${name}\``, `add ${what}`)
    }
  }

  /** Reports what nobody asked for. */
  end(): void {
    for (const name of this.names) {
      if (this.#asked.has(name)) continue
      const meant = suggest(name, this.#asked)
      const fix = meant === undefined ? 'remove it' : `did you mean \`${meant}\`?`
      this.#report(this.at(name), 'unknown_member', `${nameOf(this.at(name))} is not known`, fix)
    }
  }

  #typed(name: string, fits: (value: JsonValue) => boolean, what: string): JsonValue | undefined {
    const value = this.value(name)
    if (value === undefined) return undefined
    if (fits(value)) return value
    this.refuse(name, 'wrong_type', `is not ${what}`, `write ${what}`)
    return undefined
  }
}

function nameOf(path: readonly string[]): string {
  return path.length === 0 ? 'the file' : `\`${path.map((step) => step.slice(0, 64)).join('.')}\``
}
