/** Receipts (SPEC.md §7.12) and trust stores (§7.7): what a tool's guard and an auditor hand in. */
import type { JsonValue } from '../../../src/record/index.ts'
import { type ForgeKey, type Members, Forge, sha256Hex, zeros } from '../forge.ts'
import { other, ours } from './chain-case.ts'

export interface ReceiptCase {
  readonly name: string
  readonly spec: string
  /** Text; UTF-8 is hashed. */
  readonly receipt: string
  /** The five members, as a caller sends them. */
  readonly tool_call: string
  readonly now: number
  readonly trust_store: string
  readonly chain_id: string
  readonly agent_id?: string
  /** `valid`, or the code of the first check that fails. */
  readonly expect: string
}

const decidedAt = 1_796_040_000_000
const expiresAt = decidedAt + 60_000
const toolCall =
  '{"tool":"github","action":"merge_pr","resource":"repo:acme/widgets#57","mutates_state":true,"parameters":{"n":1.0}}'
const actionHash = sha256Hex(
  '{"action":"merge_pr","mutates_state":true,"parameters":{"n":1},"resource":"repo:acme/widgets#57","tool":"github"}',
)

function grant(over: Members = {}): JsonValue {
  const members: Members = {
    action_hash: actionHash,
    expires_at: expiresAt,
    grant_id: 'grt_00000000000000000000000000',
    tool_id: 'github.merge_pr',
    ...over,
  }
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as JsonValue
}

const granted = (over: Members = {}): JsonValue => ({ grant: grant(over), status: 'granted' })

const allowed: Members = {
  action_hash: actionHash,
  agent_id: 'ci-merger',
  capability: granted(),
  decided_at: decidedAt,
  execution: { status: 'delegated' },
  grant_id: 'grt_00000000000000000000000000',
  policy: { status: 'allowed' },
  tool_id: 'github.merge_pr',
}

/** The text of a signed `outcome` in Session 3. */
function receipt(over: Members = {}, key: ForgeKey = ours, type = 'outcome'): string {
  const forge = new Forge({ key, firstSession: 3 }).open().intent()
  if (type === 'outcome') forge.outcome('call-1', { ...allowed, ...over })
  else forge.line(type, { ...allowed, ...over }, true)
  return Buffer.from(forge.rows[2] ?? []).toString()
}

const store = (value: object): string => JSON.stringify(value)
const pinned = store({ chain_id: 'acme', keys: [{ public_key: ours.publicKey }] })

function one(name: string, expect: string, over: Partial<ReceiptCase> = {}): ReceiptCase {
  return {
    name,
    spec: '7.12',
    receipt: receipt(),
    tool_call: toolCall,
    now: decidedAt,
    trust_store: pinned,
    chain_id: 'acme',
    ...over,
    expect,
  }
}

const signed = (over: Members, key?: ForgeKey): Partial<ReceiptCase> => ({ receipt: receipt(over, key) })
const valid = receipt()

export const receiptCases: readonly ReceiptCase[] = [
  one('valid', 'valid'),
  one('valid-with-lf', 'valid', { receipt: `${valid}\n` }),
  one('valid-agent', 'valid', { agent_id: 'ci-merger' }),
  one('valid-in-the-last-millisecond', 'valid', { now: expiresAt - 1 }),
  one('valid-clock-a-minute-behind', 'valid', { now: decidedAt - 60_000 }),
  one('valid-unknown-members', 'valid', signed({ zz: [true], decision_axes: { later: {} } })),
  one('valid-key-in-its-range', 'valid', {
    trust_store: store({ keys: [{ public_key: ours.publicKey, first_session: 3, last_session: 3 }] }),
  }),
  one('valid-second-key', 'valid', {
    trust_store: store({ keys: [{ public_key: other.publicKey }, { public_key: ours.publicKey }] }),
  }),
  one('valid-the-same-action-in-other-spelling', 'valid', {
    tool_call:
      '{ "parameters": {"n":1e0}, "mutates_state":true, "resource":"repo:acme/widgets#57", "action":"merge_pr", "tool":"github" }',
  }),
  one('malformed-empty', 'malformed', { receipt: '' }),
  one('malformed-cut', 'malformed', { receipt: valid.slice(0, -1) }),
  one('malformed-two-lf', 'malformed', { receipt: `${valid}\n\n` }),
  one('malformed-space', 'malformed', { receipt: ` ${valid}` }),
  one('malformed-cr-lf', 'malformed', { receipt: `${valid}\r\n` }),
  one('malformed-two-lines', 'malformed', { receipt: `${valid}\n${valid}` }),
  one('malformed-pretty-printed', 'malformed', { receipt: JSON.stringify(JSON.parse(valid), undefined, 2) }),
  one('malformed-null-inside', 'malformed', {
    receipt: valid.replace('"status":"allowed"', '"status":null'),
  }),
  one('malformed-no-object', 'malformed', { receipt: '[]' }),
  one('malformed-too-long', 'malformed', signed({ zz: 'x'.repeat(65_536) })),
  one('malformed-without-seq', 'malformed', signed({ seq: undefined })),
  one('malformed-prev-hash', 'malformed', signed({ prev_hash: 'none' })),
  one('not-an-outcome-close', 'not_an_outcome', { receipt: receipt({}, ours, 'close') }),
  one('not-an-outcome-unknown', 'not_an_outcome', { receipt: receipt({}, ours, 'outcome2') }),
  one('not-an-outcome-version-3', 'not_an_outcome', signed({ schema_version: 3 })),
  one('not-an-outcome-version-string', 'not_an_outcome', signed({ schema_version: '2' })),
  one('wrong-chain', 'wrong_chain', signed({ chain_id: 'harbour' })),
  one('wrong-chain-absent', 'wrong_chain', signed({ chain_id: undefined })),
  one('untrusted-key', 'untrusted_key', signed({}, other)),
  one('untrusted-key-no-pins', 'untrusted_key', { trust_store: store({ keys: [] }) }),
  one('untrusted-key-of-another-chain', 'untrusted_key', {
    trust_store: store({ chain_id: 'harbour', keys: [{ public_key: ours.publicKey }] }),
  }),
  one('untrusted-key-outside-its-range', 'untrusted_key', {
    trust_store: store({ keys: [{ public_key: ours.publicKey, first_session: 0, last_session: 2 }] }),
  }),
  one('untrusted-key-id-absent', 'untrusted_key', signed({ key_id: undefined })),
  one('untrusted-key-id-of-another', 'untrusted_key', signed({ key_id: other.keyId })),
  one('bad-signature-zeros', 'bad_signature', signed({ signature: zeros + zeros })),
  one('bad-signature-absent', 'bad_signature', signed({ signature: undefined })),
  one('bad-signature-integer', 'bad_signature', signed({ signature: 1 })),
  one('bad-signature-another-key-claims-this-id', 'bad_signature', signed({ key_id: ours.keyId }, other)),
  one('bad-signature-agent-changed', 'bad_signature', {
    receipt: valid.replace('"agent_id":"ci-merger"', '"agent_id":"ci-mergee"'),
  }),
  one('not-granted-denied', 'not_granted', signed({ policy: { reason: 'policy_denied', status: 'denied' } })),
  one(
    'not-granted-pending',
    'not_granted',
    signed({ policy: { approval_id: 'apr_1', status: 'pending_approval' } }),
  ),
  one(
    'not-granted-capability',
    'not_granted',
    signed({ capability: { grant: grant(), reason: 'report', status: 'denied' } }),
  ),
  one('not-granted-already-run', 'not_granted', signed({ execution: { status: 'success' } })),
  one('not-granted-policy-string', 'not_granted', signed({ policy: 'allowed' })),
  one('reserved-tool', 'reserved_tool', signed({ tool_id: 'aegis/report' })),
  one('reserved-tool-absent', 'reserved_tool', signed({ tool_id: undefined })),
  one('reserved-tool-integer', 'reserved_tool', signed({ tool_id: 7 })),
  one('wrong-agent', 'wrong_agent', { agent_id: 'deployer' }),
  one('wrong-agent-absent', 'wrong_agent', { ...signed({ agent_id: undefined }), agent_id: 'ci-merger' }),
  one('wrong-action-other-parameter', 'wrong_action', { tool_call: toolCall.replace('1.0', '2') }),
  one('wrong-action-other-resource', 'wrong_action', { tool_call: toolCall.replace('#57', '#58') }),
  one('wrong-action-read-instead-of-write', 'wrong_action', {
    tool_call: toolCall.replace('"mutates_state":true', '"mutates_state":false'),
  }),
  one(
    'wrong-action-grant-without-hash',
    'wrong_action',
    signed({ capability: granted({ action_hash: undefined }) }),
  ),
  one(
    'wrong-action-only-the-grant-counts',
    'wrong_action',
    signed({ capability: granted({ action_hash: sha256Hex('another') }) }),
  ),
  one('not-yet-valid', 'not_yet_valid', { now: decidedAt - 60_001 }),
  one('not-yet-valid-no-time', 'not_yet_valid', signed({ decided_at: undefined })),
  one('not-yet-valid-string', 'not_yet_valid', signed({ decided_at: '0' })),
  one('expired', 'expired', { now: expiresAt }),
  one('expired-long-ago', 'expired', { now: expiresAt + 1_000_000_000 }),
  one('expired-no-time', 'expired', signed({ capability: granted({ expires_at: undefined }) })),
  one('expired-string', 'expired', signed({ capability: granted({ expires_at: '9' }) })),
  one('first-failure-is-the-answer', 'wrong_chain', {
    ...signed({ chain_id: 'harbour', signature: zeros + zeros, policy: 'no' }, other),
    now: expiresAt,
  }),
  // §6.1 refuses this action, so that it has no hash: not even the one that would come out.
  one('wrong-action-that-has-no-hash', 'wrong_action', {
    ...signed({
      capability: granted({
        action_hash: sha256Hex(
          '{"action":"a","mutates_state":false,"parameters":{"\u{10000}":1},"resource":null,"tool":"t"}',
        ),
      }),
    }),
    tool_call: '{"tool":"t","action":"a","resource":null,"mutates_state":false,"parameters":{"\u{10000}":1}}',
  }),
]

export interface TrustStoreCase {
  readonly name: string
  readonly spec: string
  readonly text: string
  /** The keys with what they hold for, or that the store is a usage error. */
  readonly expect:
    | readonly {
        readonly public_key: string
        readonly chain_id?: string
        readonly first_session?: number
        readonly last_session?: number
      }[]
    | 'refused'
}

const trust = (name: string, text: string, expect: TrustStoreCase['expect']): TrustStoreCase => ({
  name,
  spec: '7.7',
  text,
  expect,
})
const a = ours.publicKey
const keyStore = (members: string): string => `{"keys":[{"public_key":"${a}"${members}}]}`

export const trustStoreCases: readonly TrustStoreCase[] = [
  trust('one-key', keyStore(''), [{ public_key: a }]),
  trust('no-keys', '{"keys":[]}', []),
  trust('chain', `{"chain_id":"acme","keys":[{"public_key":"${a}"}]}`, [{ public_key: a, chain_id: 'acme' }]),
  trust('range', keyStore(',"first_session":0,"last_session":9'), [
    { public_key: a, first_session: 0, last_session: 9 },
  ]),
  trust('bounds-of-null', keyStore(',"first_session":null,"last_session":null'), [{ public_key: a }]),
  trust('bounds-by-value', keyStore(',"first_session":1.0,"last_session":1e1'), [
    { public_key: a, first_session: 1, last_session: 10 },
  ]),
  trust(
    'white-space-and-unknown-members',
    ` {\n "note" : -1.5, "keys" : [ { "public_key" : "${a}", "x" : {} } ] }\n`,
    [{ public_key: a }],
  ),
  trust(
    'same-key-twice',
    `{"keys":[{"public_key":"${a}","last_session":1},{"public_key":"${a}","first_session":5}]}`,
    [
      { public_key: a, last_session: 1 },
      { public_key: a, first_session: 5 },
    ],
  ),
  trust('refused-empty', '', 'refused'),
  trust('refused-not-json', 'keys', 'refused'),
  trust('refused-array', '[]', 'refused'),
  trust('refused-without-keys', '{}', 'refused'),
  trust('refused-keys-object', '{"keys":{}}', 'refused'),
  trust('refused-key-string', `{"keys":["${a}"]}`, 'refused'),
  trust('refused-capitals', `{"keys":[{"public_key":"${a.toUpperCase()}"}]}`, 'refused'),
  trust('refused-short', `{"keys":[{"public_key":"${a.slice(2)}"}]}`, 'refused'),
  trust('refused-key-absent', '{"keys":[{}]}', 'refused'),
  trust('refused-chain-integer', '{"chain_id":1,"keys":[]}', 'refused'),
  trust('refused-session-string', keyStore(',"first_session":"0"'), 'refused'),
  trust('refused-session-negative', keyStore(',"last_session":-1'), 'refused'),
  trust('refused-session-fraction', keyStore(',"last_session":1.5'), 'refused'),
  trust('refused-name-twice', `{"keys":[],"keys":[]}`, 'refused'),
  trust('refused-byte-order-mark', `\ufeff${keyStore('')}`, 'refused'),
  trust('refused-number-not-exact', '{"keys":[],"n":0.10000000000000001}', 'refused'),
  trust('refused-text-behind', `${keyStore('')}{}`, 'refused'),
]
