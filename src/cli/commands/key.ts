/**
 * `aegis key derive` (SPEC.md §6.4): the public key under which a tenant's Lines will be signed, so that an auditor can
 * pin it before the first Call. Never prints a secret.
 */
import { type Command, Option } from 'commander'
import { deriveLineKey, nodeSuite, parseSeeds } from '../../crypto-node/index.ts'
import { decodeUtf8, encodeHex, findInvalidUtf8, isTenantName } from '../../record/index.ts'
import { describeEnds, integerBetween, newCommand, once, refuseValue } from '../command.ts'
import { usageError } from '../exit-codes.ts'
import { readSmallFile } from '../input-files.ts'
import { Output } from '../terminal.ts'

interface DeriveFlags {
  readonly deployment: string
  readonly tenant: string
  readonly keyEpoch: number
  readonly seedFile: string
  readonly seedNumber?: number
  readonly json?: true
}

const seedFileBytesMax = 1_000_000
const seedNumberMax = 999_999

export function keyCommand(): Command {
  return newCommand('key').summary('derive public keys').addCommand(deriveCommand())
}

function deriveCommand(): Command {
  const command = newCommand('derive')
    .summary('print the public key of a tenant, from the seed')
    .description(
      'Prints the public key and key_id that a tenant has in a generation of its signing key.\n' +
        'The seed is read from a file (- is standard input) and never from an argument; no secret is printed.',
    )
    .addOption(nameOption('--deployment <name>', 'name of the deployment, as its open Lines state it'))
    .addOption(nameOption('--tenant <name>', 'the tenant: chain_id of its Lines'))
    .addOption(
      new Option('--key-epoch <n>', 'generation of the signing key: 0 for the first')
        .argParser(once(integerBetween(0, Number.MAX_SAFE_INTEGER)))
        .makeOptionMandatory(),
    )
    .addOption(
      new Option('--seed-file <file>', 'a file that holds what AEGIS_SEED holds: NUMBER:HEX[,NUMBER:HEX…]')
        .argParser(once((value) => value))
        .makeOptionMandatory(),
    )
    .addOption(
      new Option('--seed-number <n>', 'which seed of the file (default: the highest number)').argParser(
        once(integerBetween(0, seedNumberMax)),
      ),
    )
    .option('--json', 'print one JSON object')
    .action(derive)
  return describeEnds(
    command,
    ['0  printed', '1  usage error', '2  the seed file could not be read'],
    ['aegis key derive --deployment prod --tenant acme --key-epoch 0 --seed-file seed'],
  )
}

/** SPEC.md A.1. */
function nameOption(flags: string, description: string): Option {
  const parse = (value: string): string => {
    if (isTenantName(value)) return value
    throw refuseValue('A name has 2 to 39 characters of a-z, 0-9 and -, and begins with a letter.')
  }
  return new Option(flags, description).argParser(once(parse)).makeOptionMandatory()
}

async function derive(flags: DeriveFlags): Promise<void> {
  const bytes = await readSmallFile('--seed-file', flags.seedFile, seedFileBytesMax)
  const text = findInvalidUtf8(bytes) === undefined ? decodeUtf8(bytes) : ''
  const seeds = parseSeeds(text)
  // Says where the file is wrong and never what stands there.
  if (seeds.kind === 'invalid') throw usageError(`error: --seed-file: ${flags.seedFile}: ${seeds.detail}`)
  const number = flags.seedNumber ?? seeds.set.current
  const seed = seeds.set.seeds.get(number)
  if (seed === undefined) {
    const numbers = [...seeds.set.seeds.keys()].join(', ')
    throw usageError(
      `error: --seed-number: ${flags.seedFile} holds no seed ${String(number)}; it holds: ${numbers}`,
    )
  }
  const signer = nodeSuite.signer(deriveLineKey(seed, flags.deployment, flags.tenant, flags.keyEpoch))
  const key = { public_key: encodeHex(signer.publicKey), key_id: signer.keyId }
  const output = new Output()
  await output.write(
    flags.json === true
      ? `${JSON.stringify(key)}\n`
      : `public_key ${key.public_key}\nkey_id     ${key.key_id}\n`,
  )
  await output.flush()
}
