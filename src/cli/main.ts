#!/usr/bin/env node
/**
 * The `aegis` command: names the program and hands the words of the command line to its commands.
 * Exit codes are API (SPEC.md, verification). Not for logic: a command lives in a file of its own.
 */
import { Command, CommanderError } from 'commander'
import { version } from '../../package.json'

const program = new Command('aegis')
  .description('Verify and inspect the signed record that Aegis Edge keeps of agent tool calls.')
  .version(version, '-V, --version', 'print the version')
  .helpOption('-h, --help', 'print this help')
  .argument('[command]', 'what to do')
  .allowExcessArguments()
  .exitOverride()
  .action((name: string | undefined) => {
    if (name === undefined) program.help({ error: true })
    program.error(`error: unknown command '${name}' (see aegis --help)`)
  })

try {
  await program.parseAsync()
} catch (error) {
  if (!(error instanceof CommanderError)) throw error
  process.exitCode = error.exitCode
}
