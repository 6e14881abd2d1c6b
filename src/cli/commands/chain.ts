/** `aegis chain`: the open Session ended on demand, the signing key replaced, the last signed Line shown. */
import type { Command } from 'commander'
import { type ActFlags, actEnds, addActOptions, runAct } from '../act.ts'
import { describeEnds, newCommand } from '../command.ts'
import { type ConnectionFlags, addConnectionOptions, connect } from '../connection.ts'
import { Output } from '../terminal.ts'

export function chainCommand(): Command {
  return newCommand('chain')
    .summary('seal the Chain, rotate its key, show its head')
    .addCommand(sealCommand())
    .addCommand(rotateKeyCommand())
    .addCommand(headCommand())
}

function sealCommand(): Command {
  const command = addActOptions(
    newCommand('seal')
      .summary('end the open Session, so that it is published')
      .description('Where no Session is open there is nothing to seal, and no Line is written.'),
  ).action(async (flags: ActFlags) => {
    const request = { method: 'POST', path: '/v1/chain/seal', repeatable: true } as const
    await runAct(flags, ['admin'], request, () => 'the Session is sealed; the alarm publishes it')
  })
  return describeEnds(command, actEnds, ['aegis chain seal'])
}

function rotateKeyCommand(): Command {
  const command = addActOptions(
    newCommand('rotate-key')
      .summary('end the open Session, and sign the next ones with a new key')
      .description(
        'The new key comes from the newest entry of AEGIS_SEED. Auditors need its public half: it is added to what\n' +
          'GET /v1/keys/TENANT answers. Asked twice, it rotates twice.',
      ),
  ).action(async (flags: ActFlags) => {
    const request = { method: 'POST', path: '/v1/chain/rotate-key', repeatable: false } as const
    await runAct(flags, ['admin'], request, () => 'the next Session is signed by a new key')
  })
  return describeEnds(command, actEnds, ['aegis chain rotate-key'])
}

/** Longer than a Line can be. */
const headBytesMax = 65_536 + 1

function headCommand(): Command {
  const command = addConnectionOptions(
    newCommand('head')
      .summary('print the last signed Line, verbatim: a head for aegis verify --head')
      .description('Nothing is verified here: hold it against the Chain with aegis verify.'),
  ).action(async (flags: ConnectionFlags) => {
    const { client } = await connect(flags, ['auditor'])
    const line = await client.send({ path: '/v1/chain/head', bytesMax: headBytesMax })
    const output = new Output()
    await output.write(`${Buffer.from(line).toString('utf8').trimEnd()}\n`)
    await output.flush()
  })
  return describeEnds(
    command,
    ['0  printed', '1  refused; or a usage error', '2  the deployment gave no usable answer'],
    ['aegis chain head >head.aarl'],
  )
}
