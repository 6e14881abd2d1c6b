/**
 * A bundle's folder from disk: every file by its path in it, for src/policy to read. What belongs in a bundle, and what
 * is wrong with it, is for src/policy to say; here only what cannot be read at all.
 */
import { readFile, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { BundleFiles } from '../policy/index.ts'
import { unreadable } from './exit-codes.ts'
import { cannotRead } from './input-files.ts'

/** One more than a bundle may have, so that src/policy sees that there are too many. */
const filesMax = 501
/** A bundle has folders of one level; what lies deeper is a finding after the first few. */
const levelsMax = 4
/** One byte more than a file of a bundle may have. */
const fileBytesMax = 1_048_577

/**
 * Reads a bundle's folder. Names that begin with a dot are left out: editors and version control keep theirs there.
 *
 * @throws CliError, exit code 2, when the folder or a file in it cannot be read.
 */
export async function readBundleFolder(folder: string): Promise<BundleFiles> {
  const files = new Map<string, Uint8Array>()
  await readLevel(folder, '', files, 1)
  if (files.size === 0) throw unreadable(`error: ${folder} holds no file; a bundle has at least tools.json`)
  return files
}

async function readLevel(
  folder: string,
  prefix: string,
  files: Map<string, Uint8Array>,
  level: number,
): Promise<void> {
  let names: string[]
  try {
    names = (await readdir(folder)).sort()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOTDIR') {
      throw unreadable(`error: ${folder} is a file; name the folder of a bundle`)
    }
    throw cannotRead(folder, error)
  }
  for (const name of names) {
    if (name.startsWith('.') || files.size >= filesMax) continue
    const path = join(folder, name)
    try {
      const stats = await stat(path)
      if (stats.isDirectory()) {
        if (level < levelsMax) await readLevel(path, `${prefix}${name}/`, files, level + 1)
      } else if (stats.isFile()) {
        files.set(`${prefix}${name}`, await readCapped(path, stats.size))
      }
    } catch (error) {
      throw cannotRead(path, error)
    }
  }
}

/** A file that is too large is cut one byte past the limit: it is refused for its size, whatever is in it. */
async function readCapped(path: string, sizeBytes: number): Promise<Uint8Array> {
  if (sizeBytes >= fileBytesMax) return new Uint8Array(fileBytesMax)
  const bytes = await readFile(path)
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length)
}
