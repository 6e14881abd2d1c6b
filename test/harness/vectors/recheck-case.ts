/** What the vectors of a recheck are made of: a Chain of the desk, what it is rechecked under, and what is said of it. */
import { sha256Hex } from '../forge.ts'
import {
  type DeskCall,
  type PolicyObject,
  begin,
  denied,
  parked,
  recordedSet,
  requestOf,
} from './recheck-desk.ts'

export interface RecheckCase {
  readonly name: string
  readonly spec: string
  readonly files: readonly Uint8Array[]
  /** The bundle object of `--policy`; its text. */
  readonly policy?: string
  /** The files of `--policies`, by hash. */
  readonly policies?: Readonly<Record<string, string>>
  /** The files of `--envelopes`, by name. */
  readonly envelopes?: Readonly<Record<string, string>>
  readonly expect: { readonly exit: 0 | 1 | 3; readonly rows: readonly string[] }
}

/** `call-N session 0 seq S: …` */
export const row = (call: number, seq: number, verdict: string): string =>
  `call call-${String(call)} session 0 seq ${String(seq)}: ${verdict}`

interface Under {
  readonly under?: PolicyObject
  readonly envelopes?: Readonly<Record<string, string>>
  readonly spec?: string
}

export function one(
  name: string,
  file: Uint8Array,
  exit: 0 | 1 | 3,
  rows: readonly string[],
  { envelopes, spec = '10.2', under = recordedSet }: Under = {},
): RecheckCase {
  return {
    name,
    spec,
    files: [file],
    policy: under.text,
    ...(envelopes === undefined ? {} : { envelopes }),
    expect: { exit, rows },
  }
}

/** A single call, and what is said of it. */
export function call(name: string, given: DeskCall, verdict: string, more: Under = {}): RecheckCase {
  const exit = verdict.startsWith('unchanged') ? 0 : verdict.startsWith('indeterminate') ? 3 : 1
  return one(name, begin().call(given).end(), exit, [row(1, 2, verdict)], more)
}

export function envelope(given: DeskCall): Readonly<Record<string, string>> {
  return { [sha256Hex(requestOf(given))]: requestOf(given) }
}

export const small: DeskCall = { amount: 50 }
export const large: DeskCall = { amount: 150, status: parked, rules: ['large'] }
export const huge: DeskCall = { amount: 5_000, status: denied('policy_denied'), rules: ['never'] }
export const paid: DeskCall = { toolId: 'desk.pay', card: '4111', rules: ['pay'] }
export const looked: DeskCall = { toolId: 'desk.look', rules: ['reads'] }
