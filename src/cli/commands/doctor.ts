/** `aegis doctor`: whether a deployment can be worked with from here, and what to do where it cannot. */
import type { Command } from 'commander'
import { toAsciiJson } from '../../verify/index.ts'
import { describeEnds, newCommand } from '../command.ts'
import { type ConnectionFlags, addConnectionOptions, connect } from '../connection.ts'
import { type Check, diagnose } from '../diagnosis.ts'
import { exitCodes } from '../exit-codes.ts'
import { Output, type Style, hasColour, printable, styled } from '../terminal.ts'

interface DoctorFlags extends ConnectionFlags {
  readonly json?: true
  readonly quiet?: true
}

export function doctorCommand(): Command {
  const command = newCommand('doctor')
    .summary('look at a deployment: reachable, clock, key, bindings, publishing, policy')
    .description(
      'Looks at what the key may see, and changes nothing. Whether a clock is wrong is seen from the Date of an answer.',
    )
  addConnectionOptions(command)
    .option('--json', 'print one JSON object')
    .option('-q, --quiet', 'print nothing where all is well')
    .action(run)
  return describeEnds(
    command,
    ['0  no problem was found', '1  a problem; or a usage error'],
    ['aegis doctor', 'aegis doctor --profile prod --json'],
  )
}

const styles: Readonly<Record<Check['state'], Style>> = { ok: 'green', problem: 'red', unknown: 'dim' }
const nameWidth = 10
const stateWidth = 7

async function run(flags: DoctorFlags): Promise<void> {
  const connection = await connect(flags, ['auditor', 'admin', 'approver', 'agent', 'operator'])
  const checks = await diagnose(connection)
  const problems = checks.filter(({ state }) => state === 'problem').length
  if (problems > 0) process.exitCode = exitCodes.failed
  if (flags.quiet === true && problems === 0) return
  const output = new Output()
  const { role, tenant, url } = connection
  await output.write(
    flags.json === true
      ? toAsciiJson({ url, role, tenant: tenant ?? null, problems, checks })
      : checks.map(checkLine).join(''),
  )
  await output.flush()
}

function checkLine({ name, state, detail }: Check): string {
  const shown = styled(state.padEnd(stateWidth), styles[state], hasColour(process.stdout))
  return `${name.padEnd(nameWidth)}  ${shown}  ${printable(detail)}\n`
}
