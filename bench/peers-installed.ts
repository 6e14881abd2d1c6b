/**
 * What the benches are compared with, installed into bench/node_modules from its own lock the first time: no dependency
 * of the project. Their modules are imported only after this.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))

/** Throws when npm cannot install them; what npm says goes to stderr. */
export function installPeers(): void {
  const { dependencies } = readManifest(join(here, 'package.json'))
  const isThere = ([name, version]: readonly [string, string]): boolean => {
    const path = join(here, 'node_modules', name, 'package.json')
    return existsSync(path) && readManifest(path).version === version
  }
  if (Object.entries(dependencies ?? {}).every(isThere)) return
  process.stderr.write('bench: installing the peers into bench/node_modules\n')
  execFileSync('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], {
    cwd: here,
    stdio: ['ignore', 2, 2],
    timeout: 120_000,
  })
}

interface Manifest {
  readonly version?: string
  readonly dependencies?: Readonly<Record<string, string>>
}

function readManifest(path: string): Manifest {
  return JSON.parse(readFileSync(path, 'utf8')) as Manifest
}
