/**
 * What bench/tamper.ts does to a record, each in the terms of two records: our Chain, which is a file of Lines, and the
 * audit of a peer, which is an array of entries in JSON. An alteration that a record has no member for is absent there.
 */
import { createHash } from 'node:crypto'
import {
  type ForgeKey,
  type Members,
  forgeKey,
  sha256Hex,
  signingInput,
  zeros,
} from '../test/harness/forge.ts'
import { toFile } from '../test/harness/chain.ts'
import { encodeCanonical } from '../src/record/index.ts'
import type { AuditEntry } from './governance-sdk.mjs'

export interface ChainInput {
  readonly rows: readonly Uint8Array[]
  readonly file: Uint8Array
}

/** The bytes to judge, and the key to pin where it is not the writer's. */
export interface AlteredChain {
  readonly file: Uint8Array
  readonly pinned?: string
}

export interface Alteration {
  readonly name: string
  readonly chain: (input: ChainInput) => AlteredChain
  /** On the export of the peer's audit; absent where its record has nothing of the kind. */
  readonly audit?: (entries: readonly AuditEntry[], text: string) => string
  /** In place of the peer's verdict where {@link audit} is absent. */
  readonly without?: string
}

/** Nobody's key: not the writer's. */
const strangersKey = forgeKey(0x55)

/** Twenty, by somebody who changes the file and nothing else; the fork alone is made with care, by another writer. */
export const edits: readonly Alteration[] = [
  {
    name: 'a value edited (the agent of an outcome; of an entry)',
    chain: editLine('outcome', (members) => ({ ...members, agent_id: 'someone-else' })),
    audit: editEntry((entry) => ({ ...entry, agentId: 'someone-else' })),
  },
  {
    name: 'a decision’s reason edited',
    chain: editLine('outcome', (members) => ({ ...members, policy: { reason: 'other', status: 'denied' } })),
    without: 'records no reason',
  },
  {
    name: 'a `seq` edited',
    chain: editLine('outcome', (members) => ({ ...members, seq: Number(members['seq']) + 1 })),
    without: 'records no number',
  },
  {
    name: 'the tail removed (the last two)',
    chain: ({ rows }) => ofRows(rows.slice(0, -2)),
    audit: ofEntries((entries) => entries.slice(0, -2)),
  },
  {
    name: 'two removed from the middle',
    chain: ({ rows }) => ofRows(rows.toSpliced(middleOf(rows), 2)),
    audit: ofEntries((entries) => entries.toSpliced(middleOf(entries), 2)),
  },
  {
    name: 'the first removed',
    chain: ({ rows }) => ofRows(rows.slice(1)),
    audit: ofEntries((entries) => entries.slice(1)),
  },
  {
    name: 'two neighbours swapped',
    chain: ({ rows }) => ofRows(swapped(rows)),
    audit: ofEntries(swapped),
  },
  {
    name: 'one written twice',
    chain: ({ rows }) => ofRows(doubled(rows)),
    audit: ofEntries(doubled),
  },
  {
    name: 'one byte cut out of a value',
    chain: ({ rows }) =>
      ofRows(changed(rows, findLine(rows, 'outcome'), (row) => cutOut(row, '"agent_id":"'))),
    audit: (entries, text) =>
      text.replace(`"action": "${entries[0]?.action ?? ''}`, (found) => found.slice(0, -1)),
  },
  {
    name: 'cut off in the middle of a line',
    chain: ({ rows }) => {
      const kept = rows.slice(0, middleOf(rows))
      return { file: toFile(kept).slice(0, -40) }
    },
    audit: (_, text) => text.slice(0, text.lastIndexOf('"action"', text.length / 2) + 12),
  },
  {
    name: 'line ends turned into CRLF',
    chain: ({ file }) => ofText(textOf(file).replaceAll('\n', '\r\n')),
    audit: (_, text) => text.replaceAll('\n', '\r\n'),
  },
  {
    name: 'a byte order mark in front',
    chain: ({ file }) => ofText(`\ufeff${textOf(file)}`),
    audit: (_, text) => `\ufeff${text}`,
  },
  { name: 'an empty file', chain: () => ({ file: new Uint8Array(0) }), audit: () => '' },
  {
    name: 'nothing changed, but written by another than the reader trusts (wrong key)',
    chain: ({ file }) => ({ file, pinned: strangersKey.publicKey }),
    without: 'has no keys',
  },
  {
    name: 'a fork: one value changed, all behind it linked and signed again by another key',
    chain: ({ rows }) => ofRows(relinked(edited(rows, findLine(rows, 'outcome')), strangersKey)),
    audit: ofEntries((entries) => rehashed(editMiddle(entries))),
  },
  {
    name: 'a call renamed',
    chain: editLine('intent', (members) => ({ ...members, tool_id: 'files.read' })),
    audit: editEntry((entry) => ({ ...entry, action: 'files.read' })),
  },
  {
    name: 'one put in between, linked to the one before',
    chain: ({ rows }) => {
      const at = middleOf(rows)
      const members = membersOf(rows[findLine(rows, 'intent')])
      const before = rows[at - 1]
      const row = {
        ...members,
        call_id: 'call_inserted',
        prev_hash: hashOf(before),
        seq: Number(membersOf(before)['seq']) + 1,
      }
      return ofRows(rows.toSpliced(at, 0, canonical(row)))
    },
    audit: ofEntries((entries) => {
      const at = middleOf(entries)
      const entry = { ...entryAt(entries, at), previousHash: entryAt(entries, at - 1).hash }
      return entries.toSpliced(at, 0, { ...entry, hash: entryHash(entry) })
    }),
  },
  {
    name: 'a space put in (no meaning changed)',
    chain: ({ file }) => ofText(textOf(file).replace('":', '": ')),
    audit: (_, text) => text.replace('": ', '":  '),
  },
  {
    name: 'members in another order (no meaning changed)',
    chain: ({ rows }) =>
      ofRows(
        changed(rows, findLine(rows, 'outcome'), (row) =>
          Buffer.from(JSON.stringify(Object.fromEntries(Object.entries(membersOf(row)).reverse()))),
        ),
      ),
    audit: ofEntries((entries) =>
      entries.with(
        1,
        Object.fromEntries(Object.entries(entryAt(entries, 1)).reverse()) as unknown as AuditEntry,
      ),
    ),
  },
  {
    name: 'two Sessions joined that do not follow each other (two exports)',
    chain: ({ rows }) => {
      const [first = [], , third = []] = sessionsOf(rows)
      return ofRows([...first, ...third])
    },
    // Every logger begins anew: an export behind another is what two runs of a process leave.
    audit: ofEntries((entries) => [...entries, ...entries.slice(0, 3)]),
  },
]

/** By somebody who knows the format, computes again all that needs no key, and has none. */
export const rewrites: readonly Alteration[] = [
  {
    name: 'a value edited, every later link computed again',
    chain: ({ rows }) => ofRows(relinked(edited(rows, findLine(rows, 'outcome')))),
    audit: ofEntries((entries) => rehashed(editMiddle(entries))),
  },
  {
    name: 'a whole Call removed (an entry), every later link computed again',
    chain: ({ rows }) => ofRows(relinked(rows.toSpliced(findLine(rows, 'intent'), 2))),
    audit: ofEntries((entries) => rehashed(entries.toSpliced(middleOf(entries), 1))),
  },
  {
    name: 'one added behind the end, rightly linked',
    chain: ({ rows }) => {
      const members = membersOf(rows[findLine(rows, 'open')])
      const session = Number(membersOf(rows.at(-1))['session_index']) + 1
      const open = { ...members, prev_session_tail: hashOf(rows.at(-1)), session_index: session }
      return ofRows([...rows, canonical(open)])
    },
    audit: ofEntries((entries) => rehashed([...entries, { ...entryAt(entries, 0), action: 'files.read' }])),
  },
  {
    name: 'the oldest removed: the whole first Session (entries, links computed again)',
    chain: ({ rows }) => ofRows(sessionsOf(rows).slice(1).flat()),
    audit: ofEntries((entries) => rehashed(entries.slice(3))),
  },
  {
    name: 'the newest removed: the whole last Session (entries)',
    chain: ({ rows }) => ofRows(sessionsOf(rows).slice(0, -1).flat()),
    audit: ofEntries((entries) => entries.slice(0, -3)),
  },
  {
    name: 'everything removed: a well-formed record of nothing',
    chain: () => ({ file: new Uint8Array(0) }),
    audit: ofEntries(() => []),
  },
]

function ofRows(rows: readonly Uint8Array[]): AlteredChain {
  return { file: toFile(rows) }
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('utf8')
}

function ofText(text: string): AlteredChain {
  return { file: Buffer.from(text) }
}

function middleOf(list: readonly unknown[]): number {
  return Math.floor(list.length / 2)
}

function swapped<T>(list: readonly T[]): T[] {
  const at = middleOf(list)
  return [...list.slice(0, at), ...list.slice(at, at + 2).reverse(), ...list.slice(at + 2)]
}

function doubled<T>(list: readonly T[]): T[] {
  const at = middleOf(list)
  return [...list.slice(0, at + 1), ...list.slice(at)]
}

function membersOf(row: Uint8Array | undefined): Members {
  if (row === undefined) throw new Error('the Chain has no such Line')
  return JSON.parse(textOf(row)) as Members
}

function canonical(members: Members): Uint8Array {
  return encodeCanonical(members as Parameters<typeof encodeCanonical>[0])
}

function hashOf(row: Uint8Array | undefined): string {
  if (row === undefined) throw new Error('the Chain has no such Line')
  return sha256Hex(row)
}

/** In the second half, so that there is something before it and behind it. */
function findLine(rows: readonly Uint8Array[], type: string): number {
  const at = rows.findIndex(
    (row, index) => (type === 'open' || index >= middleOf(rows)) && membersOf(row)['line_type'] === type,
  )
  if (at < 0) throw new Error(`the Chain has no ${type}`)
  return at
}

function changed(
  rows: readonly Uint8Array[],
  at: number,
  change: (row: Uint8Array) => Uint8Array,
): readonly Uint8Array[] {
  return rows.map((row, index) => (index === at ? change(row) : row))
}

function editLine(type: string, edit: (members: Members) => Members): Alteration['chain'] {
  return ({ rows }) => ofRows(changed(rows, findLine(rows, type), (row) => canonical(edit(membersOf(row)))))
}

function edited(rows: readonly Uint8Array[], at: number): readonly Uint8Array[] {
  return changed(rows, at, (row) => canonical({ ...membersOf(row), agent_id: 'someone-else' }))
}

/** The byte behind this text goes. */
function cutOut(row: Uint8Array, behind: string): Uint8Array {
  const at = Buffer.from(row).indexOf(behind) + behind.length
  if (at < behind.length) throw new Error(`a Line without ${behind}`)
  return Buffer.concat([row.subarray(0, at), row.subarray(at + 1)])
}

function sessionsOf(rows: readonly Uint8Array[]): readonly Uint8Array[][] {
  const sessions: Uint8Array[][] = []
  for (const row of rows) {
    if (membersOf(row)['line_type'] === 'open') sessions.push([])
    sessions.at(-1)?.push(row)
  }
  return sessions
}

/** Positions and links made right again; with a key, also its signature on every signed Line. */
function relinked(rows: readonly Uint8Array[], key?: ForgeKey): readonly Uint8Array[] {
  const made: Uint8Array[] = []
  let seq = 0
  for (const row of rows) {
    const members = membersOf(row)
    const last = made.at(-1)
    const opens = members['line_type'] === 'open'
    seq = opens ? 0 : seq + 1
    const tail = last === undefined ? undefined : hashOf(last)
    const linked: Members = {
      ...members,
      seq,
      prev_hash: opens ? zeros : (tail ?? zeros),
      ...(opens && tail !== undefined ? { prev_session_tail: tail } : {}),
      ...(opens && key !== undefined ? { public_key: key.publicKey } : {}),
      ...(key !== undefined && 'signature' in members ? { key_id: key.keyId } : {}),
    }
    const signature = key !== undefined && 'signature' in members ? key.sign(signingInput(linked)) : undefined
    made.push(canonical(signature === undefined ? linked : { ...linked, signature }))
  }
  return made
}

function ofEntries(
  change: (entries: readonly AuditEntry[]) => readonly AuditEntry[],
): NonNullable<Alteration['audit']> {
  return (entries) => JSON.stringify(change(entries), undefined, 2)
}

function entryAt(entries: readonly AuditEntry[], at: number): AuditEntry {
  const entry = entries[at]
  if (entry === undefined) throw new Error('the audit has no such entry')
  return entry
}

function editEntry(edit: (entry: AuditEntry) => AuditEntry): NonNullable<Alteration['audit']> {
  return ofEntries((entries) => entries.with(middleOf(entries), edit(entryAt(entries, middleOf(entries)))))
}

function editMiddle(entries: readonly AuditEntry[]): readonly AuditEntry[] {
  const at = middleOf(entries)
  return entries.with(at, { ...entryAt(entries, at), agentId: 'someone-else' })
}

/** Every link and hash computed again from the first entry on: it takes no secret. */
function rehashed(entries: readonly AuditEntry[]): readonly AuditEntry[] {
  const made: AuditEntry[] = []
  for (const entry of entries) {
    const linked = { ...entry, previousHash: made.at(-1)?.hash ?? zeros }
    made.push({ ...linked, hash: entryHash(linked) })
  }
  return made
}

/** As the package computes it. */
function entryHash({ timestamp, agentId, action, decision, previousHash }: AuditEntry): string {
  const payload = JSON.stringify({ timestamp, agentId, action, decision, previousHash })
  return createHash('sha256').update(payload).digest('hex')
}
