/** An outcome Line as an entry of a list of Calls, and what such a list is filtered by. */
import {
  type Call,
  type CallDecision,
  answerFromOutcome,
  describeReason,
  formatInstant,
} from '../protocol/index.ts'
import { type JsonObject, type OutcomeLine, canonicalText, decodeLine, isKnownLine } from '../record/index.ts'

export interface CallFilter {
  readonly agent?: string
  readonly tool?: string
  readonly decision?: CallDecision
  readonly rule?: string
  /** Integer ms: decided then or later. */
  readonly since?: number
  /** Integer ms: decided before. */
  readonly until?: number
}

const outcomeMark = '"line_type":"outcome"'

/**
 * What a canonical Line must hold to pass: looked for in its text, since most Lines of a long scan are none that is asked
 * for, and reading one costs a hundred times as much.
 */
export function marksOf({ agent, tool, rule }: CallFilter): readonly string[] {
  return [
    outcomeMark,
    ...(agent === undefined ? [] : [`"agent_id":${canonicalText(agent)}`]),
    ...(tool === undefined ? [] : [`"tool_id":${canonicalText(tool)}`]),
    ...(rule === undefined ? [] : [canonicalText(rule)]),
  ]
}

/**
 * Reads a row as an outcome Line; `undefined` for every other. Our writer made it, and it is only shown: whoever judges
 * the Chain reads it strictly.
 */
export function readOutcome(row: string): OutcomeLine | undefined {
  if (!row.includes(outcomeMark)) return undefined
  const read = decodeLine(JSON.parse(row) as JsonObject)
  return read.ok && isKnownLine(read.value) && read.value.line_type === 'outcome' ? read.value : undefined
}

/** Whether a Line is one that is asked for; its time aside, which ends a scan. */
export function isWanted(line: OutcomeLine, { agent, tool, decision, rule }: CallFilter): boolean {
  return (
    (agent === undefined || line.agent_id === agent) &&
    (tool === undefined || line.tool_id === tool) &&
    (decision === undefined || decisionOf(line) === decision) &&
    (rule === undefined || line.decision_axes.matched_rules?.includes(rule) === true)
  )
}

function decisionOf({ policy }: OutcomeLine): CallDecision {
  switch (policy.status) {
    case 'allowed':
      return 'allow'
    case 'denied':
      return 'deny'
    case 'rate_limited':
      return 'rate_limited'
    case 'pending_approval':
      return 'require_approval'
  }
}

/** @param row the Line's text. */
export function toCall(line: OutcomeLine, row: string): Call {
  const { decision_axes: axes, policy, execution } = line
  const isDelegated = execution.status === 'delegated' || execution.status === 'host_denied'
  const { actor } = axes
  return {
    call_id: line.call_id,
    session_index: line.session_index ?? 0,
    seq: line.seq,
    decided_at: formatInstant(line.decided_at ?? 0),
    tool_id: line.tool_id,
    ...(line.agent_id === undefined ? {} : { agent: line.agent_id }),
    decision: decisionOf(line),
    ...reasonOf(line, row),
    matched_rules: [...(axes.matched_rules ?? [])],
    ...(axes.overrides === undefined ? {} : { overrides: [...axes.overrides] }),
    policy_set_hash: line.policy_set_hash,
    ...(actor === undefined
      ? {}
      : {
          actor: {
            role: actor.role,
            ...(actor.subject === undefined ? {} : { subject: actor.subject }),
            ...(actor.api_key === undefined ? {} : { api_key: actor.api_key }),
          },
        }),
    ...(isDelegated ? {} : { execution: execution.status }),
    ...(line.grant_id === undefined ? {} : { grant_id: line.grant_id }),
    ...(policy.status === 'pending_approval' ? { approval_id: policy.approval_id } : {}),
    ...(axes.approval_ref === undefined ? {} : { approval_ref: axes.approval_ref }),
    ...(axes.call_ref === undefined ? {} : { call_ref: axes.call_ref }),
  }
}

/** Of an agent's action as the agent was answered; of other Calls the code and the sentence of the record. */
function reasonOf(line: OutcomeLine, row: string): Pick<Call, 'reason' | 'risk'> {
  const { decision_axes: axes, policy } = line
  if (axes.decided_by === 'policy') {
    const { reason, risk } = answerFromOutcome({ line: row, lineHash: '', now: 0 }, false)
    return { reason, risk }
  }
  const code = 'reason' in policy ? policy.reason : line.execution.status
  return { reason: { code, detail: axes.reason_text ?? describeReason(code) } }
}
