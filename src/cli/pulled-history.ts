/**
 * A deployment's own Lines for one command: pulled into a folder that only this user can read, verified on the way, and
 * removed at the end, however that comes. Nothing is pinned: for an act on that deployment, not for evidence.
 */
import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises'
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Connection } from './connection.ts'
import { CliError, exitCodes } from './exit-codes.ts'
import { pullChain } from './pull/chain-pull.ts'
import { PullFolder } from './pull/folder.ts'
import { liveName } from './pull/heads.ts'
import { pullExitCode } from './pull/report.ts'
import { segmentName } from './pull/segment.ts'

const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Pulls what is published and what is not yet, and hands it out as one file.
 *
 * @throws CliError where the deployment does not show a whole history that verifies.
 */
export async function withPulledHistory(
  auditor: Connection,
  quiet: boolean,
  use: (file: string) => Promise<void>,
): Promise<void> {
  const path = await mkdtemp(join(tmpdir(), 'aegis-history-'))
  const removeAndEnd = (signal: NodeJS.Signals): void => {
    for (const name of endingSignals) process.removeListener(name, removeAndEnd)
    rmSync(path, { recursive: true, force: true })
    process.kill(process.pid, signal)
  }
  for (const name of endingSignals) process.on(name, removeAndEnd)
  try {
    await use(await pullInto(path, auditor, quiet))
  } finally {
    for (const name of endingSignals) process.removeListener(name, removeAndEnd)
    await rm(path, { recursive: true, force: true })
  }
}

async function pullInto(path: string, { client, tenant }: Connection, quiet: boolean): Promise<string> {
  if (tenant === undefined) throw new Error("an auditor's key names its tenant")
  const folder = await PullFolder.open(path)
  try {
    const result = await pullChain({ client, tenant, folder, pins: undefined, heads: [], live: true, quiet })
    const { live, report, segments, stop } = result
    const exitCode = pullExitCode(result)
    if (exitCode !== exitCodes.ok) {
      const why =
        stop === undefined ? `it is ${report.verdict}` : `${stop.at}: ${stop.reason}: ${stop.message}`
      throw new CliError(`error: --auditor-key-file: the history cannot be used: ${why}`, exitCode)
    }
    // One file: a year of Sessions is more than may be open at once.
    const file = folder.pathOf('history.aarl')
    const names = Array.from({ length: segments }, (_, at) => segmentName(at))
    for (const name of live === undefined ? names : [...names, liveName]) {
      await appendFile(file, await readFile(folder.pathOf(name)))
      await folder.remove(name)
    }
    return file
  } finally {
    await folder.close()
  }
}
