/**
 * Finds the folder of other projects' test vectors that lies beside some checkouts as ../shared. A user's clone
 * has none; tests that need it are named `*.shared.test.ts`, so that vitest.config.ts can leave them uncollected
 * there. Where CI=true its absence is an error, so that such a test can never go missing unseen.
 */
import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const beside = resolve(dirname(fileURLToPath(import.meta.url)), '../../../shared')

/**
 * The absolute path of the shared folder, or undefined where there is none. `AEGIS_SHARED` names another one.
 *
 * @throws Error when CI=true, or `AEGIS_SHARED` is set, and the folder is not there.
 */
export function sharedFolder(): string | undefined {
  const named = process.env['AEGIS_SHARED']
  const folder = named === undefined || named === '' ? beside : resolve(named)
  if (existsSync(join(folder, 'vectors'))) return folder
  if (process.env['CI'] === 'true' || folder !== beside) throw new Error(`no test vectors in ${folder}`)
  return undefined
}

/**
 * The path of a file or folder below ../shared, for a `*.shared.test.ts`.
 *
 * @example sharedPath('vectors', 'ed25519')
 * @throws Error where there is no shared folder: such a test is collected only where there is one.
 */
export function sharedPath(...names: string[]): string {
  const folder = sharedFolder()
  if (folder === undefined) throw new Error('this test needs ../shared; name it *.shared.test.ts')
  return join(folder, ...names)
}

/** The glob of tests that cannot run in this checkout. */
export function outsideTests(): string[] {
  return sharedFolder() === undefined ? ['test/**/*.shared.test.ts'] : []
}
