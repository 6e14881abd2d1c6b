/**
 * What `aegis recheck` prints: a row an outcome and a summary, as text or as JSON (SPEC.md §10.4). Like every report a
 * function of the input and the policy sets alone, with every character of a file escaped. For a pull request:
 * markdown.ts.
 */
import { cutForReport, escapeForReport, toAsciiJson } from '../verify/index.ts'
import type { Answer } from './evaluate.ts'
import type { RecheckSummary, RecheckedRow } from './recheck.ts'
import type { BrokenRow } from './row-counter.ts'
import type { NamedCounts } from './tally.ts'
import { type Verdict, recheckReasons, verdictNames } from './verdict.ts'

/** `unchanged allowed`, `newly_blocked was=allowed now=denied`, … */
export function verdictText(verdict: Verdict): string {
  switch (verdict.verdict) {
    case 'unchanged':
      return `unchanged ${verdict.action}`
    case 'newly_blocked':
    case 'newly_allowed':
      return `${verdict.verdict} was=${verdict.was} now=${verdict.now}`
    case 'newly_parked':
      return `newly_parked was=${verdict.was}`
    case 'indeterminate':
      return `indeterminate ${verdict.reason}`
  }
}

/** One row, with its LF. */
export function rowText(row: RecheckedRow | BrokenRow): string {
  if (row.kind === 'broken') return `row ${String(row.row)} is no Line: ${row.reason}\n`
  const { line, outsidePolicy, sessionIndex, verdict } = row
  const code = outsidePolicy ? ` ${shown(line.was.reason ?? '-')}` : ''
  const shadow = line.shadow === undefined ? '' : ` shadow=${shown(line.shadow.status)}`
  const place = `session ${String(sessionIndex)} seq ${String(line.seq)}`
  return `call ${shown(line.callId)} ${place}: ${verdictText(verdict)}${code}${shadow}\n`
}

/** The same as an object, one line of ASCII; its members and their order are documented in SPEC.md §10.4. */
export function rowJson(row: RecheckedRow | BrokenRow): string {
  if (row.kind === 'broken') return toAsciiJson({ row: row.row, broken: row.reason })
  const { line, now, outsidePolicy, sessionIndex, verdict } = row
  const { shadow, was } = line
  return toAsciiJson({
    call_id: cutForReport(line.callId),
    session_index: sessionIndex,
    seq: line.seq,
    tool_id: cutForReport(line.toolId),
    agent_id: line.agentId === undefined ? null : cutForReport(line.agentId),
    decided_at: line.decidedAt ?? null,
    verdict: verdict.verdict,
    reason: verdict.verdict === 'indeterminate' ? verdict.reason : null,
    outside_policy: outsidePolicy,
    was: {
      status: was.status ?? null,
      reason: was.reason === undefined ? null : cutForReport(was.reason),
      rules: cutAll(was.rules),
      policy_set_hash: line.policySetHash ?? null,
    },
    now: now === undefined ? null : answerObject(now),
    ...(shadow === undefined
      ? {}
      : {
          shadow: {
            status: cutForReport(shadow.status),
            reason: shadow.reason === undefined ? null : cutForReport(shadow.reason),
            rules: cutAll(shadow.matched_rules),
            policy_set_hash: shadow.policy_set_hash,
          },
        }),
  })
}

function answerObject({ approval, code, policySetHash, rules, status }: Answer): object {
  return {
    status,
    reason: code,
    rules,
    ...(approval === undefined ? {} : { groups: approval.groups, quorum: approval.quorum }),
    policy_set_hash: policySetHash,
  }
}

/** The writer records 64 at most; a hostile Line has no more shown. */
function cutAll(rules: readonly string[]): readonly string[] {
  return rules.slice(0, 64).map(cutForReport)
}

/** The sums, as text: lines that end with LF, columns by width. */
export function summaryText(summary: RecheckSummary): string {
  const { verdicts } = summary
  const counted = verdictNames.map((name) => `${String(verdicts[name])} ${name}`).join(', ')
  const lines = [
    `${String(summary.calls)} rechecked: ${counted}`,
    `counted apart: ${apart(summary)
      .map(([count, name]) => `${String(count)} ${name}`)
      .join(', ')}`,
  ]
  const reasons = recheckReasons.flatMap((reason) => {
    const count = summary.reasons.get(reason)
    return count === undefined ? [] : [`${String(count)} ${reason}`]
  })
  if (reasons.length > 0) lines.push(`indeterminate: ${reasons.join(', ')}`)
  lines.push(
    ...tableText('outside the policy', summary.codes, ['calls']),
    ...tableText('tool', summary.tools, verdictNames),
    ...tableText('agent', summary.agents, verdictNames),
    ...tableText('rule', summary.rules, ['before', 'after']),
  )
  return lines.map((line) => `${line}\n`).join('')
}

/** What makes no difference and is said all the same. */
export function apart(summary: RecheckSummary): readonly (readonly [number, string])[] {
  return [
    [summary.outsidePolicy, 'refused outside the policy'],
    [summary.administrative, 'administrative'],
    [summary.reports, 'reports'],
    ...(summary.older === 0 ? [] : [[summary.older, 'before --since'] as const]),
    ...(summary.broken === 0 ? [] : [[summary.broken, 'rows that are no Line'] as const]),
  ]
}

/** A longer name pushes the rest of its row to the right. */
const nameWidthMax = 48

/** A table by name, columns by width; nothing where it has no row. */
export function tableText<Column extends string>(
  title: string,
  counts: NamedCounts<Column>,
  columns: readonly Column[],
): readonly string[] {
  const { rows } = counts
  if (rows.length === 0) return []
  const names = rows.map(({ name }) => (name === undefined ? '(all others)' : shown(name)))
  const width = Math.min(nameWidthMax, Math.max(title.length, ...names.map((name) => name.length)))
  const cells = (values: readonly string[]): string =>
    values.map((value, at) => value.padStart((columns[at]?.length ?? 0) + 2)).join('')
  return [
    '',
    `${title.padEnd(width)}${cells(columns)}`,
    ...rows.map(
      ({ counts: row }, at) =>
        `${(names[at] ?? '').padEnd(width)}${cells(columns.map((column) => String(row[column])))}`,
    ),
  ]
}

/** The last object of `--json`, with LF. */
export function summaryJson(summary: RecheckSummary): string {
  return toAsciiJson({
    summary: {
      calls: summary.calls,
      ...summary.verdicts,
      reasons: Object.fromEntries(recheckReasons.map((reason) => [reason, summary.reasons.get(reason) ?? 0])),
      outside_policy: summary.outsidePolicy,
      administrative: summary.administrative,
      reports: summary.reports,
      before_since: summary.older,
      broken: summary.broken,
      by_code: countsObject(summary.codes),
      by_tool: countsObject(summary.tools),
      by_agent: countsObject(summary.agents),
      by_rule: countsObject(summary.rules),
    },
  })
}

/** A list and no object: names of a file are values, never members. */
function countsObject<Column extends string>(counts: NamedCounts<Column>): readonly object[] {
  return counts.rows.map(({ counts: row, name }) => ({ name: name ?? null, ...row }))
}

function shown(value: string): string {
  return value === '' ? '-' : escapeForReport(value)
}
