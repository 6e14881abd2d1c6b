/**
 * `npm run fuzz -- [TARGET…] [--seconds N] [--seed N]`: fuzzes by coverage, from the corpus and into it. Installs what
 * counts the edges into fuzz/node_modules the first time. A finding, or an input that never ends, is written to
 * fuzz/findings and ends with 1.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { build } from 'esbuild'
import { inputBytesMax } from './mutate.ts'
import { targets } from './targets.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const { values, positionals } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, seed: { type: 'string' } },
  allowPositionals: true,
})
const names = positionals.length === 0 ? Object.keys(targets) : positionals
for (const name of names) if (!Object.hasOwn(targets, name)) throw new Error(`there is no target ${name}`)
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31))

/** An input that takes longer never ends, as far as anyone can tell. */
const stuckMs = 20_000

if (!existsSync(join(here, 'node_modules', 'istanbul-lib-instrument'))) {
  spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: here, stdio: 'inherit' })
}
interface Instrumenter {
  readonly createInstrumenter: (options: object) => {
    readonly instrumentSync: (code: string, file: string) => string
  }
}
const { createInstrumenter } = createRequire(import.meta.url)('istanbul-lib-instrument') as Instrumenter

// Inside the project, so that the packages which stay imports are found.
const built = await mkdtemp(join(here, 'node_modules', '.fuzz-'))
const findings = join(here, 'findings')
await mkdir(findings, { recursive: true })
process.stdout.write(`seed ${String(seed)}\n`)
let failed = false
try {
  const common = { bundle: true, platform: 'node', target: 'node20.19', logLevel: 'error' } as const
  const program = join(built, 'targets.cjs')
  await build({
    ...common,
    entryPoints: [join(here, 'targets.ts')],
    outfile: program,
    format: 'cjs',
    // The wasm is found beside its package.
    define: { 'import.meta.url': JSON.stringify(new URL('../src/cli/main.ts', import.meta.url).href) },
  })
  const instrumenter = createInstrumenter({ esModules: false, compact: false })
  writeFileSync(program, instrumenter.instrumentSync(readFileSync(program, 'utf8'), program))
  await build({
    ...common,
    entryPoints: [join(here, 'worker.ts')],
    outfile: join(built, 'worker.mjs'),
    format: 'esm',
  })
  for (const name of names) {
    const found = await fuzz(name, program)
    failed ||= found.failed
    process.stdout.write(`${name}: ${found.said}${found.failed ? '  FINDING' : ''}\n`)
  }
} finally {
  await rm(built, { recursive: true, force: true })
}
process.exitCode = failed ? 1 : 0

async function fuzz(
  name: string,
  program: string,
): Promise<{ readonly failed: boolean; readonly said: string }> {
  const corpus = join(here, 'corpus', name)
  const finding = join(findings, name)
  const shared = new SharedArrayBuffer(5 * 4)
  const input = new SharedArrayBuffer(Math.max(inputBytesMax, 65_536))
  const counts = new Int32Array(shared)
  const worker = new Worker(join(built, 'worker.mjs'), {
    workerData: { program, name, corpus, finding, seconds: Number(values.seconds), seed, shared, input },
    resourceLimits: { maxOldGenerationSizeMb: 1_500 },
  })
  let isStuck = false
  let before = -1
  const watch = setInterval(() => {
    const [executions = 0] = counts
    isStuck = executions === before
    before = executions
    if (!isStuck) return
    writeFileSync(finding, new Uint8Array(input.slice(0, counts[3] ?? 0)))
    void worker.terminate()
  }, stuckMs)
  const died = await new Promise<boolean>((resolve) => {
    worker.once('error', (cause) => {
      process.stderr.write(`${name}: ${String(cause)}\n`)
      writeFileSync(finding, new Uint8Array(input.slice(0, counts[3] ?? 0)))
      resolve(true)
    })
    worker.once('exit', () => {
      resolve(false)
    })
  })
  clearInterval(watch)
  const [executions = 0, edges = 0, size = 0, , wasFound = 0] = counts
  const said = `${String(executions)} executions, ${String(edges)} edges, corpus ${String(size)}`
  return { failed: died || isStuck || wasFound === 1 || executions === 0, said }
}
