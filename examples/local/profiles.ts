/**
 * Keys and profiles of the local tenant as files, so that `aegis` finds the local deployment by a name (docs/cli.md):
 * `AEGIS_CONFIG=<state>/aegis.json`, and then `--profile admin`, `approver`, `auditor`, `agent` or `operator`.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { LocalSecrets } from './authorizer.ts'
import type { LocalTenant } from './tenant.ts'

/** @returns the config file. */
export async function writeProfiles(
  stateFolder: string,
  url: string,
  { operatorSecret }: Pick<LocalSecrets, 'operatorSecret'>,
  { keys }: Pick<LocalTenant, 'keys'>,
): Promise<string> {
  const folder = resolve(stateFolder, 'keys')
  await mkdir(folder, { recursive: true })
  const profiles: Record<string, object> = {}
  for (const [role, key] of Object.entries(keys)) {
    const file = join(folder, `${role}.key`)
    await writeFile(file, `${key}\n`, { mode: 0o600 })
    profiles[role] = { url, key_file: file }
  }
  const operatorFile = join(folder, 'operator.key')
  await writeFile(operatorFile, `aegis_operator_${operatorSecret}\n`, { mode: 0o600 })
  profiles['operator'] = { url, operator_key_file: operatorFile }
  const config = join(stateFolder, 'aegis.json')
  await writeFile(config, `${JSON.stringify({ default: 'admin', profiles }, undefined, 2)}\n`)
  return config
}
