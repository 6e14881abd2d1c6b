/**
 * One target in a thread: mutates, runs, and keeps what reaches an edge that nothing reached before. The input under way
 * lies in shared memory, so that one that never ends can still be told.
 */
import { createHash } from 'node:crypto'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { workerData } from 'node:worker_threads'
import { randomFrom } from '../test/harness/random.ts'
import { mutate } from './mutate.ts'
import type { Target } from './targets.ts'

interface Setting {
  readonly program: string
  readonly name: string
  readonly corpus: string
  readonly finding: string
  readonly seconds: number
  readonly seed: number
  /** [executions, edges, corpus, length of the input, 1 when a finding was made] */
  readonly shared: SharedArrayBuffer
  readonly input: SharedArrayBuffer
}

const setting = workerData as Setting
const counts = new Int32Array(setting.shared)
const current = new Uint8Array(setting.input)
const program = createRequire(import.meta.url)(setting.program) as {
  readonly targets: Readonly<Record<string, Target>>
}
const target = program.targets[setting.name] as Target

/** Counters of every statement, function and branch of the instrumented program. */
interface FileCoverage {
  readonly s: Readonly<Record<string, number>>
  readonly f: Readonly<Record<string, number>>
  readonly b: Readonly<Record<string, readonly number[]>>
}
const coverage = (globalThis as unknown as { readonly __coverage__: Readonly<Record<string, FileCoverage>> })
  .__coverage__

function edges(): number {
  let reached = 0
  for (const { s, f, b } of Object.values(coverage)) {
    for (const key in s) if ((s[key] ?? 0) > 0) reached += 1
    for (const key in f) if ((f[key] ?? 0) > 0) reached += 1
    for (const key in b) for (const count of b[key] ?? []) if (count > 0) reached += 1
  }
  return reached
}

const random = randomFrom(setting.seed)
const inputs: Uint8Array[] = readdirSync(setting.corpus).map(
  (file) => new Uint8Array(readFileSync(join(setting.corpus, file))),
)

function run(input: Uint8Array): boolean {
  current.set(input)
  counts[3] = input.length
  try {
    target(input)
  } catch (cause) {
    writeFileSync(setting.finding, input)
    process.stderr.write(`${setting.name}: ${String(cause)}\n`)
    counts[4] = 1
    return false
  }
  counts[0] = (counts[0] ?? 0) + 1
  return true
}

for (const input of inputs) if (!run(input)) process.exit(1)
let best = edges()
const end = Date.now() + setting.seconds * 1_000
while (Date.now() < end) {
  const input = mutate(random.pick(inputs), random.pick(inputs), random)
  if (!run(input)) break
  const reached = edges()
  if (reached > best) {
    best = reached
    inputs.push(input)
    writeFileSync(join(setting.corpus, createHash('sha256').update(input).digest('hex').slice(0, 16)), input)
  }
  counts[1] = best
  counts[2] = inputs.length
}
