/** `aegis policy hash`: the name of a bundle, and the bytes that it is the hash of (SPEC.md, policy_set_hash). */
import { toAsciiJson } from '../../verify/index.ts'
import type { Command } from 'commander'
import { decodeUtf8 } from '../../record/index.ts'
import { requireBundle } from '../bundle.ts'
import { describeEnds, newCommand } from '../command.ts'
import { usageError } from '../exit-codes.ts'
import { Output } from '../terminal.ts'

interface HashFlags {
  readonly object?: true
  readonly json?: true
}

export function policyHashCommand(): Command {
  const command = newCommand('hash')
    .summary('print the policy_set_hash of a bundle')
    .description(
      'Prints the SHA-256 of what runs: policies as Cedar parsed them, tools and settings with every default.\n' +
        'Comments, white space, the order of files and the cases do not move it.',
    )
    .argument('<dir>', 'folder of the bundle')
    .option('--object', 'print the bundle object instead: the bytes that are hashed, stored and run')
    .option('--json', 'print one JSON object')
    .action(run)
  return describeEnds(
    command,
    [
      '0  printed',
      '1  the bundle has an error; or a usage error',
      '2  the folder or a file in it could not be read',
    ],
    [
      'aegis policy hash policies/default',
      'aegis policy hash --object policies/default > "$(aegis policy hash policies/default).json"',
    ],
  )
}

async function run(folder: string, flags: HashFlags): Promise<void> {
  if (flags.object === true && flags.json === true) {
    throw usageError('error: --object and --json exclude each other: the object is JSON already')
  }
  const { bundle } = await requireBundle(folder)
  const { policySetHash } = bundle.policySet
  const output = new Output()
  // Without a line feed: these bytes are what the hash is of.
  if (flags.object === true) await output.write(decodeUtf8(bundle.objectBytes))
  else if (flags.json === true) {
    await output.write(
      toAsciiJson({ policy_set_hash: policySetHash, object_bytes: bundle.objectBytes.length }),
    )
  } else await output.write(`${policySetHash}\n`)
  await output.flush()
}
