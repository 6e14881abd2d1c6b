/**
 * What stands before a policy set is put in force (docs/recheck.md): the recorded calls under it, shown, and a refusal
 * where it would newly allow one that changes state, or where that cannot be said. Where the history comes from is
 * pulled-history.ts.
 */
import { type Command, Option } from 'commander'
import {
  type RecheckSummary,
  type RecheckedRow,
  rowJson,
  rowText,
  summaryJson,
  summaryText,
} from '../recheck/index.ts'
import { escapeForReport } from '../verify/index.ts'
import type { ActFlags } from './act.ts'
import { plural } from './bundle.ts'
import { each, fileName, nonEmpty, once } from './command.ts'
import { type Connection, connect } from './connection.ts'
import { CliError, exitCodes, usageError } from './exit-codes.ts'
import { withPulledHistory } from './pulled-history.ts'
import { runRecheck } from './recheck-run.ts'
import { requireFolder } from './recheck-source.ts'
import { Output, warn } from './terminal.ts'

export interface GateFlags extends ActFlags {
  readonly activate?: true
  readonly history?: readonly string[]
  readonly auditorKeyFile?: string
  readonly envelopes?: string
  readonly yes?: true
}

/** Gives a command the flags that {@link passGate} takes. */
export function addGateOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--history <file...>',
        'with --activate: files of Lines that the bundle is held against first',
      ).argParser(each(nonEmpty)),
    )
    .addOption(
      new Option(
        '--auditor-key-file <file>',
        "the same with the deployment's own Lines: a file that holds an auditor's API key",
      ).argParser(once(fileName)),
    )
    .addOption(
      new Option(
        '--envelopes <dir>',
        'folder of recorded requests for that, each named by its digest',
      ).argParser(once(nonEmpty)),
    )
    .option('--yes', 'put it in force though it newly allows calls that change state')
}

/** Ends the command where flags of the gate stand without what they are for. */
export function checkGateFlags({ activate, auditorKeyFile, envelopes, history, yes }: GateFlags): void {
  if (history !== undefined && auditorKeyFile !== undefined) {
    throw usageError('error: --history and --auditor-key-file exclude each other: there is one history')
  }
  const source = history === undefined ? auditorKeyFile && '--auditor-key-file' : '--history'
  if (source !== undefined && activate !== true) {
    throw usageError(`error: ${source}: it is for --activate; aegis recheck compares and changes nothing`)
  }
  const depends = envelopes === undefined ? yes && '--yes' : '--envelopes'
  if (depends !== undefined && source === undefined) {
    throw usageError(`error: ${depends}: it is for --history or --auditor-key-file`)
  }
  if (envelopes !== undefined) requireFolder('--envelopes', envelopes)
}

/** A policy set that is to be put in force. */
export interface Candidate {
  readonly policySetHash: string
  readonly objectBytes: Uint8Array
}

/**
 * Shows what the history says of the candidate, if a history was named.
 *
 * @param admin who is going to activate it: the history must be of the same tenant.
 * @throws CliError where it must not be put in force.
 */
export async function passGate(
  flags: GateFlags,
  candidate: Candidate,
  admin: Connection,
  workerUrl: URL,
): Promise<void> {
  const { auditorKeyFile, history, quiet } = flags
  if (history !== undefined) {
    await judge(flags, candidate, history, workerUrl)
    return
  }
  if (auditorKeyFile === undefined) return
  const auditor = await connect({ ...flags, keyFile: auditorKeyFile }, ['auditor'], '--auditor-key-file')
  if (auditor.tenant !== admin.tenant) {
    throw usageError(
      `error: --auditor-key-file: it holds a key of the tenant ${auditor.tenant ?? '-'}, and the admin's is of ${admin.tenant ?? '-'}`,
    )
  }
  await withPulledHistory(auditor, quiet === true, (file) => judge(flags, candidate, [file], workerUrl))
}

async function judge(
  flags: GateFlags,
  { objectBytes, policySetHash }: Candidate,
  files: readonly string[],
  workerUrl: URL,
): Promise<void> {
  const { envelopes, json, quiet, yes } = flags
  const output = new Output()
  const source = {
    policySet: { kind: 'one', objectBytes },
    ...(envelopes === undefined ? {} : { envelopes }),
  } as const
  const found = new Found()
  let rows = 0
  const summary = await runRecheck({ files, source, workerUrl, title: 'recheck', output }, (row) => {
    if (row.kind === 'row') {
      if (row.verdict.verdict === 'unchanged') return undefined
      found.take(row)
    }
    rows += 1
    return quiet === true ? undefined : output.write(json === true ? rowJson(row) : rowText(row))
  })
  if (quiet !== true) {
    const sums = `${rows > 0 ? '\n' : ''}${summaryText(summary)}\n`
    await output.write(json === true ? summaryJson(summary) : sums)
    await output.flush()
  }
  // Where nobody reads on, the recheck stops before the end of the history.
  if (output.closed) throw new CliError('error: not put in force: nobody read what the history says of it')
  if (summary.calls === 0) warn('warning: the history has no call that a policy decided')
  const objection = found.objection(summary, envelopes === undefined)
  if (objection === undefined) return
  const what = `policy set ${policySetHash} ${objection.text}`
  if (yes !== true) {
    throw new CliError(
      `error: nothing was pushed or put in force: ${what}; --yes does it nevertheless`,
      objection.exitCode,
    )
  }
  warn(`warning: ${what}`)
}

/** Calls that a refusal names. */
const namedMax = 5

/** What of a recheck speaks against the set. */
class Found {
  #mutating = 0
  readonly #named: string[] = []
  #unknown = 0

  take({ line, now, verdict }: RecheckedRow): void {
    // What was allowed cannot become newly allowed, whatever the missing evidence would show.
    if (verdict.verdict === 'indeterminate' && line.was.status !== 'allowed') this.#unknown += 1
    if (verdict.verdict !== 'newly_allowed') return
    // A catalogue that now says a tool only reads does not unsay what it did.
    if (now?.mutatesState === false && line.mutatesState !== true) return
    this.#mutating += 1
    if (this.#named.length < namedMax) this.#named.push(escapeForReport(line.callId))
  }

  objection(
    { broken }: RecheckSummary,
    withoutEnvelopes: boolean,
  ): { readonly text: string; readonly exitCode: number } | undefined {
    if (this.#mutating > 0) {
      const more = this.#mutating > this.#named.length ? ', …' : ''
      const calls = plural(this.#mutating, 'recorded call')
      return {
        text: `newly allows ${calls} that ${this.#mutating === 1 ? 'changes' : 'change'} state (${this.#named.join(', ')}${more})`,
        exitCode: exitCodes.failed,
      }
    }
    const judged = withoutEnvelopes ? 'cannot be judged without --envelopes' : 'cannot be judged'
    const said = [
      ...(this.#unknown === 0
        ? []
        : [`may newly allow ${plural(this.#unknown, 'recorded call')} that ${judged}`]),
      ...(broken === 0
        ? []
        : [
            `was held against a history of which ${plural(broken, 'row')} ${broken === 1 ? 'is' : 'are'} no Line`,
          ]),
    ]
    if (said.length === 0) return undefined
    return {
      text: said.join(', and '),
      exitCode: exitCodes.indeterminate,
    }
  }
}
