/**
 * What `aegis pull` says at its end, for people and as JSON: what came, the verdict of src/verify on everything that is
 * held, and the head to keep. Text of a deployment is never shown as it is.
 */
import { exitCodeOf, toJson, toText } from '../../verify/index.ts'
import { exitCodes } from '../exit-codes.ts'
import { printable } from '../terminal.ts'
import type { PullResult } from './chain-pull.ts'
import type { PullFolder } from './folder.ts'
import { headName, liveName } from './heads.ts'

/** An open Session that is good so far is what `--live` asked for, and no failure. */
export function pullExitCode(result: PullResult): number {
  if (result.stop !== undefined) return result.stop.exitCode
  const { report } = result
  if (isOpenByNature(result) && result.unreached === undefined) return exitCodes.ok
  return exitCodeOf(report)
}

function isOpenByNature({ report, live }: PullResult): boolean {
  return (
    live !== undefined && report.verdict === 'indeterminate' && report.finding.reason === 'unanchored_tail'
  )
}

export function toPullText(result: PullResult, folder: PullFolder): string {
  const lines = [whatCame(result, folder)]
  const { stop, unpublished } = result
  if (stop !== undefined) lines.push(`stopped at ${stop.at}: ${stop.reason}: ${stop.message}`)
  // Where the deployment contradicts itself, what is kept has a verdict that is not the verdict on this pull.
  const verdict = stop === undefined || stop.reason === 'not_verified' ? toText(result.report) : ''
  const more = [
    ...(stop === undefined ? [] : [`kept ${describeKept(result)}`]),
    ...explain(result),
    ...(unpublished === undefined || unpublished.sessions === 0
      ? []
      : [`${count(unpublished.sessions, 'closed Session')} not published yet, says the deployment`]),
    ...(unpublished?.stopped === true
      ? ['The deployment says that its publishing has stopped: its archive holds other bytes.']
      : []),
    ...(result.head === undefined
      ? []
      : [`head ${headText(result)}`, `To pin next time: --head ${folder.pathOf(headName)}`]),
  ]
  return `${lines.map(printable).join('\n')}\n${verdict}${more.map((line) => `${printable(line)}\n`).join('')}`
}

function whatCame({ downloaded, segments, live, stop }: PullResult, folder: PullFolder): string {
  const came = [
    ...(downloaded.segments > 0
      ? [`${count(downloaded.segments, 'segment')} (${String(downloaded.bytes)} bytes)`]
      : []),
    ...(downloaded.policies > 0 ? [count(downloaded.policies, 'policy set')] : []),
    ...(live === undefined ? [] : [`${count(live.lines, 'unpublished Line')} (${liveName})`]),
  ]
  const held = `${folder.path} holds ${count(segments, 'segment')}`
  if (downloaded.segments > 0 || downloaded.policies > 0) return `pulled ${came.join(', ')}; ${held}`
  if (stop !== undefined) return `pulled nothing; ${held}`
  const upToDate = segments === 0 ? 'nothing is published yet' : 'up to date'
  return came.length === 0 ? `${upToDate}; ${held}` : `${upToDate}; pulled ${came.join(', ')}; ${held}`
}

function describeKept({ segments }: PullResult): string {
  if (segments === 0) return 'nothing'
  return segments === 1 ? 'session 0' : `sessions 0 to ${String(segments - 1)}`
}

function explain(result: PullResult): string[] {
  const { live, report, stop, unreached } = result
  if (stop !== undefined) return []
  const lines: string[] = []
  if (isOpenByNature(result)) {
    lines.push(
      'The open Session has no close yet, which is what unanchored_tail says of every open Session.',
      'Its signed Lines are as good as any; that there are no more of them, nothing proves.',
    )
  } else if (live !== undefined && live.lines === 0) {
    lines.push('No Session is open: there is nothing beyond the last segment.')
  }
  if (unreached !== undefined && !(unreached.open && live === undefined)) {
    const { session_index: session, seq } = unreached.head
    lines.push(
      `What is held is not reached: session ${String(session)} seq ${String(seq)} (${unreached.source}).` +
        (live === undefined ? ' If its Session is still open, --live shows it.' : ''),
    )
  }
  if (report.verdict !== 'tampered' && !report.trust.pinned) {
    lines.push('No key was pinned: whoever answered could have made all of this.')
  }
  return lines
}

function headText({ head }: PullResult): string {
  if (head === undefined) return 'none'
  return `${String(head.sessionIndex)}:${String(head.seq)}:${head.lineHash}`
}

/** One object; its members are API (docs/cli.md). */
export function toPullJson(result: PullResult): Readonly<Record<string, unknown>> {
  const { downloaded, segments, head, live, stop, unpublished } = result
  return {
    up_to_date: stop === undefined && downloaded.segments === 0 && downloaded.policies === 0,
    segments,
    downloaded,
    stopped: stop === undefined ? null : { reason: stop.reason, at: stop.at, detail: stop.message },
    head: head === undefined ? null : headText(result),
    live: live ?? null,
    unpublished:
      unpublished === undefined ? null : { sessions: unpublished.sessions, stopped: unpublished.stopped },
    report: JSON.parse(toJson(result.report)) as unknown,
  }
}

function count(number: number, noun: string): string {
  return `${String(number)} ${noun}${number === 1 ? '' : 's'}`
}
