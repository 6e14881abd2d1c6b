/** Signatures, decisions, heads and what cannot be judged: steps 8 to 12 of SPEC.md §7.3, and §7.4. */
import type { JsonValue } from '../../../src/record/index.ts'
import { type Members, Forge, sha256Hex, zeros } from '../forge.ts'
import { toFile } from '../chain.ts'
import { type ChainCase, begin, bytesOf, other, ours, read } from './chain-case.ts'
import { type Finding, indeterminate, tampered, verified } from './expected-report.ts'

const one = begin()
const two = begin().session(other)
const five = new Forge({ firstSession: 5 }).session()
const signatureOf = (row: Uint8Array | undefined): string =>
  (JSON.parse(Buffer.from(row ?? []).toString()) as { signature: string }).signature

/** The third Line of a Session of one Call says something else. */
function outcome(reason: string, name: string, over: Members, evidence: Finding['evidence']): ChainCase {
  return {
    name,
    spec: '7.3.9',
    files: [begin(2).outcome('call-1', over).close().file],
    expect: tampered(
      reason,
      { at: [0, 2], line: 3, ...(evidence === undefined ? {} : { evidence }) },
      read(2),
    ),
  }
}

function badSignature(name: string, signature: JsonValue | undefined, source: string): ChainCase {
  return outcome('bad_signature', `bad-signature-${name}`, { signature }, { source })
}

const good = signatureOf(begin(3).rows[2])
const lowBitOfS = good.slice(0, 64) + (good.startsWith('0', 64) ? '1' : '0') + good.slice(65)

const signatures: readonly ChainCase[] = [
  badSignature('absent', undefined, 'unsigned'),
  badSignature('uppercase', good.toUpperCase(), 'malformed'),
  badSignature('short', good.slice(2), 'malformed'),
  badSignature('long', `${good}00`, 'malformed'),
  badSignature('empty', '', 'malformed'),
  badSignature('object', {}, 'malformed'),
  badSignature('integer', 0, 'malformed'),
  badSignature('zeros', zeros + zeros, 'invalid'),
  badSignature('ones', 'f'.repeat(128), 'invalid'),
  badSignature('of-another-line', signatureOf(one.rows[3]), 'invalid'),
  badSignature('one-digit', lowBitOfS, 'invalid'),
  badSignature('r-and-s-exchanged', good.slice(64) + good.slice(0, 64), 'invalid'),
  {
    name: 'bad-signature-open-unsigned',
    spec: '7.3.9',
    files: [new Forge().open({ signature: undefined }).close().file],
    expect: tampered('bad_signature', { at: [0, 0], line: 1, evidence: { source: 'unsigned' } }),
  },
  {
    name: 'bad-signature-open-by-another-key',
    spec: '7.3.9',
    files: [new Forge().open({ public_key: other.publicKey, key_id: other.keyId }).close().file],
    expect: tampered('bad_signature', { at: [0, 0], line: 1, evidence: { source: 'invalid' } }),
  },
  {
    name: 'bad-signature-later-open',
    spec: '7.3.9',
    files: [
      begin()
        .open({ signature: zeros + zeros })
        .close().file,
    ],
    expect: tampered('bad_signature', { at: [1, 0], line: 5, evidence: { source: 'invalid' } }, read(4)),
  },
  {
    name: 'bad-signature-key-that-is-no-point',
    spec: '5.5',
    files: [new Forge().open({ public_key: `02${'0'.repeat(62)}` }).close().file],
    expect: tampered('bad_signature', { at: [0, 0], line: 1, evidence: { source: 'invalid' } }),
  },
  {
    name: 'bad-signature-key-of-small-order',
    spec: '5.5',
    // Without the rule on small order this signature, R = A = O and S = 0, holds for every message.
    files: [
      new Forge().open({ public_key: `01${'0'.repeat(62)}`, signature: `01${'0'.repeat(126)}` }).close().file,
    ],
    expect: tampered('bad_signature', { at: [0, 0], line: 1, evidence: { source: 'invalid' } }),
  },
  {
    name: 'bad-signature-close',
    spec: '7.3.9',
    files: [begin(3).close({ signature: zeros + zeros }).file],
    expect: tampered('bad_signature', { at: [0, 3], line: 4, evidence: { source: 'invalid' } }, read(3)),
  },
  {
    name: 'bad-signature-decision-unsigned',
    spec: '7.3.9',
    files: [begin(1).decision('apr_1', { signature: undefined }).close().file],
    expect: tampered('bad_signature', { at: [0, 1], line: 2, evidence: { source: 'unsigned' } }, read(1)),
  },
  {
    name: 'bad-signature-checkpoint-unsigned',
    spec: '4.8',
    files: [begin(1).line('checkpoint', {}, false).close().file],
    expect: tampered('bad_signature', { at: [0, 1], line: 2, evidence: { source: 'unsigned' } }, read(1)),
  },
  {
    name: 'bad-signature-unknown-type',
    spec: '7.3.9',
    files: [
      begin(1)
        .line('rotation', { signature: zeros + zeros }, true)
        .close().file,
    ],
    expect: tampered('bad_signature', { at: [0, 1], line: 2, evidence: { source: 'invalid' } }, read(1)),
  },
  {
    name: 'bad-signature-unknown-type-integer',
    spec: '7.3.9',
    files: [begin(1).line('rotation', { signature: 1 }, false).close().file],
    expect: tampered('bad_signature', { at: [0, 1], line: 2, evidence: { source: 'malformed' } }, read(1)),
  },
  {
    name: 'bad-signature-member-added-afterwards',
    spec: '5.2',
    files: [begin(2).outcome('call-1', { signature: good, zz: 'not signed' }).file],
    expect: tampered('bad_signature', { at: [0, 2], line: 3, evidence: { source: 'invalid' } }, read(2)),
  },
  outcome('key_id_mismatch', 'key-id-absent', { key_id: undefined }, { want: ours.keyId, got: 'absent' }),
  outcome('key_id_mismatch', 'key-id-other', { key_id: other.keyId }, { want: ours.keyId, got: other.keyId }),
  outcome(
    'key_id_mismatch',
    'key-id-uppercase',
    { key_id: ours.keyId.toUpperCase() },
    {
      want: ours.keyId,
      got: ours.keyId.toUpperCase(),
    },
  ),
  outcome('key_id_mismatch', 'key-id-boolean', { key_id: true }, { want: ours.keyId, got: 'boolean' }),
  outcome(
    'chain_id_mismatch',
    'chain-id-of-an-outcome',
    { chain_id: 'harbour' },
    {
      want: 'acme',
      got: 'harbour',
    },
  ),
  outcome('chain_id_mismatch', 'chain-id-of-an-outcome-integer', { chain_id: 0 }, { want: 'acme', got: 0 }),
  outcome('session_index_mismatch', 'session-index-of-an-outcome', { session_index: 1 }, { want: 0, got: 1 }),
  outcome(
    'session_index_mismatch',
    'session-index-of-an-outcome-string',
    { session_index: '0' },
    {
      want: 0,
      got: '0',
    },
  ),
  {
    name: 'key-id-mismatch-open',
    spec: '7.3.9',
    files: [new Forge().open({ key_id: other.keyId }).close().file],
    expect: tampered('key_id_mismatch', {
      at: [0, 0],
      line: 1,
      evidence: { want: ours.keyId, got: other.keyId },
    }),
  },
  {
    name: 'chain-id-where-the-open-has-none',
    spec: '7.3.9',
    files: [new Forge({ chain: null }).open().close({ chain_id: 'acme' }).file],
    expect: tampered(
      'chain_id_mismatch',
      { at: [0, 1], line: 2, evidence: { want: 'absent', got: 'acme' } },
      read(1),
    ),
  },
  {
    name: 'session-index-where-the-open-has-none',
    spec: '7.3.9',
    files: [new Forge({ chain: null }).open().close({ session_index: 0 }).file],
    expect: tampered(
      'session_index_mismatch',
      { at: [0, 1], line: 2, evidence: { want: 'absent', got: 0 } },
      read(1),
    ),
  },
]

const decisions: readonly ChainCase[] = [
  {
    name: 'second-decision',
    spec: '7.3.11',
    files: [begin(1).decision('apr_1').decision('apr_2').decision('apr_1').close().file],
    // Step 9 covered the Line before step 11 refused it.
    expect: tampered(
      'second_decision',
      { at: [0, 3], line: 4, evidence: { approval_id: 'apr_1' } },
      { ...read(1), coverage: [0, 3], lines: 3 },
    ),
  },
  {
    name: 'second-decision-in-a-later-session',
    spec: '7.3.11',
    files: [begin(1).decision('apr_1').close().open({}, other).decision('apr_1').close().file],
    expect: tampered(
      'second_decision',
      { at: [1, 1], line: 5, evidence: { approval_id: 'apr_1' } },
      { keys: [ours.keyId, other.keyId], first: 0, coverage: [1, 1], lines: 4, sessions: 2 },
    ),
  },
  {
    name: 'second-decision-long-id-is-cut',
    spec: '7.6',
    files: [begin(1).decision('é\n'.repeat(100)).decision('é\n'.repeat(100)).file],
    expect: tampered(
      'second_decision',
      { at: [0, 2], line: 3, evidence: { approval_id: 'é\n'.repeat(64) } },
      { ...read(1), coverage: [0, 2], lines: 2 },
    ),
  },
  {
    name: 'second-decision-of-the-empty-id',
    spec: '7.3.11',
    files: [begin(1).decision('').decision('').file],
    expect: tampered(
      'second_decision',
      { at: [0, 2], line: 3, evidence: { approval_id: '' } },
      { ...read(1), coverage: [0, 2], lines: 2 },
    ),
  },
]

const head = (session: number, seq: number, hash: string): string =>
  `${String(session)}:${String(seq)}:${hash}`
const ff = 'f'.repeat(64)
const oneHash = one.lastHash
const twoRead = {
  keys: [ours.keyId, other.keyId],
  first: 0,
  coverage: [1, 0],
  lines: 4,
  sessions: 2,
} as const

const heads: readonly ChainCase[] = [
  {
    name: 'forked-another-line-at-the-position',
    spec: '7.3.12',
    files: [one.file],
    options: { head: head(0, 2, ff) },
    expect: tampered(
      'forked',
      { at: [0, 2], line: 3, evidence: { want: ff, got: sha256Hex(one.rows[2] ?? '') } },
      read(2, { coverage: [0, 2] }),
    ),
  },
  {
    name: 'forked-by-the-same-key',
    spec: '7.3.12',
    // A head from the Chain that says `call-1`; the file is a whole Chain, signed by the same key, that does not.
    files: [begin(1).intent('call-9').outcome('call-9').close().file],
    options: { keys: [ours.publicKey], head: head(0, 3, oneHash) },
    expect: tampered(
      'forked',
      {
        at: [0, 3],
        line: 4,
        evidence: { want: oneHash, got: begin(1).intent('call-9').outcome('call-9').close().lastHash },
      },
      read(3, { coverage: [0, 3], pinned: [ours.keyId] }),
    ),
  },
  {
    name: 'forked-session-closed-before-the-head',
    spec: '7.3.12',
    files: [one.file],
    options: { head: head(0, 4, ff) },
    expect: tampered(
      'forked',
      { at: [0, 3], line: 4, evidence: { want: ff, got: 'absent' } },
      read(3, { coverage: [0, 3] }),
    ),
  },
  {
    name: 'forked-later-open-before-the-head',
    spec: '7.3.12',
    files: [begin(3).session(other).file],
    options: { head: head(0, 3, ff) },
    expect: tampered(
      'forked',
      { at: [1, 0], line: 4, evidence: { want: ff, got: 'absent' } },
      { ...twoRead, lines: 3 },
    ),
  },
  {
    name: 'before-head-later-session',
    spec: '7.4.4',
    files: [one.file],
    options: { head: head(1, 3, ff) },
    expect: indeterminate(
      'before_head',
      { at: [0, 3], line: 4, evidence: { session_index: 1, seq: 3 } },
      read(4),
    ),
  },
  {
    name: 'before-head-but-unanchored-first',
    spec: '7.4.3',
    files: [begin(3).file],
    options: { head: head(0, 3, oneHash) },
    expect: indeterminate('unanchored_tail', { at: [0, 2], line: 3 }, read(3)),
  },
  {
    name: 'head-matched-does-not-anchor-the-tail',
    spec: '7.4.4',
    files: [begin(3).file],
    options: { head: head(0, 2, begin(3).lastHash) },
    expect: indeterminate('unanchored_tail', { at: [0, 2], line: 3 }, read(3, { completeTo: [0, 2] })),
  },
  {
    name: 'head-not-in-file',
    spec: '7.4.4',
    files: [five.file],
    options: { head: head(4, 7, ff) },
    expect: indeterminate(
      'head_not_in_file',
      { at: [5, 3], line: 4, evidence: { session_index: 4, seq: 7 } },
      read(4, { first: 5, coverage: [5, 3] }),
    ),
  },
  {
    name: 'head-of-an-aar-file-beyond-it',
    spec: '7.8',
    files: [new Forge({ chain: null }).session().file],
    options: { head: head(3, 0, ff) },
    expect: indeterminate(
      'before_head',
      { at: [0, 3], line: 4, evidence: { session_index: 3, seq: 0 } },
      read(4),
    ),
  },
  {
    name: 'head-in-an-empty-input',
    spec: '7.4.1',
    files: [bytesOf('')],
    options: { head: head(0, 0, ff) },
    expect: indeterminate('empty_chain', { line: 0 }),
  },
  {
    name: 'head-skipped-by-a-gap',
    spec: '7.3.12',
    files: [begin(2).outcome('call-1', { seq: 5 }).close().file],
    options: { head: head(0, 3, ff) },
    expect: indeterminate(
      'seq_gap',
      { at: [0, 5], line: 3, evidence: { want: 2, got: 5 } },
      read(4, { coverage: [0, 6] }),
    ),
  },
  {
    name: 'head-matched-but-a-gap-before-it',
    spec: '7.9',
    files: [begin(2).outcome('call-1', { seq: 5 }).close().file],
    options: { head: head(0, 6, begin(2).outcome('call-1', { seq: 5 }).close().lastHash) },
    expect: indeterminate(
      'seq_gap',
      { at: [0, 5], line: 3, evidence: { want: 2, got: 5 } },
      read(4, { coverage: [0, 6] }),
    ),
  },
]

const undecided: readonly ChainCase[] = [
  {
    name: 'seq-gap-only-the-first-is-named',
    spec: '7.3',
    files: [begin(1).intent('call-1', { seq: 3 }).outcome('call-1', { seq: 9 }).close().file],
    expect: indeterminate(
      'seq_gap',
      { at: [0, 3], line: 2, evidence: { want: 1, got: 3 } },
      read(4, { coverage: [0, 10] }),
    ),
  },
  {
    name: 'seq-gap-and-later-something-tampered',
    spec: '7.3',
    files: [begin(1).intent('call-1', { seq: 3 }).outcome('call-1', { signature: undefined }).file],
    expect: tampered('bad_signature', { at: [0, 4], line: 3, evidence: { source: 'unsigned' } }, read(2)),
  },
  ...(
    [
      ['1', 1],
      ['3', 3],
      ['string', '2'],
      ['array', [2]],
      ['boolean', true],
    ] as const
  ).map(([name, version]): ChainCase => ({
    name: `schema-version-${name}`,
    spec: '7.3.8',
    files: [
      begin(2)
        .outcome('call-1', { schema_version: version as JsonValue })
        .close().file,
    ],
    expect: indeterminate(
      'schema_version_unsupported',
      {
        at: [0, 2],
        line: 3,
        evidence: {
          want: 2,
          got: typeof version === 'object' ? 'array' : typeof version === 'boolean' ? 'boolean' : version,
        },
      },
      read(4),
    ),
  })),
  {
    name: 'schema-version-3-in-the-open',
    spec: '7.3.8',
    files: [new Forge().open({ schema_version: 3 }).intent().outcome().close().file],
    expect: indeterminate(
      'schema_version_unsupported',
      { at: [0, 0], line: 1, evidence: { want: 2, got: 3 } },
      read(4),
    ),
  },
  {
    name: 'schema-version-3-and-a-bad-signature',
    spec: '7.3.9',
    files: [new Forge().open({ schema_version: 3, signature: zeros + zeros }).file],
    expect: tampered('bad_signature', { at: [0, 0], line: 1, evidence: { source: 'invalid' } }),
  },
  {
    name: 'checkpoint',
    spec: '7.3.10',
    files: [begin(1).line('checkpoint', {}, true).close().file],
    expect: indeterminate('checkpoint', { at: [0, 1], line: 2 }, { ...read(1), coverage: [0, 2], lines: 3 }),
  },
  {
    name: 'checkpoint-behind-a-close',
    spec: '7.3.7',
    files: [begin().line('checkpoint', {}, true).file],
    expect: indeterminate('checkpoint', { at: [0, 4], line: 5 }, read(4, { coverage: [0, 4], lines: 5 })),
  },
  {
    name: 'unknown-line-type',
    spec: '7.3.10',
    files: [begin(1).line('rotation', {}, false).close().file],
    expect: indeterminate(
      'unknown_line_type',
      { at: [0, 1], line: 2, evidence: { line_type: 'rotation' } },
      { ...read(1), coverage: [0, 2], lines: 3 },
    ),
  },
  {
    name: 'unknown-line-type-signed',
    spec: '7.3.10',
    files: [begin(1).line('rotation', {}, true).close().file],
    expect: indeterminate(
      'unknown_line_type',
      { at: [0, 1], line: 2, evidence: { line_type: 'rotation' } },
      { ...read(1), coverage: [0, 2], lines: 3 },
    ),
  },
  {
    name: 'unknown-line-type-signed-in-flight-cleared',
    spec: '7.3.9',
    files: [begin(2).line('rotation', {}, true).file],
    expect: indeterminate(
      'unknown_line_type',
      { at: [0, 2], line: 3, evidence: { line_type: 'rotation' } },
      { ...read(1), coverage: [0, 2], lines: 3 },
    ),
  },
  {
    name: 'unknown-line-type-behind-a-close',
    spec: '7.3.7',
    files: [begin().line('rotation', {}, false).file],
    expect: indeterminate(
      'unknown_line_type',
      { at: [0, 4], line: 5, evidence: { line_type: 'rotation' } },
      read(4, { lines: 5 }),
    ),
  },
  ...(['Close', 'close ', 'clos', '', 'cl\u00f6se', 'close\u0000'] as const).map((type, at): ChainCase => ({
    name: `unknown-line-type-nearly-close-${String(at)}`,
    spec: '7.3.10',
    files: [begin(3).line(type, {}, true).file],
    expect: indeterminate(
      'unknown_line_type',
      { at: [0, 3], line: 4, evidence: { line_type: type } },
      read(4),
    ),
  })),
  {
    name: 'empty-chain',
    spec: '7.4.1',
    files: [bytesOf('')],
    expect: indeterminate('empty_chain', { line: 0 }),
  },
  {
    name: 'empty-chain-of-empty-rows',
    spec: '7.4.1',
    files: [bytesOf('\n\n\n'), bytesOf(''), bytesOf('\n')],
    options: { keys: [ours.publicKey] },
    expect: indeterminate('empty_chain', { line: 0 }, { pinned: [ours.keyId] }),
  },
  {
    name: 'unanchored-open',
    spec: '7.4.3',
    files: [begin(1).file],
    expect: indeterminate('unanchored_tail', { at: [0, 0], line: 1 }, read(1)),
  },
  {
    name: 'unanchored-intent',
    spec: '7.4.3',
    files: [begin(2).file],
    expect: indeterminate('unanchored_tail', { at: [0, 1], line: 2 }, read(2, { inFlight: ['call-1'] })),
  },
  {
    name: 'unanchored-outcome',
    spec: '7.4.3',
    files: [begin(3).file],
    expect: indeterminate('unanchored_tail', { at: [0, 2], line: 3 }, read(3)),
  },
  {
    name: 'unanchored-second-session',
    spec: '7.4.3',
    files: [toFile(two.rows.slice(0, 6))],
    expect: indeterminate(
      'unanchored_tail',
      { at: [1, 1], line: 6 },
      { ...twoRead, lines: 6, inFlight: ['call-1'] },
    ),
  },
  {
    name: 'in-flight-names-that-would-forge-a-report',
    spec: '7.9',
    files: [
      begin(1)
        .intent('call-9\nVerified (unpinned)')
        .intent('\u001b[2J\u009b1m\\')
        .intent('')
        .intent('x', { call_id: undefined })
        .intent('x', { call_id: 12 })
        .intent('~ \u007f\u2028\ufeff é 𐀀')
        .intent('𐀀'.repeat(200)).file,
    ],
    expect: indeterminate(
      'unanchored_tail',
      { at: [0, 7], line: 8 },
      {
        ...read(1),
        lines: 8,
        inFlight: [
          'call-9\nVerified (unpinned)',
          '\u001b[2J\u009b1m\\',
          '-',
          '-',
          '-',
          '~ \u007f\u2028\ufeff é 𐀀',
          '𐀀'.repeat(128),
        ],
      },
    ),
  },
  {
    name: 'in-flight-more-than-a-hundred',
    spec: '7.9',
    files: [
      Array.from({ length: 103 }, (_, at) => `call-${String(at)}`).reduce((f, c) => f.intent(c), begin(1))
        .file,
    ],
    expect: indeterminate(
      'unanchored_tail',
      { at: [0, 103], line: 104 },
      {
        ...read(1),
        lines: 104,
        inFlight: Array.from({ length: 100 }, (_, at) => `call-${String(at)}`),
        inFlightMore: 3,
      },
    ),
  },
  {
    name: 'cut-at-a-sessions-end-is-verified',
    spec: '12',
    files: [toFile(two.rows.slice(0, 4))],
    expect: verified(read(4)),
  },
]

export const signedChains: readonly ChainCase[] = [...signatures, ...decisions, ...heads, ...undecided]
