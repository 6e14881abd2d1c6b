/** Single Lines of every type with all their members (SPEC.md §4), and Lines whose known members have a wrong form. */
import type { JsonValue } from '../../../src/record/index.ts'
import { type Members, Forge, sha256Hex } from '../forge.ts'
import { ours } from './chain-case.ts'

export interface LineCase {
  readonly name: string
  readonly spec: string
  readonly line: string
  /** The path of the first member that is not as section 4 says; absent where all are. */
  readonly wrong?: string
}

const digest = sha256Hex('digest')
const entity = { id: 'ci-merger', type: 'Agent' }
const grant = {
  action_hash: digest,
  expires_at: 1_796_040_060_000,
  fs: { read_paths: ['/srv/data'], write_paths: [] },
  grant_id: 'grt_00000000000000000000000000',
  net: { http: [{ host: 'api.example', methods: ['GET'], ports: [443] }] },
  tool_id: 'github.merge_pr',
}
const call: Members = {
  action_hash: digest,
  agent_id: 'ci-merger',
  call_id: 'call_00000000000000000000000000',
  request_digest: digest,
  tool_id: 'github.merge_pr',
}
const axes = {
  action: { id: 'github.merge_pr', type: 'Action' },
  actor: { api_key: 'k1', role: 'admin', subject: 'ida' },
  approval: { approve_by: 2, binding_hash: digest, groups: ['g'], quorum: 1, use_within_ms: 3 },
  approval_ref: 'apr_1',
  authorized_digest: digest,
  bindings_hash: digest,
  call_ref: 'call_1',
  capability: 'net.http',
  claims: { source_trust: 'trusted' },
  context: {
    amount: { decimal: '1.5' },
    at: { datetime: '2026-11-30T12:00:00.000Z' },
    from: { ipaddr: '10.0.0.1' },
    kept_out: { digest },
    n: { long: '-5' },
    tags: { set: ['a', { long: '1' }] },
    user: { id: 'u1' },
  },
  decided_by: 'policy',
  envelope: 'off',
  evaluator: 'aegis-edge 1, cedar 4.13.0',
  explained: 2,
  fs: { path_canonical: '/srv/a', path_raw: '/srv/./a' },
  matched_rule: 'r1',
  matched_rules: ['r1', 'r2'],
  metadata: { trace: 't1' },
  net: { host: 'api.example', port: 443 },
  overrides: ['force_approval'],
  policy_errors: ['r3'],
  principal: { ...entity, attrs: {}, parents: [{ id: 'merger', type: 'Role' }] },
  reason_text: 'prose',
  resource: { id: 'r', type: 'Resource' },
  role: 'merger',
  rules_total: 80,
  session: 's',
  shadow: { matched_rules: ['x'], policy_set_hash: digest, reason: 'policy_denied', status: 'denied' },
  suppressed: 1,
}
const outcome: Members = {
  ...call,
  capability: { grant, status: 'granted' },
  decided_at: 1_796_040_000_000,
  decision_axes: axes,
  execution: { status: 'delegated' },
  grant_id: grant.grant_id,
  policy: { status: 'allowed' },
  policy_set_hash: digest,
  response_digest: digest,
  wall_ms: 12,
}
const decision: Members = {
  action_hash: digest,
  actor: { role: 'admin' },
  approval_id: 'apr_1',
  approvers: [{ api_key: 'k', at: 5, groups: ['g'], subject: 's' }],
  binding_hash: digest,
  decided_at: 6,
  reason_text: 'prose',
  verdict: { scope: { fs: {}, net: {}, tool_id: 'github.merge_pr' }, verdict: 'approved' },
}

const signedBy: Readonly<Record<string, boolean>> = { intent: false }

function text(type: string, members: Members): string {
  const forge = new Forge({ firstSession: 3 }).open()
  forge.line(type, members, signedBy[type] ?? true)
  return Buffer.from(forge.rows[1] ?? []).toString()
}

const section: Readonly<Record<string, string>> = {
  open: '4.1',
  intent: '4.2',
  outcome: '4.3',
  decision: '4.6',
  close: '4.7',
  checkpoint: '4.8',
}

function right(name: string, type: string, members: Members): LineCase {
  return { name, spec: section[type] ?? '4', line: text(type, members) }
}

function wrong(name: string, type: string, members: Members, path: string): LineCase {
  return { ...right(`wrong-${name}`, type, members), wrong: path }
}

const open: Members = {
  deployment: 'prod',
  opened_at: 1,
  prev_session_tail: digest,
  public_key: ours.publicKey,
}
const withAxes = (over: Readonly<Record<string, JsonValue>>): Members => ({
  ...outcome,
  decision_axes: { ...axes, ...over },
})

export const lineCases: readonly LineCase[] = [
  right('open', 'open', open),
  right('open-of-aar', 'open', { public_key: ours.publicKey, chain_id: undefined, session_index: undefined }),
  right('intent', 'intent', call),
  right('intent-of-aar', 'intent', { ...call, agent_id: undefined, action_hash: undefined }),
  right('outcome-allowed', 'outcome', outcome),
  right('outcome-axes-empty', 'outcome', { ...outcome, decision_axes: {} }),
  ...(['denied', 'rate_limited'] as const).map((status) =>
    right(`outcome-${status.replace('_', '-')}`, 'outcome', {
      ...call,
      capability: { reason: 'rate_limited', status: 'denied' },
      decision_axes: {},
      execution: { reason: 'rate_limited', status: 'host_denied' },
      policy: { reason: 'rate_limited', status },
      policy_set_hash: digest,
    }),
  ),
  right('outcome-pending', 'outcome', {
    ...outcome,
    capability: { reason: 'approval_pending', status: 'denied' },
    execution: { reason: 'approval_pending', status: 'host_denied' },
    grant_id: undefined,
    policy: { approval_id: 'apr_1', status: 'pending_approval' },
  }),
  right('outcome-success', 'outcome', { ...outcome, execution: { status: 'success' } }),
  right('outcome-trap', 'outcome', { ...outcome, execution: { message: '', status: 'trap' } }),
  right('outcome-resource-exceeded', 'outcome', {
    ...outcome,
    execution: { kind: 'memory', status: 'resource_exceeded' },
  }),
  right('decision-approved', 'decision', decision),
  right('decision-denied', 'decision', {
    approval_id: 'apr_1',
    verdict: { reason: 'expired', verdict: 'denied' },
  }),
  right('close', 'close', { calls: 1, closed_at: 2 }),
  right('close-of-aar', 'close', { chain_id: undefined, session_index: undefined }),
  right('checkpoint', 'checkpoint', { anything: [1] }),
  right('type-of-a-later-version', 'rotation', { schema_version: 7 }),
  right('unknown-members', 'outcome', { ...outcome, zz: { deep: [{}] }, '': true }),
  wrong('schema-version', 'close', { schema_version: 3 }, '$.schema_version'),
  wrong('schema-version-absent', 'close', { schema_version: undefined }, '$.schema_version'),
  wrong('signature-absent', 'close', { signature: undefined }, '$.signature'),
  wrong('signature-short', 'close', { signature: 'ab' }, '$.signature'),
  wrong('key-id', 'close', { key_id: 1 }, '$.key_id'),
  wrong('chain-id', 'close', { chain_id: 1 }, '$.chain_id'),
  wrong('session-index', 'close', { session_index: '0' }, '$.session_index'),
  wrong(
    'public-key-uppercase',
    'open',
    { ...open, public_key: ours.publicKey.toUpperCase() },
    '$.public_key',
  ),
  wrong('call-id-absent', 'intent', { ...call, call_id: undefined }, '$.call_id'),
  wrong('request-digest', 'intent', { ...call, request_digest: 'x' }, '$.request_digest'),
  wrong('policy-string', 'outcome', { ...outcome, policy: 'allowed' }, '$.policy'),
  wrong('policy-status', 'outcome', { ...outcome, policy: { status: 'maybe' } }, '$.policy.status'),
  wrong('policy-without-reason', 'outcome', { ...outcome, policy: { status: 'denied' } }, '$.policy.reason'),
  wrong(
    'capability-without-grant',
    'outcome',
    { ...outcome, capability: { status: 'granted' } },
    '$.capability.grant',
  ),
  wrong(
    'grant-hash',
    'outcome',
    { ...outcome, capability: { grant: { ...grant, action_hash: '' }, status: 'granted' } },
    '$.capability.grant.action_hash',
  ),
  wrong(
    'execution-status',
    'outcome',
    { ...outcome, execution: { status: 'constructor' } },
    '$.execution.status',
  ),
  wrong(
    'trap-without-message',
    'outcome',
    { ...outcome, execution: { status: 'trap' } },
    '$.execution.message',
  ),
  wrong('axes-absent', 'outcome', { ...outcome, decision_axes: undefined }, '$.decision_axes'),
  wrong('axes-decided-by', 'outcome', withAxes({ decided_by: 'nobody' }), '$.decision_axes.decided_by'),
  wrong('axes-rules', 'outcome', withAxes({ matched_rules: ['a', 1] }), '$.decision_axes.matched_rules[1]'),
  wrong('axes-metadata', 'outcome', withAxes({ metadata: { k: 1 } }), '$.decision_axes.metadata["k"]'),
  wrong('axes-port', 'outcome', withAxes({ net: { host: 'h', port: '443' } }), '$.decision_axes.net.port'),
  wrong('axes-envelope', 'outcome', withAxes({ envelope: 'on' }), '$.decision_axes.envelope'),
  wrong('verdict', 'decision', { ...decision, verdict: { verdict: 'later' } }, '$.verdict.verdict'),
  wrong('scope-absent', 'decision', { ...decision, verdict: { verdict: 'approved' } }, '$.verdict.scope'),
  wrong(
    'approver-time',
    'decision',
    { ...decision, approvers: [{ api_key: 'k', at: '5', groups: [], subject: 's' }] },
    '$.approvers[0].at',
  ),
  wrong('calls', 'close', { calls: [] }, '$.calls'),
]
