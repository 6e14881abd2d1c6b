/**
 * `aegis pull` (docs/cli.md): an auditor's copy of a Chain, brought up to date and verified on the way. Stdout is what
 * came of it; nothing that the deployment says of itself is believed.
 */
import { type Command, Option } from 'commander'
import { toAsciiJson } from '../../verify/index.ts'
import { describeEnds, newCommand, nonEmpty, once } from '../command.ts'
import { type ConnectionFlags, addConnectionOptions, connect } from '../connection.ts'
import { exitCodes, usageError } from '../exit-codes.ts'
import { type HeadFlag, headOption } from '../head-option.ts'
import { type PinFlags, addPinOptions, readPins } from '../pin-options.ts'
import { pullChain } from '../pull/chain-pull.ts'
import { PullFolder } from '../pull/folder.ts'
import { readPullHeads } from '../pull/heads.ts'
import { pullExitCode, toPullJson, toPullText } from '../pull/report.ts'
import { Output } from '../terminal.ts'

interface PullFlags extends ConnectionFlags, PinFlags {
  readonly out: string
  readonly head?: HeadFlag
  readonly unpinned?: true
  readonly live?: true
  readonly json?: true
  readonly quiet?: true
}

export function pullCommand(): Command {
  const command = newCommand('pull')
    .summary('download and verify the published Chain of a tenant')
    .description(
      "Brings DIR up to date with a deployment's published segments and the policy sets that they name. Each file is\n" +
        'verified, as part of the whole Chain, before it is kept; what is there already is verified again. Needs the\n' +
        'API key of an auditor, and the public key that you trust, from elsewhere.',
    )
    .addOption(
      new Option('--out <dir>', 'the folder to fill, and to go on with')
        .argParser(once(nonEmpty))
        .makeOptionMandatory(),
    )
  addPinOptions(command)
    .option('--unpinned', 'pin no key: then nothing shows who made the Chain')
    .addOption(headOption())
    .option('--live', 'also what is not published yet, as live.aarl')
  addConnectionOptions(command)
    .option('--json', 'print one JSON object')
    .option('-q, --quiet', 'print nothing where all is well, and no progress')
    .action(run)
  return describeEnds(
    command,
    [
      '0  everything published is there and Verified; with --live, the open Session has no end yet, as it must',
      '1  Tampered, or the deployment contradicts itself or what is held; or a usage error',
      '2  something could not be reached, read or written; run it again to go on',
      '3  Indeterminate: a head that is held is not reached, or nothing is published yet',
    ],
    [
      'aegis pull --out audit --key "$KEY"',
      'aegis pull --out audit --trust-store keys.json --head head.aarl --profile prod',
      'AEGIS_API_KEY="$(cat auditor.key)" aegis pull --url https://aegis.example --out audit --key "$KEY" --live',
    ],
  )
}

async function run(flags: PullFlags): Promise<void> {
  const pins = await readPins(flags)
  if (pins === undefined && flags.unpinned !== true) {
    throw usageError(
      'error: --key: name the public key that you trust with --key or --trust-store (one that you had from elsewhere), or say --unpinned',
    )
  }
  if (pins !== undefined && flags.unpinned === true) {
    throw usageError('error: --unpinned: it contradicts --key and --trust-store')
  }
  const { client, tenant } = await connect(flags, ['auditor'])
  if (tenant === undefined) throw new Error("an auditor's key names its tenant")
  const folder = await PullFolder.open(flags.out)
  try {
    const heads = await readPullHeads(folder, flags.head, pins, tenant)
    const quiet = flags.quiet === true
    const result = await pullChain({ client, tenant, folder, pins, heads, live: flags.live === true, quiet })
    process.exitCode = pullExitCode(result)
    if (quiet && process.exitCode === exitCodes.ok) return
    const output = new Output()
    await output.write(flags.json === true ? toAsciiJson(toPullJson(result)) : toPullText(result, folder))
    await output.flush()
  } finally {
    await folder.close()
  }
}
