/**
 * What `wrangler deploy` carries along (policy.md §1): validates policies/default and every policies/tenants/<tenant> with
 * their cases, and writes their bundle objects into the file that the Worker is built with. Runs as `[build]` of
 * wrangler.toml and with `npm run build`; any error, each with its file and line, fails the deploy.
 *
 * tsx .ci/deployed-bundles.ts [POLICIES [OUT]]
 */
import { mkdir, readFile, readdir, rename, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readBundleFolder } from '../src/cli/bundle-folder.ts'
import { policyMeans } from '../src/cli/policy-engine.ts'
import { describeFinding, readBundle, runCases } from '../src/policy/index.ts'
import { decodeUtf8 } from '../src/record/index.ts'

interface Carried {
  readonly policy_set_hash: string
  /** The bundle object, as text. */
  readonly object: string
}

const home = fileURLToPath(new URL('..', import.meta.url))
const tenantName = /^[a-z][a-z0-9-]{1,38}$/

const [policies = join(home, 'policies'), out = join(home, 'src', 'app', 'deployed-bundles.json')] =
  process.argv.slice(2)
const means = policyMeans()
let errors = 0

const standard = await carry(join(policies, 'default'))
const tenants: Record<string, Carried> = {}
for (const name of await foldersIn(join(policies, 'tenants'))) {
  const folder = join(policies, 'tenants', name)
  if (!tenantName.test(name)) {
    fail(`${shown(folder)} error tenant_name no tenant can have this name; use 2 to 39 of a-z, 0-9 and -`)
    continue
  }
  const carried = await carry(folder)
  if (carried !== undefined) tenants[name] = carried
}
if (errors > 0 || standard === undefined) {
  process.stderr.write(`policies: ${String(errors)} errors; nothing is deployed\n`)
  process.exitCode = 1
} else {
  await writeWhole(out, `${JSON.stringify({ default: standard, tenants })}\n`)
}

/** One bundle, validated and its cases run; what is wrong is printed. */
async function carry(folder: string): Promise<Carried | undefined> {
  let files
  try {
    files = await readBundleFolder(folder)
  } catch (error) {
    fail(`${shown(folder)} error not_readable ${error instanceof Error ? error.message : 'cannot be read'}`)
    return undefined
  }
  const { bundle, findings } = readBundle(files, means)
  for (const finding of findings) {
    const text = `${shown(folder)}/${describeFinding(finding)}`
    if (finding.severity === 'error') fail(text)
    else process.stderr.write(`${text}\n`)
  }
  if (bundle === undefined) return undefined
  for (const { file, name, passed, problems } of runCases(bundle, means)) {
    if (passed) continue
    const line = lineOf(decodeUtf8(files.get(file) ?? new Uint8Array()), name)
    fail(
      `${shown(folder)}/${file}:${String(line)} error case_failed ${JSON.stringify(name)} ${problems.join('; ')}`,
    )
  }
  return { policy_set_hash: bundle.policySet.policySetHash, object: decodeUtf8(bundle.objectBytes) }
}

function fail(text: string): void {
  errors += 1
  process.stderr.write(`${text}\n`)
}

/** Names are unique in a file of cases. */
function lineOf(text: string, name: string): number {
  const at = text.split('\n').findIndex((line) => line.includes(JSON.stringify(name)))
  return at + 1
}

function shown(path: string): string {
  return relative(process.cwd(), path)
}

/** Names that begin with a dot, and files such as a README, are no tenants. */
async function foldersIn(folder: string): Promise<readonly string[]> {
  let entries
  try {
    entries = await readdir(folder, { withFileTypes: true })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
  return entries
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
    .map(({ name }) => name)
    .sort()
}

/** Two builds at once leave a whole file; one that changes nothing leaves the file alone, so that nothing rebuilds. */
async function writeWhole(file: string, text: string): Promise<void> {
  const before = await readFile(file, 'utf8').catch(() => undefined)
  if (before === text) return
  await mkdir(dirname(file), { recursive: true })
  const draft = `${file}.${String(process.pid)}`
  await writeFile(draft, text)
  await rename(draft, file)
}
