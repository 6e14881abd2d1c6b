/**
 * The walk of a recheck (SPEC.md §10): rows as they were read, in file order, become verdicts and sums. Here is what
 * depends on earlier Lines: which Session a Line stands in, and what an approval gave. Memory does not grow with the
 * input but for approvals that nobody used yet (approvals.ts).
 */
import { DecidedApprovals } from './approvals.ts'
import type { Answer, Evaluated } from './evaluate.ts'
import type { OutcomeReading, RowReading } from './reading.ts'
import { type BrokenRow, RowCounter } from './row-counter.ts'
import { NamedCounts } from './tally.ts'
import { type RecheckReason, type Verdict, type VerdictName, compareStatus, verdictNames } from './verdict.ts'

/** One outcome, rechecked. */
export interface RecheckedRow {
  readonly kind: 'row'
  /** The Line, as far as it was read. */
  readonly line: Omit<OutcomeReading, 'kind' | 'evaluated'>
  readonly sessionIndex: number
  readonly verdict: Verdict
  /** What the set answers; absent where it was not asked. */
  readonly now?: Answer
  /** A refusal outside the policy: it stands as it is, and is counted apart. */
  readonly outsidePolicy: boolean
}

const ruleColumns = ['before', 'after'] as const

export interface RecheckSummary {
  /** Outcomes that the policy decided. */
  readonly calls: number
  readonly verdicts: Readonly<Record<VerdictName, number>>
  readonly reasons: ReadonlyMap<RecheckReason, number>
  readonly outsidePolicy: number
  readonly administrative: number
  readonly reports: number
  /** Decided before `since`. */
  readonly older: number
  readonly broken: number
  readonly tools: NamedCounts<VerdictName>
  readonly agents: NamedCounts<VerdictName>
  /** How many evaluated outcomes each policy determined, as recorded and under the set; a code where none did. */
  readonly rules: NamedCounts<(typeof ruleColumns)[number]>
  /** Codes of refusals outside the policy. */
  readonly codes: NamedCounts<'calls'>
}

export class Recheck {
  readonly #approvals = new DecidedApprovals()
  readonly #verdicts = Object.fromEntries(verdictNames.map((name) => [name, 0])) as Record<
    VerdictName,
    number
  >
  readonly #reasons = new Map<RecheckReason, number>()
  readonly #tools = new NamedCounts(verdictNames)
  readonly #agents = new NamedCounts(verdictNames)
  readonly #rules = new NamedCounts(ruleColumns)
  readonly #codes = new NamedCounts(['calls'])
  readonly #rows = new RowCounter()
  #outsidePolicy = 0

  /** Takes the next row of the input; something comes back where it is one of the report. */
  take(reading: RowReading): RecheckedRow | BrokenRow | undefined {
    const taken = this.#rows.take(reading)
    switch (taken?.kind) {
      case 'outcome':
        return this.#takeOutcome(taken)
      case 'decision':
        this.#approvals.add(taken.approvalId, taken.votes)
        return undefined
      case 'broken':
        return taken
      case undefined:
        return undefined
    }
  }

  get summary(): RecheckSummary {
    const calls = verdictNames.reduce((sum, name) => sum + this.#verdicts[name], 0)
    return {
      calls,
      verdicts: this.#verdicts,
      reasons: this.#reasons,
      outsidePolicy: this.#outsidePolicy,
      ...this.#rows.counts,
      tools: this.#tools,
      agents: this.#agents,
      rules: this.#rules,
      codes: this.#codes,
    }
  }

  #takeOutcome({ kind: _, evaluated, ...line }: OutcomeReading): RecheckedRow {
    const sessionIndex = line.sessionIndex ?? this.#rows.sessionIndex
    const { status, reason } = line.was
    if (evaluated.kind === 'pipeline') {
      this.#outsidePolicy += 1
      this.#codes.add(reason ?? '-', 'calls')
      const verdict = { verdict: 'unchanged', action: status ?? 'denied' } as const
      return { kind: 'row', line, sessionIndex, verdict, outsidePolicy: true }
    }
    const settled = this.#settle(evaluated, line.approvalRef)
    const verdict: Verdict =
      settled.kind === 'indeterminate'
        ? { verdict: 'indeterminate', reason: settled.reason }
        : // An outcome without a status that is known has no evaluation either.
          compareStatus(status ?? 'denied', settled.answer.status)
    if (line.approvalRef !== undefined && status === 'allowed') this.#approvals.used(line.approvalRef)
    this.#count(line, verdict, settled)
    return {
      kind: 'row',
      line,
      sessionIndex,
      verdict,
      ...(settled.kind === 'answer' ? { now: settled.answer } : {}),
      outsidePolicy: false,
    }
  }

  /** The use of an approval, which may have given what is asked for now. */
  #settle(evaluated: Evaluated, approvalRef: string | undefined): Evaluated {
    if (approvalRef === undefined || evaluated.kind === 'indeterminate') return evaluated
    const { answer } = evaluated
    if (answer.approval === undefined) return evaluated
    const met = this.#approvals.meets(approvalRef, answer.approval)
    if (met === undefined) return { kind: 'indeterminate', reason: 'unknown_approval' }
    if (met) return { kind: 'answer', answer: { ...answer, status: 'allowed' } }
    return { kind: 'answer', answer: { ...answer, status: 'denied', code: 'approval_insufficient' } }
  }

  #count(line: RecheckedRow['line'], verdict: Verdict, settled: Evaluated): void {
    this.#verdicts[verdict.verdict] += 1
    this.#tools.add(line.toolId, verdict.verdict)
    this.#agents.add(line.agentId ?? '-', verdict.verdict)
    if (settled.kind === 'indeterminate') {
      this.#reasons.set(settled.reason, (this.#reasons.get(settled.reason) ?? 0) + 1)
      return
    }
    const before = rulesOrCode(line.was.rules, line.was.reason ?? line.was.status)
    for (const rule of before) this.#rules.add(rule, 'before')
    for (const rule of rulesOrCode(settled.answer.rules, settled.answer.code)) this.#rules.add(rule, 'after')
  }
}

/** What decided: policies, or a code in brackets where none did. */
export function rulesOrCode(rules: readonly string[], code: string | undefined): readonly string[] {
  return rules.length > 0 ? rules : [`(${code ?? '-'})`]
}
