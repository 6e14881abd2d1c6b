/** What `aegis try` sums up while calls go by: how much of what, which tools are unknown, what could not be read. */
import { normaliseIdentifiers } from '../policy/index.ts'
import { ObservedArguments } from './argument-facts.ts'
import type { CallName } from './call-names.ts'
import { type DraftedCatalogue, type DraftedTool, draftCatalogue } from './catalogue-draft.ts'
import { plural } from './bundle.ts'
import type { Judgement, RecordedCall, RecordedPlace } from './judged-calls.ts'

export const decisions = ['allow', 'require_approval', 'deny'] as const
export type Decision = (typeof decisions)[number]
export type DecisionCounts = { readonly [decision in Decision]: number }

export interface UnreadPlace extends RecordedPlace {
  readonly why: string
}

export interface UnknownTool extends CallName {
  readonly calls: number
  /** Tools of the catalogue that have an action of this name. */
  readonly alsoUnder: readonly string[]
}

export class Tally {
  readonly #actionsOf: ReadonlyMap<string, readonly string[]>
  readonly #byAction = new Map<string, Record<Decision, number>>()
  readonly #rules = new Map<string, number>()
  readonly #codes = new Map<string, number>()
  readonly #unknown = new Map<string, { readonly name: CallName; readonly seen: ObservedArguments }>()
  readonly total: Record<Decision, number> = noCounts()
  readonly unread: UnreadPlace[] = []
  /** Names that no tool can have. */
  readonly refused = new Set<string>()
  repeats = 0
  rowsWithoutCall = 0

  /** @param toolActions of the catalogue, to say where an unknown action was perhaps meant. */
  constructor(toolActions: Iterable<CallName>) {
    const tools = new Map<string, string[]>()
    for (const { tool, action } of toolActions) tools.set(action, [...(tools.get(action) ?? []), tool])
    this.#actionsOf = tools
  }

  add(call: RecordedCall, judgement: Judgement): void {
    const { code, decision, matchedRules } = judgement
    const name = toolIdOf(call, judgement)
    const counts = this.#byAction.get(name) ?? noCounts()
    counts[decision] += 1
    this.total[decision] += 1
    this.#byAction.set(name, counts)
    for (const rule of matchedRules) this.#rules.set(rule, (this.#rules.get(rule) ?? 0) + 1)
    // A code says something only where no rule does.
    if (matchedRules.length === 0) this.#codes.set(code, (this.#codes.get(code) ?? 0) + 1)
    if (code === 'identifier_not_allowed') this.refused.add(`${call.tool}.${call.action}`)
    if (code === 'unknown_tool') this.#addUnknown(call, judgement.toolId)
  }

  #addUnknown(call: RecordedCall, toolId: string): void {
    const names = normaliseIdentifiers(call.tool, call.action)
    const one = this.#unknown.get(toolId) ?? {
      name: names.ok ? { tool: names.tool, action: names.action } : call,
      seen: new ObservedArguments(),
    }
    this.#unknown.set(toolId, one)
    one.seen.add(call.parameters)
  }

  get calls(): number {
    return decisions.reduce((sum, decision) => sum + this.total[decision], 0)
  }

  /** Sorted by name. */
  get byAction(): readonly (readonly [string, DecisionCounts])[] {
    return [...this.#byAction].sort(([a], [b]) => (a < b ? -1 : 1))
  }

  /** Most frequent first. */
  get rules(): readonly (readonly [string, number])[] {
    return byCount(this.#rules)
  }

  /** Why calls were decided that no rule determined. */
  get codes(): readonly (readonly [string, number])[] {
    return byCount(this.#codes)
  }

  get unknownTools(): readonly UnknownTool[] {
    return [...this.#unknown.values()].map(({ name, seen }) => ({
      ...name,
      calls: seen.calls,
      alsoUnder: this.#actionsOf.get(name.action) ?? [],
    }))
  }

  /** Entries of `tools.json` for the tools that are unknown. */
  get catalogueDraft(): DraftedCatalogue {
    const tools = [...this.#unknown.values()].map(({ name, seen }): DraftedTool => ({
      ...name,
      facts: seen.facts(),
      source: plural(seen.calls, 'call'),
    }))
    return draftCatalogue(tools)
  }
}

/** The `tool_id`, or the names as recorded where they were refused. */
export function toolIdOf(call: RecordedCall, { toolId }: Judgement): string {
  return toolId === '-' ? `${call.tool}.${call.action}` : toolId
}

function noCounts(): Record<Decision, number> {
  return { allow: 0, require_approval: 0, deny: 0 }
}

function byCount(counts: ReadonlyMap<string, number>): readonly (readonly [string, number])[] {
  return [...counts].sort(([a, countA], [b, countB]) => countB - countA || (a < b ? -1 : 1))
}
