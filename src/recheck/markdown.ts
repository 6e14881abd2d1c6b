/**
 * A recheck as a comment for a pull request (docs/recheck.md): what would change, in GitHub's Markdown. Values of a file
 * stand in code spans, with what could end one escaped, so that no Chain can write markup into a review.
 */
import { escapeForReport } from '../verify/index.ts'
import { type RecheckSummary, type RecheckedRow, rulesOrCode } from './recheck.ts'
import type { BrokenRow } from './row-counter.ts'
import { apart, verdictText } from './report.ts'
import type { NamedCounts } from './tally.ts'
import { recheckReasons, verdictNames } from './verdict.ts'

/** A comment has 65,536 characters; a row of long names has about 600. */
const rowsMax = 50
const namesMax = 30

/** Collects the rows that a reviewer has to see; the rest is in the sums. */
export class MarkdownReport {
  readonly #rows: string[] = []
  #more = 0

  take(row: RecheckedRow | BrokenRow): void {
    if (row.kind === 'row' && row.verdict.verdict === 'unchanged') return
    if (this.#rows.length === rowsMax) this.#more += 1
    else this.#rows.push(rowMarkdown(row))
  }

  /**
   * The whole comment.
   *
   * @param title what was rechecked under what, in Markdown of the caller's own: nothing of a file stands in it.
   */
  text(title: string, summary: RecheckSummary): string {
    const { calls, verdicts } = summary
    const same = verdicts.unchanged === calls && summary.broken === 0
    const verdict = same
      ? `Nothing changes: ${plural(calls)} recorded under the policy would be answered as ${calls === 1 ? 'it was' : 'they were'}.`
      : `Of ${plural(calls)} recorded under the policy, ${String(calls - verdicts.unchanged)} would not be answered as before, or cannot be judged.`
    const counts = verdictNames.map((name) => String(verdicts[name]))
    const lines = [
      `### Recheck: ${title}`,
      '',
      verdict,
      '',
      `| ${verdictNames.join(' | ')} |`,
      `|${verdictNames.map(() => '--:').join('|')}|`,
      `| ${counts.join(' | ')} |`,
    ]
    if (this.#rows.length > 0) {
      lines.push(
        '',
        '| call | session, seq | tool | agent | verdict | decided by, before | decided by, now |',
        '|---|---|---|---|---|---|---|',
        ...this.#rows,
      )
      if (this.#more > 0) lines.push('', `and ${String(this.#more)} more.`)
    }
    lines.push(...tableMarkdown('tool', summary.tools, verdictNames))
    lines.push(...tableMarkdown('rule', summary.rules, ['before', 'after']))
    const reasons = recheckReasons.flatMap((reason) => {
      const count = summary.reasons.get(reason)
      return count === undefined ? [] : [`${String(count)} ${reason}`]
    })
    if (reasons.length > 0) lines.push('', `Indeterminate: ${reasons.join(', ')}.`)
    const counted = apart(summary).map(([count, name]) => `${String(count)} ${name}`)
    lines.push('', `Counted apart: ${counted.join(', ')}. No signature was checked.`)
    return lines.map((line) => `${line}\n`).join('')
  }
}

function rowMarkdown(row: RecheckedRow | BrokenRow): string {
  if (row.kind === 'broken') return `| row ${String(row.row)} | | | | no Line: ${row.reason} | | |`
  const { line, now, sessionIndex, verdict } = row
  const before = rulesOrCode(line.was.rules, line.was.reason ?? line.was.status)
  const after = now === undefined ? [] : rulesOrCode(now.rules, now.code)
  const cells = [
    code(line.callId),
    `${String(sessionIndex)}, ${String(line.seq)}`,
    code(line.toolId),
    line.agentId === undefined ? '' : code(line.agentId),
    verdictText(verdict),
    rulesMarkdown(before),
    rulesMarkdown(after),
  ]
  return `| ${cells.join(' | ')} |`
}

const rulesShownMax = 3

function rulesMarkdown(rules: readonly string[]): string {
  const shown = rules.slice(0, rulesShownMax).map(code).join(', ')
  return rules.length > rulesShownMax ? `${shown} and ${String(rules.length - rulesShownMax)} more` : shown
}

function tableMarkdown<Column extends string>(
  title: string,
  counts: NamedCounts<Column>,
  columns: readonly Column[],
): readonly string[] {
  const { rows } = counts
  if (rows.length === 0) return []
  const shown = rows.slice(0, namesMax)
  return [
    '',
    `| ${[title, ...columns].join(' | ')} |`,
    `|---|${columns.map(() => '--:').join('|')}|`,
    ...shown.map(({ counts: row, name }) => {
      const cells = columns.map((column) => String(row[column]))
      return `| ${[name === undefined ? 'all others' : code(name), ...cells].join(' | ')} |`
    }),
    ...(rows.length > namesMax
      ? [`| and ${String(rows.length - namesMax)} more |${' |'.repeat(columns.length)}`]
      : []),
  ]
}

/** A code span in a table: what ends a span or a cell is written as an escape too. */
function code(value: string): string {
  const text = escapeForReport(value).replace(/[`|]/g, (mark) => `\\u{${mark.charCodeAt(0).toString(16)}}`)
  return `\`${text === '' ? '-' : text}\``
}

function plural(count: number): string {
  return count === 1 ? '1 call' : `${String(count)} calls`
}
