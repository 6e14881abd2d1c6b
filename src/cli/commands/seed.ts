/** `aegis seed new`: an entry for the secret `AEGIS_SEED`, from which every signing key of a deployment is derived. */
import { randomBytes } from 'node:crypto'
import { type Command, Option } from 'commander'
import { encodeHex } from '../../record/index.ts'
import { describeEnds, integerBetween, newCommand, once } from '../command.ts'
import { Output } from '../terminal.ts'

/** Numbers that `parseSeeds` reads. */
const seedNumberMax = 999_999

export function seedCommand(): Command {
  return newCommand('seed').summary('make the secret that keys are derived from').addCommand(newSeedCommand())
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
