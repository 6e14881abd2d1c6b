/**
 * Runs the `aegis` command as its users do: a child process of the built program, judged by exit code, stdout and
 * stderr. The program is built anew for each test file, from the sources as they are, so that no test sees an old one.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { buildSync } from 'esbuild'
import { afterAll, vi } from 'vitest'

const root = join(dirname(fileURLToPath(import.meta.url)), '../..')

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  readonly input?: Uint8Array | string
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
}

export interface TestCommand {
  /** The built module. */
  readonly program: string
  /** Of its threads. */
  readonly workerUrl: URL
  run(args: readonly string[], options?: RunOptions): Promise<Ended>
  /** Like {@link run}, but the child is the caller's to feed and to end. */
  start(args: readonly string[], options?: RunOptions): ChildProcess
  /** Writes a file into a folder that goes away with the test file; returns its path. */
  file(name: string, bytes: Uint8Array | string): string
  /** That folder. */
  readonly folder: string
}

/** Call once at the top of a test file. */
export function buildCommand(): TestCommand {
  // A test starts several processes, on machines that have other things to do.
  vi.setConfig({ testTimeout: 30_000 })
  // Inside the project, so that the packages which stay imports are found.
  const cache = join(root, 'node_modules/.cache')
  mkdirSync(cache, { recursive: true })
  const built = mkdtempSync(join(cache, 'aegis-command-'))
  const folder = mkdtempSync(join(tmpdir(), 'aegis-test-'))
  afterAll(() => {
    rmSync(built, { recursive: true, force: true })
    rmSync(folder, { recursive: true, force: true })
  })
  buildSync({
    absWorkingDir: root,
    entryPoints: ['src/cli/main.ts', 'src/cli/verify-worker.ts', 'src/cli/recheck-worker.ts'],
    outdir: built,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    logLevel: 'error',
  })
  writeFileSync(join(built, 'package.json'), '{"type":"module"}')
  const program = join(built, 'main.js')

  const start = (args: readonly string[], options: RunOptions = {}): ChildProcess =>
    spawn(process.execPath, [program, ...args], {
      cwd: options.cwd ?? folder,
      // Nothing of the machine that runs the tests: no colour, locale or zone but those a test names.
      env: { PATH: process.env['PATH'] ?? '', ...options.env },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
  const run = async (args: readonly string[], options: RunOptions = {}): Promise<Ended> => {
    const child = start(args, options)
    // A command that does not read its input closes it under us.
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(options.input ?? '')
    return ended(child)
  }
  const file = (name: string, bytes: Uint8Array | string): string => {
    const path = join(folder, name)
    writeFileSync(path, bytes)
    return path
  }
  return { program, workerUrl: pathToFileURL(join(built, 'verify-worker.js')), run, start, file, folder }
}

/** Waits for the end of a child and all of its output. */
export async function ended(child: ChildProcess): Promise<Ended> {
  const out: Buffer[] = []
  const err: Buffer[] = []
  child.stdout?.on('data', (chunk: Buffer) => out.push(chunk))
  child.stderr?.on('data', (chunk: Buffer) => err.push(chunk))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => {
      resolve({
        code,
        signal,
        stdout: Buffer.concat(out).toString('utf8'),
        stderr: Buffer.concat(err).toString('utf8'),
      })
    })
  })
}
