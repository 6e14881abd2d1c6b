// Builds dist: every published entry point as an ESM file (esbuild; third-party packages stay imports) and
// its declarations (tsc). Runs as `npm run build` and as npm's `prepare`, so a fresh clone has its command
// after `npm ci`. The Worker is not built here: wrangler bundles src/worker.ts itself, with the policy bundles that
// deployed-bundles.ts writes, here too so that tests and `npm run dev` find them.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, readFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))

const sourceOf = (target) => target.replace(/^\.\/dist\//, 'src/').replace(/\.js$/, '.ts')
const targets = [
  ...Object.values(manifest.bin),
  ...Object.values(manifest.exports).map((entry) => entry.import),
  './dist/cli/verify-worker.js',
  './dist/cli/recheck-worker.js',
]
const entries = [...new Set(targets)].map((target) => ({ target, source: sourceOf(target) }))
const lost = entries.filter(({ source }) => !existsSync(join(root, source)))
if (lost.length > 0) {
  process.stderr.write(`build: missing entry point: ${lost.map(({ source }) => source).join(', ')}\n`)
  process.exit(1)
}

const bundled = (sources, options) =>
  build({
    absWorkingDir: root,
    entryPoints: sources,
    outbase: 'src',
    outdir: 'dist',
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    logLevel: 'warning',
    ...options,
  })
const sources = entries.map(({ source }) => source)
const isSdk = (source) => source.startsWith('src/sdk/')

await policies()
await rm(join(root, 'dist'), { recursive: true, force: true })
await Promise.all([
  bundled(sources.filter((source) => !isSdk(source))),
  // What the entries of the SDK share is in files of its own: an error has one class, whichever entry it came through.
  bundled(sources.filter(isSdk), { splitting: true, platform: 'neutral', chunkNames: 'sdk/shared-[hash]' }),
  declarations(),
])
for (const target of Object.values(manifest.bin)) await chmod(join(root, target), 0o755)

/** What `[build]` of wrangler.toml does before each deploy. */
async function policies() {
  const child = spawn(process.execPath, ['--import', 'tsx', join(root, '.ci/deployed-bundles.ts')], {
    cwd: root,
    stdio: 'inherit',
  })
  const code = await new Promise((resolve) => child.once('exit', resolve))
  if (code !== 0) throw new Error('the policy bundles are not fit to be deployed')
}

/** `tsc` for the folders that are published. */
async function declarations() {
  // `typescript/package.json` is always exported; the path of the program inside the package is its `bin`.
  const require = createRequire(import.meta.url)
  const home = require.resolve('typescript/package.json')
  const program = join(dirname(home), require('typescript/package.json').bin.tsc)
  const args = [program, '-p', join(root, '.ci/tsconfig.build.json')]
  const child = spawn(process.execPath, args, { stdio: 'inherit' })
  const code = await new Promise((resolve) => child.once('exit', resolve))
  if (code !== 0) throw new Error(`tsc ended with ${String(code)}`)
}
