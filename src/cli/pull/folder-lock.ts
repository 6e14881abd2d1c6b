/**
 * One program at a time on a folder: a lock file that names its owner. A lock whose owner is gone (killed, or the
 * machine went down) is taken over, so that nobody has to clean up before going on. Not for threads of one program.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { readdir, rename, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { unreadable } from '../exit-codes.ts'

const lockName = '.lock'
/** Each round lost is another program that came first. */
const roundsMax = 10
/** A lock is written at once after it was made; one that stays empty belongs to a program that was killed between. */
const emptyWaitMs = 1_000

/**
 * @returns what gives the lock back.
 * @throws CliError where a program that may be alive has it; errors of the file system come as they are.
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const path = join(folder, lockName)
  const mine = JSON.stringify({ pid: process.pid, host: hostname() })
  for (let round = 0; round < roundsMax; round += 1) {
    if (createLock(path, mine)) {
      await removeLeftovers(folder)
      return () => rm(path, { force: true })
    }
    const text = await readLock(path)
    if (text === undefined) continue
    const owner = parseOwner(text)
    if (owner !== undefined && !isGone(owner)) {
      throw unreadable(
        `error: --out: ${folder} is in use by process ${String(owner.pid)} on ${owner.host}; if that is none of aegis, remove ${path}`,
      )
    }
    await takeAway(path, text)
  }
  throw unreadable(`error: --out: ${folder} is in use; if it is not, remove ${path}`)
}

function createLock(path: string, text: string): boolean {
  try {
    writeFileSync(path, text, { flag: 'wx' })
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

/** @returns `undefined` where it is gone by now. */
async function readLock(path: string): Promise<string | undefined> {
  try {
    const text = readFileSync(path, 'utf8')
    if (text !== '') return text
    await sleep(emptyWaitMs)
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

interface Owner {
  readonly pid: number
  readonly host: string
}

function parseOwner(text: string): Owner | undefined {
  try {
    const owner = JSON.parse(text) as Partial<Owner> | null
    const { pid, host } = owner ?? {}
    return typeof pid === 'number' && typeof host === 'string' ? { pid, host } : undefined
  } catch {
    // Cut off while it was written: its owner never began.
    return undefined
  }
}

function isGone({ pid, host }: Owner): boolean {
  // Of another machine on a shared disk nothing can be known.
  if (host !== hostname()) return false
  // Ours before we made one: of an earlier process with the same number, as in a container that was started again.
  if (pid === process.pid) return true
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return codeOf(error) === 'ESRCH'
  }
}

/** Removes the lock that was read, and not one that another program has made since. */
async function takeAway(path: string, text: string): Promise<void> {
  const aside = `${path}.${String(process.pid)}`
  try {
    await rename(path, aside)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return
    throw error
  }
  if (readFileSync(aside, 'utf8') !== text) await rename(aside, path)
  else await rm(aside, { force: true })
}

async function removeLeftovers(folder: string): Promise<void> {
  const names = await readdir(folder)
  const aside = names.filter((name) => name.startsWith(`${lockName}.`))
  await Promise.all(aside.map((name) => rm(join(folder, name), { force: true })))
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
