/**
 * A shadow beside what was answered (policy.md §6): Line by Line, then in sums, where and how often they differ. Both
 * stand in the record, so nothing is evaluated. Memory does not grow with the input; every text of a file is escaped.
 */
import type { BrokenRow, RecheckedRow, RowReading } from '../recheck/index.ts'
import { rulesOrCode } from '../recheck/recheck.ts'
import { tableText } from '../recheck/report.ts'
import { RowCounter } from '../recheck/row-counter.ts'
import { NamedCounts } from '../recheck/tally.ts'
import { type EvaluatedStatus, type Verdict, type VerdictName, compareStatus } from '../recheck/verdict.ts'
import { escapeForReport, toAsciiJson } from '../verify/index.ts'

/** What a comparison can say; there is nothing to evaluate, so nothing is indeterminate. */
const comparedNames = ['unchanged', 'newly_blocked', 'newly_allowed', 'newly_parked'] as const
type ComparedName = (typeof comparedNames)[number]

type Outcome = Extract<RowReading, { readonly kind: 'outcome' }>

/** An outcome whose shadow differs. */
export interface ShadowRow extends RecheckedRow {
  readonly line: RecheckedRow['line'] & Required<Pick<Outcome, 'shadow'>>
}

const evaluatedStatuses: readonly EvaluatedStatus[] = ['allowed', 'denied', 'pending_approval']

export class ShadowTally {
  /** The set whose shadow is looked at; all of them where none is named. */
  readonly #only: string | undefined
  readonly #verdicts: Record<ComparedName, number> = {
    unchanged: 0,
    newly_blocked: 0,
    newly_allowed: 0,
    newly_parked: 0,
  }
  readonly #sets = new NamedCounts(comparedNames)
  readonly #pairs = new NamedCounts(['calls'])
  readonly #tools = new NamedCounts(comparedNames)
  readonly #rules = new NamedCounts(['answered', 'shadow'])
  readonly #apart = {
    noShadow: 0,
    otherShadow: 0,
    approvedUses: 0,
    outsidePolicy: 0,
    unreadable: 0,
  }
  readonly #rows = new RowCounter()

  constructor(only?: string) {
    this.#only = only
  }

  /** Takes the next row; something comes back where the shadow differs, or the row is no Line. */
  take(reading: RowReading): ShadowRow | BrokenRow | undefined {
    const taken = this.#rows.take(reading)
    switch (taken?.kind) {
      case 'outcome':
        return this.#takeOutcome(taken)
      case 'broken':
        return taken
      case 'decision':
      case undefined:
        return undefined
    }
  }

  get differences(): Readonly<Record<VerdictName, number>> {
    return { ...this.#verdicts, indeterminate: this.#apart.unreadable }
  }

  /** Whether a row could not be read, or nothing was there to compare. */
  get incomplete(): boolean {
    return this.#rows.counts.broken > 0 || this.#calls === 0
  }

  get #calls(): number {
    return comparedNames.reduce((sum, name) => sum + this.#verdicts[name], 0)
  }

  #takeOutcome({ kind: _, evaluated, ...line }: Outcome): ShadowRow | undefined {
    const { shadow, was } = line
    if (evaluated.kind === 'pipeline') this.#apart.outsidePolicy += 1
    // A member of another type: what its shadow held is not known.
    else if (evaluated.kind === 'indeterminate' && evaluated.reason === 'no_binding')
      this.#apart.unreadable += 1
    else if (shadow === undefined) this.#apart.noShadow += 1
    else if (this.#only !== undefined && shadow.policy_set_hash !== this.#only) this.#apart.otherShadow += 1
    else {
      const now = evaluatedStatuses.find((status) => status === shadow.status)
      if (now === undefined || was.status === undefined) this.#apart.unreadable += 1
      // A person was asked and agreed, and the shadow asks as well; which people it means, the record does not say.
      else if (line.approvalRef !== undefined && was.status === 'allowed' && now === 'pending_approval') {
        this.#apart.approvedUses += 1
      } else return this.#compare({ ...line, shadow }, compareStatus(was.status, now))
    }
    return undefined
  }

  #compare(line: ShadowRow['line'], verdict: Verdict): ShadowRow | undefined {
    const { shadow, was } = line
    const name = comparedNames.find((known) => known === verdict.verdict)
    if (name === undefined) throw new Error('statuses that are known compare')
    this.#verdicts[name] += 1
    this.#sets.add(shadow.policy_set_hash, name)
    this.#pairs.add(`${was.status ?? '-'}->${shadow.status}`, 'calls')
    this.#tools.add(line.toolId, name)
    if (name === 'unchanged') return undefined
    for (const rule of rulesOrCode(was.rules, was.reason ?? was.status)) this.#rules.add(rule, 'answered')
    for (const rule of shadowRules(shadow)) this.#rules.add(rule, 'shadow')
    const sessionIndex = line.sessionIndex ?? this.#rows.sessionIndex
    return { kind: 'row', line, sessionIndex, verdict, outsidePolicy: false }
  }

  /** The sums, as text. */
  get text(): string {
    const calls = this.#calls
    const counted = comparedNames.map((name) => `${String(this.#verdicts[name])} ${name}`).join(', ')
    const lines = [
      `${String(calls)} compared: ${counted}`,
      `counted apart: ${this.#countedApart()
        .map(([count, what]) => `${String(count)} ${what}`)
        .join(', ')}`,
      ...tableText('shadow', this.#sets, comparedNames),
      ...tableText('answered->shadow', this.#pairs, ['calls']),
      ...tableText('tool', this.#tools, comparedNames),
      ...tableText('rule, where they differ', this.#rules, ['answered', 'shadow']),
    ]
    return lines.map((line) => `${line}\n`).join('')
  }

  #countedApart(): readonly (readonly [number, string])[] {
    const apart = { ...this.#apart, ...this.#rows.counts }
    const always: readonly (readonly [number, string])[] = [
      [apart.noShadow, 'without a shadow'],
      [apart.outsidePolicy, 'refused outside the policy'],
      [apart.administrative, 'administrative'],
      [apart.reports, 'reports'],
    ]
    const sometimes: readonly (readonly [number, string])[] = [
      [apart.approvedUses, 'used an approval, where the shadow asks people too'],
      [apart.otherShadow, 'with another shadow'],
      [apart.older, 'before --since'],
      [apart.unreadable, 'that cannot be read'],
      [apart.broken, 'rows that are no Line'],
    ]
    return [...always, ...sometimes.filter(([count]) => count > 0)]
  }

  /** The last object of `--json`. */
  get json(): string {
    const apart = { ...this.#apart, ...this.#rows.counts }
    return toAsciiJson({
      summary: {
        calls: this.#calls,
        ...this.#verdicts,
        no_shadow: apart.noShadow,
        other_shadow: apart.otherShadow,
        approved_uses: apart.approvedUses,
        outside_policy: apart.outsidePolicy,
        administrative: apart.administrative,
        reports: apart.reports,
        before_since: apart.older,
        unreadable: apart.unreadable,
        broken: apart.broken,
        by_shadow: countsObject(this.#sets),
        by_answers: countsObject(this.#pairs),
        by_tool: countsObject(this.#tools),
        by_rule: countsObject(this.#rules),
      },
    })
  }
}

function countsObject<Column extends string>({ rows }: NamedCounts<Column>): readonly object[] {
  return rows.map(({ counts, name }) => ({ name: name ?? null, ...counts }))
}

const rulesShownMax = 3

/** A row that differs, as text. */
export function shadowRowText({ line, sessionIndex, verdict }: ShadowRow): string {
  const { shadow, was } = line
  const place = `session ${String(sessionIndex)} seq ${String(line.seq)}`
  const rules = shadowRules(shadow)
  const named = rules.slice(0, rulesShownMax).map(escapeForReport).join(', ')
  const more = rules.length > rulesShownMax ? ` and ${String(rules.length - rulesShownMax)} more` : ''
  const answers = `was=${was.status ?? '-'} shadow=${escapeForReport(shadow.status)}`
  return `call ${escapeForReport(line.callId) || '-'} ${place}: ${verdict.verdict} ${answers} by ${named}${more}\n`
}

/** What decided in the shadow: policies, or a code in brackets. */
function shadowRules(shadow: ShadowRow['line']['shadow']): readonly string[] {
  return rulesOrCode(shadow.matched_rules, shadow.reason ?? shadow.status)
}
