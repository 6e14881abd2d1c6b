/**
 * The folder that `aegis pull` fills (docs/cli.md). A file in it is whole or not there: it is written under a temporary
 * name, brought to the disk and only then renamed. What may be kept is for the caller to know.
 */
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { CliError, unreadable } from '../exit-codes.ts'
import { lockFolder } from './folder-lock.ts'
import type { BodySink } from '../http-client.ts'
import { readSmallFile } from '../input-files.ts'

const subfolders = ['segments', 'policies'] as const
/** One in each folder; whatever an interruption left there is overwritten or removed. */
const partName = '.part'

export class PullFolder {
  readonly path: string
  readonly #unlock: () => Promise<void>

  private constructor(path: string, unlock: () => Promise<void>) {
    this.path = path
    this.#unlock = unlock
  }

  /**
   * Makes the folder where it is not there, and locks it.
   *
   * @throws CliError, exit code 2, where it cannot be used or another program uses it.
   */
  static async open(path: string): Promise<PullFolder> {
    let unlock: (() => Promise<void>) | undefined
    try {
      for (const name of subfolders) await mkdir(join(path, name), { recursive: true })
      unlock = await lockFolder(path)
      for (const name of ['', ...subfolders]) await rm(join(path, name, partName), { force: true })
    } catch (error) {
      await unlock?.().catch(() => undefined)
      throw cannotWrite(path, error)
    }
    return new PullFolder(path, unlock)
  }

  async close(): Promise<void> {
    try {
      await this.#unlock()
    } catch (error) {
      throw cannotWrite(this.path, error)
    }
  }

  /** Path of a file in it, as a person can use it. */
  pathOf(name: string): string {
    return join(this.path, name)
  }

  /** Bytes of a file; `undefined` where it is not there. */
  async sizeOf(name: string): Promise<number | undefined> {
    try {
      return (await stat(this.pathOf(name))).size
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
      throw unreadable(`error: --out: cannot read ${this.pathOf(name)}: ${codeText(error)}`)
    }
  }

  /** A file whole; `undefined` where it is not there. */
  async read(name: string, bytesMax: number): Promise<Uint8Array | undefined> {
    if ((await this.sizeOf(name)) === undefined) return undefined
    return readSmallFile('--out', this.pathOf(name), bytesMax)
  }

  /** How many files `NAME/…` with a suffix there are. */
  async count(subfolder: (typeof subfolders)[number], suffix: string): Promise<number> {
    const names = await readdir(this.pathOf(subfolder))
    return names.filter((name) => name.endsWith(suffix) && !name.startsWith('.')).length
  }

  /** Puts a file there whole, in the place of one that may be there. */
  async keep(name: string, bytes: Uint8Array): Promise<void> {
    const part = this.beginPart(name)
    await part.begin()
    await part.write(bytes)
    await part.keep()
  }

  /** For a file that is larger than memory should be: written in pieces, then kept or dropped. */
  beginPart(name: string): PartFile {
    return new PartFile(this.pathOf(name))
  }

  async remove(name: string): Promise<void> {
    try {
      await rm(this.pathOf(name), { force: true })
    } catch (error) {
      throw cannotWrite(this.pathOf(name), error)
    }
  }
}

/** A file under its temporary name. */
export class PartFile implements BodySink {
  readonly #target: string
  readonly #folder: string
  #handle: FileHandle | undefined
  #bytes = 0

  constructor(target: string) {
    this.#target = target
    this.#folder = join(target, '..')
  }

  get path(): string {
    return join(this.#folder, partName)
  }

  get bytes(): number {
    return this.#bytes
  }

  async begin(): Promise<void> {
    await this.#doing(async () => {
      await this.#handle?.close()
      this.#handle = await open(this.path, 'w')
      this.#bytes = 0
    })
  }

  async write(piece: Uint8Array): Promise<void> {
    await this.#doing(async () => {
      let at = 0
      while (at < piece.length) {
        const written = await this.#handle?.write(piece, at)
        at += written?.bytesWritten ?? piece.length
      }
      this.#bytes += piece.length
    })
  }

  /** A crash before the rename leaves the temporary file; a crash after it, the whole file. */
  async keep(): Promise<void> {
    await this.#doing(async () => {
      await this.#handle?.sync()
      await this.#close()
      await rename(this.path, this.#target)
      await syncFolder(this.#folder)
    })
  }

  async drop(): Promise<void> {
    await this.#close()
    await rm(this.path, { force: true })
  }

  async #close(): Promise<void> {
    const handle = this.#handle
    this.#handle = undefined
    await handle?.close()
  }

  async #doing(step: () => Promise<void>): Promise<void> {
    try {
      await step()
    } catch (error) {
      await this.drop().catch(() => undefined)
      throw cannotWrite(this.#target, error)
    }
  }
}

/** Brings a rename to the disk. */
async function syncFolder(folder: string): Promise<void> {
  let handle: FileHandle | undefined
  try {
    handle = await open(folder, 'r')
    await handle.sync()
  } catch (error) {
    // Some systems have no way to do so for a folder.
    if (!['EISDIR', 'EPERM', 'EINVAL', 'EACCES'].includes(codeText(error))) throw error
  } finally {
    await handle?.close()
  }
}

const sentences: Readonly<Record<string, string>> = {
  EACCES: 'writing there is not permitted',
  EPERM: 'writing there is not permitted',
  EROFS: 'the file system is read-only',
  EEXIST: 'it is a file; name a folder',
  ENOTDIR: 'a part of its path is a file; name a folder',
  EISDIR: 'a folder is in its place',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file system has no files so large',
}

function cannotWrite(path: string, error: unknown): unknown {
  if (error instanceof CliError) return error
  const code = codeText(error)
  if (code === '') return error
  return unreadable(`error: --out: cannot write ${path}: ${sentences[code] ?? `it failed with ${code}`}`)
}

function codeText(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}
