/**
 * What a history says of a bundle (docs/recheck.md): which policies decide how many recorded calls, which never do, what
 * no policy decides, which tools nobody used. Each outcome is evaluated under the bundle, as a recheck does.
 */
import type { PolicySet } from '../policy/index.ts'
import { cutForReport, escapeForReport, toAsciiJson } from '../verify/index.ts'
import type { RecheckedRow } from './recheck.ts'
import { NamedCounts } from './tally.ts'

export class PolicyCoverage {
  readonly #policySet: PolicySet
  readonly #policies: Map<string, number>
  readonly #tools: Map<string, number>
  /** Calls that no policy decided, by tool. */
  readonly #undecided = new NamedCounts(['calls'])
  /** The same, by the code that did. */
  readonly #codes = new NamedCounts(['calls'])
  #calls = 0
  #decided = 0
  #outsidePolicy = 0
  #unknown = 0

  constructor(policySet: PolicySet) {
    this.#policySet = policySet
    this.#policies = new Map([...policySet.policies.keys()].map((id) => [id, 0]))
    this.#tools = new Map([...policySet.catalogue.actions.keys()].sort().map((toolId) => [toolId, 0]))
  }

  take(row: RecheckedRow): void {
    const { line, now } = row
    const used = this.#tools.get(line.toolId)
    if (used !== undefined) this.#tools.set(line.toolId, used + 1)
    if (row.outsidePolicy) {
      this.#outsidePolicy += 1
      return
    }
    // Where the Envelope is gone, what this very set answered is on record.
    const isOwn = line.policySetHash === this.#policySet.policySetHash && line.was.status !== undefined
    const answer = now ?? (isOwn ? { rules: line.was.rules, code: line.was.reason ?? '-' } : undefined)
    if (answer === undefined) {
      this.#unknown += 1
      return
    }
    this.#calls += 1
    let decided = false
    for (const rule of answer.rules) {
      const count = this.#policies.get(rule)
      if (count === undefined) continue
      decided = true
      this.#policies.set(rule, count + 1)
    }
    if (decided) this.#decided += 1
    else {
      this.#undecided.add(line.toolId, 'calls')
      this.#codes.add(answer.code, 'calls')
    }
  }

  /** Whether a call could not be evaluated. */
  get incomplete(): boolean {
    return this.#unknown > 0
  }

  get text(): string {
    const never = [...this.#policies].filter(([, count]) => count === 0).map(([id]) => id)
    const unused = [...this.#tools].filter(([, count]) => count === 0).map(([toolId]) => toolId)
    const fired = [...this.#policies]
      .filter(([, count]) => count > 0)
      .sort(([a, countA], [b, countB]) => countB - countA || (a < b ? -1 : 1))
    const tried = `${String(this.#policies.size - never.length)} of ${String(this.#policies.size)}`
    const lines = [
      `policy_set_hash ${this.#policySet.policySetHash}`,
      `${String(this.#calls)} calls evaluated: ${String(this.#decided)} decided by a policy, ${String(this.#calls - this.#decided)} by none`,
      `counted apart: ${String(this.#outsidePolicy)} refused outside the policy, ${String(this.#unknown)} that cannot be evaluated`,
      '',
      `policies that decided a call: ${tried}`,
      ...fired.map(([id, count]) => `${String(count).padStart(8)}  ${id}`),
      ...list('policies that never fired', never),
      ...counts('calls that no policy decided, by tool', this.#undecided),
      ...counts('and why', this.#codes),
      ...list('tools that were never used', unused),
    ]
    return lines.map((line) => `${line}\n`).join('')
  }

  get json(): string {
    return toAsciiJson({
      policy_set_hash: this.#policySet.policySetHash,
      calls: this.#calls,
      decided: this.#decided,
      undecided: this.#calls - this.#decided,
      outside_policy: this.#outsidePolicy,
      indeterminate: this.#unknown,
      policies: [...this.#policies].map(([id, calls]) => ({ id, calls })),
      never_fired: [...this.#policies].filter(([, count]) => count === 0).map(([id]) => id),
      undecided_by_tool: this.#undecided.rows.map(toCount),
      undecided_by_code: this.#codes.rows.map(toCount),
      tools: [...this.#tools].map(([tool_id, calls]) => ({ tool_id, calls })),
      never_used: [...this.#tools].filter(([, count]) => count === 0).map(([toolId]) => toolId),
    })
  }
}

function toCount({ counts: { calls }, name }: NamedCounts<'calls'>['rows'][number]): object {
  return { name: name === undefined ? null : cutForReport(name), calls }
}

function list(title: string, names: readonly string[]): readonly string[] {
  return names.length === 0
    ? []
    : ['', `${title}: ${String(names.length)}`, ...names.map((name) => `          ${name}`)]
}

function counts(title: string, { rows }: NamedCounts<'calls'>): readonly string[] {
  if (rows.length === 0) return []
  return [
    '',
    title,
    ...rows.map(
      ({ counts: { calls }, name }) =>
        `${String(calls).padStart(8)}  ${name === undefined ? '(all others)' : escapeForReport(name)}`,
    ),
  ]
}
