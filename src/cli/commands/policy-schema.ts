/** `aegis policy schema`: the Cedar schema that a bundle's catalogue generates, for people and for editors. */
import type { Command } from 'commander'
import { schemaJson, schemaText } from '../../policy/index.ts'
import { requireBundle } from '../bundle.ts'
import { describeEnds, newCommand } from '../command.ts'
import { Output } from '../terminal.ts'

export function policySchemaCommand(): Command {
  const command = newCommand('schema')
    .summary('print the Cedar schema that tools.json generates')
    .description('Prints what policies may name: the actions, their groups, and the context of each.')
    .argument('<dir>', 'folder of the bundle')
    .option('--json', "Cedar's JSON form of it")
    .action(run)
  return describeEnds(
    command,
    [
      '0  printed',
      '1  the bundle has an error; or a usage error',
      '2  the folder or a file in it could not be read',
    ],
    ['aegis policy schema policies/default > schema.cedarschema'],
  )
}

async function run(folder: string, flags: { readonly json?: true }): Promise<void> {
  const { bundle, means } = await requireBundle(folder)
  const { catalogue } = bundle.policySet
  const text =
    flags.json === true ? JSON.stringify(schemaJson(catalogue), null, 2) : schemaText(catalogue, means.engine)
  const output = new Output()
  await output.write(`${text.trimEnd()}\n`)
  await output.flush()
}
