/**
 * `aegis try`: the tool calls that an agent made, and what a bundle would have decided about each, and why. Reads a file,
 * asks nobody, runs nothing.
 */
import { type Command, Option } from 'commander'
import { effectiveTrust } from '../../policy/index.ts'
import { type AgentFlags, addAgentOptions, readAsking } from '../agent-options.ts'
import { requireBundle } from '../bundle.ts'
import { describeEnds, newCommand, nonEmpty, once } from '../command.ts'
import { exitCodes, unreadable } from '../exit-codes.ts'
import { type OpenInput, closeInputs, openInputs, totalBytes } from '../input-files.ts'
import { type CallJudge, bundleJudge, recordedItems } from '../judged-calls.ts'
import { Progress } from '../progress.ts'
import { Output, warn } from '../terminal.ts'
import { type TryReport, type TrySetting, jsonReport, textReport } from '../try-report.ts'
import { Tally } from '../try-tally.ts'

interface TryFlags extends AgentFlags {
  readonly bundle: string
  readonly tool?: string
  readonly summary?: true
  readonly json?: true
}

export function tryCommand(): Command {
  const command = newCommand('try')
    .summary('what a bundle would have decided about calls that were made')
    .description(
      'Reads recorded tool calls and shows, call by call and summed up, what the bundle decides about each, and why.\n' +
        'FILE: JSON Lines of {"tool": …, "arguments": …}, OpenAI transcripts (tool_calls), Anthropic messages (tool_use),\n' +
        'MCP logs (tools/call), or one JSON document of these. Nothing is run or sent.',
    )
    .argument('<file>', 'the recorded calls; - is standard input')
    .addOption(
      new Option('--bundle <dir>', 'folder of the bundle').argParser(once(nonEmpty)).makeOptionMandatory(),
    )
    .addOption(
      new Option('--tool <name>', 'the tool whose actions the recorded names are').argParser(once(nonEmpty)),
    )
  addAgentOptions(command)
    .option('--summary', 'sums only, no row a call')
    .option('--json', 'print one JSON object')
    .action(run)
  return describeEnds(
    command,
    [
      '0  every call was decided, whatever the decision',
      '1  a tool is not in the catalogue, or the bundle has an error; or a usage error',
      '2  a file could not be opened or read, or holds no call of a known form',
      '3  a line or a call in it could not be read; it is named, and the rest is decided',
    ],
    [
      'aegis try calls.jsonl --bundle policies/default',
      'aegis try calls.jsonl --tool airline --bundle policies/examples/airline',
      'aegis try calls.jsonl --bundle my-policies --source-trust untrusted_external --json | jq .summary',
    ],
  )
}

async function run(file: string, flags: TryFlags): Promise<void> {
  const asking = await readAsking(flags)
  const inputs = await openInputs([file])
  try {
    const { bundle, means, findings } = await requireBundle(flags.bundle)
    if (findings.length > 0)
      warn(`aegis try: the bundle has warnings; aegis policy validate ${flags.bundle} shows them`)
    const { catalogue, policies, policySetHash } = bundle.policySet
    const reasons = new Map(
      [...policies.values()].flatMap(({ id, reason }) => (reason === undefined ? [] : [[id, reason]])),
    )
    const toolActions = [...catalogue.actions.values()]
    const setting: TrySetting = {
      judgedBy: flags.bundle,
      policySetHash,
      sourceTrust: asking.sourceTrust,
      effectiveTrust: effectiveTrust(asking.sourceTrust, asking.agent.trustMax),
      nowMs: asking.nowMs,
      reasons,
      toolIdWidth: Math.min(48, Math.max(0, ...toolActions.map(({ toolId }) => toolId.length))),
    }
    if (setting.effectiveTrust !== setting.sourceTrust) {
      warn(
        `aegis try: the agent may claim ${setting.effectiveTrust} at most; --trust-max ${setting.sourceTrust} lifts that`,
      )
    }
    const output = new Output()
    const report =
      flags.json === true ? jsonReport(output, setting) : textReport(output, setting, flags.summary !== true)
    const tally = await judgeAll(
      inputs,
      flags.tool,
      bundleJudge(bundle.policySet, means, asking),
      report,
      new Tally(toolActions),
    )
    await output.flush()
    process.exitCode = exitCodeOf(tally)
  } finally {
    await closeInputs(inputs)
  }
}

/** From the source through the judge into the report; whoever judges. */
async function judgeAll(
  inputs: readonly OpenInput[],
  tool: string | undefined,
  judge: CallJudge,
  report: TryReport,
  tally: Tally,
): Promise<Tally> {
  const progress = new Progress('try', totalBytes(inputs))
  let begun = false
  try {
    for (const input of inputs) {
      for await (const item of recordedItems(input, tool)) {
        // Only once something of ours was found: anything else leaves stdout empty.
        if (!begun && (item.kind === 'call' || item.kind === 'unread')) {
          await report.begin()
          begun = true
        }
        if (item.kind === 'progress') progress.update(item.doneBytes)
        else if (item.kind === 'unread') tally.unread.push(item)
        else if (item.kind === 'repeat') tally.repeats += 1
        else if (item.kind === 'none') tally.rowsWithoutCall += 1
        else {
          const judgement = await judge.judge(item)
          tally.add(item, judgement)
          await report.call(item, judgement)
        }
      }
      if (tally.calls === 0 && tally.unread.length === 0) {
        const name = input.name === '-' ? 'standard input' : input.name
        throw unreadable(
          `error: ${name} holds no tool call of a known form: {"tool", "arguments"} rows, tool_calls, tool_use, tools/call`,
        )
      }
    }
  } finally {
    progress.end()
  }
  await report.end(tally)
  return tally
}

function exitCodeOf(tally: Tally): number {
  if (tally.unread.length > 0) return exitCodes.indeterminate
  return tally.unknownTools.length > 0 || tally.refused.size > 0 ? exitCodes.failed : exitCodes.ok
}
