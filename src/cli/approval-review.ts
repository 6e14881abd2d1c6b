/**
 * An approval as a person judges it (authorize.md §4): everything that approving it would bind, in words of ours at the
 * left edge and values of others behind a bar, where nothing of them can pass for ours. The hashes are computed from what
 * is shown, so that a deployment cannot show one action and have another approved.
 */
import { nodeSuite } from '../crypto-node/index.ts'
import { parseInstant } from '../protocol/index.ts'
import {
  type ActionHash,
  type JsonObject,
  type PolicySetHash,
  type RequestDigest,
  actionHash,
  bindingHash,
} from '../record/index.ts'
import type { Members } from './answer-members.ts'
import { leavesOf, quoted } from './leaf-texts.ts'
import { cellText, shownText, valueLines } from './shown-text.ts'

const hashForm = /^[0-9a-f]{64}$/
const idForm = /^apr_[0-9a-z]{26}$/

/** Whether an answer holds the frozen action, which only approvers see, and only while something can become of it. */
export function isReview(approval: Members): boolean {
  return approval.object['request'] !== undefined
}

/**
 * Computes both hashes from what would be shown.
 *
 * @param tenant of the key that asked.
 * @returns the name of the one that differs.
 */
export function findForeignHash(review: Members, tenant: string): 'action_hash' | 'binding_hash' | undefined {
  const call = review.members('request').members('tool_call')
  const { resource } = call.object
  const action = actionHash(
    {
      tool: call.text('tool'),
      action: call.text('action'),
      resource: typeof resource === 'string' ? resource : null,
      mutates_state: call.flag('mutates_state'),
      parameters: call.members('parameters').object,
    },
    nodeSuite,
  )
  if (action !== review.text('action_hash')) return 'action_hash'
  const binding = bindingHash(
    {
      action_hash: review.matching('action_hash', hashForm) as ActionHash,
      agent_id: review.text('agent'),
      approval_id: review.text('approval_id'),
      approve_by: timeOf(review, 'approve_by'),
      approver_groups: review.texts('groups'),
      call_id: review.text('call_id'),
      environment: review.text('environment'),
      policy_set_hash: review.matching('policy_set_hash', hashForm) as PolicySetHash,
      quorum: review.count('quorum'),
      request_digest: review.matching('request_digest', hashForm) as RequestDigest,
      source_trust: review.members('source_trust').text('effective'),
      tenant,
      use_within_ms: review.members('grants').count('expires_in_ms'),
    },
    nodeSuite,
  )
  return binding === review.text('binding_hash') ? undefined : 'binding_hash'
}

function timeOf(review: Members, name: string): number {
  return parseInstant(review.text(name)) ?? Number.NaN
}

export interface ReviewLook {
  /** Columns that may be written to. */
  readonly columns: number
  /** Whether long values are shown whole. */
  readonly full: boolean
  /** Integer ms since the epoch. */
  readonly now: number
}

/** The whole of it, lines that end with LF. */
export function reviewText(review: Members, look: ReviewLook): string {
  const call = review.members('request').members('tool_call')
  const block = (title: string, values: readonly string[]): string =>
    `${title}\n${values.map((value) => valueLines(value, look.columns)).join('')}`
  const said = (value: string): string => quoted(value, look)
  const trust = review.members('source_trust')
  const why = review.members('why')
  const parameters = call.members('parameters').object
  const rules = review.texts('matched_rules')
  const { resource } = call.object
  const onBehalfOf = review.optionalText('on_behalf_of')
  const environment = review.text('environment')
  const derived = leavesOf(review.members('derived').object, look)
  const context = leavesOf(review.members('request').members('context').object, look)
  const claimed = trust.optionalText('claimed')
  return [
    stateText(review, look.now),
    '\n',
    block('who asks: the agent', [said(review.text('agent'))]),
    onBehalfOf === undefined
      ? 'for whom: it names nobody\n'
      : block('for whom, as the agent says', [said(onBehalfOf)]),
    environment === '' ? '' : block('environment of the agent', [said(environment)]),
    '\n',
    block('what it wants to do', [said(review.text('tool_id'))]),
    block('tool and action, as the agent sent them', [said(call.text('tool')), said(call.text('action'))]),
    typeof resource === 'string' ? block('on what', [said(resource)]) : 'on what: it names nothing\n',
    `it says that this ${call.flag('mutates_state') ? 'changes state' : 'only reads'}\n`,
    parametersText(parameters, look),
    derived.length === 0
      ? 'what policies read of the arguments: nothing\n'
      : block('what policies read of the arguments, and nothing else of them', derived),
    context.length === 0 ? '' : block('in which context, as the agent says', context),
    '\n',
    `risk ${cellText(review.members('risk').text('level'))}, ${String(review.members('risk').count('score'))} of 100\n`,
    `source trust ${cellText(trust.text('effective'))}`,
    claimed === undefined ? '\n' : `; the agent claimed ${cellText(claimed)}, which its record cuts\n`,
    rules.length === 0 ? 'no rule decided this\n' : block('the rules that decided this', rules.map(said)),
    block(`why a person is needed (${cellText(why.text('code'))})`, [said(why.text('detail'))]),
    '\n',
    grantsText(review),
    '\n',
    hashesText(review),
  ].join('')
}

/** What everybody may see of an approval: its state. */
export function stateText(approval: Members, now: number): string {
  const state = approval.text('state')
  const groups = approval.texts('groups').map(cellText).join(', ')
  const votes = approval.object['votes'] === undefined ? [] : approval.list('votes')
  const reason = approval.optionalMembers('reason')
  const useBy = approval.optionalText('use_by')
  return [
    `approval ${approval.matching('approval_id', idForm)}: ${cellText(state)}\n`,
    state === 'pending' ? `to be approved by ${timeText(approval.text('approve_by'), now)}\n` : '',
    state === 'approved' && useBy !== undefined ? `to be used by ${timeText(useBy, now)}\n` : '',
    `asked: ${groups}; ${String(approval.count('quorum'))} must approve${votes.length === 0 ? '' : `, ${String(votes.length)} did`}\n`,
    ...votes.map((vote) => `approved by ${cellText(vote.text('subject'))} at ${cellText(vote.text('at'))}\n`),
    reason === undefined
      ? ''
      : `denied: ${cellText(reason.text('code'))}${detailText(reason.optionalText('detail'))}\n`,
  ].join('')
}

function detailText(detail: string | undefined): string {
  return detail === undefined ? '' : `, ${shownText(JSON.stringify(detail))}`
}

function timeText(instant: string, now: number): string {
  const at = parseInstant(instant)
  if (at === undefined) return cellText(instant)
  const seconds = Math.round((at - now) / 1_000)
  const span =
    Math.abs(seconds) < 90
      ? `${String(Math.abs(seconds))} s`
      : `${String(Math.round(Math.abs(seconds) / 60))} min`
  return `${instant} (${seconds < 0 ? `${span} ago` : `in ${span}`}, by the clock here)`
}

function grantsText(review: Members): string {
  const seconds = review.members('grants').count('expires_in_ms') / 1_000
  return [
    'Approving lets this agent do exactly this, once: nothing that differs in any argument, no other agent.\n',
    `It must be used within ${String(seconds)} s of the last approval, and is decided again by the policies of that moment.\n`,
  ].join('')
}

function hashesText(review: Members): string {
  return [
    `binding_hash    ${review.matching('binding_hash', hashForm)}\n`,
    `action_hash     ${review.matching('action_hash', hashForm)}\n`,
    `policy_set_hash ${review.matching('policy_set_hash', hashForm)}\n`,
    `request_digest  ${review.matching('request_digest', hashForm)}\n`,
    'Computed here: action_hash and binding_hash are those of what is shown above.\n',
  ].join('')
}

function parametersText(parameters: JsonObject, look: ReviewLook): string {
  const leaves = leavesOf(parameters, look)
  if (leaves.length === 0) return 'arguments: none\n'
  const shown = look.full ? leaves : leaves.slice(0, leavesMax)
  const more = leaves.length - shown.length
  return [
    `every argument, ${String(leaves.length)} in all\n`,
    ...shown.map((leaf) => valueLines(leaf, look.columns)),
    more === 0 ? '' : `arguments that are not shown: ${String(more)}; --full shows all\n`,
  ].join('')
}

const leavesMax = 500
