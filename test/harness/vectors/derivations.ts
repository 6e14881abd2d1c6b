/** Derivations (SPEC.md §6): every preimage is written by hand, every digest taken by node:crypto alone. */
import { createHmac } from 'node:crypto'
import { keyFromSeed, sha256Hex } from '../forge.ts'

interface ActionCase {
  readonly name: string
  readonly spec: string
  /** JSON text of the five members, as a caller sends them. */
  readonly tool_call: string
  /** `aegis-jcs-1` text and its digest; absent where §6.1 refuses the action. */
  readonly preimage?: string
  readonly action_hash?: string
}

function action(name: string, tool_call: string, preimage?: string): ActionCase {
  const hash = preimage === undefined ? {} : { preimage, action_hash: sha256Hex(preimage) }
  return { name, spec: '6.1', tool_call, ...hash }
}

const call = (parameters: string): string =>
  `{"tool":"t","action":"a","resource":null,"mutates_state":false,"parameters":${parameters}}`
const preimage = (parameters: string): string =>
  `{"action":"a","mutates_state":false,"parameters":${parameters},"resource":null,"tool":"t"}`
const nest = (levels: number): string => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`

export const actionCases: readonly ActionCase[] = [
  action('empty-parameters', call('{}'), preimage('{}')),
  action(
    'resource-and-mutates',
    '{"parameters":{"base_branch":"main"},"resource":"repo:acme/widgets#58","tool":"github","mutates_state":true,"action":"merge_pr"}',
    '{"action":"merge_pr","mutates_state":true,"parameters":{"base_branch":"main"},"resource":"repo:acme/widgets#58","tool":"github"}',
  ),
  action(
    'identifiers-are-not-normalised',
    '{"tool":" GitHub ","action":"Merge-PR","resource":"","mutates_state":true,"parameters":{}}',
    '{"action":"Merge-PR","mutates_state":true,"parameters":{},"resource":"","tool":" GitHub "}',
  ),
  action('null-is-kept', call('{"b":null,"a":[null]}'), preimage('{"a":[null],"b":null}')),
  action(
    'numbers-in-one-spelling',
    call('{"a":1.0,"b":1e2,"c":0.10,"d":-5,"e":1E-7,"f":0e9,"g":9007199254740991}'),
    preimage('{"a":1,"b":100,"c":0.1,"d":-5,"e":1e-7,"f":0,"g":9007199254740991}'),
  ),
  action(
    'text-of-every-kind',
    call(String.raw`{"t":"\u0022\u005C\/\u0000\u001F\u007f\u2028 Caf\u00e9 \ud83d\udf01"}`),
    preimage(`{"t":"\\"\\\\/\\u0000\\u001f\u007f\u2028 Café \u{1f701}"}`),
  ),
  action('white-space-and-order', call('{ "z" : [ 1 , { } ] ,\n"a" : "" }'), preimage('{"a":"","z":[1,{}]}')),
  action(
    'names-below-the-astral-planes',
    call('{"\uffff":1,"\ue000":2,"é":3,"Z":4,"a":5,"__proto__":6}'),
    preimage('{"Z":4,"__proto__":6,"a":5,"é":3,"\ue000":2,"\uffff":1}'),
  ),
  action('nested-63', call(nest(63)), preimage(nest(63))),
  action('refused-nested-64', call(nest(64))),
  action('refused-name-above-ffff', call('{"a":{"\u{10000}":1}}')),
  action('refused-name-twice', call('{"a":1,"a":1}')),
  action('refused-lone-surrogate', call(String.raw`{"a":"\ud800"}`)),
  action('refused-large-integer', call('{"a":9007199254740993}')),
  action('refused-not-exact', call('{"a":0.10000000000000001}')),
  action('refused-negative-zero', call('{"a":-0.0}')),
  action('refused-1e21', call('{"a":1e21}')),
  action('refused-byte-order-mark', `\ufeff${call('{}')}`),
]

const hex = (text: string): string => sha256Hex(text)

interface BindingCase {
  readonly name: string
  readonly spec: string
  readonly binding: Readonly<Record<string, unknown>>
  readonly preimage: string
  readonly binding_hash: string
}

function binding(name: string, members: Readonly<Record<string, unknown>>, text: string): BindingCase {
  return { name, spec: '6.2', binding: members, preimage: text, binding_hash: sha256Hex(text) }
}

const bound = {
  action_hash: hex('action'),
  agent_id: 'ci-merger',
  approval_id: 'apr_00000000000000000000000000',
  approve_by: 1_796_041_800_000,
  approver_groups: ['release-managers'],
  call_id: 'call_00000000000000000000000000',
  environment: 'production',
  policy_set_hash: hex('policies'),
  quorum: 1,
  request_digest: hex('request'),
  source_trust: 'semi_trusted_customer',
  tenant: 'acme',
  use_within_ms: 600_000,
}
const boundText = (groups: string, quorum: string, environment: string, agent = 'ci-merger'): string =>
  `{"action_hash":"${hex('action')}","agent_id":"${agent}","approval_id":"apr_00000000000000000000000000",` +
  `"approve_by":1796041800000,"approver_groups":${groups},"call_id":"call_00000000000000000000000000",` +
  `"environment":"${environment}","policy_set_hash":"${hex('policies')}","quorum":${quorum},` +
  `"request_digest":"${hex('request')}","source_trust":"semi_trusted_customer","tenant":"acme",` +
  `"use_within_ms":600000}`

export const bindingCases: readonly BindingCase[] = [
  binding('one-group', bound, boundText('["release-managers"]', '1', 'production')),
  binding(
    'groups-are-sorted',
    { ...bound, approver_groups: ['security', 'Ops', 'release-managers', 'é'], quorum: 2 },
    boundText('["Ops","release-managers","security","é"]', '2', 'production'),
  ),
  binding('no-environment', { ...bound, environment: '' }, boundText('["release-managers"]', '1', '')),
  binding(
    'text-that-is-escaped',
    { ...bound, agent_id: 'a"\\\n\u2028' },
    boundText('["release-managers"]', '1', 'production', 'a\\"\\\\\\n\u2028'),
  ),
]

interface ContentCase {
  readonly name: string
  readonly spec: string
  readonly base64: string
  readonly request_digest: string
}

function content(name: string, bytes: Uint8Array): ContentCase {
  const base64 = Buffer.from(bytes).toString('base64')
  return { name, spec: '6.3', base64, request_digest: sha256Hex(bytes) }
}

export const contentCases: readonly ContentCase[] = [
  content('empty', new Uint8Array(0)),
  content('empty-object', Buffer.from('{}')),
  content('white-space-counts', Buffer.from('{ }\n')),
  content('not-text', Uint8Array.of(0xff, 0x00, 0xfe)),
]

interface KeyCase {
  readonly name: string
  readonly spec: string
  /** 64 hex; published and worthless. */
  readonly seed: string
  readonly deployment: string
  readonly tenant: string
  readonly key_epoch: string
  readonly info: string
  readonly line_key: string
  readonly public_key: string
  readonly key_id: string
}

/** RFC 5869, extract and expand, for 32 bytes: one block. */
function hkdf32(seed: Uint8Array, salt: string, info: string): Uint8Array {
  const extracted = createHmac('sha256', salt).update(seed).digest()
  return createHmac('sha256', extracted).update(info).update(Uint8Array.of(1)).digest()
}

function key(name: string, seed: Uint8Array, deployment: string, tenant: string, epoch: string): KeyCase {
  const info = `["${deployment}","${tenant}","${epoch}"]`
  const lineKey = hkdf32(seed, 'aegis-edge/1 line-key', info)
  const { publicKey, keyId } = keyFromSeed(lineKey)
  return {
    name,
    spec: '6.4',
    seed: Buffer.from(seed).toString('hex'),
    deployment,
    tenant,
    key_epoch: epoch,
    info,
    line_key: Buffer.from(lineKey).toString('hex'),
    public_key: publicKey,
    key_id: keyId,
  }
}

const sevens = new Uint8Array(32).fill(7)
const counting = Uint8Array.from({ length: 32 }, (_, at) => at)

export const keyCases: readonly KeyCase[] = [
  key('first-epoch', sevens, 'prod', 'acme', '0'),
  key('next-epoch', sevens, 'prod', 'acme', '1'),
  key('epoch-of-two-digits', sevens, 'prod', 'acme', '10'),
  key('other-deployment', sevens, 'staging', 'acme', '0'),
  key('other-tenant', sevens, 'prod', 'harbour', '0'),
  key('other-seed', counting, 'prod', 'acme', '0'),
  key('zero-seed', new Uint8Array(32), 'prod', 'acme', '0'),
  key('long-names', sevens, `d${'e'.repeat(38)}`, `t-${'9'.repeat(37)}`, '9007199254740991'),
  // Names that would run together if they were only joined.
  key('names-apart-1', sevens, 'ab', 'cd', '0'),
  key('names-apart-2', sevens, 'abc', 'dd', '0'),
]

interface TagKeyCase {
  readonly name: string
  readonly spec: string
  readonly seed: string
  readonly deployment: string
  readonly tag_key: string
}

function tagKey(name: string, seed: Uint8Array, deployment: string): TagKeyCase {
  return {
    name,
    spec: '6.4',
    seed: Buffer.from(seed).toString('hex'),
    deployment,
    tag_key: Buffer.from(hkdf32(seed, 'aegis-edge/1 key-id', `["${deployment}"]`)).toString('hex'),
  }
}

export const tagKeyCases: readonly TagKeyCase[] = [
  tagKey('production', sevens, 'prod'),
  tagKey('staging', sevens, 'staging'),
  tagKey('other-seed', counting, 'prod'),
]

export type { ActionCase, BindingCase, ContentCase, KeyCase, TagKeyCase }
