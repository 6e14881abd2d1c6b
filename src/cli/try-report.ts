/**
 * How `aegis try` tells what it found: rows as calls go by, then sums, as a table for people or as one JSON object. All
 * text of the file is escaped. Not for deciding: judged-calls.ts.
 */
import { escapeForReport, toAsciiJson } from '../verify/index.ts'
import { plural } from './bundle.ts'
import { jsonText } from './bundle-draft.ts'
import type { Judgement, RecordedCall, RecordedPlace } from './judged-calls.ts'
import { type Output, type Style, hasColour, printable, styled, utcText } from './terminal.ts'
import { type Decision, type Tally, decisions, toolIdOf } from './try-tally.ts'

export const decisionStyles: Readonly<Record<Decision, Style>> = {
  allow: 'green',
  require_approval: 'yellow',
  deny: 'red',
}

/** What the calls were asked under. */
export interface TrySetting {
  /** The bundle, or who else answered. */
  readonly judgedBy: string
  /** Of the bundle; each answer of an authorizer names its own. */
  readonly policySetHash?: string
  readonly sourceTrust: string
  /** What it was cut to, where the agent may claim less. */
  readonly effectiveTrust: string
  /** An authorizer has its own clock. */
  readonly nowMs?: number
  readonly reasons: ReadonlyMap<string, string>
  /** Characters of the longest `tool_id` expected. */
  readonly toolIdWidth: number
}

export interface TryReport {
  begin(): Promise<void>
  call(call: RecordedCall, judgement: Judgement): Promise<void>
  end(tally: Tally): Promise<void>
}

const decisionWidth = 16

/** @param withRows false: sums only. */
export function textReport(output: Output, setting: TrySetting, withRows: boolean): TryReport {
  const colour = hasColour(process.stdout)
  const bold = (text: string): string => styled(text, 'bold', colour)
  const width = Math.max(setting.toolIdWidth, 'action'.length)
  let calls = 0
  return {
    begin: async () => {
      const { effectiveTrust, nowMs, policySetHash, sourceTrust } = setting
      const cut = effectiveTrust === sourceTrust ? '' : ` (cut from ${sourceTrust} by the agent's trust_max)`
      const set = policySetHash === undefined ? '' : `  policy_set_hash ${policySetHash}`
      const now = nowMs === undefined ? '' : `, now ${utcText(nowMs)}`
      await output.write(
        `${bold(printable(setting.judgedBy))}${set}\nsource trust ${effectiveTrust}${cut}${now}\n\n`,
      )
      if (withRows) {
        await output.write(
          bold(`${'at'.padStart(6)}  ${'action'.padEnd(width)}  ${'decision'.padEnd(decisionWidth)}  why\n`),
        )
      }
    },
    call: async (call, judgement) => {
      calls += 1
      if (!withRows) return
      const { decision } = judgement
      const name = escapeForReport(toolIdOf(call, judgement))
      const shown = styled(decision.padEnd(decisionWidth), decisionStyles[decision], colour)
      await output.write(
        `${placeText(call, calls).padStart(6)}  ${name.padEnd(width)}  ${shown}  ${whyText(judgement)}\n`,
      )
    },
    end: async (tally) => {
      if (withRows && calls > 0) await output.write('\n')
      await output.write(sumsText(tally, setting, colour))
    },
  }
}

/** The line, or the number of the call where the file is one document. */
function placeText({ line }: RecordedPlace, number: number): string {
  return line === undefined ? `#${String(number)}` : String(line)
}

function whyText({ approval, code, matchedRules }: Judgement): string {
  const why = matchedRules.length === 0 ? code : matchedRules.join(', ')
  if (approval === undefined) return why
  const quorum = approval.quorum === 1 ? '' : `, ${String(approval.quorum)} of each`
  return `${why}  -> ${approval.groups.join(' and ')}${quorum}`
}

function sumsText(tally: Tally, setting: TrySetting, colour: boolean): string {
  const bold = (text: string): string => styled(text, 'bold', colour)
  const sums = decisions.map((decision) => {
    const text = `${String(tally.total[decision])} ${decision}`
    return tally.total[decision] === 0 ? text : styled(text, decisionStyles[decision], colour)
  })
  const lines = [`${bold(`${plural(tally.calls, 'call')} decided`)}: ${sums.join(', ')}`]
  const { byAction } = tally
  if (byAction.length > 0) {
    const names = byAction.map(([name]) => escapeForReport(name))
    const width = Math.max('action'.length, ...names.map((name) => name.length))
    const titles = decisions.map((decision) => decision.padStart(decisionWidth + 2)).join('')
    lines.push('', bold(`${'action'.padEnd(width)}${titles}`))
    for (const [at, [, counts]] of byAction.entries()) {
      const cells = decisions.map((decision) =>
        (counts[decision] === 0 ? '.' : String(counts[decision])).padStart(decisionWidth + 2),
      )
      lines.push(`${(names[at] ?? '').padEnd(width)}${cells.join('')}`)
    }
  }
  const reasons = [...tally.rules, ...tally.codes]
  if (reasons.length > 0) {
    const width = Math.max(...reasons.map(([name]) => name.length))
    lines.push('', bold('why'))
    for (const [name, count] of reasons) {
      const reason = setting.reasons.get(name)
      const row = `${String(count).padStart(6)}  ${name.padEnd(width)}`
      lines.push(reason === undefined ? row.trimEnd() : `${row}  ${printable(reason)}`)
    }
  }
  if (tally.repeats > 0) {
    lines.push(
      '',
      `${plural(tally.repeats, 'call')} stood in the file before, with the same id: not counted again`,
    )
  }
  if (tally.rowsWithoutCall > 0) lines.push('', `${plural(tally.rowsWithoutCall, 'row')} without a call`)
  return `${[...lines, ...unknownText(tally, colour), ...unreadText(tally, colour)].join('\n')}\n`
}

function unknownText(tally: Tally, colour: boolean): readonly string[] {
  const { catalogueDraft, refused, unknownTools } = tally
  const lines: string[] = []
  if (refused.size > 0) {
    lines.push('', styled('names that no tool can have', 'red', colour))
    for (const name of refused) lines.push(`  ${escapeForReport(name)}`)
  }
  if (unknownTools.length === 0) return lines
  lines.push('', styled('tools that the catalogue lacks', 'red', colour))
  for (const { action, alsoUnder, calls, tool } of unknownTools) {
    const meant =
      alsoUnder.length === 0
        ? ''
        : `; the catalogue has it under ${alsoUnder.join(', ')}: use --tool ${alsoUnder[0] ?? ''}`
    lines.push(`  ${escapeForReport(`${tool}.${action}`)}  ${plural(calls, 'call')}${meant}`)
  }
  lines.push('', 'entries for tools.json, guessed from these calls; review risk, mutates_state and args:')
  // Names of members are the file's: what a terminal would obey in them is written as JSON escapes.
  lines.push(asciiOnly(jsonText(catalogueDraft)).trimEnd())
  return lines
}

function unreadText(tally: Tally, colour: boolean): readonly string[] {
  if (tally.unread.length === 0) return []
  return [
    '',
    styled(`could not be read: ${String(tally.unread.length)}`, 'red', colour),
    ...tally.unread.map(({ line, path, why }) => {
      const place = [
        ...(line === undefined ? [] : [`line ${String(line)}`]),
        ...(path === '$' ? [] : [escapeForReport(path)]),
      ].join(' ')
      return `  ${place === '' ? 'the document' : place}: ${printable(why)}`
    }),
  ]
}

function asciiOnly(text: string): string {
  return text.replace(
    /[^\n\u0020-\u007e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** One JSON object, written as calls go by. */
export function jsonReport(output: Output, setting: TrySetting): TryReport {
  let first = true
  return {
    begin: async () => {
      const { effectiveTrust, nowMs, policySetHash } = setting
      const judged =
        policySetHash === undefined ? { url: setting.judgedBy } : { policy_set_hash: policySetHash }
      const now = nowMs === undefined ? {} : { now: nowMs }
      const head = { ...judged, source_trust: effectiveTrust, ...now }
      await output.write(`${toAsciiJson(head).trimEnd().slice(0, -1)},"calls":[`)
    },
    call: async (call, judgement) => {
      const row = toAsciiJson({
        line: call.line ?? null,
        path: call.path,
        tool_id: toolIdOf(call, judgement),
        decision: judgement.decision,
        code: judgement.code,
        reason: judgement.reason,
        matched_rules: judgement.matchedRules,
        ...judgement.approval,
        ...(judgement.receipt === undefined ? {} : { call_id: judgement.callId, receipt: judgement.receipt }),
      }).trimEnd()
      await output.write(`${first ? '' : ','}\n${row}`)
      first = false
    },
    end: async (tally) => {
      const rest = {
        summary: {
          calls: tally.calls,
          ...tally.total,
          by_action: Object.fromEntries(tally.byAction),
          by_rule: Object.fromEntries(tally.rules),
          by_code: Object.fromEntries(tally.codes),
          repeats: tally.repeats,
          rows_without_call: tally.rowsWithoutCall,
        },
        unknown_tools: tally.unknownTools.map(({ action, alsoUnder, calls, tool }) => ({
          tool,
          action,
          calls,
          also_under: alsoUnder,
        })),
        catalogue_draft: tally.catalogueDraft,
        refused_names: [...tally.refused],
        unread: tally.unread.map(({ line, path, why }) => ({ line: line ?? null, path, why })),
      }
      await output.write(`\n],${toAsciiJson(rest).slice(1)}`)
    },
  }
}
