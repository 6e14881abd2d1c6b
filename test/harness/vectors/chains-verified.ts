/** Chains that are whole (SPEC.md §7, §8): what must not be held against a file. */
import { Forge, forgeKey, sha256Hex, zeros } from '../forge.ts'
import { joinBytes } from '../chain.ts'
import { type ChainCase, begin, bytesOf, other, ours, read } from './chain-case.ts'
import { verified } from './expected-report.ts'

const one = begin()
const two = begin().session(other)
const twoFacts = {
  keys: [ours.keyId, other.keyId],
  first: 0,
  coverage: [1, 3],
  lines: 8,
  sessions: 2,
} as const

const store = (value: object): string => JSON.stringify(value)

const grant = {
  action_hash: sha256Hex('action'),
  expires_at: 1_796_040_060_000,
  grant_id: 'grt_00000000000000000000000000',
  tool_id: 'echo',
}
const denied = (reason: string): object => ({ reason, status: 'denied' })

/** Every Line type, and in them every status, that this profile writes. */
function everyLine(): Forge {
  const forge = new Forge().open({ deployment: 'prod', opened_at: 1_796_040_000_000 })
  const outcomes = [
    {
      policy: { status: 'allowed' },
      capability: { grant, status: 'granted' },
      execution: { status: 'delegated' },
      grant_id: grant.grant_id,
    },
    {
      policy: denied('policy_denied'),
      capability: denied('policy_denied'),
      execution: { reason: 'policy_denied', status: 'host_denied' },
    },
    {
      policy: { reason: 'rate_limited', status: 'rate_limited' },
      capability: denied('rate_limited'),
      execution: { reason: 'rate_limited', status: 'host_denied' },
    },
    {
      policy: { approval_id: 'apr_1', status: 'pending_approval' },
      capability: denied('approval_pending'),
      execution: { reason: 'approval_pending', status: 'host_denied' },
    },
    { policy: { status: 'allowed' }, capability: denied('administrative'), execution: { status: 'success' } },
    {
      policy: { status: 'allowed' },
      capability: denied('report'),
      execution: { message: 'it fell over', status: 'trap' },
      tool_id: 'aegis/report',
    },
    {
      policy: { status: 'allowed' },
      capability: denied('report'),
      execution: { kind: 'memory', status: 'resource_exceeded' },
      tool_id: 'aegis/report',
      response_digest: sha256Hex('response'),
      wall_ms: 17,
    },
  ]
  for (const [at, outcome] of outcomes.entries()) {
    const id = `call-${String(at)}`
    forge.intent(id).outcome(id, outcome as never)
  }
  return forge
    .decision('apr_1', { verdict: { scope: { tool_id: 'echo' }, verdict: 'approved' }, approvers: [] })
    .decision('apr_2', { verdict: { reason: 'denied', verdict: 'denied' } })
    .decision('apr_3', { verdict: { reason: 'expired', verdict: 'denied' } })
    .decision('apr_4', { verdict: { reason: 'cancelled', verdict: 'denied' } })
    .close({ calls: 7, closed_at: 1_796_040_100_000 })
}

/** A Session whose `close` has a member of so many bytes that the Line has exactly the most it may have. */
function longest(): Forge {
  const short = begin(3).close({ x: '' })
  const length = short.rows[3]?.length ?? 0
  return begin(3).close({ x: 'x'.repeat(65_536 - length) })
}

/** Arrays in arrays: so many levels of containers, the innermost empty. */
export function nested(levels: number): never {
  let value: unknown[] = []
  for (let level = 1; level < levels; level += 1) value = [value]
  return value as never
}

/** So many Sessions that are an `open` each, all but the last two under keys of their own. */
function manyKeys(): { readonly forge: Forge; readonly keyIds: string[] } {
  const forge = new Forge()
  const keys = Array.from({ length: 102 }, (_, at) => forgeKey(at + 1))
  for (const key of keys) forge.open({}, key)
  forge.open({}, keys[0]).open({}, keys[101]).close()
  return { forge, keyIds: keys.map((key) => key.keyId) }
}

const aar = new Forge({ chain: null }).open().intent().outcome().close()
const fifth = new Forge({ firstSession: 5 }).session()
const unfinished = begin(3).session(other)
const many = manyKeys()
const extras = { zz_unknown: { deep: [true, {}, []] }, '': 'empty name', Upper: 1 }
const head = (session: number, seq: number, hash: string): string =>
  `${String(session)}:${String(seq)}:${hash}`

export const verifiedChains: readonly ChainCase[] = [
  { name: 'one-session', spec: '7.4', files: [one.file], expect: verified(read(4)) },
  {
    name: 'pinned',
    spec: '7.7',
    files: [one.file],
    options: { keys: [ours.publicKey] },
    expect: verified(read(4, { pinned: [ours.keyId] })),
  },
  {
    name: 'pinned-same-key-twice',
    spec: '7.9',
    files: [one.file],
    options: { keys: [ours.publicKey, ours.publicKey] },
    expect: verified(read(4, { pinned: [ours.keyId] })),
  },
  {
    name: 'pinned-several',
    spec: '7.9',
    files: [one.file],
    options: { keys: [ours.publicKey, other.publicKey] },
    expect: verified(read(4, { pinned: [ours.keyId, other.keyId] })),
  },
  {
    name: 'trust-store-ranges',
    spec: '7.7',
    files: [two.file],
    options: {
      trust_store: store({
        chain_id: 'acme',
        note: 'unknown members are ignored',
        keys: [
          { public_key: ours.publicKey, first_session: 0, last_session: 0 },
          { public_key: other.publicKey, first_session: 1, last_session: null, label: 'second' },
        ],
      }),
    },
    expect: verified({ ...twoFacts, pinned: [ours.keyId, other.keyId] }),
  },
  {
    name: 'trust-store-and-key',
    spec: '7.7',
    files: [two.file],
    options: {
      keys: [other.publicKey],
      trust_store: store({ keys: [{ public_key: ours.publicKey, last_session: 0 }] }),
    },
    expect: verified({ ...twoFacts, pinned: [ours.keyId, other.keyId] }),
  },
  { name: 'two-sessions-two-keys', spec: '5.6', files: [two.file], expect: verified(twoFacts) },
  {
    name: 'two-files',
    spec: '7.1',
    files: [one.file, joinBytes([two.file.subarray(one.file.length)])],
    expect: verified(twoFacts),
  },
  {
    name: 'two-files-first-without-lf',
    spec: '7.1.1',
    files: [one.file.subarray(0, -1), two.file.subarray(one.file.length)],
    expect: verified(twoFacts),
  },
  {
    name: 'last-line-without-lf',
    spec: '7.1.2',
    files: [one.file.subarray(0, -1)],
    expect: verified(read(4)),
  },
  {
    name: 'empty-rows',
    spec: '7.1.2',
    files: [joinBytes([bytesOf('\n\n'), ...one.rows.flatMap((row) => [row, bytesOf('\n\n\n')])])],
    expect: verified(read(4)),
  },
  {
    name: 'session-without-close-before-another',
    spec: '5.6',
    files: [unfinished.file],
    expect: verified({ ...twoFacts, lines: 7 }),
  },
  {
    name: 'starts-at-session-5',
    spec: '7.3.7',
    files: [fifth.file],
    expect: verified({ ...read(4), first: 5, coverage: [5, 3] }),
  },
  {
    name: 'aar-without-chain-id-and-session-index',
    spec: '7.3.7',
    files: [aar.file],
    expect: verified(read(4)),
  },
  {
    name: 'aar-pinned-key-holds-for-every-chain',
    spec: '7.7',
    files: [aar.file],
    options: { keys: [ours.publicKey] },
    expect: verified(read(4, { pinned: [ours.keyId] })),
  },
  {
    name: 'signed-lines-without-chain-id-and-session-index',
    spec: '7.3.9',
    files: [
      begin(2)
        .outcome('call-1', { chain_id: undefined, session_index: undefined })
        .close({ chain_id: undefined, session_index: undefined }).file,
    ],
    expect: verified(read(4)),
  },
  {
    name: 'every-line-type-and-status',
    spec: '4',
    files: [everyLine().file],
    expect: verified({ ...read(1), coverage: [0, 19], lines: 20 }),
  },
  {
    name: 'unknown-members',
    spec: '8',
    files: [new Forge().open(extras).intent('call-1', extras).outcome('call-1', extras).close(extras).file],
    expect: verified(read(4)),
  },
  {
    name: 'intent-with-a-signature-member',
    spec: '7.3.9',
    files: [
      begin(1)
        .intent('call-1', { signature: 'not looked at', key_id: 7, chain_id: 'other', session_index: 9 })
        .outcome()
        .close().file,
    ],
    expect: verified(read(4)),
  },
  {
    name: 'members-that-make-no-sense',
    spec: '8',
    files: [
      begin(1)
        .intent('call-1', { call_id: 1, tool_id: [], request_digest: 'none' })
        .outcome('call-2', { policy: 'yes', decision_axes: undefined, execution: { status: 'unheard of' } })
        .close({ calls: 99 }).file,
    ],
    expect: verified(read(4)),
  },
  {
    name: 'interleaved-calls',
    spec: '4.2',
    files: [begin(1).intent('a').intent('b').outcome('b').outcome('a').close().file],
    expect: verified({ ...read(1), coverage: [0, 5], lines: 6 }),
  },
  {
    name: 'decisions-whose-approval-id-is-no-string',
    spec: '7.3.11',
    files: [begin(1).decision(7).decision(7).decision('7').close().file],
    expect: verified({ ...read(1), coverage: [0, 4], lines: 5 }),
  },
  { name: 'longest-line', spec: '3.7', files: [longest().file], expect: verified(read(4)) },
  {
    name: 'nested-64',
    spec: '3.2',
    files: [begin(3).close({ deep: nested(63) }).file],
    expect: verified(read(4)),
  },
  {
    name: 'strings-of-every-kind',
    spec: '3.4',
    files: [
      begin(3).close({
        a: '"\\/\b\t\n\f\r\u0000\u000b\u001f\u007f\u0080\u2028\u2029\ufeff\uffff é ☕ 𐀀',
        '\ue000': 'sorts behind the next by code unit',
        '𐀀': 'astral name',
        '\u0001': 'control in a name',
        max: 9_007_199_254_740_991,
      }).file,
    ],
    expect: verified(read(4)),
  },
  {
    name: 'head-is-the-last-line',
    spec: '7.8',
    files: [one.file],
    options: { head: head(0, 3, one.lastHash) },
    expect: verified(read(4, { completeTo: [0, 3] })),
  },
  {
    name: 'head-inside',
    spec: '7.8',
    files: [two.file],
    options: { head: head(0, 1, sha256Hex(two.rows[1] ?? '')) },
    expect: verified({ ...twoFacts, completeTo: [0, 1] }),
  },
  {
    name: 'head-in-an-aar-file-by-ordinal',
    spec: '7.8',
    files: [aar.file],
    options: { head: head(0, 3, aar.lastHash), keys: [ours.publicKey] },
    expect: verified(read(4, { completeTo: [0, 3], pinned: [ours.keyId] })),
  },
  {
    name: 'more-than-a-hundred-keys',
    spec: '7.9',
    files: [many.forge.file],
    // Sessions 100, 101 and 103 have keys that are not shown; 102 has the first key again.
    expect: verified({
      keys: many.keyIds.slice(0, 100),
      keysMore: 3,
      first: 0,
      coverage: [103, 1],
      lines: 105,
      sessions: 104,
    }),
  },
  {
    name: 'session-index-near-the-limit',
    spec: '3.2',
    files: [
      new Forge({ firstSession: 9_007_199_254_740_991 }).open({ prev_session_tail: sha256Hex('x') }).close()
        .file,
    ],
    expect: verified({
      keys: [ours.keyId],
      first: 9_007_199_254_740_991,
      coverage: [9_007_199_254_740_991, 1],
      lines: 2,
      sessions: 1,
    }),
  },
  {
    name: 'first-open-of-aar-may-have-a-tail',
    spec: '7.3.7',
    files: [new Forge({ chain: null }).open({ prev_session_tail: zeros }).intent().outcome().close().file],
    expect: verified(read(4)),
  },
]
