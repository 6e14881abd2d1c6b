/**
 * What verification says: three verdicts, their reasons, and the two forms of a report (SPEC.md §7). A report is a pure
 * function of the input bytes, the pins and the head; no clock, no path. No character of a file reaches a text report
 * unescaped, so that no file can write a line of it.
 */
import type { KeyId } from '../record/index.ts'

export const tamperedReasons = [
  'line_too_long',
  'not_utf8',
  'malformed_line',
  'not_an_object',
  'value_not_allowed',
  'not_canonical',
  'member_invalid',
  'seq_mismatch',
  'prev_hash_mismatch',
  'session_tail_mismatch',
  'chain_id_mismatch',
  'session_index_mismatch',
  'public_key_invalid',
  'untrusted_key',
  'line_before_open',
  'line_after_close',
  'schema_version_missing',
  'bad_signature',
  'key_id_mismatch',
  'second_decision',
  'forked',
] as const
export type TamperedReason = (typeof tamperedReasons)[number]

export const indeterminateReasons = [
  'seq_gap',
  'schema_version_unsupported',
  'checkpoint',
  'unknown_line_type',
  'empty_chain',
  'torn_final_line',
  'unanchored_tail',
  'before_head',
  'head_not_in_file',
] as const
export type IndeterminateReason = (typeof indeterminateReasons)[number]

export interface Position {
  readonly session_index: number
  readonly seq: number
}

export type Evidence = Readonly<Record<string, string | number>>

/** Why a Chain is not verified, and where. */
export interface Finding<R extends TamperedReason | IndeterminateReason> {
  readonly reason: R
  /** Absent where no position can be read. */
  readonly at?: Position
  /** 1-based over non-empty rows; 0 for an empty input. */
  readonly line: number
  readonly evidence?: Evidence
}

/** What is known of the input whatever the verdict. */
export interface Coverage {
  /** Of the Sessions whose `open` verified, in order of first use, at most {@link shownMax}. */
  readonly keyIds: readonly KeyId[]
  /** Further Sessions whose key is not among those shown. */
  readonly keyIdsMore: number
  readonly firstSession?: number
  /** The highest position that a valid signature covers. */
  readonly coverage?: Position
  readonly lines: number
  readonly sessions: number
}

/** Keys and Calls named in a report; more are counted. A hostile file must not make a report of any length. */
export const shownMax = 100

/** How the reader pinned keys. */
export interface TrustLabel {
  readonly pinned: boolean
  /** Sorted, without repeats. */
  readonly keyIds: readonly KeyId[]
}

interface EveryReport extends Coverage {
  readonly trust: TrustLabel
}

export type Report =
  | (EveryReport & { readonly verdict: 'verified'; readonly completeTo?: Position })
  | (EveryReport & { readonly verdict: 'tampered'; readonly finding: Finding<TamperedReason> })
  | (EveryReport & {
      readonly verdict: 'indeterminate'
      readonly finding: Finding<IndeterminateReason>
      readonly completeTo?: Position
      /** `call_id`s of intents behind the last valid signature, cut for display. */
      readonly inFlight: readonly string[]
      readonly inFlightMore: number
    })

/** Process exit codes of `aegis verify` (SPEC.md §7): 2 is an unreadable input, which has no report. */
export function exitCodeOf(report: Report): 0 | 1 | 3 {
  switch (report.verdict) {
    case 'verified':
      return 0
    case 'tampered':
      return 1
    case 'indeterminate':
      return 3
  }
}

/** The text report: lines that end with LF. */
export function toText(report: Report): string {
  const lines = [verdictLine(report), ...report.keyIds.map((keyId) => `key_id ${keyId}`)]
  if (report.keyIdsMore > 0) lines.push(`key_id and ${String(report.keyIdsMore)} more`)
  if (report.firstSession !== undefined && report.firstSession !== 0) {
    lines.push(`starts session ${String(report.firstSession)}`)
  }
  lines.push(`coverage ${report.coverage === undefined ? 'none' : positionText(report.coverage)}`)
  if (report.verdict === 'indeterminate') {
    for (const callId of report.inFlight) lines.push(`in_flight ${escapeForReport(callId)}`)
    if (report.inFlightMore > 0) lines.push(`in_flight and ${String(report.inFlightMore)} more`)
  }
  const completeTo = report.verdict === 'tampered' ? undefined : report.completeTo
  lines.push(completeTo === undefined ? 'completeness not proven' : `complete to ${positionText(completeTo)}`)
  return lines.map((line) => `${line}\n`).join('')
}

function verdictLine(report: Report): string {
  if (report.verdict === 'verified') return `Verified (${trustText(report.trust)})`
  const { reason, at, line } = report.finding
  const verdict = report.verdict === 'tampered' ? 'Tampered' : 'Indeterminate'
  return `${verdict} ${reason} at ${at === undefined ? `line ${String(line)}` : positionText(at)}`
}

function trustText(trust: TrustLabel): string {
  if (!trust.pinned) return 'unpinned'
  return trust.keyIds.length === 1 ? `pinned to ${String(trust.keyIds[0])}` : 'pinned'
}

function positionText(at: Position): string {
  return `session ${String(at.session_index)} seq ${String(at.seq)}`
}

/** The JSON report, one line with LF; its members and their order are documented in SPEC.md §7. */
export function toJson(report: Report): string {
  const finding = report.verdict === 'verified' ? undefined : report.finding
  const completeTo = report.verdict === 'tampered' ? undefined : report.completeTo
  const tail = report.verdict === 'indeterminate' ? report : undefined
  const json = {
    verdict: report.verdict,
    reason: finding?.reason ?? null,
    at: finding?.at ?? null,
    line: finding?.line ?? null,
    evidence: finding?.evidence ?? null,
    trust: { pinned: report.trust.pinned, key_ids: report.trust.keyIds },
    key_ids: report.keyIds,
    key_ids_more: report.keyIdsMore,
    first_session: report.firstSession ?? null,
    coverage: report.coverage ?? null,
    in_flight: tail?.inFlight ?? [],
    in_flight_more: tail?.inFlightMore ?? 0,
    complete_to: completeTo ?? null,
    lines: report.lines,
    sessions: report.sessions,
  }
  return toAsciiJson(json)
}

/** One line of JSON and LF, ASCII throughout: no character of a file reaches a terminal or a log as it is. */
export function toAsciiJson(value: unknown): string {
  const escape = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  return `${JSON.stringify(value).replace(/[^\u0020-\u007e]/g, escape)}\n`
}

/** Code points of a file's value that a report shows. */
const shownCodePointsMax = 128

/** The first 128 code points of a value of the file. */
export function cutForReport(value: string): string {
  if (value.length <= shownCodePointsMax) return value
  // Two UTF-16 units a code point at most, so that a long value is not taken apart whole.
  return Array.from(value.slice(0, 2 * shownCodePointsMax))
    .slice(0, shownCodePointsMax)
    .join('')
}

/** A value of the file for a text report: `\` doubled, everything outside U+0021–U+007E as `\u{HEX}`. */
export function escapeForReport(value: string): string {
  let text = ''
  for (const character of cutForReport(value)) {
    const code = character.codePointAt(0) ?? 0
    if (character === '\\') text += '\\\\'
    else text += code >= 0x21 && code <= 0x7e ? character : `\\u{${code.toString(16)}}`
  }
  return text
}
