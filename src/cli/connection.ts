/**
 * How a command finds the deployment that it talks to and the key that it shows there (docs/cli.md): a profile of the
 * config file, then the environment, then flags, from weak to strong. A key comes from a file or the environment, never
 * from an argument, which other users of the machine could read. Not for what is sent: that is http-client.ts.
 */
import { type Command, Option } from 'commander'
import { type KeyRole, type ParsedApiKey, parseApiKey } from '../protocol/index.ts'
import { fileName, integerBetween, nonEmpty, once } from './command.ts'
import { type ConfigFile, type Profile, findConfig, readConfig } from './config-file.ts'
import { usageError } from './exit-codes.ts'
import { HttpClient } from './http-client.ts'
import { readSmallFile } from './input-files.ts'

/** A key has 136 characters at most. */
const keyFileBytesMax = 1_024
const timeoutDefaultSeconds = 30
const timeoutMaxSeconds = 600

export interface ConnectionFlags {
  readonly url?: string
  readonly keyFile?: string
  readonly profile?: string
  readonly config?: string
  readonly timeout?: number
}

export interface Connection {
  readonly client: HttpClient
  /** Of the key. */
  readonly role: KeyRole | 'operator'
  /** Of the key; for an operator the one that his profile names, if it does. */
  readonly tenant: string | undefined
  /** Of the key; an operator's has none. */
  readonly keyId: string | undefined
  /** Of the deployment. */
  readonly url: string
}

/** Gives a command the flags that {@link connect} takes. */
export function addConnectionOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--url <url>', 'where the deployment is (else AEGIS_URL, else the profile)').argParser(
        once(nonEmpty),
      ),
    )
    .addOption(
      new Option(
        '--key-file <file>',
        'a file that holds the API key (else AEGIS_API_KEY, for the operator AEGIS_OPERATOR_KEY, else the profile)',
      ).argParser(once(fileName)),
    )
    .addOption(
      new Option(
        '--profile <name>',
        'a profile of the config file (else AEGIS_PROFILE, else its default)',
      ).argParser(once(nonEmpty)),
    )
    .addOption(
      new Option(
        '--config <file>',
        'the config file (else AEGIS_CONFIG, else aegis/config.json in XDG_CONFIG_HOME or ~/.config)',
      ).argParser(once(fileName)),
    )
    .addOption(
      new Option(
        '--timeout <seconds>',
        `how long an answer may take to begin or to go on (default: ${String(timeoutDefaultSeconds)})`,
      ).argParser(once(integerBetween(1, timeoutMaxSeconds))),
    )
}

/**
 * Settles where to and with which key. Nothing is sent yet.
 *
 * @param roles that the command is for; a key of another one is refused here, by name, before it is shown to anyone.
 * @param keyFileFlag what errors call `flags.keyFile`, where a command takes a second key.
 * @throws CliError that names the flag, the variable or the file at fault, and never holds the key.
 */
export async function connect(
  flags: ConnectionFlags,
  roles: readonly Connection['role'][],
  keyFileFlag = '--key-file',
): Promise<Connection> {
  const profile = await findProfile(flags)
  const url = settleUrl(flags, profile)
  const { key, parsed, from } = await settleKey(flags, profile, url, roles, keyFileFlag)
  const role = parsed.kind === 'operator' ? 'operator' : parsed.role
  if (!roles.includes(role)) {
    throw usageError(
      `error: ${from}: this needs the key of an ${roles.join(' or ')}, and that is one of an ${role}`,
    )
  }
  const tenant = parsed.kind === 'operator' ? profile?.tenant : parsed.tenant
  const timeoutMs = (flags.timeout ?? timeoutDefaultSeconds) * 1_000
  const client = new HttpClient({ baseUrl: url.href, key, timeoutMs })
  return { client, role, tenant, keyId: parsed.kind === 'operator' ? undefined : parsed.id, url: url.href }
}

async function findProfile(flags: ConnectionFlags): Promise<Profile | undefined> {
  const source = findConfig(flags.config)
  const config = await readConfig(source)
  const fromEnvironment = process.env['AEGIS_PROFILE'] ?? ''
  const name = flags.profile ?? (fromEnvironment === '' ? config?.default : fromEnvironment)
  if (name === undefined) return undefined
  const profile = config?.profiles.get(name)
  if (profile !== undefined) return profile
  const by = flags.profile === undefined ? 'AEGIS_PROFILE' : '--profile'
  throw usageError(`error: ${by}: ${describeProfiles(config, name, source.path)}`)
}

function describeProfiles(config: ConfigFile | undefined, name: string, path: string): string {
  if (config === undefined) return `there is no config file ${path}`
  const known = [...config.profiles.keys()].join(', ')
  return `${path} has no profile ${name}; it has ${known === '' ? 'none' : known}`
}

function settleUrl(flags: ConnectionFlags, profile: Profile | undefined): URL {
  if (flags.url !== undefined) return parseBaseUrl('--url', flags.url)
  const fromEnvironment = process.env['AEGIS_URL'] ?? ''
  if (fromEnvironment !== '') return parseBaseUrl('AEGIS_URL', fromEnvironment)
  if (profile !== undefined) return parseBaseUrl(`profile ${profile.name}`, profile.url)
  throw usageError(
    'error: --url: no deployment is named: give --url, set AEGIS_URL, or choose a profile with --profile',
  )
}

/** The same rule as the SDK's: what a key is sent to is `https:`, or this machine. */
function parseBaseUrl(from: string, text: string): URL {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    throw usageError(`error: ${from}: it is not an absolute URL`)
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw usageError(`error: ${from}: a URL may have no user, password, query or fragment`)
  }
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url.hostname))) {
    throw usageError(`error: ${from}: a URL must begin with https:// (http:// only for this machine)`)
  }
  url.pathname = url.pathname.replace(/\/+$/, '')
  return url
}

/** `URL` has brought the address to one spelling: 127.1 is 127.0.0.1 here. */
function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)
}

interface SettledKey {
  readonly key: string
  readonly parsed: ParsedApiKey
  /** What named it, for errors. */
  readonly from: string
}

async function settleKey(
  flags: ConnectionFlags,
  profile: Profile | undefined,
  url: URL,
  roles: readonly Connection['role'][],
  keyFileFlag: string,
): Promise<SettledKey> {
  if (flags.keyFile !== undefined) return readKeyFile(keyFileFlag, flags.keyFile)
  // An operator's key has a name of its own, so that it can stand beside the key of every day.
  const ofOperator = (process.env['AEGIS_OPERATOR_KEY'] ?? '').trim()
  if (ofOperator !== '' && roles[0] === 'operator') return parseKey('AEGIS_OPERATOR_KEY', ofOperator)
  const fromEnvironment = (process.env['AEGIS_API_KEY'] ?? '').trim()
  if (fromEnvironment !== '') return parseKey('AEGIS_API_KEY', fromEnvironment)
  if (ofOperator !== '' && roles.includes('operator')) return parseKey('AEGIS_OPERATOR_KEY', ofOperator)
  const { member, file } = chooseKeyFile(profile, roles)
  if (profile === undefined || file === undefined) {
    const also = profile === undefined ? '' : `, or give profile ${profile.name} a ${member}`
    const name = roles.includes('operator') ? 'AEGIS_OPERATOR_KEY' : 'AEGIS_API_KEY'
    throw usageError(`error: --key-file: an API key is needed: give --key-file, or set ${name}${also}`)
  }
  // A key is shown to the deployment that it was named for and to no other, whatever AEGIS_URL happens to be.
  if (url.href !== parseBaseUrl(`profile ${profile.name}`, profile.url).href) {
    throw usageError(
      `error: --key-file: the ${member} of profile ${profile.name} is for ${profile.url} and is not sent to ${url.href}: give --key-file, or set the key in the environment`,
    )
  }
  const settled = await readKeyFile(`profile ${profile.name}: ${member}`, file)
  const { parsed } = settled
  if (parsed.kind === 'tenant' && profile.tenant !== undefined && parsed.tenant !== profile.tenant) {
    throw usageError(
      `error: profile ${profile.name}: it names the tenant ${profile.tenant}, and the key in its ${member} is one of ${parsed.tenant}`,
    )
  }
  return settled
}

/** The file for the first of the roles that the profile has one for. */
function chooseKeyFile(
  profile: Profile | undefined,
  roles: readonly Connection['role'][],
): { readonly member: string; readonly file: string | undefined } {
  const files = roles.map((role) =>
    role === 'operator'
      ? { member: 'operator_key_file', file: profile?.operatorKeyFile }
      : { member: 'key_file', file: profile?.keyFile },
  )
  return files.find(({ file }) => file !== undefined) ?? files[0] ?? { member: 'key_file', file: undefined }
}

async function readKeyFile(from: string, file: string): Promise<SettledKey> {
  const bytes = await readSmallFile(from, file, keyFileBytesMax)
  return parseKey(`${from}: ${file}`, Buffer.from(bytes).toString('utf8').trim())
}

function parseKey(from: string, key: string): SettledKey {
  const parsed = parseApiKey(key)
  if (parsed === undefined) throw usageError(`error: ${from}: it does not hold an API key (aegis_ROLE_…)`)
  return { key, parsed, from }
}
