// Builds dist: every published entry point as one ESM file (esbuild; third-party packages stay imports) and
// its declarations (tsc). Runs as `npm run build` and as npm's `prepare`, so a fresh clone has its command
// after `npm ci`. The Worker is not built here: wrangler bundles src/worker.ts itself.
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

await rm(join(root, 'dist'), { recursive: true, force: true })
await Promise.all([
  build({
    absWorkingDir: root,
    entryPoints: entries.map(({ source }) => source),
    outbase: 'src',
    outdir: 'dist',
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    logLevel: 'warning',
  }),
  declarations(),
])
for (const target of Object.values(manifest.bin)) await chmod(join(root, target), 0o755)

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
