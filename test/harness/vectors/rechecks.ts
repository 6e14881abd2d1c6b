/**
 * Chains and what a recheck says of them (SPEC.md §10): the rows and the exit code, by hand. Positions count the `open`
 * as 0, an intent and an outcome for each call, a `decision` as one.
 */
import type { JsonObject } from '../../../src/record/index.ts'
import { Forge, type Members, sha256Hex } from '../forge.ts'
import {
  type DeskCall,
  type PolicyObject,
  allowed,
  begin,
  bundleObject,
  criticalRefund,
  denied,
  desk,
  movedAmount,
  parked,
  principal,
  readingRefund,
  recordedSet,
  requestOf,
} from './recheck-desk.ts'

export interface RecheckCase {
  readonly name: string
  readonly spec: string
  readonly files: readonly Uint8Array[]
  /** The bundle object of `--policy`; its text. */
  readonly policy?: string
  /** The files of `--policies`, by hash. */
  readonly policies?: Readonly<Record<string, string>>
  /** The files of `--envelopes`, by name. */
  readonly envelopes?: Readonly<Record<string, string>>
  readonly expect: { readonly exit: 0 | 1 | 3; readonly rows: readonly string[] }
}

/** `call-N session 0 seq S: …` */
const row = (call: number, seq: number, verdict: string): string =>
  `call call-${String(call)} session 0 seq ${String(seq)}: ${verdict}`

interface Under {
  readonly under?: PolicyObject
  readonly envelopes?: Readonly<Record<string, string>>
  readonly spec?: string
}

function one(
  name: string,
  file: Uint8Array,
  exit: 0 | 1 | 3,
  rows: readonly string[],
  { envelopes, spec = '10.2', under = recordedSet }: Under = {},
): RecheckCase {
  return {
    name,
    spec,
    files: [file],
    policy: under.text,
    ...(envelopes === undefined ? {} : { envelopes }),
    expect: { exit, rows },
  }
}

/** A single call, and what is said of it. */
function call(name: string, given: DeskCall, verdict: string, more: Under = {}): RecheckCase {
  const exit = verdict.startsWith('unchanged') ? 0 : verdict.startsWith('indeterminate') ? 3 : 1
  return one(name, begin().call(given).end(), exit, [row(1, 2, verdict)], more)
}

function envelope(given: DeskCall): Readonly<Record<string, string>> {
  return { [sha256Hex(requestOf(given))]: requestOf(given) }
}

const small: DeskCall = { amount: 50 }
const large: DeskCall = { amount: 150, status: parked, rules: ['large'] }
const huge: DeskCall = { amount: 5_000, status: denied('policy_denied'), rules: ['never'] }
const paid: DeskCall = { toolId: 'desk.pay', card: '4111', rules: ['pay'] }
const looked: DeskCall = { toolId: 'desk.look', rules: ['reads'] }

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

const approvals: readonly RecheckCase[] = [
  one(
    'parked-approved-and-used',
    begin().call(large).approved(['omar', 'managers']).use().end(),
    0,
    [row(1, 2, 'unchanged pending_approval'), row(2, 5, 'unchanged allowed')],
    { spec: '10.3' },
  ),
  one(
    'use-under-another-group',
    begin().call(large).approved(['omar', 'managers']).use().end(),
    1,
    [row(1, 2, 'unchanged pending_approval'), row(2, 5, 'newly_blocked was=allowed now=denied')],
    { spec: '10.3', under: bundleObject({ approvers: 'auditors' }) },
  ),
  one(
    'use-under-one-of-his-groups',
    begin().call(large).approved(['omar', 'auditors', 'managers']).use().end(),
    0,
    [row(1, 2, 'unchanged pending_approval'), row(2, 5, 'unchanged allowed')],
    { spec: '10.3', under: bundleObject({ approvers: 'auditors' }) },
  ),
  one(
    'use-under-a-higher-quorum',
    begin().call(large).approved(['omar', 'managers']).use().end(),
    1,
    [row(1, 2, 'unchanged pending_approval'), row(2, 5, 'newly_blocked was=allowed now=denied')],
    { spec: '10.3', under: bundleObject({ quorum: 2 }) },
  ),
  one(
    'use-with-as-many-votes-as-asked',
    begin().call(large).approved(['omar', 'managers'], ['eve', 'managers']).use().end(),
    0,
    [row(1, 2, 'unchanged pending_approval'), row(2, 5, 'unchanged allowed')],
    { spec: '10.3', under: bundleObject({ quorum: 2 }) },
  ),
  one(
    'use-with-one-person-twice',
    begin().call(large).approved(['omar', 'managers'], ['OMAR', 'managers']).use().end(),
    1,
    [row(1, 2, 'unchanged pending_approval'), row(2, 5, 'newly_blocked was=allowed now=denied')],
    { spec: '10.3', under: bundleObject({ quorum: 2 }) },
  ),
  one(
    'use-recorded-as-insufficient',
    begin()
      .call(large)
      .approved(['omar', 'auditors'])
      .use({ status: denied('approval_insufficient') })
      .end(),
    0,
    [row(1, 2, 'unchanged pending_approval'), row(2, 5, 'unchanged denied')],
    { spec: '10.3' },
  ),
  one(
    'use-of-what-was-denied',
    begin().call(large).approved().use().end(),
    1,
    [row(1, 2, 'unchanged pending_approval'), row(2, 5, 'newly_blocked was=allowed now=denied')],
    { spec: '10.3' },
  ),
  one(
    'use-that-needs-nobody-now',
    begin().call(large).use().end(),
    1,
    [row(1, 2, 'newly_allowed was=pending_approval now=allowed'), row(2, 4, 'unchanged allowed')],
    { spec: '10.3', under: bundleObject({ limit: 200 }) },
  ),
  one(
    'unknown-approval',
    begin().call(large).use().end(),
    3,
    [row(1, 2, 'unchanged pending_approval'), row(2, 4, 'indeterminate unknown_approval')],
    { spec: '10.3' },
  ),
  one(
    'unknown-approval-decided-behind-its-use',
    begin().call(large).use().approved(['omar', 'managers']).end(),
    3,
    [row(1, 2, 'unchanged pending_approval'), row(2, 4, 'indeterminate unknown_approval')],
    { spec: '10.3' },
  ),
]

const altered = (given: DeskCall, text: string): Readonly<Record<string, string>> => ({
  [sha256Hex(requestOf(given))]: text,
})
const mixed = begin().call(small).call(paid).call(huge).end()
const mixedRows = (second: string): readonly string[] => [
  row(1, 2, 'unchanged allowed'),
  row(2, 4, second),
  row(3, 6, 'unchanged denied'),
]

const envelopes: readonly RecheckCase[] = [
  one('digest-without-envelope', mixed, 3, mixedRows('indeterminate missing_envelope'), { spec: '10.3' }),
  one('digest-with-envelope', mixed, 0, mixedRows('unchanged allowed'), {
    spec: '10.3',
    envelopes: envelope(paid),
  }),
  one('envelope-altered-by-a-byte', mixed, 3, mixedRows('indeterminate envelope_digest_mismatch'), {
    spec: '10.3',
    envelopes: altered(paid, requestOf(paid).replace('4111', '4112')),
  }),
  one('envelope-of-another-call', mixed, 3, mixedRows('indeterminate envelope_digest_mismatch'), {
    spec: '10.3',
    envelopes: altered(paid, requestOf({ ...paid, card: '5500' })),
  }),
  call('bindings-changed-without-envelope', small, 'indeterminate missing_envelope', {
    spec: '10.3',
    under: bundleObject({}, { ...desk, refund: movedAmount }),
  }),
  call('bindings-changed-with-envelope', small, 'newly_parked was=allowed', {
    spec: '10.3',
    under: bundleObject({}, { ...desk, refund: movedAmount }),
    envelopes: envelope(small),
  }),
  call('bindings-of-another-tool-changed', looked, 'unchanged allowed', {
    spec: '10.3',
    under: bundleObject({}, { ...desk, refund: movedAmount }),
  }),
  one(
    'use-of-an-approval-with-the-envelope-of-its-call',
    begin().call(large).approved(['omar', 'managers']).use().end(),
    0,
    [row(1, 2, 'unchanged pending_approval'), row(2, 5, 'unchanged allowed')],
    {
      spec: '10.3',
      under: bundleObject({}, { ...desk, refund: movedAmount }),
      envelopes: envelope({ amount: 150 }),
    },
  ),
  call(
    'envelope-that-is-no-request',
    { ...small, over: { request_digest: sha256Hex('[]') } },
    'indeterminate no_binding',
    {
      spec: '10.3',
      under: bundleObject({}, { ...desk, refund: movedAmount }),
      envelopes: { [sha256Hex('[]')]: '[]' },
    },
  ),
  call(
    'envelope-of-another-tool',
    { ...small, over: { request_digest: sha256Hex(requestOf(looked)) } },
    'indeterminate no_binding',
    {
      spec: '10.3',
      under: bundleObject({}, { ...desk, refund: movedAmount }),
      envelopes: envelope(looked),
    },
  ),
]

/** A refusal of the catalogue: there is no context, and no bindings where there is no tool. */
const unknownTool: DeskCall = {
  amount: 50,
  status: denied('unknown_tool'),
  rules: [],
  axes: { bindings_hash: undefined, context: undefined, resource: undefined },
}
const bindingFailed: DeskCall = {
  amount: 50,
  status: denied('binding_failed'),
  rules: [],
  axes: { context: undefined, resource: undefined },
}
const withoutRefund = bundleObject({}, { look: desk['look'] as JsonObject })
const moved = bundleObject({}, { ...desk, refund: movedAmount })

const catalogue: readonly RecheckCase[] = [
  call('unknown-tool-still-unknown', unknownTool, 'unchanged denied', { spec: '10.3', under: withoutRefund }),
  call('unknown-tool-known-now-without-envelope', unknownTool, 'indeterminate missing_envelope', {
    spec: '10.3',
  }),
  call('unknown-tool-known-now-with-envelope', unknownTool, 'newly_allowed was=denied now=allowed', {
    spec: '10.3',
    envelopes: envelope(unknownTool),
  }),
  call('binding-failed-under-the-same-bindings', bindingFailed, 'unchanged denied', { spec: '10.3' }),
  call('binding-failed-under-others-without-envelope', bindingFailed, 'indeterminate missing_envelope', {
    spec: '10.3',
    under: moved,
  }),
  call('binding-failed-under-others-with-envelope', bindingFailed, 'newly_parked was=denied', {
    spec: '10.3',
    under: moved,
    envelopes: envelope(bindingFailed),
  }),
  call(
    'resource-mismatch-under-the-same-bindings',
    { ...small, status: denied('resource_mismatch'), rules: [] },
    'unchanged denied',
    { spec: '10.3' },
  ),
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
  ...approvals,
  ...envelopes,
  ...catalogue,
  ...reasons,
  ...sets,
  ...rows,
]
