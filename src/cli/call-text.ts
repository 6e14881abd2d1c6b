/**
 * One Call in words (docs/cli.md): what was asked, what was derived of it, which rules decided, what was overridden, what
 * was claimed otherwise, what came of it, and its receipt. Words of ours at the left edge, values of others behind a bar.
 */
import { type JsonValue, type OutcomeLine, parseLineObject, utf8 } from '../record/index.ts'
import type { Members } from './answer-members.ts'
import { type LeafLook, leavesOf, quoted } from './leaf-texts.ts'
import { LineSummariser } from './line-summary.ts'
import { cellText, valueLines } from './shown-text.ts'
import { utcText } from './terminal.ts'

export interface CallLook extends LeafLook {
  readonly columns: number
}

interface Shown {
  readonly call: Members
  readonly lineHash: string
  /** Lines behind it that are about it. */
  readonly related: readonly string[]
  readonly isComplete: boolean
  readonly look: CallLook
}

/** Lines that end with LF. */
export function callText(line: OutcomeLine, shown: Shown): string {
  const { look, call } = shown
  const axes = line.decision_axes
  const block = (title: string, values: readonly string[]): string =>
    values.length === 0 ? '' : `${title}\n${values.map((value) => valueLines(value, look.columns)).join('')}`
  const said = (values: readonly string[] | undefined): readonly string[] =>
    (values ?? []).map((value) => quoted(value, look))
  const leaves = (value: unknown): readonly string[] => leavesOf((value ?? {}) as JsonValue, look)
  const { context = {} } = axes
  const reason = call.members('reason')
  const risk = call.optionalMembers('risk')
  return [
    `${cellText(line.call_id)}  ${utcText(line.decided_at ?? Number.NaN)}  session ${String(line.session_index)} seq ${String(line.seq)}\n`,
    '\n',
    whoText(line, block, look),
    block('what was asked', [
      quoted(line.tool_id, look),
      ...(axes.resource === undefined ? [] : [`on ${quoted(axes.resource.id, look)}`]),
    ]),
    block('what was derived of it', leaves(derivedOf(context))),
    block('in which context', leaves(restOf(context))),
    block('what was claimed otherwise, and did not count', leaves(axes.claims)),
    '\n',
    `decision ${cellText(call.text('decision'))}: ${cellText(reason.text('code'))}\n`,
    block('in words', [quoted(reason.text('detail'), look)]),
    risk === undefined ? '' : `risk ${cellText(risk.text('level'))}, ${String(risk.count('score'))} of 100\n`,
    `decided by ${cellText(axes.decided_by ?? 'an unknown writer')}${axes.evaluator === undefined ? '' : `, evaluated by ${cellText(axes.evaluator)}`}\n`,
    block('rules that determined it', said(axes.matched_rules)),
    block('overrides of what the policies said', said(axes.overrides)),
    block('policies that failed', said(axes.policy_errors)),
    axes.shadow === undefined
      ? ''
      : block(
          `in the shadow, ${cellText(axes.shadow.status)} under ${axes.shadow.policy_set_hash}`,
          said(axes.shadow.matched_rules),
        ),
    outcomeText(line),
    axes.suppressed === undefined
      ? ''
      : `Calls before it that were refused without a Line: ${String(axes.suppressed)}\n`,
    axes.explained === undefined ? '' : `explanations before it: ${String(axes.explained)}\n`,
    '\n',
    relatedText(shown),
    receiptText(line, shown.lineHash),
  ].join('')
}

function whoText(
  line: OutcomeLine,
  block: (title: string, values: readonly string[]) => string,
  look: CallLook,
): string {
  const { actor, context, principal } = line.decision_axes
  const user: unknown = context?.['user']
  const id = typeof user === 'object' && user !== null && 'id' in user ? user.id : undefined
  const roles = principal?.parents.map((parent) => parent.id) ?? []
  return [
    line.agent_id === undefined ? '' : block('who asked: the agent', [quoted(line.agent_id, look)]),
    roles.length === 0
      ? ''
      : block(
          'in the roles',
          roles.map((role) => quoted(role, look)),
        ),
    typeof id === 'string' ? block('for whom, as the agent said', [quoted(id, look)]) : '',
    actor === undefined
      ? ''
      : block('who did it', [
          `${cellText(actor.role)}${actor.subject === undefined ? '' : ` ${quoted(actor.subject, look)}`}${actor.api_key === undefined ? '' : ` with key ${cellText(actor.api_key)}`}`,
        ]),
  ].join('')
}

const derivedNames: ReadonlySet<string> = new Set(['args', 'fs', 'net'])

function derivedOf(context: Readonly<Record<string, unknown>>): object {
  const { args, fs, net } = context
  return {
    ...(args as object | undefined),
    ...(fs === undefined ? {} : { fs }),
    ...(net === undefined ? {} : { net }),
  }
}

function restOf(context: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(context).filter(([name]) => !derivedNames.has(name)))
}

/** What came of it, as far as this Line knows. */
function outcomeText({ capability, execution, policy, decision_axes: axes }: OutcomeLine): string {
  const lines: string[] = []
  if (capability.status === 'granted') {
    const { grant_id: grant, expires_at: expires } = capability.grant
    lines.push(`grant ${cellText(grant)}${expires === undefined ? '' : ` until ${utcText(expires)}`}`)
  }
  if (policy.status === 'pending_approval') {
    const asked = axes.approval
    const groups = asked?.groups.map(cellText).join(', ') ?? ''
    lines.push(`waits for approval ${cellText(policy.approval_id)}${groups === '' ? '' : ` by ${groups}`}`)
  }
  if (axes.approval_ref !== undefined) lines.push(`uses approval ${cellText(axes.approval_ref)}`)
  if (axes.call_ref !== undefined) lines.push(`belongs to ${cellText(axes.call_ref)}`)
  if (execution.status !== 'delegated' && execution.status !== 'host_denied') {
    lines.push(`came out as ${execution.status}`)
  }
  return lines.map((line) => `${line}\n`).join('')
}

function relatedText({ related, isComplete }: Shown): string {
  const summariser = new LineSummariser()
  const rows = related.flatMap((text) => {
    const read = parseLineObject(utf8(text))
    if (!read.ok) return []
    const found = summariser.summarise(read.value)
    if (found.type === 'intent') return []
    const parts = [
      found.time === undefined ? '-' : utcText(found.time),
      cellText(found.type ?? ''),
      cellText(found.toolId ?? found.approvalId ?? ''),
      cellText(found.status ?? ''),
      ...(found.reason === undefined ? [] : [cellText(found.reason)]),
      ...(found.callId === undefined ? [] : [cellText(found.callId)]),
    ]
    return [`  ${parts.join('  ')}\n`]
  })
  const more = isComplete ? '' : '  not everything was looked through where there can be more\n'
  return rows.length === 0 && isComplete ? '' : `behind it, about it\n${rows.join('')}${more}\n`
}

function receiptText(line: OutcomeLine, lineHash: string): string {
  const { action_hash: action, key_id: keyId, policy_set_hash: policySet, request_digest: request } = line
  return [
    `line_hash       ${lineHash}\n`,
    `key_id          ${keyId}\n`,
    action === undefined ? '' : `action_hash     ${action}\n`,
    `policy_set_hash ${policySet}\n`,
    `request_digest  ${request}${line.decision_axes.envelope === undefined ? '' : ` (its bytes: ${line.decision_axes.envelope})`}\n`,
    'Its receipt is the Line: aegis calls show --line. Nothing was verified here but its hash.\n',
  ].join('')
}
