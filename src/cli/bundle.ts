/**
 * A bundle as the commands use it: read, validated, or refused with its findings on stderr. Also how findings look to a
 * person and in JSON. Not for what is wrong with a bundle: src/policy.
 */
import {
  type Bundle,
  type DecisionMeans,
  type Finding,
  type ReadBundle,
  readBundle,
} from '../policy/index.ts'
import { readBundleFolder } from './bundle-folder.ts'
import { usageError } from './exit-codes.ts'
import { policyMeans } from './policy-engine.ts'
import { type Style, hasColour, printable, styled } from './terminal.ts'

export interface ReadFolder extends ReadBundle {
  readonly folder: string
  readonly means: DecisionMeans
}

/** Reads and validates a bundle; findings are the caller's to show. */
export async function readBundleAt(folder: string): Promise<ReadFolder> {
  const files = await readBundleFolder(folder)
  const means = policyMeans()
  return { folder, means, ...readBundle(files, means) }
}

/** Reads a bundle that must be usable: findings go to stderr, and an error among them ends the command. */
export async function requireBundle(folder: string): Promise<{
  readonly bundle: Bundle
  readonly means: DecisionMeans
  readonly findings: readonly Finding[]
}> {
  const { bundle, means, findings } = await readBundleAt(folder)
  if (bundle !== undefined) return { bundle, means, findings }
  process.stderr.write(findingsText(folder, findings, hasColour(process.stderr)))
  throw usageError(`error: ${folder} is no usable bundle: ${countFindings(findings)}`)
}

const severityStyles: Readonly<Record<Finding['severity'], Style>> = { error: 'red', warning: 'yellow' }

/** Two lines a finding: where and what, then what to do. */
export function findingsText(folder: string, findings: readonly Finding[], colour: boolean): string {
  return findings
    .map((finding) => {
      const { severity, code } = finding
      const place = printable(placeOf(folder, finding))
      const policy = finding.policyId === undefined ? '' : `${printable(finding.policyId)}: `
      const head = `${styled(place, 'bold', colour)}  ${styled(severity, severityStyles[severity], colour)} ${code}`
      return `${head}\n    ${policy}${printable(finding.message)}\n    ${printable(finding.fix)}\n`
    })
    .join('')
}

/** `FOLDER/FILE:LINE`, which editors open. */
function placeOf(folder: string, { file, line }: Finding): string {
  const base = folder.replace(/\/+$/, '')
  const path = file === 'bundle' ? base : `${base}/${file}`
  return line === undefined ? path : `${path}:${String(line)}`
}

/** `2 errors, 1 warning`, or `no findings`. */
export function countFindings(findings: readonly Finding[]): string {
  const errors = findings.filter(({ severity }) => severity === 'error').length
  const warnings = findings.length - errors
  const parts = [
    ...(errors === 0 ? [] : [plural(errors, 'error')]),
    ...(warnings === 0 ? [] : [plural(warnings, 'warning')]),
  ]
  return parts.join(', ') || 'no findings'
}

/** `1 case`, `2 cases`. */
export function plural(count: number, noun: string): string {
  return `${String(count)} ${noun}${count === 1 ? '' : 's'}`
}

/** A finding as JSON shows it. */
export function findingObject(finding: Finding): object {
  const { severity, code, file, line, policyId, message, fix } = finding
  return {
    severity,
    code,
    file,
    ...(line === undefined ? {} : { line }),
    ...(policyId === undefined ? {} : { policy_id: policyId }),
    message,
    fix,
  }
}
