/**
 * A service desk for the vectors of a recheck (SPEC.md §10): its policy sets as bundle objects, its Lines and its requests,
 * written out by hand. Nothing here evaluates anything: what a recheck must say stands beside each Chain in rechecks.ts.
 */
import { type JsonObject, type JsonValue, encodeCanonical } from '../../../src/record/index.ts'
import { Forge, type Members, sha256Hex } from '../forge.ts'

function condition(operator: string, limit: number): JsonObject {
  const args = { '.': { left: { Var: 'context' }, attr: 'args' } }
  const body = { [operator]: { left: { '.': { left: args, attr: 'amount' } }, right: { Value: limit } } }
  return { kind: 'when', body }
}

interface PolicyParts {
  readonly effect?: 'permit' | 'forbid'
  readonly action: JsonObject
  readonly when?: JsonObject
  /** Groups that must approve, and how many of each. */
  readonly approvers?: string
  readonly quorum?: number
}

function policy(id: string, { action, approvers, effect = 'permit', quorum, when }: PolicyParts): JsonObject {
  return {
    effect,
    principal: { op: 'All' },
    action,
    resource: { op: 'All' },
    conditions: when === undefined ? [] : [when],
    annotations: {
      id,
      ...(approvers === undefined ? {} : { decision: 'require_approval', approvers }),
      ...(quorum === undefined ? {} : { quorum: String(quorum) }),
    },
  }
}

const on = (id: string): JsonObject => ({ op: '==', entity: { type: 'Action', id } })
const reading: JsonObject = { op: 'in', entity: { type: 'Action', id: 'reading' } }

/** Policies by id; `small` and `large` of a refund meet at a limit. */
export interface DeskPolicies {
  readonly limit?: number
  readonly approvers?: string
  readonly quorum?: number
  /** Ids to leave out. */
  readonly without?: readonly string[]
}

function policies({ approvers = 'managers', limit = 100, quorum, without = [] }: DeskPolicies): JsonObject {
  const refund = on('desk.refund')
  const all: Record<string, PolicyParts> = {
    large: {
      action: refund,
      when: condition('>', limit),
      approvers,
      ...(quorum === undefined ? {} : { quorum }),
    },
    never: { effect: 'forbid', action: refund, when: condition('>', 1_000) },
    pay: { action: on('desk.pay') },
    reads: { action: reading },
    small: { action: refund, when: condition('<=', limit) },
  }
  const kept = Object.entries(all).filter(([id]) => !without.includes(id))
  return Object.fromEntries(kept.map(([id, parts]) => [id, policy(id, parts)]))
}

const amount = { at: '/amount', record: 'value', required: true, type: 'integer' }
const card = { at: '/card', record: 'digest', required: true, type: 'string' }

/** The entry of a tool's action in the bundle object, defaults filled in. */
function entry(args: JsonObject, over: JsonObject = {}): JsonObject {
  return { args, default: 'evaluate', mutates_state: true, resource: 'claimed', risk: 'medium', ...over }
}

const look = entry({}, { mutates_state: false, risk: 'low' })
const pay = entry({ card })
const refund = entry({ amount })
export const desk: JsonObject = { look, pay, refund }

/** Bindings that differ from the recorded ones: the amount is under another name in the request. */
export const movedAmount = entry({ amount: { ...amount, at: '/total' } })
export const criticalRefund = entry({ amount }, { risk: 'critical' })
export const readingRefund = entry({ amount }, { mutates_state: false })

/** Every member as the table of settings has it: a bundle object holds all of them. */
const settings: JsonObject = {
  agent_burst: 100,
  agent_daily_quota: 100_000,
  agent_rate_per_s: 20,
  agents_may_explain: false,
  approve_by_ms: 1_800_000,
  approver_groups: { auditors: { quorum: 1 }, managers: { quorum: 1 } },
  body_bytes_max: 262_144,
  default_group: 'managers',
  envelope: 'on',
  envelope_retention_days: 90,
  grant_ttl_ms: 60_000,
  matched_rules_shown_to: ['approver', 'auditor', 'admin'],
  pending_per_agent: 20,
  pending_per_tenant: 1_000,
  refused_calls_per_minute: 60,
  replay_window_ms: 300_000,
  tenant_burst: 1_000,
  tenant_daily_quota: 1_000_000,
  tenant_rate_per_s: 500,
  use_within_ms: 600_000,
}

export interface PolicyObject {
  readonly text: string
  readonly hash: string
}

/** A bundle object and its hash. */
export function bundleObject(given: DeskPolicies = {}, tools: JsonObject = desk): PolicyObject {
  const text = Buffer.from(
    encodeCanonical({ format: 1, policies: policies(given), settings, tools: { desk: tools } }),
  ).toString()
  return { text, hash: sha256Hex(text) }
}

/** The set that everything was recorded under unless a case says otherwise. */
export const recordedSet = bundleObject()

function bindingsHash(tool: JsonObject): string {
  return sha256Hex(encodeCanonical({ args: tool['args'] as JsonObject, resource: 'claimed' }))
}

const bindings: Readonly<Record<string, string>> = {
  'desk.look': bindingsHash(look),
  'desk.pay': bindingsHash(pay),
  'desk.refund': bindingsHash(refund),
}

const at = Date.UTC(2026, 10, 30, 12)

export interface DeskCall {
  readonly callId?: string
  readonly toolId?: string
  readonly amount?: number
  /** Recorded as its digest. */
  readonly card?: string
  readonly status?: JsonObject
  readonly rules?: readonly string[]
  readonly axes?: Members
  readonly over?: Members
  readonly mutates?: boolean
}

/** The principal of every call. */
export const principal: JsonObject = {
  type: 'Agent',
  id: 'clerk',
  attrs: {
    environment: 'production',
    force_approval: false,
    owner: 'ida@desk.example',
    risk_tier: 'standard',
    trust_max: 'semi_trusted_customer',
  },
  parents: [],
}

/** The body of a call's request: its bytes are its Envelope. */
export function requestOf({ amount: sum, card: number, toolId = 'desk.refund' }: DeskCall): string {
  const parameters = {
    ...(sum === undefined ? {} : { amount: sum, total: sum + 80 }),
    ...(number === undefined ? {} : { card: number }),
  }
  const [tool = '', action = ''] = toolId.split('.')
  return JSON.stringify({
    tool_call: { tool, action, resource: null, mutates_state: toolId !== 'desk.look', parameters },
    context: { source_trust: 'semi_trusted_customer', contains_sensitive_data: false },
  })
}

/** Axes as this profile records them. */
export function axesOf(call: DeskCall): Record<string, JsonValue | undefined> {
  const { amount: sum, axes = {}, card: number, mutates, rules = ['small'], toolId = 'desk.refund' } = call
  const args = {
    ...(sum === undefined ? {} : { amount: { long: String(sum) } }),
    ...(number === undefined ? {} : { card: { digest: sha256Hex(encodeCanonical(number)) } }),
  }
  const context = {
    args,
    contains_sensitive_data: false,
    environment: 'production',
    mutates_state: mutates ?? toolId !== 'desk.look',
    now: { datetime: '2026-11-30T12:00:00.000Z' },
    risk: { long: toolId === 'desk.look' ? '10' : '40' },
    risk_level: toolId === 'desk.look' ? 'low' : 'medium',
    source_trust: 'semi_trusted_customer',
    trust: { long: '3' },
  }
  return {
    action: { type: 'Action', id: toolId },
    bindings_hash: bindings[toolId],
    context,
    decided_by: 'policy',
    evaluator: 'aegis-edge 1, cedar 4.13.0',
    ...(rules.length === 0 ? {} : { matched_rule: rules[0], matched_rules: rules }),
    principal,
    resource: { type: 'Resource', id: '' },
    ...axes,
  }
}

export const allowed: JsonObject = { status: 'allowed' }
export const parked: JsonObject = { status: 'pending_approval', approval_id: 'apr_1' }
export const denied = (reason: string): JsonObject => ({ status: 'denied', reason })

/** A Chain of the desk; its Lines follow. */
export class Desk extends Forge {
  #calls = 0

  /** An intent and an outcome; allowed under `small` unless told otherwise. */
  call(given: DeskCall = {}): this {
    this.#calls += 1
    const { over = {}, status = allowed, toolId = 'desk.refund' } = given
    const callId = given.callId ?? `call-${String(this.#calls)}`
    const shared = { agent_id: 'clerk', request_digest: sha256Hex(requestOf(given)), tool_id: toolId }
    this.intent(callId, shared)
    return this.outcome(callId, {
      ...shared,
      policy: status,
      capability: { status: 'denied', reason: 'x' },
      execution: { status: 'host_denied', reason: 'x' },
      decided_at: at,
      decision_axes: Object.fromEntries(
        Object.entries(axesOf(given)).filter(([, value]) => value !== undefined),
      ) as JsonObject,
      policy_set_hash: recordedSet.hash,
      ...over,
    })
  }

  /** The use of `apr_1` for a refund. */
  use(given: DeskCall = {}): this {
    return this.call({
      amount: 150,
      rules: ['large'],
      ...given,
      axes: {
        approval_ref: 'apr_1',
        call_ref: 'call-1',
        authorized_digest: sha256Hex(requestOf({ amount: 150, ...given })),
        ...given.axes,
      },
      over: { request_digest: sha256Hex('{"use":1}'), ...given.over },
    })
  }

  /** What was decided of `apr_1`: each approver with his groups; `denied` where there is none. */
  approved(...approvers: readonly (readonly [subject: string, ...groups: string[]])[]): this {
    const [first] = approvers
    return this.decision('apr_1', {
      approvers: approvers.map(([subject, ...groups]) => ({ subject, api_key: 'k', groups, at })),
      verdict:
        first === undefined
          ? { verdict: 'denied', reason: 'denied' }
          : { verdict: 'approved', scope: { tool_id: 'desk.refund' } },
    })
  }

  end(): Uint8Array {
    return this.close().file
  }
}

export function begin(): Desk {
  return new Desk().open()
}
