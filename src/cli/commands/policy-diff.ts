/** `aegis policy diff`: what differs between two policy sets, in words. A set that a deployment sends is hashed first. */
import { statSync } from 'node:fs'
import type { Command } from 'commander'
import { describeFinding, openPolicySet, openUnnamedPolicySet } from '../../policy/index.ts'
import { type JsonObject, type PolicySetHash, parseBody, parseDigest } from '../../record/index.ts'
import { toAsciiJson } from '../../verify/index.ts'
import { type Difference, diffBundles } from '../bundle-diff.ts'
import { requireBundle } from '../bundle.ts'
import { describeEnds, newCommand } from '../command.ts'
import { type ConnectionFlags, addConnectionOptions, connect } from '../connection.ts'
import { CliError, exitCodes, unreadable, usageError } from '../exit-codes.ts'
import type { HttpClient } from '../http-client.ts'
import { readSmallFile } from '../input-files.ts'
import { listEntries } from '../list-pages.ts'
import { policyMeans } from '../policy-engine.ts'
import { shownText } from '../shown-text.ts'
import { Output } from '../terminal.ts'

interface DiffFlags extends ConnectionFlags {
  readonly json?: true
  readonly quiet?: true
}

/** Of the deployment, besides a hash. */
const states = ['active', 'previous', 'shadow', 'deployed'] as const

export function policyDiffCommand(): Command {
  const command = newCommand('diff')
    .summary('what differs between two policy sets, in words')
    .description(
      'A and B are folders of bundles, bundle objects in files, hashes that the deployment knows, or one of active,\n' +
        'previous, shadow and deployed (a folder of such a name is written ./active).',
    )
    .argument('<a>', 'the one before')
    .argument('<b>', 'the one after')
  addConnectionOptions(command)
    .option('--json', 'print one JSON object')
    .option('-q, --quiet', 'print nothing; the exit code says it')
    .action(run)
  return describeEnds(
    command,
    [
      '0  the same',
      '1  a difference; or a usage error',
      '2  a file could not be read, or the deployment not be asked',
    ],
    [
      'aegis policy diff active policies/tenants/acme',
      'aegis policy diff policies/default policies/tenants/acme',
    ],
  )
}

interface NamedSet {
  readonly hash: PolicySetHash
  readonly object: JsonObject
}

async function run(a: string, b: string, flags: DiffFlags): Promise<void> {
  let connected: Promise<HttpClient> | undefined
  const client = (): Promise<HttpClient> =>
    (connected ??= connect(flags, ['admin', 'auditor']).then((connection) => connection.client))
  const before = await readSet('a', a, client)
  const after = await readSet('b', b, client)
  const differences = diffBundles(before.object, after.object)
  if (differences.length > 0) process.exitCode = exitCodes.failed
  if (flags.quiet === true) return
  const output = new Output()
  await output.write(
    flags.json === true
      ? toAsciiJson({ a: before.hash, b: after.hash, differences })
      : `a ${before.hash}\nb ${after.hash}\n${differences.map(lineOf).join('') || 'no difference\n'}`,
  )
  await output.flush()
}

const marks = { added: '+', removed: '-', changed: '~' } as const

function lineOf({ kind, change, name, parts }: Difference): string {
  return `${marks[change]} ${kind} ${shownText(name)}: ${parts.map(shownText).join(', ')}\n`
}

async function readSet(argument: string, text: string, client: () => Promise<HttpClient>): Promise<NamedSet> {
  const hash = parseDigest<PolicySetHash>(text)
  if (hash !== undefined) return fetchSet(await client(), hash)
  const state = states.find((name) => name === text)
  if (state !== undefined) return fetchSet(await client(), await findState(await client(), state))
  if (isFolder(text)) {
    const { bundle } = await requireBundle(text)
    return toSet(bundle.policySet.policySetHash, bundle.objectBytes)
  }
  const bytes = await readSmallFile(argument, text, 1_048_576)
  const opened = openUnnamedPolicySet(bytes, policyMeans().digester)
  if (opened.ok) return toSet(opened.policySet.policySetHash, bytes)
  const [finding] = opened.reason === 'malformed' ? opened.findings : []
  const why = finding === undefined ? '' : `: ${describeFinding(finding)}`
  throw usageError(`error: ${text} is neither a bundle's folder, nor a bundle object, nor a hash${why}`)
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

async function findState(client: HttpClient, state: (typeof states)[number]): Promise<PolicySetHash> {
  for await (const entry of listEntries(client, '/v1/policies', 'policies')) {
    const hash = parseDigest<PolicySetHash>(entry.text('policy_set_hash'))
    if (entry.object[state] === true && hash !== undefined) return hash
  }
  throw new CliError(`error: the tenant has no policy set that is ${state}`)
}

async function fetchSet(client: HttpClient, hash: PolicySetHash): Promise<NamedSet> {
  const bytes = await client.send({ path: `/v1/policies/${hash}`, bytesMax: 1_048_576 })
  const opened = openPolicySet(bytes, hash, policyMeans().digester)
  if (opened.ok) return toSet(hash, bytes)
  throw unreadable(`error: what the deployment sent for ${hash} is not that policy set (${opened.reason})`)
}

function toSet(hash: PolicySetHash, bytes: Uint8Array): NamedSet {
  const read = parseBody(bytes)
  if (!read.ok) throw new Error('a bundle object that was opened cannot be read')
  return { hash, object: read.value }
}
