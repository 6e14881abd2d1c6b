/**
 * `aegis policy explain`: one request, what the bundle decides about it, and everything that the decision was a function
 * of. The request is that of an authorize body, or a case as `cases/*.json` hold it. Nothing is sent anywhere.
 */
import type { Command } from 'commander'
import {
  type AgentRecord,
  type DecisionRequest,
  type Evaluation,
  type PolicySet,
  type Report,
  caseAgent,
  decide,
  parseAgent,
  parseDatetime,
  parseRequest,
} from '../../policy/index.ts'
import { type JsonObject, canonicalText, describeFormatError, parseBody } from '../../record/index.ts'
import { escapeForReport, toAsciiJson } from '../../verify/index.ts'
import { requireBundle } from '../bundle.ts'
import { describeEnds, newCommand } from '../command.ts'
import { type CliError, unreadable, usageError } from '../exit-codes.ts'
import { readSmallFile } from '../input-files.ts'
import { Output, hasColour, printable, styled } from '../terminal.ts'
import { decisionStyles } from '../try-report.ts'

/** What an authorize body may have at most. */
const requestBytesMax = 1_048_576

interface Question {
  readonly request: DecisionRequest
  readonly agent: AgentRecord
  readonly nowMs: number
}

export function policyExplainCommand(): Command {
  const command = newCommand('explain')
    .summary('decide one request and show why')
    .description(
      'REQUEST.json is an authorize body {"tool_call": …, "context": …}, or a case {"request": …, "agent": …, "now": …}.\n' +
        'Without "agent" the agent is one with no roles and trust_max semi_trusted_customer; without "now" it is now.',
    )
    .argument('<dir>', 'folder of the bundle')
    .argument('<request>', 'file with the request; - is standard input')
    .option('--json', 'print one JSON object')
    .action(run)
  return describeEnds(
    command,
    [
      '0  explained, whatever the decision',
      '1  the bundle has an error, or the request is none; or a usage error',
      '2  a file could not be read',
    ],
    ['aegis policy explain policies/default request.json'],
  )
}

async function run(folder: string, file: string, flags: { readonly json?: true }): Promise<void> {
  const question = readQuestion(file, await readSmallFile('request', file, requestBytesMax))
  const { bundle, means } = await requireBundle(folder)
  const { policySet } = bundle
  const evaluation = decide({ ...question, policySet }, means)
  const output = new Output()
  await output.write(
    flags.json === true
      ? toAsciiJson(explanationObject(evaluation, policySet))
      : explanationText(evaluation, policySet, hasColour(process.stdout)),
  )
  await output.flush()
}

function readQuestion(file: string, bytes: Uint8Array): Question {
  const name = file === '-' ? 'standard input' : file
  const parsed = parseBody(bytes)
  if (!parsed.ok) throw unreadable(`error: ${name} is not a request: ${describeFormatError(parsed.error)}`)
  const problems: string[] = []
  const report: Report = (_, __, message, fix) => {
    problems.push(`${message}; ${fix}`)
  }
  const { value } = parsed
  const isCase = Object.hasOwn(value, 'request')
  const request = isCase
    ? parseRequest(value['request'], ['request'], report)
    : parseRequest(value, [], report)
  const agent = isCase ? parseAgent(value['agent'], ['agent'], report) : caseAgent
  const nowMs = readNow(isCase ? value : {}, problems)
  const [problem] = problems
  if (problem !== undefined || request === undefined) throw notARequest(name, problem)
  return { request, agent, nowMs }
}

function notARequest(name: string, problem: string | undefined): CliError {
  return usageError(`error: ${name} is not a request: ${problem ?? 'it has no tool_call'}`)
}

function readNow(value: JsonObject, problems: string[]): number {
  const now = value['now']
  if (now === undefined) return Date.now()
  const text = typeof now === 'string' ? parseDatetime(now) : undefined
  if (text !== undefined) return Date.parse(text)
  problems.push('`now` is not a time; write it like 2026-01-01T00:00:00.000Z')
  return 0
}

/** What each determining policy says about itself. */
function policiesOf(evaluation: Evaluation, policySet: PolicySet): readonly object[] {
  return evaluation.matchedRules.flatMap((id) => {
    const policy = policySet.policies.get(id)
    if (policy === undefined) return []
    const { effect, approval, reason } = policy
    return [
      {
        id,
        effect,
        ...(approval === undefined ? {} : { approval }),
        ...(reason === undefined ? {} : { reason }),
      },
    ]
  })
}

function explanationObject(evaluation: Evaluation, policySet: PolicySet): object {
  return {
    decision: evaluation.decision,
    code: evaluation.code,
    reason: evaluation.detail,
    policy_set_hash: evaluation.policySetHash,
    tool_id: evaluation.toolId,
    risk: evaluation.risk,
    mutates_state: evaluation.mutatesState,
    source_trust: evaluation.sourceTrust,
    ...(evaluation.approval === undefined ? {} : { approval: evaluation.approval }),
    policies: policiesOf(evaluation, policySet),
    decision_axes: evaluation.axes,
  }
}

function explanationText(evaluation: Evaluation, policySet: PolicySet, colour: boolean): string {
  const { approval, axes, decision, risk } = evaluation
  const lines: string[] = [styled(decision, decisionStyles[decision], colour)]
  const row = (name: string, value: string | undefined): void => {
    if (value !== undefined && value !== '') lines.push(`  ${name.padEnd(10)}  ${value}`)
  }
  row('code', evaluation.code)
  row('reason', printable(evaluation.detail))
  row('asks', approval && `${approval.groups.join(' and ')}, quorum ${String(approval.quorum)}`)
  row('overrides', axes.overrides?.join(', '))
  row('errors', axes.policy_errors?.join(', '))
  row('tool', `${evaluation.toolId}, ${evaluation.mutatesState ? 'changes state' : 'changes nothing'}`)
  row('risk', `${risk.level} (${String(risk.score)})`)
  row('trust', evaluation.sourceTrust)
  row('resource', axes.resource === undefined ? undefined : escapeForReport(axes.resource.id))
  row('claims', axes.claims === undefined ? undefined : printable(canonicalText(axes.claims)))
  if (evaluation.matchedRules.length > 0) {
    lines.push('', styled('determining policies', 'bold', colour))
    for (const id of evaluation.matchedRules) {
      const policy = policySet.policies.get(id)
      const effect = policy?.approval === undefined ? policy?.effect : 'permit, once approved'
      lines.push(`  ${id}  (${effect ?? ''})`)
      if (policy?.reason !== undefined) lines.push(`      ${printable(policy.reason)}`)
    }
  }
  if (axes.context !== undefined) {
    lines.push('', styled('context, as it is recorded', 'bold', colour))
    const { args, ...common } = axes.context
    for (const [name, value] of Object.entries(common)) {
      lines.push(`  ${name}  ${printable(canonicalText(value))}`)
    }
    for (const [name, value] of Object.entries((args ?? {}) as JsonObject)) {
      lines.push(`  args.${name}  ${printable(canonicalText(value))}`)
    }
  }
  lines.push('', `policy_set_hash ${evaluation.policySetHash}`)
  return `${lines.join('\n')}\n`
}
