/** `--agent`, `--trust-max`, `--source-trust` and `--now`: who asks, how far the source is trusted, and when. */
import { type Command, Option } from 'commander'
import {
  type AgentRecord,
  type Report,
  type Trust,
  caseAgent,
  parseAgent,
  parseDatetime,
  parseTrust,
  trustLevels,
} from '../policy/index.ts'
import { describeFormatError, parseBody } from '../record/index.ts'
import { nonEmpty, once, refuseValue } from './command.ts'
import { usageError } from './exit-codes.ts'
import { readSmallFile } from './input-files.ts'

const agentFileBytesMax = 65_536
const sourceTrustDefault: Trust = 'semi_trusted_customer'

export interface AgentFlags {
  readonly agent?: string
  readonly trustMax?: Trust
  readonly sourceTrust?: Trust
  readonly now?: number
}

export interface Asking {
  readonly agent: AgentRecord
  readonly sourceTrust: Trust
  readonly nowMs: number
}

export function addAgentOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--source-trust <trust>',
        `how far the source of the calls is trusted (default: "${sourceTrustDefault}")`,
      ).argParser(once(trustValue)),
    )
    .addOption(
      new Option('--now <time>', 'the time of the decisions, RFC 3339 (default: now)').argParser(
        once(timeValue),
      ),
    )
    .addOption(
      new Option(
        '--agent <file>',
        'the agent\'s record: {"roles": […], "environment": …, "trust_max": …}',
      ).argParser(once(nonEmpty)),
    )
    .addOption(
      new Option(
        '--trust-max <trust>',
        `what the agent may claim at most (default: its record's, else "${caseAgent.trustMax}")`,
      ).argParser(once(trustValue)),
    )
}

function trustValue(value: string): Trust {
  const trust = parseTrust(value)
  if (trust !== undefined) return trust
  throw refuseValue(`It is one of ${trustLevels.join(', ')}.`)
}

function timeValue(value: string): number {
  const text = parseDatetime(value)
  if (text !== undefined) return Date.parse(text)
  throw refuseValue('It is a time like 2026-01-01T00:00:00Z.')
}

export async function readAsking(flags: AgentFlags): Promise<Asking> {
  const agent = flags.agent === undefined ? caseAgent : await readAgent(flags.agent)
  return {
    agent: flags.trustMax === undefined ? agent : { ...agent, trustMax: flags.trustMax },
    sourceTrust: flags.sourceTrust ?? sourceTrustDefault,
    nowMs: flags.now ?? Date.now(),
  }
}

async function readAgent(file: string): Promise<AgentRecord> {
  if (file === '-') throw usageError('error: --agent: standard input cannot be one; name a file')
  const parsed = parseBody(await readSmallFile('--agent', file, agentFileBytesMax))
  const refuse = (why: string): never => {
    throw usageError(`error: --agent: ${file} is no agent's record: ${why}`)
  }
  if (!parsed.ok) return refuse(describeFormatError(parsed.error))
  const problems: string[] = []
  const report: Report = (_, __, message, fix) => {
    problems.push(`${message}; ${fix}`)
  }
  const agent = parseAgent(parsed.value, [], report)
  const [problem] = problems
  return problem === undefined ? agent : refuse(problem)
}
