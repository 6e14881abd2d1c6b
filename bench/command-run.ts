/** Runs the built command as its users do, start included, and says how long it took and what memory it had at most. */
import { spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The built command. */
export const program = join(dirname(fileURLToPath(import.meta.url)), '../dist/cli/main.js')

export interface Run {
  readonly code: number | null
  readonly stdout: string
  readonly seconds: number
  readonly peakBytes: number
}

/**
 * Says at the end, on the fourth stream, how many KiB of memory the process had at most, its threads included. Linux
 * gives a child's `maxRSS` the peak of the parent that started it, so that there `VmHWM` is the number to read.
 */
const sayPeak = `data:text/javascript,${encodeURIComponent(`
import { readFileSync, writeSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
const peak = () => {
  try {
    return /VmHWM:\\s*(\\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))[1]
  } catch {
    return String(process.resourceUsage().maxRSS)
  }
}
if (isMainThread) process.on('exit', () => writeSync(3, peak()))
`)}`

/** @param args of `aegis`. */
export async function runCommand(args: readonly string[]): Promise<Run> {
  const startedAt = performance.now()
  const child = spawn(process.execPath, ['--import', sayPeak, program, ...args], {
    stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
  })
  const stdout: Buffer[] = []
  let peak = ''
  child.stdout?.on('data', (chunk: Buffer) => stdout.push(chunk))
  child.stdio[3]?.on('data', (chunk: Buffer) => (peak += chunk.toString()))
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  const seconds = (performance.now() - startedAt) / 1_000
  return { code, stdout: Buffer.concat(stdout).toString(), seconds, peakBytes: Number(peak) * 1_024 }
}
