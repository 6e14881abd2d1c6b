/**
 * Why a pull does not go on: what the deployment, or the folder, says against itself or against what is held. Not for
 * what could not be read, written or reached: that is a CliError.
 */
import { exitCodes } from '../exit-codes.ts'

export const stopReasons = [
  /** src/verify does not accept the Lines: the report says why and where. */
  'not_verified',
  'index_malformed',
  'index_not_dense',
  'segment_missing',
  'segment_length',
  'segment_sha256',
  'segment_session',
  'segment_tail',
  'foreign_chain',
  'forked',
  'before_head',
  'live_contradiction',
  'policy_missing',
  'policy_hash',
  'keys_malformed',
] as const
export type StopReason = (typeof stopReasons)[number]

/** Thrown inside a pull, and never out of it. */
export class PullStop extends Error {
  readonly reason: StopReason
  /** What it is about: `session 3`, `policy HASH`, `keys`, `index`. */
  readonly at: string
  readonly exitCode: number

  /** @param detail a sentence with the evidence, without anything that a server could have written at will. */
  constructor(reason: StopReason, at: string, detail: string, exitCode: number = exitCodes.failed) {
    super(detail)
    this.reason = reason
    this.at = at
    this.exitCode = exitCode
  }
}

export function atSession(sessionIndex: number): string {
  return `session ${String(sessionIndex)}`
}
