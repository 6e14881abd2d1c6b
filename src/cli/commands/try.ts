/**
 * `aegis try`: the tool calls that an agent made, and what a bundle would have decided about each, and why. Reads a file
 * and runs nothing. With `--url` a running authorizer is asked instead, and records each as a Call.
 */
import { type Command, Option } from 'commander'
import { type ToolAction, effectiveTrust } from '../../policy/index.ts'
import { type AgentFlags, addAgentOptions, readAsking } from '../agent-options.ts'
import { UnsendableCall, authorizerJudge } from '../authorizer-judge.ts'
import { requireBundle } from '../bundle.ts'
import { describeEnds, fileName, newCommand, nonEmpty, once } from '../command.ts'
import { CliError, exitCodes, unreadable, usageError } from '../exit-codes.ts'
import { type OpenInput, closeInputs, openInputs, totalBytes } from '../input-files.ts'
import {
  type CallJudge,
  type Judgement,
  type RecordedCall,
  bundleJudge,
  recordedItems,
} from '../judged-calls.ts'
import { Progress } from '../progress.ts'
import { type PinFlags, addPinOptions, readPins } from '../pin-options.ts'
import { Output, note } from '../terminal.ts'
import { type TryReport, type TrySetting, jsonReport, textReport } from '../try-report.ts'
import { Tally } from '../try-tally.ts'

interface TryFlags extends AgentFlags, PinFlags {
  readonly bundle?: string
  readonly url?: string
  readonly keyFile?: string
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
        'MCP logs (tools/call), or one JSON document of these. Nothing is run, and nothing is sent but with --url.',
    )
    .argument('<file>', 'the recorded calls; - is standard input')
    .addOption(new Option('--bundle <dir>', 'folder of the bundle that decides').argParser(once(nonEmpty)))
    .addOption(
      new Option('--url <url>', 'ask this authorizer instead; it records each call').argParser(
        once(nonEmpty),
      ),
    )
    .addOption(
      new Option('--key-file <file>', 'API key of an agent, for --url (default: AEGIS_API_KEY)').argParser(
        once(fileName),
      ),
    )
    .addOption(
      new Option('--tool <name>', 'the tool whose actions the recorded names are').argParser(once(nonEmpty)),
    )
  addPinOptions(command)
  addAgentOptions(command)
    .option('--summary', 'sums only, no row a call')
    .option('--json', 'print one JSON object')
    .action(run)
  return describeEnds(
    command,
    [
      '0  every call was decided, whatever the decision',
      '1  a tool is not in the catalogue, or the bundle has an error; or a usage error',
      '2  a file could not be opened or read, or holds no call of a known form; or --url gave no decision',
      '3  a line or a call in it could not be read; it is named, and the rest is decided',
    ],
    [
      'aegis try calls.jsonl --bundle policies/default',
      'aegis try calls.jsonl --tool airline --bundle policies/examples/airline',
      'AEGIS_API_KEY=… aegis try calls.jsonl --url http://127.0.0.1:8787 --key "$PUBLIC_KEY"',
      'aegis try calls.jsonl --bundle my-policies --source-trust untrusted_external --json | jq .summary',
    ],
  )
}

async function run(file: string, flags: TryFlags): Promise<void> {
  const { judge, setting, toolActions } =
    flags.url === undefined ? await askBundle(flags) : await askAuthorizer(flags, flags.url)
  const inputs = await openInputs([file])
  try {
    const output = new Output()
    const report =
      flags.json === true ? jsonReport(output, setting) : textReport(output, setting, flags.summary !== true)
    const tally = new Tally(toolActions)
    try {
      await judgeAll(inputs, flags.tool, judge, report, tally)
    } finally {
      await output.flush()
    }
    process.exitCode = exitCodeOf(tally)
  } finally {
    await closeInputs(inputs)
  }
}

interface Asked {
  readonly judge: CallJudge
  readonly setting: TrySetting
  readonly toolActions: readonly ToolAction[]
}

async function askBundle(flags: TryFlags): Promise<Asked> {
  if (flags.bundle === undefined) throw usageError('error: --bundle or --url is needed: who is to decide?')
  const misplaced = [
    ...(flags.keyFile === undefined ? [] : ['--key-file']),
    ...(flags.key === undefined ? [] : ['--key']),
    ...(flags.trustStore === undefined ? [] : ['--trust-store']),
  ]
  if (misplaced[0] !== undefined)
    throw usageError(`error: ${misplaced[0]} goes with --url, not with --bundle`)
  const asking = await readAsking(flags)
  const { bundle, means, findings } = await requireBundle(flags.bundle)
  if (findings.length > 0)
    note(`aegis try: the bundle has warnings; aegis policy validate ${flags.bundle} shows them`)
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
    note(
      `aegis try: the agent may claim ${setting.effectiveTrust} at most; --trust-max ${setting.sourceTrust} lifts that`,
    )
  }
  return { judge: bundleJudge(bundle.policySet, means, asking), setting, toolActions }
}

/** Who asks, when, and under which policies is then the authorizer's to know. */
async function askAuthorizer(flags: TryFlags, url: string): Promise<Asked> {
  for (const name of ['bundle', 'agent', 'trustMax', 'now'] as const) {
    if (flags[name] === undefined) continue
    const flag = name === 'trustMax' ? '--trust-max' : `--${name}`
    throw usageError(`error: ${flag} does not go with --url: the authorizer has its own`)
  }
  const { sourceTrust } = await readAsking(flags)
  const pins = await readPins(flags)
  const named = flags.keyFile === undefined ? {} : { keyFile: flags.keyFile }
  const judge = await authorizerJudge({ url, pins, ...named }, sourceTrust)
  const setting = {
    judgedBy: url,
    sourceTrust,
    effectiveTrust: sourceTrust,
    reasons: new Map(),
    toolIdWidth: 32,
  }
  return { judge, setting, toolActions: [] }
}

/** From the source through the judge into the report; whoever judges. */
async function judgeAll(
  inputs: readonly OpenInput[],
  tool: string | undefined,
  judge: CallJudge,
  report: TryReport,
  tally: Tally,
): Promise<void> {
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
          const judgement = await judgeOne(judge, item)
          if (typeof judgement === 'string') {
            tally.unread.push({ line: item.line, path: item.path, why: judgement })
            continue
          }
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
  } catch (thrown) {
    // What was decided before the authorizer fell silent stands in the report all the same.
    if (begun && thrown instanceof CliError) await report.end(tally)
    throw thrown
  } finally {
    progress.end()
  }
  await report.end(tally)
}

/** What was decided, or why the call could not be asked about. */
async function judgeOne(judge: CallJudge, call: RecordedCall): Promise<Judgement | string> {
  try {
    return await judge.judge(call)
  } catch (thrown) {
    if (thrown instanceof UnsendableCall) return thrown.message
    throw thrown
  }
}

function exitCodeOf(tally: Tally): number {
  if (tally.unread.length > 0) return exitCodes.indeterminate
  return tally.unknownTools.length > 0 || tally.refused.size > 0 ? exitCodes.failed : exitCodes.ok
}
