/**
 * Secrets that a deployment shows once: asked for, and put into a file that only its owner reads, made before anything is
 * asked, or on stdout where that was said. Never into anything else that a command prints.
 */
import { type FileHandle, open, rm } from 'node:fs/promises'
import { type Command, Option } from 'commander'
import { toAsciiJson } from '../verify/index.ts'
import { type ActFlags, type ActRequest, printAct } from './act.ts'
import { Members, ask } from './answer-members.ts'
import { fileName, once } from './command.ts'
import { unreadable, usageError } from './exit-codes.ts'
import type { HttpClient } from './http-client.ts'
import { shownText } from './shown-text.ts'
import { Output, warn } from './terminal.ts'

export interface SecretFlags {
  readonly out?: string
  readonly print?: true
}

export function addSecretOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--out <file>', 'write the key into this new file, which only you can read').argParser(
        once(fileName),
      ),
    )
    .option('--print', 'write the key to stdout instead, alone on its line')
}

/**
 * Has a key issued and keeps it.
 *
 * @param member of the answer that holds it: it goes nowhere else.
 * @param says what was done, in words, with the key's id.
 */
export async function issueSecret(
  flags: ActFlags & SecretFlags,
  client: HttpClient,
  request: ActRequest,
  member: string,
  says: (answer: Members) => string,
): Promise<void> {
  const file = await openFile(flags)
  let answer: Members
  let secret: string
  try {
    answer = await ask(client, request)
    secret = answer.text(member)
  } catch (error) {
    await file?.discard()
    throw error
  }
  if (file !== undefined) {
    await file.keep(secret, answer.text('key_id'))
    const rest = Object.fromEntries(Object.entries(answer.object).filter(([, value]) => value !== secret))
    const kept = new Members({ ...rest, key_file: file.name }, '')
    await printAct(flags, kept, `${says(answer)}, in ${shownText(file.name)}`)
    return
  }
  const output = new Output()
  await output.write(flags.json === true ? toAsciiJson(answer.object) : `${secret}\n`)
  await output.flush()
  if (flags.json !== true && flags.quiet !== true) warn(`done  ${says(answer)}`)
}

async function openFile({ out, print }: SecretFlags): Promise<SecretFile | undefined> {
  if ((out === undefined) === (print === undefined)) {
    throw usageError(
      'error: --out: the key is shown once: name a new file for it with --out, or say --print, not both',
    )
  }
  return out === undefined ? undefined : SecretFile.create(out)
}

/** A new file for one secret. Made first: a key that could not be kept must not be asked for. */
class SecretFile {
  readonly name: string
  readonly #handle: FileHandle

  private constructor(name: string, handle: FileHandle) {
    this.name = name
    this.#handle = handle
  }

  static async create(name: string): Promise<SecretFile> {
    try {
      return new SecretFile(name, await open(name, 'wx', 0o600))
    } catch (error) {
      const why = codeOf(error) === 'EEXIST' ? 'it is there already, and is not overwritten' : codeOf(error)
      throw unreadable(`error: --out: cannot write ${name}: ${why}`)
    }
  }

  async keep(secret: string, keyId: string): Promise<void> {
    try {
      await this.#handle.writeFile(`${secret}\n`)
      await this.#handle.sync()
      await this.#handle.close()
    } catch (error) {
      throw unreadable(
        `error: --out: cannot write ${this.name}: ${codeOf(error)}; the key ${keyId} was issued, and is lost: revoke it`,
      )
    }
  }

  /** Nothing came: the empty file goes. */
  async discard(): Promise<void> {
    await this.#handle.close().catch(() => undefined)
    await rm(this.name, { force: true })
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}
