/** The options by which `aegis calls list` and `tail` choose Calls, and what they are in a query. */
import { type Command, Option } from 'commander'
import { callDecisions } from '../protocol/index.ts'
import type { CallQuery } from './call-pages.ts'
import { nonEmpty, once, refuseValue } from './command.ts'

export interface CallFilterFlags {
  readonly agent?: string
  readonly tool?: string
  readonly decision?: string
  readonly rule?: string
}

export function addFilterOptions(command: Command): Command {
  return command
    .addOption(new Option('--agent <id>', 'of this agent').argParser(once(nonEmpty)))
    .addOption(
      new Option('--tool <tool-id>', 'of this tool; administrative acts are aegis/…').argParser(
        once(nonEmpty),
      ),
    )
    .addOption(new Option('--decision <decision>', callDecisions.join(', ')).argParser(once(decisionValue)))
    .addOption(new Option('--rule <id>', 'that this policy determined').argParser(once(nonEmpty)))
}

function decisionValue(value: string): string {
  if (callDecisions.some((name) => name === value)) return value
  throw refuseValue(`It is one of ${callDecisions.join(', ')}.`)
}

/** The filters as the API has them. */
export function toQuery({ agent, tool, decision, rule }: CallFilterFlags): CallQuery {
  return {
    ...(agent === undefined ? {} : { agent }),
    ...(tool === undefined ? {} : { tool }),
    ...(decision === undefined ? {} : { decision }),
    ...(rule === undefined ? {} : { rule }),
  }
}
