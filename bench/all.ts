/**
 * `npm run bench -- all`: every bench, one after the other, each in a process of its own so that none warms up another,
 * and one page of what they printed: bench/results/DATE.md. A bench that fails or takes too long is a section that says
 * so; the others run all the same. With `--quick` the page is DATE-quick.md, which nobody takes for numbers.
 */
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { freemem, loadavg } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { format } from 'prettier'
import { headline, today } from './machine.ts'
import type { BenchOptions } from './options.ts'

const here = dirname(fileURLToPath(import.meta.url))
const home = join(here, '..')

/** The longest of them takes about six minutes on two cores. */
const benchMsMax = 20 * 60_000
const quickMsMax = 3 * 60_000
/** Between being asked to end and being ended. */
const graceMs = 5_000

/** @returns the exit code: 1 when a bench failed. */
export async function benchAll(names: readonly string[], options: BenchOptions): Promise<number> {
  const sections: string[] = []
  let failed = 0
  for (const [at, name] of names.entries()) {
    process.stderr.write(`bench: ${name}, ${String(at + 1)} of ${String(names.length)}\n`)
    const load = loadavg()[0] ?? Number.NaN
    const { lines, seconds, failure } = await runBench(name, options)
    if (failure !== undefined) failed += 1
    sections.push(
      `## ${name}`,
      '',
      failure === undefined ? lines : `It failed: ${failure}.`,
      '',
      `It took ${seconds.toFixed(0)} s; load of the machine before it ${load.toFixed(1)}.`,
      '',
    )
  }
  const page = [
    '# Benchmarks, all in one run',
    '',
    headline('all', options),
    '',
    `${versions()}. Memory free at the end: ${(freemem() / 2 ** 30).toFixed(0)} GiB. What is measured and how stands at the`,
    'head of each file in `bench/`; what the tables mean, in docs/benchmarks.md.',
    '',
    ...sections,
  ].join('\n')
  const folder = join(here, 'results')
  mkdirSync(folder, { recursive: true })
  const path = join(folder, `${today()}${options.quick ? '-quick' : ''}.md`)
  writeFileSync(path, await format(page, { parser: 'markdown' }))
  process.stdout.write(
    `bench/results/${path.slice(folder.length + 1)}: ${String(names.length - failed)} done, ${String(failed)} failed\n`,
  )
  return failed === 0 ? 0 : 1
}

interface Outcome {
  readonly lines: string
  readonly seconds: number
  /** Why there are no lines. */
  readonly failure?: string
}

async function runBench(name: string, { quick }: BenchOptions): Promise<Outcome> {
  const startedAt = performance.now()
  const max = quick ? quickMsMax : benchMsMax
  const args = ['--import', 'tsx', join(here, 'main.ts'), name, ...(quick ? ['--quick'] : [])]
  // A group of its own: workerd and whatever else it started end with it.
  const child = spawn(process.execPath, args, {
    cwd: home,
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const stdout: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk))
  let late = false
  const timers = [
    setTimeout(() => {
      late = true
      endGroup(child.pid, 'SIGTERM')
    }, max),
    setTimeout(() => {
      endGroup(child.pid, 'SIGKILL')
    }, max + graceMs),
  ]
  const onEnd = (): void => {
    endGroup(child.pid, 'SIGTERM')
    process.exit(130)
  }
  process.once('SIGINT', onEnd)
  process.once('SIGTERM', onEnd)
  const ended = await new Promise<string>((resolve) => {
    child.once('error', ({ message }) => {
      resolve(message)
    })
    child.once('close', (code, signal) => {
      resolve(code === 0 ? '' : `it ended with ${String(code ?? signal)}`)
    })
  })
  for (const timer of timers) clearTimeout(timer)
  process.off('SIGINT', onEnd)
  process.off('SIGTERM', onEnd)
  // What outlived it would disturb the next one.
  endGroup(child.pid, 'SIGKILL')
  const seconds = (performance.now() - startedAt) / 1_000
  if (late) return { lines: '', seconds, failure: `it was ended after ${String(max / 60_000)} minutes` }
  if (ended !== '') return { lines: '', seconds, failure: `${ended}; why is on stderr` }
  return { lines: Buffer.concat(stdout).toString('utf8').trimEnd(), seconds }
}

/** Only ever the group of a process that this one started. */
function endGroup(pid: number | undefined, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // It has ended.
  }
}

/** What is measured, and with what: read from where npm put it, since not every package lets its manifest be imported. */
function versions(): string {
  const ours = ['workerd', 'miniflare', '@cedar-policy/cedar-wasm']
  const peers = ['casbin', '@microsoft/agent-governance-sdk']
  return [
    `aegis-edge ${readVersion(join(home, 'package.json'))}`,
    ...ours.map((name) => `${name} ${readVersion(join(home, 'node_modules', name, 'package.json'))}`),
    ...peers.map((name) => `${name} ${readVersion(join(here, 'node_modules', name, 'package.json'))}`),
  ].join(', ')
}

function readVersion(manifest: string): string {
  try {
    return (JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string }).version
  } catch {
    return 'not installed'
  }
}
