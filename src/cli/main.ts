#!/usr/bin/env node
/**
 * The `aegis` command: hands the words of the command line to its commands and turns what they throw into one line on
 * stderr and an exit code (docs/cli.md). Not for logic: each command is a file in commands/.
 */
import { CommanderError } from 'commander'
import { version } from '../../package.json'
import { newCommand } from './command.ts'
import { agentCommand } from './commands/agent.ts'
import { apikeyCommand } from './commands/apikey.ts'
import { approvalsCommand } from './commands/approvals.ts'
import { callsCommand } from './commands/calls.ts'
import { chainCommand } from './commands/chain.ts'
import { completionCommand } from './commands/completion.ts'
import { doctorCommand } from './commands/doctor.ts'
import { envelopeCommand } from './commands/envelope.ts'
import { freezeCommand } from './commands/freeze.ts'
import { groupCommand } from './commands/group.ts'
import { inspectCommand } from './commands/inspect.ts'
import { keyCommand } from './commands/key.ts'
import { policyCommand } from './commands/policy.ts'
import { pullCommand } from './commands/pull.ts'
import { receiptCommand } from './commands/receipt.ts'
import { recheckCommand } from './commands/recheck.ts'
import { seedCommand } from './commands/seed.ts'
import { tenantCommand } from './commands/tenant.ts'
import { toolCommand } from './commands/tool.ts'
import { tryCommand } from './commands/try.ts'
import { verifyCommand } from './commands/verify.ts'
import { CliError, exitCodes } from './exit-codes.ts'
import { warn } from './terminal.ts'

const recheckWorkerUrl = new URL('./recheck-worker.js', import.meta.url)

const program = newCommand('aegis')
  .description('Verify and inspect the signed record that Aegis Edge keeps of agent tool calls.')
  .version(version, '-V, --version', 'print the version')

program
  .addCommand(verifyCommand(new URL('./verify-worker.js', import.meta.url)))
  .addCommand(inspectCommand())
  .addCommand(pullCommand())
  .addCommand(receiptCommand())
  .addCommand(policyCommand(recheckWorkerUrl))
  .addCommand(recheckCommand(recheckWorkerUrl))
  .addCommand(tryCommand())
  .addCommand(callsCommand())
  .addCommand(approvalsCommand())
  .addCommand(tenantCommand())
  .addCommand(agentCommand())
  .addCommand(groupCommand())
  .addCommand(apikeyCommand())
  .addCommand(toolCommand())
  .addCommand(chainCommand())
  .addCommand(freezeCommand())
  .addCommand(envelopeCommand())
  .addCommand(doctorCommand())
  .addCommand(keyCommand())
  .addCommand(seedCommand())
  .addCommand(completionCommand(program))

// A reader that goes away (`| head`) is no error of ours; Output notes it and the command ends as it would have.
process.stdout.on('error', () => undefined)
process.stderr.on('error', () => undefined)

try {
  await program.parseAsync()
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode
  } else if (error instanceof CliError) {
    process.exitCode = error.exitCode
    warn(error.message)
  } else {
    // A bug of ours; the trace is for whoever asks for it.
    const trace = process.env['AEGIS_TRACE'] === undefined ? undefined : (error as Error).stack
    process.exitCode = exitCodes.unreadable
    warn(`error: aegis failed: ${String(error)}; AEGIS_TRACE=1 shows where`)
    for (const line of trace?.split('\n') ?? []) warn(line)
  }
}
