/**
 * Chains and what a recheck says of them (SPEC.md §10): the rows and the exit code, by hand. Positions count the `open`
 * as 0, an intent and an outcome for each call, a `decision` as one.
 */
import type { JsonObject } from '../../../src/record/index.ts'
import { Forge, type Members, sha256Hex } from '../forge.ts'
import { type RecheckCase, call, huge, large, one, row, small } from './recheck-case.ts'
import {
  type DeskCall,
  allowed,
  begin,
  bundleObject,
  criticalRefund,
  denied,
  desk,
  principal,
  readingRefund,
  recordedSet,
} from './recheck-desk.ts'
import { evidenceCases } from './recheck-evidence.ts'

const verdicts: readonly RecheckCase[] = [
  call('unchanged-allowed', small, 'unchanged allowed'),
  call('unchanged-denied', huge, 'unchanged denied'),
  call('unchanged-pending', large, 'unchanged pending_approval'),
  call('newly-blocked', small, 'newly_blocked was=allowed now=denied', {
    under: bundleObject({ without: ['small'] }),
  }),
  call('newly-blocked-was-pending', large, 'newly_blocked was=pending_approval now=denied', {
    under: bundleObject({ without: ['large'] }),
  }),
  call('newly-allowed-was-pending', large, 'newly_allowed was=pending_approval now=allowed', {
    under: bundleObject({ limit: 200 }),
  }),
  call(
    'newly-allowed-was-denied',
    { amount: 150, status: denied('no_policy_permits'), rules: [] },
    'newly_allowed was=denied now=allowed',
    { under: bundleObject({ limit: 200 }) },
  ),
  call('newly-parked', small, 'newly_parked was=allowed', { under: bundleObject({ limit: 10 }) }),
  call('newly-parked-was-denied', huge, 'newly_parked was=denied', {
    under: bundleObject({ without: ['never'] }),
  }),
  call('risk-is-derived-anew', small, 'newly_parked was=allowed', {
    spec: '10.1',
    under: bundleObject({}, { ...desk, refund: criticalRefund }),
  }),
  call(
    'mutation-is-derived-anew-from-the-claim',
    { ...small, axes: { claims: { mutates_state: false } } },
    'unchanged allowed',
    { spec: '10.1', under: bundleObject({ without: ['small'] }, { ...desk, refund: readingRefund }) },
  ),
  call('a-claimed-mutation-stays-one', small, 'newly_blocked was=allowed now=denied', {
    spec: '10.1',
    under: bundleObject({ without: ['small'] }, { ...desk, refund: readingRefund }),
  }),
  call(
    'shadow-is-said',
    { ...small, axes: { shadow: { policy_set_hash: sha256Hex('s'), status: 'denied', matched_rules: [] } } },
    'unchanged allowed shadow=denied',
    { spec: '10.4' },
  ),
  call('tool-removed-needs-no-envelope', small, 'newly_blocked was=allowed now=denied', {
    spec: '10.3',
    under: bundleObject({}, { look: desk['look'] as JsonObject }),
  }),
]

const noAxes = (axes: Members): DeskCall => ({ ...small, over: { decision_axes: axes as JsonObject } })
const smuggled = {
  ...small,
  axes: {
    context: {
      args: { amount: { __extn: { fn: 'decimal', arg: '1.0' } } },
      source_trust: 'unknown',
      environment: '',
    },
  },
}

const reasons: readonly RecheckCase[] = [
  call('no-binding-without-axes', noAxes({}), 'indeterminate no_binding', { spec: '10.3' }),
  call(
    'no-binding-without-principal',
    { ...small, axes: { principal: undefined } },
    'indeterminate no_binding',
    {
      spec: '10.3',
    },
  ),
  call('no-binding-without-context', { ...small, axes: { context: undefined } }, 'indeterminate no_binding', {
    spec: '10.3',
  }),
  call('no-binding-smuggled-extension', smuggled, 'indeterminate no_binding', { spec: '10.3' }),
  call(
    'no-binding-principal-of-another-type',
    { ...small, axes: { principal: { ...principal, type: '((((Agent' } } },
    'indeterminate no_binding',
    { spec: '10.3' },
  ),
  call(
    'rate-limited-without-decided-by',
    { ...noAxes({}), status: { status: 'rate_limited', reason: 'too many' } },
    'indeterminate rate_limit_unevaluable',
    { spec: '10.3' },
  ),
  call(
    'rate-limited-outside-the-policy',
    { ...noAxes({ decided_by: 'pipeline' }), status: { status: 'rate_limited', reason: 'rate_limited' } },
    'unchanged rate_limited rate_limited',
    { spec: '10.2' },
  ),
  call(
    'refused-outside-the-policy',
    { ...noAxes({ decided_by: 'pipeline' }), status: denied('agent_frozen') },
    'unchanged denied agent_frozen',
    { spec: '10.2' },
  ),
  call(
    'allowed-by-a-pipeline-is-evaluated',
    { ...huge, status: allowed, axes: { decided_by: 'pipeline' } },
    'newly_blocked was=allowed now=denied',
    {
      spec: '10.2',
    },
  ),
  one(
    'administrative-calls-and-reports-make-no-row',
    begin()
      .call({ ...noAxes({ decided_by: 'admin' }), toolId: 'aegis/agent.freeze' })
      .call(small)
      .call({ ...noAxes({ decided_by: 'report' }), toolId: 'aegis/report' })
      .end(),
    0,
    [row(2, 4, 'unchanged allowed')],
    { spec: '10.2' },
  ),
]

const limit200 = bundleObject({ limit: 200 })
const ownSets = begin()
  .call(small)
  .call({ amount: 150, over: { policy_set_hash: limit200.hash } })
  .call({ ...small, over: { policy_set_hash: sha256Hex('gone') } })
  .end()

const sets: readonly RecheckCase[] = [
  {
    name: 'each-under-its-own-set',
    spec: '10.1',
    files: [ownSets],
    policies: { [recordedSet.hash]: recordedSet.text, [limit200.hash]: limit200.text },
    expect: {
      exit: 3,
      rows: [
        row(1, 2, 'unchanged allowed'),
        row(2, 4, 'unchanged allowed'),
        row(3, 6, 'indeterminate unknown_policy_set_hash'),
      ],
    },
  },
  {
    name: 'a-set-under-the-name-of-another',
    spec: '10.1',
    files: [begin().call(small).end()],
    policies: { [recordedSet.hash]: limit200.text },
    expect: { exit: 3, rows: [row(1, 2, 'indeterminate unknown_policy_set_hash')] },
  },
  {
    name: 'two-files-are-one-chain',
    spec: '10.1',
    files: [begin().call(large).approved(['omar', 'managers']).end(), secondSession()],
    policy: recordedSet.text,
    expect: {
      exit: 0,
      rows: [row(1, 2, 'unchanged pending_approval'), 'call call-2 session 1 seq 2: unchanged allowed'],
    },
  },
]

/** The use in a Session of its own. */
function secondSession(): Uint8Array {
  const whole = begin().call(large).approved(['omar', 'managers'])
  whole.close().open()
  const before = whole.file.length - (whole.rows.at(-1)?.length ?? 0) - 1
  whole.use().close()
  return whole.file.subarray(before)
}

const rows: readonly RecheckCase[] = [
  one(
    'a-name-cannot-write-the-report',
    begin()
      .call({ ...small, callId: `\u001b[31m\n${'x'.repeat(200)}` })
      .end(),
    0,
    // Cut at 128 characters of the name, escaped afterwards.
    [`call \\u{1b}[31m\\u{a}${'x'.repeat(122)} session 0 seq 2: unchanged allowed`],
    { spec: '10.4' },
  ),
  one(
    'rows-that-are-no-lines',
    new Uint8Array(Buffer.concat([Buffer.from('{"a": 1}\nnot json\n'), begin().call(small).end()])),
    3,
    ['row 1 is no Line: not_canonical', 'row 2 is no Line: malformed_line', row(1, 2, 'unchanged allowed')],
    { spec: '10.4' },
  ),
  {
    name: 'positions-by-ordinal-where-the-lines-have-none',
    spec: '10.4',
    files: [new Forge({ chain: null }).open().outcome('a').close().open().outcome('b').close().file],
    policy: recordedSet.text,
    expect: {
      exit: 3,
      rows: [
        'call a session 0 seq 1: indeterminate no_binding',
        'call b session 1 seq 1: indeterminate no_binding',
      ],
    },
  },
]

export const recheckCases: readonly RecheckCase[] = [
  ...verdicts,
  ...evidenceCases,
  ...reasons,
  ...sets,
  ...rows,
]
