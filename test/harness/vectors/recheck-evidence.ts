/** Where more than the Line is needed (SPEC.md §10.3): approvals, Envelopes, and what the catalogue refused. */
import type { JsonObject } from '../../../src/record/index.ts'
import { sha256Hex } from '../forge.ts'
import {
  type RecheckCase,
  call,
  envelope,
  huge,
  large,
  looked,
  one,
  paid,
  row,
  small,
} from './recheck-case.ts'
import { type DeskCall, begin, bundleObject, denied, desk, movedAmount, requestOf } from './recheck-desk.ts'

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

export const evidenceCases: readonly RecheckCase[] = [...approvals, ...envelopes, ...catalogue]
