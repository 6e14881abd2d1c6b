/**
 * The heads that a pull holds its deployment to (SPEC.md §7.8): the one of `--head`, the one that the folder keeps of the
 * last pull, and the end of the open Session that was pulled before.
 */
import { open } from 'node:fs/promises'
import { nodeSuite } from '../../crypto-node/index.ts'
import { type Pin, type SignedHead, parseHeadLine } from '../../verify/index.ts'
import { type HeadFlag, checkPinnedHead, headError, readHead } from '../head-option.ts'
import { cannotRead } from '../input-files.ts'
import type { PullHead } from './chain-judge.ts'
import type { PullFolder } from './folder.ts'

/** The verified `close` that ended the last pull, and LF. */
export const headName = 'head.aarl'
/** Lines that were not published when they were pulled. */
export const liveName = 'live.aarl'
/** Sixteen of the longest Lines: every other one is signed, or nearly. */
const liveTailBytes = 1_048_576

/** @throws CliError for one that cannot be used, before anything is asked of the deployment. */
export async function readPullHeads(
  folder: PullFolder,
  flag: HeadFlag | undefined,
  pins: readonly Pin[] | undefined,
  tenant: string,
): Promise<readonly PullHead[]> {
  const heads: PullHead[] = []
  if (flag !== undefined) {
    heads.push({ source: '--head', head: await readHead('--head', flag, pins), open: false })
  }
  const file = folder.pathOf(headName)
  if ((await folder.sizeOf(headName)) !== undefined) {
    heads.push({ source: headName, head: await readHead('--out', file, pins), open: false })
  }
  if ((await folder.sizeOf(liveName)) !== undefined) {
    const live = await readLastSigned(folder.pathOf(liveName))
    if (live !== undefined) {
      checkPinnedHead('--out', folder.pathOf(liveName), live, pins)
      heads.push({ source: liveName, head: { ...live, file: folder.pathOf(liveName) }, open: true })
    }
  }
  for (const { head, source } of heads) {
    if (!('line' in head) || head.chainId === tenant) continue
    throw headError(source === '--head' ? source : '--out', head.file, `it is not of the Chain ${tenant}`)
  }
  return heads
}

/** The last signed Line of a file; `undefined` where it has none. */
async function readLastSigned(path: string): Promise<SignedHead | undefined> {
  const bytes = await readEnd(path, liveTailBytes)
  let end = bytes.length
  while (end > 0) {
    const start = bytes.lastIndexOf(0x0a, end - 1) + 1
    const parsed = parseHeadLine(bytes.subarray(start, end), nodeSuite)
    if (parsed.ok) return parsed.head
    end = start - 1
  }
  return undefined
}

async function readEnd(path: string, bytesMax: number): Promise<Uint8Array> {
  try {
    const handle = await open(path, 'r')
    try {
      const { size } = await handle.stat()
      const bytes = new Uint8Array(Math.min(size, bytesMax))
      let filled = 0
      while (filled < bytes.length) {
        const at = size - bytes.length + filled
        const { bytesRead } = await handle.read(bytes, filled, bytes.length - filled, at)
        if (bytesRead === 0) break
        filled += bytesRead
      }
      return bytes.subarray(0, filled)
    } finally {
      await handle.close()
    }
  } catch (error) {
    throw cannotRead(path, error)
  }
}
