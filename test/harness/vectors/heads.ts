/** Heads that come as a file with one signed Line (SPEC.md §7.8): which are usage errors, and what the others show. */
import { Forge, type Members } from '../forge.ts'
import { begin, other, ours, read } from './chain-case.ts'
import { type ExpectedReport, indeterminate, tampered, verified } from './expected-report.ts'

export interface HeadCase {
  readonly name: string
  /** The section and step that decide it. */
  readonly spec: string
  readonly files: readonly Uint8Array[]
  /** Text of the file that `--head` names. */
  readonly head: string
  readonly options?: {
    readonly keys?: readonly string[]
    /** The text of the file. */
    readonly trust_store?: string
  }
  /** A usage error has exit code 1 and no report. */
  readonly expect: ExpectedReport
}

const usageError: ExpectedReport = { exit: 1, text: '', json: '' }
const one = begin(4)
const later = begin(4).session()
const complete = verified(read(4, { completeTo: [0, 3] }))
const zeros = { signature: '0'.repeat(128) }
const pinned = { keys: [ours.publicKey] }

function row(forge: Forge, at: number): string {
  return Buffer.from(forge.rows[at] ?? '').toString()
}

/** The `close` of the Chain with other members, signed again. */
function close(over: Members): string {
  return row(begin(3).close(over), 3)
}

const last = row(one, 3)

export const headCases: readonly HeadCase[] = [
  { name: 'last-line', spec: '7.8', files: [one.file], head: `${last}\n`, expect: complete },
  { name: 'last-line-without-lf', spec: '7.8', files: [one.file], head: last, expect: complete },
  {
    name: 'inside',
    spec: '7.8',
    files: [one.file],
    head: row(one, 2),
    options: pinned,
    expect: verified(read(4, { completeTo: [0, 2], pinned: [ours.keyId] })),
  },
  {
    name: 'open-as-head',
    spec: '7.8',
    files: [one.file],
    head: row(one, 0),
    expect: verified(read(4, { completeTo: [0, 0] })),
  },
  {
    name: 'before-head',
    spec: '7.4.4',
    files: [one.file],
    head: row(later, 7),
    options: pinned,
    expect: indeterminate(
      'before_head',
      { at: [0, 3], line: 4, evidence: { session_index: 1, seq: 3 } },
      read(4, { pinned: [ours.keyId] }),
    ),
  },
  {
    // Nothing here can tell: the input has no such Session, and no key is pinned.
    name: 'before-head-with-a-bad-signature',
    spec: '7.8.3',
    files: [one.file],
    head: row(begin(4).open().intent().outcome().close(zeros), 7),
    expect: indeterminate(
      'before_head',
      { at: [0, 3], line: 4, evidence: { session_index: 1, seq: 3 } },
      read(4),
    ),
  },
  {
    name: 'forked-by-the-same-key',
    spec: '7.3.12',
    files: [one.file],
    head: close({ closed_at: 7 }),
    options: pinned,
    expect: tampered(
      'forked',
      {
        at: [0, 3],
        line: 4,
        evidence: { want: begin(3).close({ closed_at: 7 }).lastHash, got: one.lastHash },
      },
      read(3, { coverage: [0, 3], pinned: [ours.keyId] }),
    ),
  },
  ...(
    [
      ['empty', '', '7.8'],
      ['two-lf', `${last}\n\n`, '7.8'],
      ['two-lines', `${row(one, 2)}\n${last}\n`, '7.8'],
      ['cr-lf', `${last}\r\n`, '7.8'],
      ['not-canonical', last.replace(',', ', '), '7.8'],
      ['torn', last.slice(0, -1), '7.8'],
      ['intent', row(one, 1), '7.8'],
      ['unknown-type', row(begin(3).line('x', {}, true), 3), '7.8'],
      ['version-3', close({ schema_version: 3 }), '7.8'],
      ['session-index-absent', close({ session_index: undefined }), '7.8'],
      ['chain-id-integer', close({ chain_id: 7 }), '7.8'],
      ['unsigned', close({ signature: undefined }), '7.8'],
      ['another-chain', close({ chain_id: 'other' }), '7.8.2'],
      ['chain-id-absent', close({ chain_id: undefined }), '7.8.2'],
      ['bad-signature', close(zeros), '7.8.3'],
      ['key-id-of-another', close({ key_id: other.keyId }), '7.8.3'],
    ] as const
  ).map(([name, head, spec]) => ({
    name: `refused-${name}`,
    spec,
    files: [one.file],
    head,
    expect: usageError,
  })),
  {
    name: 'refused-signed-by-another-key-before-anything-is-read',
    spec: '7.8.1',
    files: [new Uint8Array(0)],
    head: row(new Forge({ key: other }).session(), 3),
    options: pinned,
    expect: usageError,
  },
  {
    name: 'refused-pinned-key-outside-its-sessions',
    spec: '7.8.1',
    files: [one.file],
    head: last,
    options: { trust_store: `{"keys":[{"public_key":"${ours.publicKey}","first_session":1}]}` },
    expect: usageError,
  },
  {
    name: 'refused-another-chain-although-the-file-is-tampered-behind-its-open',
    spec: '7.8.2',
    files: [begin(2).outcome('call-1', zeros).file],
    head: close({ chain_id: 'other' }),
    expect: usageError,
  },
  {
    name: 'another-chain-does-not-come-up-in-a-file-whose-open-is-tampered',
    spec: '7.8',
    files: [new Forge().open(zeros).file],
    head: close({ chain_id: 'other' }),
    expect: tampered('bad_signature', { at: [0, 0], line: 1, evidence: { source: 'invalid' } }),
  },
]
