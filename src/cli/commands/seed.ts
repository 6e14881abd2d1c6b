/**
 * `aegis seed`: the two secrets of a deployment. `new` makes an entry for `AEGIS_SEED`, from which every signing key is
 * derived; `operator` makes `AEGIS_OPERATOR_SECRET`, and the key file of whoever operates it.
 */
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { type Command, Option } from 'commander'
import { formatOperatorKey } from '../../protocol/index.ts'
import { encodeHex } from '../../record/index.ts'
import { describeEnds, fileName, integerBetween, newCommand, once } from '../command.ts'
import { unreadable } from '../exit-codes.ts'
import { Output } from '../terminal.ts'

/** Numbers that `parseSeeds` reads. */
const seedNumberMax = 999_999

export function seedCommand(): Command {
  return newCommand('seed')
    .summary('make the secrets of a deployment')
    .addCommand(newSeedCommand())
    .addCommand(operatorCommand())
}

function newSeedCommand(): Command {
  const command = newCommand('new')
    .summary('print a new random seed')
    .description(
      'Prints a new seed as an entry of AEGIS_SEED: NUMBER:HEX, 32 random bytes. It is a secret: send it into a\n' +
        'file that only you can read, or into wrangler secret put.',
    )
    .addOption(
      new Option('--number <n>', 'the number of the seed in AEGIS_SEED').argParser(
        once(integerBetween(0, seedNumberMax)),
      ),
    )
    .action(async (flags: { number?: number }) => {
      const output = new Output()
      await output.write(`${String(flags.number ?? 0)}:${encodeHex(randomBytes(32))}\n`)
      await output.flush()
    })
  return describeEnds(
    command,
    ['0  printed', '1  usage error'],
    ['(umask 077; aegis seed new > seed)', 'aegis seed new | npx wrangler secret put AEGIS_SEED'],
  )
}

const operatorPrefix = 'aegis_operator_'

function operatorCommand(): Command {
  const command = newCommand('operator')
    .summary('make the secret of the operator, and his key')
    .description(
      'Writes a new operator key into FILE, which only you can read, and prints its secret: what the deployment keeps\n' +
        'as AEGIS_OPERATOR_SECRET.',
    )
    .addOption(
      new Option('--out <file>', 'a new file for the key').argParser(once(fileName)).makeOptionMandatory(),
    )
    .action(async ({ out }: { out: string }) => {
      const key = formatOperatorKey(randomBytes(32))
      // Before the secret is handed on: a deployment whose operator has no key would be nobody's.
      await writeFile(out, `${key}\n`, { mode: 0o600, flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
        throw unreadable(`error: --out: ${out} cannot be made: ${error.code ?? error.message}`)
      })
      const output = new Output()
      await output.write(`${key.slice(operatorPrefix.length)}\n`)
      await output.flush()
    })
  return describeEnds(
    command,
    ['0  printed', '1  usage error', '2  the file is there already, or cannot be made'],
    ['aegis seed operator --out operator.key | npx wrangler secret put AEGIS_OPERATOR_SECRET'],
  )
}
