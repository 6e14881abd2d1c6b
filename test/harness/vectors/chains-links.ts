/** Rows that are Lines and do not belong: steps 7 and 8 of SPEC.md §7.3. */
import { type Members, Forge, sha256Hex, zeros } from '../forge.ts'
import { toFile } from '../chain.ts'
import { type ChainCase, begin, bytesOf, other, ours, read } from './chain-case.ts'
import { tampered, verified } from './expected-report.ts'

const ff = 'f'.repeat(64)
const one = begin()
const rows = one.rows as unknown as readonly [Uint8Array, Uint8Array, Uint8Array, Uint8Array]
const hashes = rows.map((row) => sha256Hex(row)) as [string, string, string, string]
const two = begin().session(other)
const secondFile = two.file.subarray(one.file.length)

/** A first `open` that says something else: nothing is accepted before it. */
function firstOpen(over: Members, chain?: null): Uint8Array {
  return new Forge(chain === null ? { chain } : {}).open(over).close().file
}

/** A second `open` that says something else. */
function secondOpen(over: Members): Uint8Array {
  return begin().open(over).close().file
}

const at00 = { at: [0, 0], line: 1 } as const
const at10 = { at: [1, 0], line: 5 } as const

function first(reason: string, name: string, file: Uint8Array, evidence: object | undefined): ChainCase {
  const finding = evidence === undefined ? at00 : { ...at00, evidence: evidence as Record<string, string> }
  return { name, spec: '7.3.7', files: [file], expect: tampered(reason, finding) }
}

function later(
  reason: string,
  name: string,
  over: Members,
  evidence: Record<string, string | number>,
): ChainCase {
  return {
    name,
    spec: '7.3.7',
    files: [secondOpen(over)],
    expect: tampered(reason, { ...at10, evidence }, read(4)),
  }
}

const opens: readonly ChainCase[] = [
  {
    name: 'seq-mismatch-first-open',
    spec: '7.3.7',
    files: [firstOpen({ seq: 3 })],
    expect: tampered('seq_mismatch', { at: [0, 3], line: 1, evidence: { want: 0, got: 3 } }),
  },
  first('prev_hash_mismatch', 'prev-hash-mismatch-first-open', firstOpen({ prev_hash: ff }), {
    want: zeros,
    got: ff,
  }),
  first('session_tail_mismatch', 'session-tail-in-session-0', firstOpen({ prev_session_tail: ff }), {
    want: 'absent',
    got: ff,
  }),
  first('session_tail_mismatch', 'session-tail-no-digest', firstOpen({ prev_session_tail: 'F'.repeat(64) }), {
    want: 'digest',
    got: 'F'.repeat(64),
  }),
  first('session_tail_mismatch', 'session-tail-integer', firstOpen({ prev_session_tail: 12 }, null), {
    want: 'digest',
    got: 12,
  }),
  first('chain_id_mismatch', 'chain-id-integer', firstOpen({ chain_id: 7 }), { want: 'string', got: 7 }),
  first('chain_id_mismatch', 'chain-id-boolean', firstOpen({ chain_id: false }), {
    want: 'string',
    got: 'boolean',
  }),
  first('session_index_mismatch', 'session-index-string', firstOpen({ session_index: '0' }), {
    want: 'integer',
    got: '0',
  }),
  first('session_index_mismatch', 'session-index-array', firstOpen({ session_index: [0] }), {
    want: 'integer',
    got: 'array',
  }),
  first('public_key_invalid', 'public-key-absent', firstOpen({ public_key: undefined }), { got: 'absent' }),
  first(
    'public_key_invalid',
    'public-key-uppercase',
    firstOpen({ public_key: ours.publicKey.toUpperCase() }),
    {
      got: ours.publicKey.toUpperCase(),
    },
  ),
  first('public_key_invalid', 'public-key-short', firstOpen({ public_key: ours.publicKey.slice(1) }), {
    got: ours.publicKey.slice(1),
  }),
  first('public_key_invalid', 'public-key-object', firstOpen({ public_key: { hex: ours.publicKey } }), {
    got: 'object',
  }),
  first('public_key_invalid', 'public-key-long-is-cut', firstOpen({ public_key: '☕'.repeat(200) }), {
    got: '☕'.repeat(128),
  }),
  first(
    'schema_version_missing',
    'schema-version-missing-open',
    firstOpen({ schema_version: undefined }),
    undefined,
  ),
  {
    name: 'session-tail-absent-in-session-5',
    spec: '7.3.7',
    files: [new Forge({ firstSession: 5 }).open({ prev_session_tail: undefined }).close().file],
    expect: tampered('session_tail_mismatch', {
      at: [5, 0],
      line: 1,
      evidence: { want: 'digest', got: 'absent' },
    }),
  },
  {
    name: 'seq-mismatch-later-open',
    spec: '7.3.7',
    files: [secondOpen({ seq: 4 })],
    expect: tampered('seq_mismatch', { at: [1, 4], line: 5, evidence: { want: 0, got: 4 } }, read(4)),
  },
  later(
    'prev_hash_mismatch',
    'prev-hash-mismatch-later-open',
    { prev_hash: hashes[3] },
    {
      want: zeros,
      got: hashes[3],
    },
  ),
  later(
    'session_tail_mismatch',
    'session-tail-absent-later',
    { prev_session_tail: undefined },
    {
      want: hashes[3],
      got: 'absent',
    },
  ),
  later(
    'session_tail_mismatch',
    'session-tail-of-an-earlier-line',
    { prev_session_tail: hashes[2] },
    {
      want: hashes[3],
      got: hashes[2],
    },
  ),
  later(
    'session_tail_mismatch',
    'session-tail-no-digest-later',
    { prev_session_tail: {} },
    {
      want: hashes[3],
      got: 'object',
    },
  ),
  later('chain_id_mismatch', 'chain-id-other-later', { chain_id: 'acme2' }, { want: 'acme', got: 'acme2' }),
  later(
    'chain_id_mismatch',
    'chain-id-absent-later',
    { chain_id: undefined },
    { want: 'acme', got: 'absent' },
  ),
  later('chain_id_mismatch', 'chain-id-integer-later', { chain_id: 1 }, { want: 'acme', got: 1 }),
  later('session_index_mismatch', 'session-index-again', { session_index: 0 }, { want: 1, got: 0 }),
  later('session_index_mismatch', 'session-index-left-out', { session_index: 2 }, { want: 1, got: 2 }),
  later(
    'session_index_mismatch',
    'session-index-absent-later',
    { session_index: undefined },
    {
      want: 1,
      got: 'absent',
    },
  ),
  later(
    'session_index_mismatch',
    'session-index-string-later',
    { session_index: '1' },
    { want: 1, got: '1' },
  ),
  later('public_key_invalid', 'public-key-absent-later', { public_key: undefined }, { got: 'absent' }),
  {
    name: 'chain-id-appears-later',
    spec: '7.3.7',
    files: [new Forge({ chain: null }).session().open({ chain_id: 'acme' }).close().file],
    expect: tampered('chain_id_mismatch', { ...at10, evidence: { want: 'absent', got: 'acme' } }, read(4)),
  },
  {
    name: 'session-index-appears-later',
    spec: '7.3.7',
    files: [new Forge({ chain: null }).session().open({ session_index: 1 }).close().file],
    expect: tampered('session_index_mismatch', { ...at10, evidence: { want: 'absent', got: 1 } }, read(4)),
  },
]

const untrusted = { at: [0, 0], line: 1, evidence: { got: ours.publicKey } } as const
const store = (value: object): string => JSON.stringify(value)

const pins: readonly ChainCase[] = [
  {
    name: 'untrusted-key',
    spec: '7.3.7',
    files: [one.file],
    options: { keys: [other.publicKey] },
    expect: tampered('untrusted_key', untrusted, { pinned: [other.keyId] }),
  },
  {
    name: 'untrusted-key-empty-store',
    spec: '7.7',
    files: [one.file],
    options: { trust_store: store({ keys: [] }) },
    expect: tampered('untrusted_key', untrusted, { pinned: [] }),
  },
  {
    name: 'untrusted-key-store-of-another-chain',
    spec: '7.7',
    files: [one.file],
    options: { trust_store: store({ chain_id: 'harbour', keys: [{ public_key: ours.publicKey }] }) },
    expect: tampered('untrusted_key', untrusted, { pinned: [ours.keyId] }),
  },
  {
    name: 'untrusted-key-store-of-a-chain-and-file-of-none',
    spec: '7.7',
    files: [new Forge({ chain: null }).session().file],
    options: { trust_store: store({ chain_id: 'acme', keys: [{ public_key: ours.publicKey }] }) },
    expect: tampered('untrusted_key', untrusted, { pinned: [ours.keyId] }),
  },
  {
    name: 'untrusted-key-before-its-range',
    spec: '7.7',
    files: [one.file],
    options: { trust_store: store({ keys: [{ public_key: ours.publicKey, first_session: 1 }] }) },
    expect: tampered('untrusted_key', untrusted, { pinned: [ours.keyId] }),
  },
  {
    name: 'untrusted-key-behind-its-range',
    spec: '7.7',
    files: [begin().open().close().file],
    options: {
      trust_store: store({ keys: [{ public_key: ours.publicKey, first_session: 0, last_session: 0 }] }),
    },
    expect: tampered(
      'untrusted_key',
      { ...at10, evidence: { got: ours.publicKey } },
      read(4, { pinned: [ours.keyId] }),
    ),
  },
  {
    name: 'untrusted-key-in-the-second-session',
    spec: '7.3.7',
    files: [two.file],
    options: { keys: [ours.publicKey] },
    expect: tampered(
      'untrusted_key',
      { ...at10, evidence: { got: other.publicKey } },
      read(4, { pinned: [ours.keyId] }),
    ),
  },
  {
    name: 'untrusted-key-chain-signed-again-by-another',
    spec: '7.7',
    files: [new Forge({ key: other }).session().file],
    options: { keys: [ours.publicKey] },
    expect: tampered(
      'untrusted_key',
      { at: [0, 0], line: 1, evidence: { got: other.publicKey } },
      { pinned: [ours.keyId] },
    ),
  },
]

/** A Line that is removed, repeated, exchanged: the links say where. */
const moved: readonly ChainCase[] = [
  ...(['intent', 'outcome', 'close'] as const).map((type, at): ChainCase => ({
    name: `line-before-open-${type}`,
    spec: '7.3.7',
    files: [toFile([rows[at + 1] ?? rows[1], rows[0]])],
    expect: tampered('line_before_open', { line: 1, evidence: { line_type: type } }),
  })),
  {
    name: 'line-before-open-unknown-type',
    spec: '7.3.7',
    files: [bytesOf(JSON.stringify({ line_type: 'a\u001b[2Jb', prev_hash: zeros, seq: 0 }))],
    expect: tampered('line_before_open', { line: 1, evidence: { line_type: 'a\u001b[2Jb' } }),
  },
  {
    name: 'line-removed',
    spec: '7.3.7',
    files: [toFile([rows[0], rows[2], rows[3]])],
    expect: tampered(
      'prev_hash_mismatch',
      { at: [0, 2], line: 2, evidence: { want: hashes[0], got: hashes[1] } },
      read(1),
    ),
  },
  {
    name: 'line-twice',
    spec: '7.3.7',
    files: [toFile([rows[0], rows[1], rows[1], rows[2], rows[3]])],
    expect: tampered(
      'prev_hash_mismatch',
      { at: [0, 1], line: 3, evidence: { want: hashes[1], got: hashes[0] } },
      read(2),
    ),
  },
  {
    name: 'lines-exchanged',
    spec: '7.3.7',
    files: [toFile([rows[0], rows[2], rows[1], rows[3]])],
    expect: tampered(
      'prev_hash_mismatch',
      { at: [0, 2], line: 2, evidence: { want: hashes[0], got: hashes[1] } },
      read(1),
    ),
  },
  {
    name: 'intent-changed',
    spec: '7.3.7',
    files: [toFile([rows[0], begin(1).intent('call-2').rows[1] ?? rows[1], rows[2], rows[3]])],
    expect: tampered(
      'prev_hash_mismatch',
      {
        at: [0, 2],
        line: 3,
        evidence: { want: begin(1).intent('call-2').lastHash, got: hashes[1] },
      },
      read(2),
    ),
  },
  {
    name: 'seq-repeated',
    spec: '7.3.7',
    files: [begin(2).outcome('call-1', { seq: 1 }).close().file],
    expect: tampered('seq_mismatch', { at: [0, 1], line: 3, evidence: { want: 2, got: 1 } }, read(2)),
  },
  {
    name: 'seq-goes-back-to-0',
    spec: '7.3.7',
    files: [begin(3).close({ seq: 0 }).file],
    expect: tampered('seq_mismatch', { at: [0, 0], line: 4, evidence: { want: 3, got: 0 } }, read(3)),
  },
  {
    name: 'seq-mismatch-goes-before-a-bad-signature',
    spec: '7.3',
    files: [begin(2).outcome('call-1', { seq: 1, signature: undefined }).file],
    expect: tampered('seq_mismatch', { at: [0, 1], line: 3, evidence: { want: 2, got: 1 } }, read(2)),
  },
  ...(['intent', 'outcome', 'decision', 'close'] as const).map((type): ChainCase => ({
    name: `line-after-close-${type}`,
    spec: '7.3.7',
    files: [begin().line(type, {}, type !== 'intent').file],
    expect: tampered('line_after_close', { at: [0, 4], line: 5, evidence: { line_type: type } }, read(4)),
  })),
  {
    name: 'schema-version-missing',
    spec: '7.3.8',
    files: [begin(1).intent('call-1', { schema_version: undefined }).outcome().close().file],
    expect: tampered('schema_version_missing', { at: [0, 1], line: 2 }, read(1)),
  },
]

/** Whole files in a wrong order. Each one alone is good. */
const files: readonly ChainCase[] = [
  {
    name: 'files-twice',
    spec: '7.3.7',
    files: [one.file, one.file],
    expect: tampered(
      'session_tail_mismatch',
      { ...at10, evidence: { want: hashes[3], got: 'absent' } },
      read(4),
    ),
  },
  {
    name: 'files-out-of-order',
    spec: '7.3.7',
    files: [secondFile, one.file],
    expect: tampered(
      'session_tail_mismatch',
      { at: [2, 0], line: 5, evidence: { want: sha256Hex(two.rows[7] ?? ''), got: 'absent' } },
      { keys: [other.keyId], first: 1, coverage: [1, 3], lines: 4, sessions: 1 },
    ),
  },
  {
    name: 'files-with-a-gap',
    spec: '7.3.7',
    files: [one.file, toFile(begin().session(other).session(ours).rows.slice(8))],
    expect: tampered(
      'session_tail_mismatch',
      { ...at10, evidence: { want: hashes[3], got: sha256Hex(two.rows[7] ?? '') } },
      read(4),
    ),
  },
  {
    name: 'files-of-two-tenants',
    spec: '7.3.7',
    files: [one.file, toFile(new Forge({ chain: 'harbour' }).session().session().rows.slice(4))],
    expect: tampered(
      'session_tail_mismatch',
      {
        ...at10,
        evidence: { want: hashes[3], got: new Forge({ chain: 'harbour' }).session().lastHash },
      },
      read(4),
    ),
  },
  {
    name: 'files-cut-inside-a-line',
    spec: '7.1.1',
    files: [one.file.subarray(0, rows[0].length + 20), one.file.subarray(rows[0].length + 20)],
    expect: tampered('malformed_line', { line: 2 }, read(1)),
  },
  {
    name: 'files-second-empty',
    spec: '7.1',
    files: [one.file, bytesOf('')],
    expect: verified(read(4)),
  },
]

export const linkChains: readonly ChainCase[] = [...opens, ...pins, ...moved, ...files]
