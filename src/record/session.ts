/**
 * The chain rule (SPEC.md §5): from a head and a draft to the next Line. This is the one place where `seq` and
 * `prev_hash` are computed, so a draft has no member for either. Not a store: the caller commits the bytes and the
 * head together, or neither.
 */
import { type KeyId, type LineHash, encodeHex, toDigest, toPrevHash, zeroPrevHash } from './digest.ts'
import { canonicalString, canonicalText } from './jcs.ts'
import type { JsonValue } from './json.ts'
import { type CloseLine, type DecisionLine, type IntentLine, type OutcomeLine, lineBytesMax } from './line.ts'
import type { Digester, Signer } from './signature.ts'
import { utf8 } from './utf8.ts'

/** Where a Chain stands: what the next Line is made from. Plain data, so that a store can hold it. */
export type ChainHead =
  | { readonly state: 'empty'; readonly chainId: string }
  | {
      /** `open`: the Session takes Lines. `closed`: only an `open` may follow. */
      readonly state: 'open' | 'closed'
      readonly chainId: string
      readonly sessionIndex: number
      /** Of the last Line. */
      readonly seq: number
      readonly lineHash: LineHash
      readonly keyId: KeyId
    }

type SetHere = 'schema_version' | 'seq' | 'prev_hash' | 'key_id' | 'signature' | 'chain_id' | 'session_index'
type Draft<T> = Omit<T, SetHere>
/** Our writer supplies these members although the format leaves them open. */
type With<T, K extends keyof T> = T & { readonly [P in K]-?: Exclude<T[P], undefined> }

export interface OpenDraft {
  readonly line_type: 'open'
  readonly opened_at: number
  readonly deployment: string
}
export type IntentDraft = Draft<IntentLine>
export type OutcomeDraft = With<Draft<OutcomeLine>, 'decided_at'>
export type DecisionDraft = With<Draft<DecisionLine>, 'decided_at' | 'approvers'>
export type CloseDraft = With<Draft<CloseLine>, 'closed_at' | 'calls'>
export type LineDraft = OpenDraft | IntentDraft | OutcomeDraft | DecisionDraft | CloseDraft

export type NextLine =
  | {
      readonly kind: 'line'
      /** The canonical Line, without an LF: what is stored, returned and hashed. */
      readonly bytes: Uint8Array
      readonly lineHash: LineHash
      readonly head: Exclude<ChainHead, { state: 'empty' }>
    }
  /** Longer than a Line may be; nothing happened. */
  | { readonly kind: 'too_long'; readonly bytes: number }

/**
 * The Line that follows `head`.
 *
 * @param signer the Session's key; for an `open` the key of the Session that begins.
 * @throws Error on a broken invariant: a Line before an `open` or behind a `close`, or a key that is not the Session's.
 */
export function nextLine(head: ChainHead, draft: LineDraft, signer: Signer, digester: Digester): NextLine {
  const opens = draft.line_type === 'open'
  if (!opens && head.state !== 'open')
    throw new Error(`a Line of type ${draft.line_type} needs an open Session`)
  if (!opens && head.state === 'open' && head.keyId !== signer.keyId) {
    throw new Error("the signer does not hold the Session's key")
  }
  const sessionIndex = head.state === 'empty' ? 0 : opens ? head.sessionIndex + 1 : head.sessionIndex
  const seq = opens || head.state === 'empty' ? 0 : head.seq + 1
  const members: Record<string, JsonValue | undefined> = {
    ...(draft as unknown as Record<string, JsonValue | undefined>),
    schema_version: 2,
    seq,
    prev_hash: opens || head.state === 'empty' ? zeroPrevHash : toPrevHash(head.lineHash),
  }
  if (opens) {
    members['public_key'] = encodeHex(signer.publicKey)
    if (head.state !== 'empty') members['prev_session_tail'] = head.lineHash
  }
  let bytes: Uint8Array
  if (draft.line_type === 'intent') {
    bytes = utf8(canonicalText(members as Record<string, JsonValue>))
  } else {
    members['chain_id'] = head.chainId
    members['session_index'] = sessionIndex
    members['key_id'] = signer.keyId
    bytes = signMembers(members, signer)
  }
  if (bytes.length > lineBytesMax) return { kind: 'too_long', bytes: bytes.length }
  const lineHash = toDigest<LineHash>(digester.sha256(bytes))
  const state = draft.line_type === 'close' ? 'closed' : 'open'
  const next = { state, chainId: head.chainId, sessionIndex, seq, lineHash, keyId: signer.keyId } as const
  return { kind: 'line', bytes, lineHash, head: next }
}

/**
 * Signs the canonical form without `signature` (SPEC.md §5.2) and puts the signature where its key sorts. Encoded once:
 * what is signed and what is stored are the same bytes, but for the member that is put between them.
 */
function signMembers(members: Readonly<Record<string, JsonValue | undefined>>, signer: Signer): Uint8Array {
  let before = ''
  let behind = ''
  for (const key of Object.keys(members).sort()) {
    const value = members[key]
    if (value === undefined) continue
    const member = `${canonicalString(key)}:${canonicalText(value, 1)}`
    if (key < 'signature') before += before === '' ? member : `,${member}`
    else behind += `,${member}`
  }
  const unsigned = utf8(`{${before}${behind}}`)
  // Each draft has a member that sorts in front: `chain_id`. So the signature always follows a comma.
  const member = utf8(`,"signature":"${encodeHex(signer.sign(unsigned))}"`)
  const cut = unsigned.length - utf8(`${behind}}`).length
  const signed = new Uint8Array(unsigned.length + member.length)
  signed.set(unsigned.subarray(0, cut))
  signed.set(member, cut)
  signed.set(unsigned.subarray(cut), cut + member.length)
  return signed
}
