/**
 * The answer of `POST /v1/authorize` (authorize.md §2), made from the signed outcome Line and nothing else, so that a
 * repeat gets the same answer and the receipt proves all of it. Only `expires_in_ms` also reads a clock. Not for
 * calls that were limited: those are 429 and problem.ts.
 */
import * as v from 'valibot'
import { answeredInstant as instant, count, digest, receiptSchema } from './answer-members.ts'
import { type JsonObject, type OutcomeLine, decodeLine, isKnownLine } from '../record/index.ts'
import { formatInstant } from './instant.ts'
import { describeReason } from './reason.ts'

export const riskSchema = v.strictObject({
  level: v.picklist(['low', 'medium', 'high', 'critical']),
  score: count,
})
export const reasonSchema = v.strictObject({ code: v.string(), detail: v.string() })

export const authorizeAnswerSchema = v.strictObject({
  decision: v.picklist(['allow', 'deny', 'require_approval']),
  call_id: v.string(),
  reason: reasonSchema,
  risk: riskSchema,
  /** Only where the settings show them to agents. */
  matched_rules: v.exactOptional(v.array(v.string())),
  /** Of an allow. */
  grant: v.exactOptional(v.strictObject({ grant_id: v.string(), expires_at: instant, expires_in_ms: count })),
  /** Of a require_approval. */
  approval: v.exactOptional(
    v.strictObject({
      approval_id: v.string(),
      action_hash: digest,
      binding_hash: digest,
      groups: v.array(v.string()),
      quorum: count,
      approve_by: instant,
    }),
  ),
  receipt: receiptSchema,
})
export type AuthorizeAnswer = v.InferOutput<typeof authorizeAnswerSchema>
export type Risk = v.InferOutput<typeof riskSchema>

/** Where nothing was evaluated the risk is not known, and counts as the worst. */
const unknownRisk: Risk = { level: 'critical', score: 95 }

/**
 * The 200 body for an outcome Line.
 *
 * @param line the Line as the writer returned it, without LF.
 * @param now the writer's clock, integer ms: `expires_in_ms` is what is left then, and never negative.
 * @param showRules whether the settings show `matched_rules` to agents.
 * @throws Error when the text is not an outcome Line of ours: the writer is broken, and nothing may be answered.
 */
export function answerFromOutcome(
  { line, lineHash, now }: { readonly line: string; readonly lineHash: string; readonly now: number },
  showRules: boolean,
): AuthorizeAnswer {
  const outcome = readOutcome(line)
  const { decision_axes: axes, policy } = outcome
  const code = reasonCode(outcome)
  return {
    decision: decisionOf(outcome),
    call_id: outcome.call_id,
    reason: { code, detail: axes.reason_text ?? describeReason(code) },
    risk: riskOf(axes.context),
    ...(showRules && axes.matched_rules !== undefined ? { matched_rules: [...axes.matched_rules] } : {}),
    ...grantOf(outcome, now),
    ...(policy.status === 'pending_approval' ? approvalOf(outcome, policy.approval_id) : {}),
    receipt: { line, line_hash: lineHash },
  }
}

/**
 * The writer made this text a moment ago, canonical and signed: it is not read strictly again here, which would cost
 * more than the decision. Whoever keeps the receipt does.
 */
function readOutcome(text: string): OutcomeLine {
  const read = decodeLine(JSON.parse(text) as JsonObject)
  if (!read.ok || !isKnownLine(read.value) || read.value.line_type !== 'outcome') {
    throw new Error('the writer answered with something that is not an outcome Line')
  }
  return read.value
}

function decisionOf({ policy, capability }: OutcomeLine): AuthorizeAnswer['decision'] {
  switch (policy.status) {
    case 'allowed':
      return capability.status === 'granted' ? 'allow' : 'deny'
    case 'pending_approval':
      return 'require_approval'
    case 'denied':
    case 'rate_limited':
      return 'deny'
  }
}

/** Overrides that ask for a person; the first one recorded is the reason. */
const approvalReasons: ReadonlySet<string> = new Set([
  'approval_required',
  'default_require_approval',
  'critical_requires_approval',
  'force_approval',
])

function reasonCode({ policy, decision_axes: axes }: OutcomeLine): string {
  switch (policy.status) {
    case 'allowed':
      return 'permitted'
    case 'pending_approval':
      return axes.overrides?.find((name) => approvalReasons.has(name)) ?? 'approval_required'
    case 'denied':
    case 'rate_limited':
      return policy.reason
  }
}

function riskOf(context: OutcomeLine['decision_axes']['context']): Risk {
  const level = riskSchema.entries.level.options.find((name) => name === context?.['risk_level'])
  const risk = context?.['risk']
  const long = typeof risk === 'object' && 'long' in risk ? risk.long : undefined
  if (level === undefined || typeof long !== 'string') return unknownRisk
  return { level, score: Number(long) }
}

function grantOf({ capability }: OutcomeLine, now: number): Pick<AuthorizeAnswer, 'grant'> {
  if (capability.status !== 'granted') return {}
  const { grant_id, expires_at: expiresAt } = capability.grant
  if (expiresAt === undefined) throw new Error('a grant of ours has an end')
  const grant = {
    grant_id,
    expires_at: formatInstant(expiresAt),
    expires_in_ms: Math.max(0, expiresAt - now),
  }
  return { grant }
}

function approvalOf(outcome: OutcomeLine, approvalId: string): Pick<AuthorizeAnswer, 'approval'> {
  const { action_hash: actionHash, decision_axes: axes } = outcome
  if (actionHash === undefined || axes.approval === undefined) {
    throw new Error('a pending outcome of ours says what is to be approved')
  }
  const { binding_hash, groups, quorum, approve_by } = axes.approval
  return {
    approval: {
      approval_id: approvalId,
      action_hash: actionHash,
      binding_hash,
      groups: [...groups],
      quorum,
      approve_by: formatInstant(approve_by),
    },
  }
}
