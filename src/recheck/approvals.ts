/**
 * The approvals that a Chain decided so far, to judge their uses by: how many people of each group agreed. The only
 * memory of a recheck that grows with its input, and bounded. Not for whether a decision was valid: `aegis verify`.
 */
import type { DecisionLine } from '../record/index.ts'

/** People of each group who agreed; nobody where the approval was denied. */
export type Votes = readonly (readonly [group: string, people: number])[]

/** A vote counts once a person in each group that the decision names for him. */
export function votesOf(line: DecisionLine): Votes {
  if (line.verdict.verdict !== 'approved') return []
  const people = new Map<string, Set<string>>()
  for (const { groups, subject } of line.approvers ?? []) {
    for (const group of groups) {
      const known = people.get(group) ?? new Set()
      people.set(group, known.add(asciiLowercase(subject)))
    }
  }
  return [...people].map(([group, subjects]) => [group, subjects.size])
}

function asciiLowercase(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
}

/** Code units held: an approval of ours takes about 60, so that some 250,000 which nobody used fit into 32 MB. */
const heldMax = 16_000_000

export class DecidedApprovals {
  /** Oldest first. */
  readonly #votes = new Map<string, Votes>()
  #held = 0
  readonly #heldMax: number

  constructor(max = heldMax) {
    this.#heldMax = max
  }

  /** There is one decision for an approval, ever: a second one is the verifier's to find, and ignored here. */
  add(approvalId: string, votes: Votes): void {
    if (this.#votes.has(approvalId)) return
    this.#votes.set(approvalId, votes)
    this.#held += sizeOf(approvalId, votes)
    while (this.#held > this.#heldMax) {
      const oldest = this.#votes.keys().next()
      if (oldest.done === true) return
      this.#drop(oldest.value)
    }
  }

  /** Whether the approval gave what is asked for now; undefined when its decision is not known, or forgotten. */
  meets(
    approvalId: string,
    { groups, quorum }: { readonly groups: readonly string[]; readonly quorum: number },
  ): boolean | undefined {
    const votes = this.#votes.get(approvalId)
    if (votes === undefined) return undefined
    const people = new Map(votes)
    return groups.length > 0 && groups.every((group) => (people.get(group) ?? 0) >= quorum)
  }

  /** An approval is used once: afterwards nothing asks for it. */
  used(approvalId: string): void {
    this.#drop(approvalId)
  }

  #drop(approvalId: string): void {
    const votes = this.#votes.get(approvalId)
    if (votes === undefined) return
    this.#votes.delete(approvalId)
    this.#held -= sizeOf(approvalId, votes)
  }
}

function sizeOf(approvalId: string, votes: Votes): number {
  return votes.reduce((sum, [group]) => sum + group.length + 8, approvalId.length + 16)
}
