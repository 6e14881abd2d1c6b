/**
 * What a person wants to see of a Line at a glance, from any object that may or may not be one: wrong or absent members
 * are left out, and nothing is checked.
 */
import { type JsonObject, type JsonValue, isJsonObject } from '../record/index.ts'

export interface LineSummary {
  /** What the file says, or what follows from the `open` before it. */
  readonly sessionIndex: number | undefined
  readonly seq: number | undefined
  /** Integer ms since the epoch; an intent has none. */
  readonly time: number | undefined
  readonly type: string | undefined
  readonly callId: string | undefined
  /** The Call that a report, or the use of an approval, belongs to. */
  readonly callRef: string | undefined
  readonly approvalId: string | undefined
  readonly toolId: string | undefined
  readonly agentId: string | undefined
  /** `policy.status` of an outcome, `verdict` of a decision. */
  readonly status: string | undefined
  readonly reason: string | undefined
  readonly line: JsonObject
}

/** Remembers the Session, which an intent does not name. */
export class LineSummariser {
  #sessionIndex: number | undefined
  #sessions = 0

  summarise(line: JsonObject): LineSummary {
    const type = text(line['line_type'])
    const stated = integer(line['session_index'])
    if (type === 'open') {
      this.#sessionIndex = stated ?? this.#sessions
      this.#sessions += 1
    } else if (stated !== undefined) {
      this.#sessionIndex = stated
    }
    const axes = object(line['decision_axes'])
    return {
      sessionIndex: this.#sessionIndex,
      seq: integer(line['seq']),
      time: integer(line['decided_at']) ?? integer(line['opened_at']) ?? integer(line['closed_at']),
      type,
      callId: text(line['call_id']),
      callRef: text(axes['call_ref']),
      approvalId: text(line['approval_id']),
      toolId: text(line['tool_id']),
      agentId: text(line['agent_id']),
      ...judgement(line, type),
      line,
    }
  }
}

function judgement(
  line: JsonObject,
  type: string | undefined,
): { readonly status: string | undefined; readonly reason: string | undefined } {
  if (type === 'decision') {
    const verdict = object(line['verdict'])
    return { status: text(verdict['verdict']), reason: text(verdict['reason']) }
  }
  const policy = object(line['policy'])
  const status = text(policy['status'])
  return { status, reason: text(policy['reason']) ?? text(policy['approval_id']) ?? executionText(line) }
}

/** What became of an allowed Call, where that is more than that authority was given. */
function executionText(line: JsonObject): string | undefined {
  const execution = object(line['execution'])
  const status = text(execution['status'])
  if (status === undefined || status === 'delegated') return undefined
  const detail = text(execution['reason']) ?? text(execution['message']) ?? text(execution['kind'])
  return detail === undefined ? status : `${status}:${detail}`
}

/** A Line in `aegis inspect --json` (docs/cli.md): absent values are `null`, the Line itself is whole. */
export function toListedJson(row: number, summary: LineSummary): object {
  return {
    row,
    session_index: summary.sessionIndex ?? null,
    seq: summary.seq ?? null,
    time: summary.time ?? null,
    line_type: summary.type ?? null,
    call_id: summary.callId ?? null,
    tool_id: summary.toolId ?? null,
    agent_id: summary.agentId ?? null,
    status: summary.status ?? null,
    reason: summary.reason ?? null,
    line: summary.line,
  }
}

function text(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function integer(value: JsonValue | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined
}

function object(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}
