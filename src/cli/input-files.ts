/**
 * Files as the commands read them: small ones whole and bounded, Chains in pieces of one fixed size. `-` is standard
 * input. Every failure becomes one sentence that names the file and what to do, never a stack trace.
 */
import { type Stats, fstatSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { type CliError, unreadable, usageError } from './exit-codes.ts'

/** Bytes of one read: large enough that reading costs nothing, small enough to keep memory flat. */
const chunkBytes = 1 << 20

/** An input that was opened and not yet read. */
export interface OpenInput {
  /** As given on the command line. */
  readonly name: string
  /** `undefined` for standard input. */
  readonly handle: FileHandle | undefined
  /** `undefined` where it cannot be known: pipes, devices. */
  readonly sizeBytes: number | undefined
}

/** The names of the inputs, judged before anything is opened. */
export function checkInputNames(names: readonly string[]): void {
  if (names.includes('')) throw usageError('error: FILE: a file name is empty')
  if (names.filter((name) => name === '-').length > 1) {
    throw usageError("error: FILE: '-' (standard input) can be read only once")
  }
}

/** Opens every file before the first is read, so that a wrong name is found before an hour of work. */
export async function openInputs(names: readonly string[]): Promise<OpenInput[]> {
  const inputs: OpenInput[] = []
  try {
    for (const name of names) {
      inputs.push(name === '-' ? openStandardInput('standard input') : await openFile(name, name))
    }
  } catch (error) {
    await closeInputs(inputs)
    throw error
  }
  return inputs
}

function openStandardInput(label: string): OpenInput {
  let stats: Stats | undefined
  try {
    stats = fstatSync(0)
  } catch {
    // Closed: it reads as empty, like everywhere else.
  }
  // Node reads a directory there as if it were empty.
  if (stats?.isDirectory() === true) throw isDirectory(label)
  return { name: '-', handle: undefined, sizeBytes: stats?.isFile() === true ? stats.size : undefined }
}

function isDirectory(label: string): CliError {
  return unreadable(`error: cannot read ${label}: it is a directory; name the files in it`)
}

async function openFile(name: string, label: string): Promise<OpenInput> {
  let handle: FileHandle
  let stats: Stats
  try {
    handle = await open(name, 'r')
  } catch (error) {
    throw cannotRead(label, error)
  }
  try {
    stats = await handle.stat()
    if (stats.isDirectory()) throw isDirectory(label)
  } catch (error) {
    await handle.close()
    throw error
  }
  return { name, handle, sizeBytes: stats.isFile() ? stats.size : undefined }
}

export async function closeInputs(inputs: readonly OpenInput[]): Promise<void> {
  await Promise.all(inputs.map(async (input) => input.handle?.close().catch(() => undefined)))
  if (inputs.some((input) => input.handle === undefined)) process.stdin.destroy()
}

/** Bytes of all inputs together, `undefined` where one is not known. */
export function totalBytes(inputs: readonly OpenInput[]): number | undefined {
  let total = 0
  for (const { sizeBytes } of inputs) {
    if (sizeBytes === undefined) return undefined
    total += sizeBytes
  }
  return total
}

/** The bytes of an input in pieces; a piece is only lent until the next is asked for. */
export async function* readChunks(input: OpenInput): AsyncGenerator<Uint8Array> {
  try {
    if (input.handle === undefined) {
      for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
        yield new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.length)
      }
      return
    }
    const buffer = new Uint8Array(chunkBytes)
    for (;;) {
      const { bytesRead } = await input.handle.read(buffer, 0, chunkBytes, null)
      if (bytesRead === 0) return
      yield buffer.subarray(0, bytesRead)
    }
  } catch (error) {
    throw cannotRead(input.name === '-' ? 'standard input' : input.name, error)
  }
}

/**
 * A small file whole.
 *
 * @param flag the option that named it: it stands in every message.
 * @param bytesMax a larger one is a usage error.
 */
export async function readSmallFile(flag: string, name: string, bytesMax: number): Promise<Uint8Array> {
  const label = `${flag}: ${name === '-' ? 'standard input' : name}`
  const input = name === '-' ? openStandardInput(label) : await openFile(name, label)
  const chunks: Uint8Array[] = []
  let length = 0
  try {
    for await (const chunk of readChunks({ ...input, name: label })) {
      length += chunk.length
      if (length > bytesMax) throw usageError(`error: ${label} is longer than ${String(bytesMax)} bytes`)
      chunks.push(chunk.slice())
    }
  } finally {
    await closeInputs([input])
  }
  return new Uint8Array(Buffer.concat(chunks))
}

const sentences: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'reading it is not permitted',
  EPERM: 'reading it is not permitted',
  EISDIR: 'it is a directory; name the files in it',
  ENOTDIR: 'a part of its path is not a directory',
  ELOOP: 'its path has too many symbolic links',
  EMFILE: 'too many files are open; join them with cat and read standard input',
  ENAMETOOLONG: 'its name is too long',
  ERR_INVALID_ARG_VALUE: 'its name is not one that a file can have',
}

/** A failed read as one sentence about the file; anything else comes back as it is. */
export function cannotRead(label: string, error: unknown): unknown {
  // What we throw ourselves, and a bug in the reader of the chunks, are not about the file.
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return error
  const why = sentences[error.code] ?? `reading it failed with ${error.code}`
  return unreadable(`error: cannot read ${label}: ${why}`) satisfies CliError
}
