/**
 * The config file of the command: profiles, each a deployment and the files that hold its keys (docs/cli.md). Read
 * strictly: a member that is not known is an error that names it, so that no setting is silently without effect. It
 * never holds a secret, and no value of it is shown in an error.
 */
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import {
  type JsonObject,
  type JsonValue,
  describeFormatError,
  isJsonObject,
  parseBody,
} from '../record/index.ts'
import { type CliError, usageError } from './exit-codes.ts'
import { readSmallFile } from './input-files.ts'

/** A thousand profiles. */
const configBytesMax = 1_000_000

const profileMembers = ['url', 'key_file', 'operator_key_file', 'tenant'] as const

/** One deployment; files are named by absolute paths here. */
export interface Profile {
  readonly name: string
  readonly url: string
  readonly keyFile?: string
  readonly operatorKeyFile?: string
  readonly tenant?: string
}

export interface ConfigFile {
  readonly path: string
  readonly default?: string
  readonly profiles: ReadonlyMap<string, Profile>
}

/** Where it is read from, and what named it; without a name of its own it need not be there. */
export interface ConfigSource {
  readonly path: string
  readonly namedBy: '--config' | 'AEGIS_CONFIG' | undefined
}

/** `--config`, else `AEGIS_CONFIG`, else the place for it under the XDG base directories. */
export function findConfig(flag: string | undefined, env: NodeJS.ProcessEnv = process.env): ConfigSource {
  if (flag !== undefined) return { path: resolve(flag), namedBy: '--config' }
  const named = env['AEGIS_CONFIG'] ?? ''
  if (named !== '') return { path: resolve(named), namedBy: 'AEGIS_CONFIG' }
  const base = env['XDG_CONFIG_HOME'] ?? ''
  // The XDG specification has a relative one ignored.
  const folder = isAbsolute(base) ? base : join(homedir(), '.config')
  return { path: join(folder, 'aegis', 'config.json'), namedBy: undefined }
}

/** @returns `undefined` where no file is and none was named. */
export async function readConfig({ path, namedBy }: ConfigSource): Promise<ConfigFile | undefined> {
  if (namedBy === undefined && !existsSync(path)) return undefined
  const bytes = await readSmallFile(namedBy ?? 'config', path, configBytesMax)
  const read = parseBody(bytes)
  if (!read.ok) throw wrong(path, describeFormatError(read.error))
  refuseUnknown(path, '$', read.value, ['default', 'profiles'])
  const chosen = optionalText(path, '$.default', read.value['default'])
  const entries = read.value['profiles']
  if (!isJsonObject(entries)) throw wrong(path, '$.profiles must be an object of profiles')
  const profiles = new Map(
    Object.entries(entries).map(([name, entry]) => [name, parseProfile(path, name, entry)]),
  )
  if (chosen !== undefined && !profiles.has(chosen)) throw wrong(path, '$.default names no profile of it')
  return { path, profiles, ...(chosen === undefined ? {} : { default: chosen }) }
}

function parseProfile(path: string, name: string, entry: JsonValue): Profile {
  const at = `$.profiles.${name}`
  if (!isJsonObject(entry)) throw wrong(path, `${at} must be an object`)
  refuseUnknown(path, at, entry, profileMembers)
  const url = optionalText(path, `${at}.url`, entry['url'])
  if (url === undefined) throw wrong(path, `${at}.url is missing`)
  const keyFile = optionalText(path, `${at}.key_file`, entry['key_file'])
  const operatorKeyFile = optionalText(path, `${at}.operator_key_file`, entry['operator_key_file'])
  const tenant = optionalText(path, `${at}.tenant`, entry['tenant'])
  return {
    name,
    url,
    ...(keyFile === undefined ? {} : { keyFile: besideConfig(path, keyFile) }),
    ...(operatorKeyFile === undefined ? {} : { operatorKeyFile: besideConfig(path, operatorKeyFile) }),
    ...(tenant === undefined ? {} : { tenant }),
  }
}

/** A relative name is one beside the config file, wherever the command runs. */
function besideConfig(path: string, file: string): string {
  if (file.startsWith('~/')) return join(homedir(), file.slice(2))
  return resolve(dirname(path), file)
}

function refuseUnknown(path: string, at: string, object: JsonObject, known: readonly string[]): void {
  const unknown = Object.keys(object).find((name) => !known.includes(name))
  if (unknown === undefined) return
  throw wrong(path, `${at}.${unknown} is not known here; known are ${known.join(', ')}, and never a secret`)
}

function optionalText(path: string, at: string, value: unknown): string | undefined {
  if (value === undefined) return undefined
  if (typeof value !== 'string' || value === '') throw wrong(path, `${at} must be a string that is not empty`)
  return value
}

function wrong(path: string, what: string): CliError {
  return usageError(`error: config ${path}: ${what}`)
}
