/** Heads, given as files, that are right in all but one point (SPEC.md §7.8), and first Sessions that are not 0. */
import { toFile } from '../harness/chain.ts'
import { Forge, type ForgeOptions, type Members, forgeKey } from '../harness/forge.ts'
import type { Input } from './inputs.ts'

const ours = forgeKey(7)
const theirs = forgeKey(9)

/** A `close` as a head: of a Session of its own, under any key, saying anything. */
function headOf(over: Members, options: ForgeOptions = {}): Uint8Array {
  const rows = new Forge({ key: ours, firstSession: 1, ...options }).outcome('call-1', over).rows
  return rows[0] ?? new Uint8Array(0)
}

export function headInputs(): Input[] {
  const session = new Forge({ key: ours }).session()
  const sessions = new Forge({ key: ours }).session().session(theirs)
  const keys = [ours.publicKey, theirs.publicKey]
  const store = (range: object): Uint8Array =>
    Buffer.from(JSON.stringify({ keys: [{ public_key: ours.publicKey, ...range }] }))
  const heads: readonly (readonly [string, Uint8Array])[] = [
    ['as it should be', headOf({ seq: 2 })],
    ['of another Chain', headOf({ chain_id: 'other' })],
    ['without a Chain', headOf({ chain_id: undefined })],
    ['of the second Session', headOf({ session_index: 1 })],
    ['of a later Session', headOf({ session_index: 5 })],
    ['of a later Session of another Chain', headOf({ chain_id: 'other', session_index: 5 })],
    ['under another key', headOf({}, { key: theirs })],
    ['under another key, of the second Session', headOf({ session_index: 1 }, { key: theirs })],
    ['under another key, of a later Session', headOf({ session_index: 5 }, { key: theirs })],
    ['with the key_id of another key', headOf({ key_id: theirs.keyId })],
    ['with a key_id in capitals', headOf({ key_id: ours.keyId.toUpperCase() })],
    ['with no key_id', headOf({ key_id: undefined })],
    ['with a short key_id, of a later Session', headOf({ key_id: '', session_index: 5 })],
    ['with a wrong signature', headOf({ signature: '0'.repeat(128) })],
    ['with a wrong signature, of a later Session', headOf({ signature: '0'.repeat(128), session_index: 5 })],
    ['with a short signature', headOf({ signature: '0'.repeat(126) })],
    ['with no signature', headOf({ signature: undefined })],
    ['of version 3', headOf({ schema_version: 3 })],
    ['of no version', headOf({ schema_version: undefined })],
    ['of an unknown type', headOf({ line_type: 'note' })],
    ['of type intent', headOf({ line_type: 'intent' })],
    ['of type checkpoint', headOf({ line_type: 'checkpoint' })],
    ['with a Session in words', headOf({ session_index: 'one' })],
    ['with no Session', headOf({ session_index: undefined })],
  ]
  const chains: readonly (readonly [string, Uint8Array])[] = [
    ['one Session', session.file],
    ['two Sessions', sessions.file],
    ['the second Session', toFile(sessions.rows.slice(4))],
    ['no first signature', new Forge({ key: ours }).open({ signature: '0'.repeat(128) }).file],
    ['a broken end', Buffer.concat([sessions.file, Buffer.from('x\nx\n')])],
    ['no Lines', new Uint8Array(0)],
    ['no chain_id', new Forge({ key: ours, chain: null }).session().file],
  ]
  const pins: readonly (readonly [string, Pick<Input, 'keys' | 'trustStore'>])[] = [
    ['no pins', {}],
    ['both keys', { keys }],
    ['our key', { keys: [ours.publicKey] }],
    ['their key', { keys: [theirs.publicKey] }],
    ['our key from Session 1', { trustStore: store({ first_session: 1 }) }],
    ['our key up to Session 1', { trustStore: store({ last_session: 1 }) }],
    [
      'our key from Session 1, and theirs',
      { keys: [theirs.publicKey], trustStore: store({ first_session: 1 }) },
    ],
  ]
  return heads.flatMap(([what, head]) =>
    chains.flatMap(([chain, file]) =>
      pins.map(([pinned, options]) => ({
        name: `head ${what}; ${chain}; ${pinned}`,
        files: [file],
        head,
        ...options,
      })),
    ),
  )
}

/** First `open`s with every pair of index and tail. */
export function firstSessionInputs(): Input[] {
  const tails = [undefined, 'f'.repeat(64), 'f'.repeat(63), 0, '']
  const indexes = [undefined, 0, 1, 2, 9007199254740991, '1', true]
  return indexes.flatMap((session_index, at) =>
    tails.map((prev_session_tail, tail) => {
      const forge = new Forge({ key: ours, chain: null }).open({ session_index, prev_session_tail }).close()
      return { name: `first Session ${String(at)}, tail ${String(tail)}`, files: [forge.file] }
    }),
  )
}
