/**
 * Where a recheck finds policy sets and Envelopes on disk: a bundle, a folder of bundle objects by their hash, a folder
 * of Envelopes by their digest. Plain data, so that every thread opens the same. What they mean: src/recheck.
 */
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import {
  type DecisionMeans,
  type PolicySet,
  bodyBytesHardMax,
  describeFinding,
  openPolicySet,
  openUnnamedPolicySet,
} from '../policy/index.ts'
import type { RecheckMeans } from '../recheck/index.ts'
import type { PolicySetHash } from '../record/index.ts'
import { requireBundle } from './bundle.ts'
import { CliError, unreadable, usageError } from './exit-codes.ts'
import { cannotRead, readSmallFile } from './input-files.ts'
import { policyMeans } from './policy-engine.ts'

/** What threads are told: the bytes of one bundle object, or the folder that holds many. */
export interface RecheckSource {
  readonly policySet:
    | { readonly kind: 'one'; readonly objectBytes: Uint8Array }
    | { readonly kind: 'folder'; readonly folder: string }
  readonly envelopes?: string
}

/** A bundle object has 1 MiB at most. */
const objectBytesMax = 1_048_576
/** Sets held open: a Chain seldom changes its set, and a hostile one names a new hash on each Line. */
const setsMax = 32

/** Reads `--policy`: a bundle's folder, or the bundle object that `aegis policy hash --object` prints. */
export async function readOnePolicySet(
  path: string,
): Promise<{ readonly policySet: PolicySet; readonly objectBytes: Uint8Array }> {
  if (isFolder('--policy', path)) {
    const { bundle } = await requireBundle(path)
    return bundle
  }
  const objectBytes = await readSmallFile('--policy', path, objectBytesMax)
  const opened = openUnnamedPolicySet(objectBytes, policyMeans().digester)
  if (opened.ok) return opened
  const [finding] = opened.reason === 'malformed' ? opened.findings : []
  const why = finding === undefined ? '' : `: ${describeFinding(finding)}`
  throw usageError(`error: --policy: ${path} is neither a bundle's folder nor a bundle object${why}`)
}

/** Ends the command where an option names no folder. */
export function requireFolder(flag: string, path: string): void {
  if (!isFolder(flag, path)) throw unreadable(`error: ${flag}: ${path} is not a folder`)
}

function isFolder(flag: string, path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch (error) {
    throw cannotRead(`${flag}: ${path}`, error)
  }
}

/**
 * What src/recheck asks for, from these places.
 *
 * @param warn takes a sentence about a file that cannot be what its name says; at most one for each hash.
 */
export function recheckMeans(source: RecheckSource, warn: (sentence: string) => void): RecheckMeans {
  const means = policyMeans()
  const { envelopes } = source
  return {
    ...means,
    policySet: policySetsOf(source, means, warn),
    envelope: (digest) =>
      envelopes === undefined ? undefined : readIfThere(join(envelopes, digest), bodyBytesHardMax),
  }
}

function policySetsOf(
  { policySet: given }: RecheckSource,
  { digester }: DecisionMeans,
  warn: (sentence: string) => void,
): RecheckMeans['policySet'] {
  if (given.kind === 'one') {
    const opened = openUnnamedPolicySet(given.objectBytes, digester)
    if (!opened.ok) throw new Error('a bundle that was read a moment ago is no bundle')
    return () => opened.policySet
  }
  // Least recently used first; a hash without a set is remembered as well.
  const known = new Map<PolicySetHash, PolicySet | undefined>()
  return (hash) => {
    const seen = known.get(hash)
    const policySet = known.has(hash) ? seen : openFrom(given.folder, hash)
    known.delete(hash)
    known.set(hash, policySet)
    if (known.size > setsMax) known.delete(known.keys().next().value as PolicySetHash)
    return policySet
  }

  function openFrom(folder: string, hash: PolicySetHash): PolicySet | undefined {
    const path = join(folder, `${hash}.json`)
    const bytes = readIfThere(path, objectBytesMax)
    if (bytes === undefined) return undefined
    const opened = openPolicySet(bytes, hash, digester)
    if (opened.ok) return opened.policySet
    const why =
      opened.reason === 'hash_mismatch' ? `its SHA-256 is ${opened.got}` : 'it holds no bundle object'
    warn(`aegis recheck: ${path} is not used: ${why}`)
    return undefined
  }
}

/** A file whole; undefined where there is none. One that is too large is cut a byte past the limit: no hash fits it. */
function readIfThere(path: string, bytesMax: number): Uint8Array | undefined {
  let file: number
  try {
    file = openSync(path, 'r')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw cannotRead(path, error)
  }
  try {
    const stats = fstatSync(file)
    if (!stats.isFile()) throw unreadable(`error: cannot read ${path}: it is not a file`)
    const bytes = new Uint8Array(Math.min(stats.size, bytesMax + 1))
    let length = 0
    while (length < bytes.length) {
      const read = readSync(file, bytes, length, bytes.length - length, null)
      if (read === 0) break
      length += read
    }
    return bytes.subarray(0, length)
  } catch (error) {
    throw error instanceof CliError ? error : cannotRead(path, error)
  } finally {
    closeSync(file)
  }
}
