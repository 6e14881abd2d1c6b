/**
 * Answers of a deployment, member by member: of the kind that was asked for, or an error that says which one is not.
 * Members that are not known here are left alone, so that a later deployment may say more. What they mean is the
 * command's affair.
 */
import { type JsonObject, type JsonValue, isJsonObject, parseBody } from '../record/index.ts'
import { CliError, exitCodes } from './exit-codes.ts'
import type { ClientRequest, HttpClient } from './http-client.ts'

/** A page of any list of ours fits several times. */
const answerBytesMax = 16 * 1_048_576

/** An object of an answer. */
export class Members {
  readonly object: JsonObject
  readonly #at: string

  constructor(object: JsonObject, at: string) {
    this.object = object
    this.#at = at
  }

  text(name: string): string {
    return this.optionalText(name) ?? this.#refuse(name, 'a string')
  }

  optionalText(name: string): string | undefined {
    const value = this.object[name]
    if (value === undefined || typeof value === 'string') return value
    return this.#refuse(name, 'a string')
  }

  /** A text of a form, where something is to be made of it. */
  matching(name: string, pattern: RegExp): string {
    const value = this.text(name)
    return pattern.test(value) ? value : this.#refuse(name, 'of its form')
  }

  count(name: string): number {
    const value = this.object[name]
    return Number.isSafeInteger(value) && Number(value) >= 0
      ? Number(value)
      : this.#refuse(name, 'a whole number')
  }

  optionalCount(name: string): number | undefined {
    return this.object[name] === undefined ? undefined : this.count(name)
  }

  flag(name: string): boolean {
    const value = this.object[name]
    return typeof value === 'boolean' ? value : this.#refuse(name, 'true or false')
  }

  texts(name: string): readonly string[] {
    const value = this.object[name]
    if (Array.isArray(value) && value.every((entry) => typeof entry === 'string')) return value
    return this.#refuse(name, 'a list of strings')
  }

  members(name: string): Members {
    const value = this.object[name]
    return isJsonObject(value) ? new Members(value, this.#path(name)) : this.#refuse(name, 'an object')
  }

  optionalMembers(name: string): Members | undefined {
    return this.object[name] === undefined ? undefined : this.members(name)
  }

  list(name: string): readonly Members[] {
    const value: JsonValue | undefined = this.object[name]
    if (!Array.isArray(value)) return this.#refuse(name, 'a list')
    return value.map((entry: JsonValue, at) => {
      const where = `${this.#path(name)}[${String(at)}]`
      if (!isJsonObject(entry)) throw notAnAnswer(where, 'an object')
      return new Members(entry, where)
    })
  }

  #path(name: string): string {
    return this.#at === '' ? name : `${this.#at}.${name}`
  }

  #refuse(name: string, what: string): never {
    throw notAnAnswer(this.#path(name), what)
  }
}

function notAnAnswer(at: string, what: string): CliError {
  return new CliError(
    `error: the deployment's answer is not one of this API: ${at} is not ${what}`,
    exitCodes.unreadable,
  )
}

/** Sends a request and reads its answer. @throws CliError, exit code 2, for what is no JSON object. */
export async function ask(
  client: HttpClient,
  request: Omit<ClientRequest, 'bytesMax' | 'sink'>,
): Promise<Members> {
  const bytes = await client.send({ ...request, bytesMax: answerBytesMax })
  const read = parseBody(bytes)
  if (read.ok) return new Members(read.value, '')
  throw new CliError(
    `error: the deployment's answer is not one of this API: it is no JSON object`,
    exitCodes.unreadable,
  )
}
