/**
 * What runs and what is hashed: the bundle object (policy.md §1). `policy_set_hash` is the SHA-256 of its bytes,
 * `aegis-jcs-1` of {format, policies, settings, tools} with every default filled in; opening hashes before it reads
 * and refuses bytes that are not exactly what their own content encodes to. The engine is fed from here and from
 * nowhere else. Reading an author's folder: bundle.ts.
 */
import {
  type Digester,
  type JsonObject,
  type JsonValue,
  type PolicySetHash,
  describeFormatError,
  encodeCanonical,
  isJsonObject,
  parseBody,
  toDigest,
} from '../record/index.ts'
import { type Catalogue, parseCatalogue } from './catalogue.ts'
import { type Finding, hasErrors } from './finding.ts'
import { policyLimits, wildcardsOf } from './guard.ts'
import { Members, type Report } from './members.ts'
import { type Policy, readPolicy } from './policy.ts'
import { type Settings, parseSettings, settingsObject } from './settings.ts'

/** Everything a decision is a function of, the request, the agent's record and the clock aside. Immutable. */
export interface PolicySet {
  readonly policySetHash: PolicySetHash
  readonly settings: Settings
  readonly catalogue: Catalogue
  /** By id, in the order of ids. */
  readonly policies: ReadonlyMap<string, Policy>
}

export interface ComposedPolicySet {
  readonly policySet: PolicySet
  /** The bundle object: `policies/<tenant>/<policy_set_hash>.json`. */
  readonly objectBytes: Uint8Array
}

/** Where findings about a policy point; the object itself has no lines. */
export type LocatePolicy = (policyId: string, word?: string) => Pick<Finding, 'file' | 'line'>

export const objectFile = 'bundle'

/**
 * Puts the parts together, checks what must hold of any set that runs, and hashes it.
 *
 * @param findings receives every problem.
 * @returns undefined when a problem is an error.
 */
export function composePolicySet(
  parts: {
    readonly settings: Settings
    readonly catalogue: Catalogue
    readonly policies: ReadonlyMap<string, JsonObject>
  },
  digester: Digester,
  findings: Finding[],
  locate: LocatePolicy = () => ({ file: objectFile }),
): ComposedPolicySet | undefined {
  const policies = new Map<string, Policy>()
  const policiesObject: Record<string, JsonValue> = Object.create(null) as Record<string, JsonValue>
  if (parts.policies.size > policyLimits.policiesMax) {
    findings.push(
      setFinding('too_many_policies', 'more than 2,000 policies', 'split the bundle over tenants'),
    )
    return undefined
  }
  for (const id of [...parts.policies.keys()].sort()) {
    const json = parts.policies.get(id) as JsonObject
    const policy = readPolicy(id, json, parts.settings, (code, message, fix, word) =>
      findings.push({ severity: 'error', code, ...locate(id, word), policyId: id, message, fix }),
    )
    policies.set(id, policy)
    policiesObject[id] = json
  }
  findings.push(...defaultGroupFindings(parts.settings, parts.catalogue))
  if (hasErrors(findings)) return undefined
  const wildcards = [...parts.policies.values()].reduce((sum, json) => sum + wildcardsOf(json), 0)
  if (wildcards > policyLimits.setWildcardsMax) {
    const message = 'the `like` patterns of all policies have more than 4,096 wildcards'
    findings.push(setFinding('too_many_wildcards', message, 'use fewer *, or compare whole values'))
    return undefined
  }
  const objectBytes = encodeCanonical({
    format: 1,
    policies: policiesObject,
    settings: settingsObject(parts.settings),
    tools: parts.catalogue.object,
  })
  if (objectBytes.length > policyLimits.fileBytesMax) {
    findings.push(setFinding('bundle_too_large', 'the bundle object is over 1 MiB', 'split it over tenants'))
    return undefined
  }
  const readAgain = parseBody(objectBytes)
  if (!readAgain.ok) {
    // A record literal may hold a key above U+FFFF, which the canonical form refuses.
    findings.push(setFinding('not_canonical', describeFormatError(readAgain.error), 'use other names'))
    return undefined
  }
  const policySetHash = toDigest<PolicySetHash>(digester.sha256(objectBytes))
  return {
    policySet: { policySetHash, settings: parts.settings, catalogue: parts.catalogue, policies },
    objectBytes,
  }
}

export type OpenedPolicySet =
  | { readonly ok: true; readonly policySet: PolicySet; readonly objectBytes: Uint8Array }
  | { readonly ok: false; readonly reason: 'hash_mismatch'; readonly got: PolicySetHash }
  | { readonly ok: false; readonly reason: 'malformed'; readonly findings: readonly Finding[] }

/**
 * Opens a bundle object by its name.
 *
 * @param bytes the object as it was stored.
 * @param expected the hash that it was asked for by: compared before a byte is parsed.
 */
export function openPolicySet(
  bytes: Uint8Array,
  expected: PolicySetHash,
  digester: Digester,
): OpenedPolicySet {
  const got = toDigest<PolicySetHash>(digester.sha256(bytes))
  if (got !== expected) return { ok: false, reason: 'hash_mismatch', got }
  return openUnnamedPolicySet(bytes, digester)
}

/** The same for an object whose hash is learned from it: a push. */
export function openUnnamedPolicySet(bytes: Uint8Array, digester: Digester): OpenedPolicySet {
  const findings: Finding[] = []
  const malformed = (code: string, message: string, fix: string): OpenedPolicySet => {
    findings.push(setFinding(code, message, fix))
    return { ok: false, reason: 'malformed', findings }
  }
  if (bytes.length > policyLimits.fileBytesMax) {
    return malformed('bundle_too_large', 'the bundle object is over 1 MiB', 'split it over tenants')
  }
  const read = parseBody(bytes)
  if (!read.ok)
    return malformed('not_readable', describeFormatError(read.error), 'push what `aegis policy` wrote')
  const report: Report = (path, code, message, fix) =>
    findings.push({
      severity: 'error',
      code,
      file: objectFile,
      message: `${path.join('.')}: ${message}`,
      fix,
    })
  const members = new Members(read.value, [], report)
  if (members.value('format') !== 1) {
    return malformed('unknown_format', 'the bundle object is not of format 1', 'write it with this version')
  }
  const settings = parseSettings(members.value('settings') ?? null, report)
  const catalogue = parseCatalogue(members.value('tools') ?? null, digester, report)
  const policies = new Map<string, JsonObject>()
  const given = members.value('policies')
  if (!isJsonObject(given))
    return malformed('malformed', 'the bundle object has no policies', 'write an object')
  for (const [id, json] of Object.entries(given)) {
    if (isJsonObject(json)) policies.set(id, json)
    else
      findings.push(setFinding('malformed', `the policy ${id} is not an object`, 'write Cedar’s JSON form'))
  }
  members.end()
  const composed = composePolicySet({ settings, catalogue, policies }, digester, findings)
  if (composed === undefined) return { ok: false, reason: 'malformed', findings }
  if (!equalBytes(composed.objectBytes, bytes)) {
    // Two spellings of one content would be two hashes for one behaviour, and one of them hides a default.
    const fix = 'write it with `aegis policy hash`'
    return malformed('not_canonical', 'the bundle object is not the canonical form of its content', fix)
  }
  return { ok: true, policySet: composed.policySet, objectBytes: composed.objectBytes }
}

function defaultGroupFindings(settings: Settings, catalogue: Catalogue): readonly Finding[] {
  if (settings.default_group !== undefined) return []
  const fix = 'add `default_group` to settings.json, with a group of `approver_groups`'
  for (const action of catalogue.actions.values()) {
    if (action.default !== 'require_approval' && action.risk !== 'critical') continue
    const why = action.risk === 'critical' ? 'is critical' : 'has the default require_approval'
    const message = `${action.toolId} ${why}, and no group would be asked`
    return [{ ...setFinding('no_approver_group', message, fix), file: 'settings.json' }]
  }
  const message = 'no default group: what an agent flagged `force_approval` asks for is denied'
  return [{ ...setFinding('no_default_group', message, fix), file: 'settings.json', severity: 'warning' }]
}

function setFinding(code: string, message: string, fix: string): Finding {
  return { severity: 'error', code, file: objectFile, message, fix }
}

function equalBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, at) => byte === right[at])
}
