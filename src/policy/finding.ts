/**
 * What is wrong with a bundle, as data: where, what, and what to do about it (policy.md §3). Not for requests:
 * those are denied with a reason code.
 */
import { type FormatError, describeFormatError } from '../record/index.ts'

export interface Finding {
  /** A bundle with an error is not hashed, pushed or run; a warning is for its author. */
  readonly severity: 'error' | 'warning'
  /** Stable, snake_case. */
  readonly code: string
  /** Path in the bundle; `bundle` for findings about the bundle object, which has no files. */
  readonly file: string
  /** 1-based. */
  readonly line?: number
  readonly policyId?: string
  readonly message: string
  /** What to do. */
  readonly fix: string
}

/** One line for a person: `policies.cedar:12 error unknown_argument [rule-id] …; …`. */
export function describeFinding(finding: Finding): string {
  const line = finding.line === undefined ? '' : `:${String(finding.line)}`
  const policy = finding.policyId === undefined ? '' : ` [${finding.policyId}]`
  return `${finding.file}${line} ${finding.severity} ${finding.code}${policy} ${finding.message}; ${finding.fix}`
}

/** Whether any finding forbids the use of the bundle. */
export function hasErrors(findings: readonly Finding[]): boolean {
  return findings.some((finding) => finding.severity === 'error')
}

/** The 1-based line of a character offset. */
export function lineAt(text: string, offset: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at >= 0 && at < offset; at = text.indexOf('\n', at + 1)) line += 1
  return line
}

/** A refusal of the strict reader, as a finding about that file. */
export function formatFinding(file: string, text: string, error: FormatError): Finding {
  return {
    severity: 'error',
    code: 'not_readable',
    file,
    // The offset counts bytes; in the rare file where characters before it are not ASCII the line is still right,
    // because it is counted on bytes as well.
    ...(error.offset === undefined ? {} : { line: lineAt(text, error.offset) }),
    message: describeFormatError(error),
    fix: 'write it as strict JSON',
  }
}

/**
 * The line of a member in the text of a JSON file that was read without error, by its path; the nearest ancestor's
 * when it is not there, so that a finding about a missing member points at the object that lacks it.
 */
export function lineOfMember(text: string, path: readonly string[]): number {
  let best = 0
  let depth = 0
  let matched = 0
  let at = 0
  // Counters of array positions, by depth; objects have none.
  const positions: (number | undefined)[] = []
  const step = (name: string, offset: number): void => {
    if (matched === depth - 1 && path[matched] === name) {
      matched += 1
      best = offset
    }
  }
  while (at < text.length && matched < path.length) {
    const char = text[at]
    if (char === '"') {
      const end = endOfString(text, at)
      const colon = /^\s*:/.exec(text.slice(end, end + 64))
      if (colon !== null && positions[depth] === undefined) {
        step(JSON.parse(text.slice(at, end)) as string, at)
      }
      at = end
      continue
    }
    if (char === '{' || char === '[') {
      depth += 1
      positions[depth] = char === '[' ? 0 : undefined
      if (char === '[') step('0', at + 1)
    } else if (char === '}' || char === ']') {
      depth -= 1
      // The object that held the matched part has ended without the rest.
      if (depth < matched) break
    } else if (char === ',') {
      const position = positions[depth]
      if (position !== undefined) {
        positions[depth] = position + 1
        step(String(position + 1), at + 1)
      }
    }
    at += 1
  }
  return lineAt(text, best)
}

function endOfString(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at + 1
}

/** The nearest of the known names by edit distance, if it is near enough to be meant. */
export function suggest(name: string, known: Iterable<string>): string | undefined {
  let best: string | undefined
  let bestDistance = Math.max(2, Math.floor(name.length / 3)) + 1
  for (const candidate of known) {
    const distance = editDistance(name.slice(0, 64), candidate.slice(0, 64))
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

function editDistance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, at) => at)
  for (let i = 1; i <= left.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= right.length; j += 1) {
      const substitution = (row[j - 1] ?? 0) + (left[i - 1] === right[j - 1] ? 0 : 1)
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, substitution))
    }
    row = next
  }
  return row[right.length] ?? 0
}
