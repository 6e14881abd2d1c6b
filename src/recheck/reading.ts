/**
 * From the bytes of a row to what a recheck needs of it: an outcome evaluated, a decision's votes, the start of a
 * Session. Each row by itself, so that rows can be read by any thread; the result is plain data, which threads can pass
 * on. No link and no signature is checked: that is `aegis verify`.
 */
import {
  type DecisionLine,
  type JsonObject,
  type OutcomeLine,
  type PolicySetHash,
  type RecordedShadow,
  decodeLine,
  isJsonObject,
  parseDigest,
} from '../record/index.ts'
import { readLineType } from '../verify/line-type.ts'
import { type RowFault, RowScanner, classifyRow } from '../verify/scan.ts'
import { type Votes, votesOf } from './approvals.ts'
import { type Evaluated, type RecheckMeans, evaluateOutcome } from './evaluate.ts'
import { type PolicyStatusName, policyStatuses } from './verdict.ts'

/** What was answered, as the Line says. */
export interface Recorded {
  /** Absent where the Line has none that the format knows. */
  readonly status?: PolicyStatusName
  /** The code of a refusal. */
  readonly reason?: string
  /** Determining policies; the record holds the first 64. */
  readonly rules: readonly string[]
}

export interface OutcomeReading {
  readonly kind: 'outcome'
  readonly callId: string
  readonly toolId: string
  readonly agentId?: string
  readonly sessionIndex?: number
  readonly seq: number
  readonly decidedAt?: number
  /** Of the Line. */
  readonly policySetHash?: PolicySetHash
  readonly was: Recorded
  /** As it was derived then; absent where the Line has no context. */
  readonly mutatesState?: boolean
  readonly approvalRef?: string
  readonly shadow?: RecordedShadow
  /** `pipeline`: refused outside the policy, and not evaluated. */
  readonly evaluated: Evaluated | { readonly kind: 'pipeline' }
}

/** Why a row is no Line. */
export type BrokenReason = RowFault | 'line_too_long' | 'member_invalid'

export type RowReading =
  | OutcomeReading
  | { readonly kind: 'open'; readonly sessionIndex?: number }
  | { readonly kind: 'decision'; readonly approvalId: string; readonly votes: Votes }
  | { readonly kind: 'administrative' | 'report' | 'older' | 'other' }
  | { readonly kind: 'broken'; readonly reason: BrokenReason }

export interface ReadingOptions {
  /** Outcomes decided before this are counted and not evaluated; integer ms. Those without a time are evaluated. */
  readonly since?: number
}

const other: RowReading = { kind: 'other' }

/** Reads rows, one after another. */
export class RowReader {
  readonly #scanner = new RowScanner()
  readonly #means: RecheckMeans
  readonly #options: ReadingOptions

  constructor(means: RecheckMeans, options: ReadingOptions = {}) {
    this.#means = means
    this.#options = options
  }

  /** Reads the row in `[start, end)`. Never throws for what is in it. */
  read(bytes: Uint8Array, start: number, end: number): RowReading {
    const scanner = this.#scanner
    if (!scanner.scan(bytes, start, end)) {
      return { kind: 'broken', reason: classifyRow(bytes.subarray(start, end)) }
    }
    const type = scanner.stringSpan('line_type')
    if (type === undefined) return { kind: 'broken', reason: 'member_invalid' }
    switch (readLineType(bytes, ...type)) {
      case 'open': {
        const sessionIndex = scanner.integer('session_index')
        return { kind: 'open', ...(sessionIndex === undefined ? {} : { sessionIndex }) }
      }
      case 'outcome':
        return this.#readOutcome(parseCanonical(bytes, start, end))
      case 'decision':
        return readDecision(parseCanonical(bytes, start, end))
      default:
        return other
    }
  }

  #readOutcome(members: JsonObject): RowReading {
    const decoded = decodeLine(members)
    if (!decoded.ok) return unreadableOutcome(members)
    const line = decoded.value as OutcomeLine
    const { decision_axes: axes, policy } = line
    if (axes.decided_by === 'admin') return { kind: 'administrative' }
    if (axes.decided_by === 'report') return { kind: 'report' }
    if (this.#options.since !== undefined && (line.decided_at ?? Infinity) < this.#options.since) {
      return { kind: 'older' }
    }
    const mutatesState = axes.context?.['mutates_state']
    // Only a refusal is settled outside the policy: an allow that says so is evaluated like any other.
    const refused = policy.status === 'denied' || policy.status === 'rate_limited'
    const pipeline = axes.decided_by === 'pipeline' && refused
    return {
      kind: 'outcome',
      callId: line.call_id,
      toolId: line.tool_id,
      ...(line.agent_id === undefined ? {} : { agentId: line.agent_id }),
      ...(line.session_index === undefined ? {} : { sessionIndex: line.session_index }),
      seq: line.seq,
      ...(line.decided_at === undefined ? {} : { decidedAt: line.decided_at }),
      policySetHash: line.policy_set_hash,
      was: {
        status: policy.status,
        ...('reason' in policy ? { reason: policy.reason } : {}),
        rules: axes.matched_rules ?? (axes.matched_rule === undefined ? [] : [axes.matched_rule]),
      },
      ...(typeof mutatesState === 'boolean' ? { mutatesState } : {}),
      ...(axes.approval_ref === undefined ? {} : { approvalRef: axes.approval_ref }),
      ...(axes.shadow === undefined ? {} : { shadow: axes.shadow }),
      evaluated: pipeline ? { kind: 'pipeline' } : evaluateOutcome(line, this.#means),
    }
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** A row that the scanner let through has unique keys and integers only: JSON.parse reads it as our own reader would. */
function parseCanonical(bytes: Uint8Array, start: number, end: number): JsonObject {
  return JSON.parse(decoder.decode(bytes.subarray(start, end))) as JsonObject
}

/** An outcome with a member that is not of its type: still a row, as far as it says which Call it is of. */
function unreadableOutcome(members: JsonObject): RowReading {
  const { call_id: callId, policy, seq, session_index: sessionIndex, tool_id: toolId } = members
  const decidedBy = isJsonObject(members['decision_axes'])
    ? members['decision_axes']['decided_by']
    : undefined
  if (decidedBy === 'admin') return { kind: 'administrative' }
  if (decidedBy === 'report') return { kind: 'report' }
  if (typeof callId !== 'string' || typeof seq !== 'number') {
    return { kind: 'broken', reason: 'member_invalid' }
  }
  const status = policyStatuses.find((name) => isJsonObject(policy) && policy['status'] === name)
  const policySetHash = parseDigest<PolicySetHash>(members['policy_set_hash'])
  return {
    kind: 'outcome',
    callId,
    toolId: typeof toolId === 'string' ? toolId : '-',
    ...(typeof sessionIndex === 'number' ? { sessionIndex } : {}),
    seq,
    ...(policySetHash === undefined ? {} : { policySetHash }),
    was: { ...(status === undefined ? {} : { status }), rules: [] },
    evaluated: { kind: 'indeterminate', reason: 'no_binding' },
  }
}

/** One that is not of its type decided nothing that could be used. */
function readDecision(members: JsonObject): RowReading {
  const decoded = decodeLine(members)
  if (!decoded.ok) return other
  const line = decoded.value as DecisionLine
  return { kind: 'decision', approvalId: line.approval_id, votes: votesOf(line) }
}
