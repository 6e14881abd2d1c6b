/** `aegis envelope`: the bytes of a request, for an auditor to whom that was granted; and their erasure, for good. */
import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { type Command, Option } from 'commander'
import { decodeUtf8, findInvalidUtf8 } from '../../record/index.ts'
import { type ActFlags, actEnds, addActOptions, runAct } from '../act.ts'
import { describeEnds, fileName, newCommand, once } from '../command.ts'
import { type ConnectionFlags, addConnectionOptions, connect } from '../connection.ts'
import { unreadable, usageError } from '../exit-codes.ts'
import { shownText, terminalColumns, valueLines } from '../shown-text.ts'

export function envelopeCommand(): Command {
  return newCommand('envelope')
    .summary('read or erase the bytes of a request')
    .addCommand(getCommand())
    .addCommand(eraseCommand())
}

/** The hard cap of a request's body. */
const envelopeBytesMax = 1_048_576

function requireDigest(text: string): string {
  if (/^[0-9a-f]{64}$/.test(text)) return text
  throw usageError('error: <request-digest>: it is 64 lowercase hex characters; aegis calls show has it')
}

function getCommand(): Command {
  const command = newCommand('get')
    .summary('the bytes of a request, as they arrived')
    .description(
      'Checks that they have the digest, and writes them as they are: to stdout, or into a new file that only you can\n' +
        'read. On a terminal they are shown with characters that are not seen as \\u{HEX}.',
    )
    .argument('<request-digest>', 'as the Call names it')
    .addOption(new Option('--out <file>', 'write them into this new file').argParser(once(fileName)))
  addConnectionOptions(command).action(get)
  return describeEnds(
    command,
    [
      '0  written',
      '1  refused, erased, or other bytes; or a usage error',
      '2  no usable answer, or the file could not be written',
    ],
    ['aegis envelope get "$DIGEST" --out request.json'],
  )
}

async function get(text: string, flags: ConnectionFlags & { readonly out?: string }): Promise<void> {
  const digest = requireDigest(text)
  const { client } = await connect(flags, ['auditor'])
  const bytes = await client.send({ path: `/v1/envelopes/${digest}`, bytesMax: envelopeBytesMax })
  if (createHash('sha256').update(bytes).digest('hex') !== digest) {
    throw usageError(`error: what the deployment sent does not have the digest ${digest}`)
  }
  if (flags.out !== undefined) {
    await writeNewFile(flags.out, bytes)
    return
  }
  if (!process.stdout.isTTY) {
    await new Promise((resolve) => process.stdout.write(bytes, resolve))
    return
  }
  const shown =
    findInvalidUtf8(bytes) === undefined ? decodeUtf8(bytes) : Buffer.from(bytes).toString('latin1')
  process.stdout.write(valueLines(shownText(shown), terminalColumns()))
}

async function writeNewFile(name: string, bytes: Uint8Array): Promise<void> {
  try {
    const handle = await open(name, 'wx', 0o600)
    await handle.writeFile(bytes)
    await handle.close()
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    const why = code === 'EEXIST' ? 'it is there already, and is not overwritten' : code
    throw unreadable(`error: --out: cannot write ${name}: ${why}`)
  }
}

function eraseCommand(): Command {
  const command = newCommand('erase')
    .summary('erase the bytes of a request, for good')
    .description(
      'The record keeps their digest, and what was derived from them; the bytes are gone from the answer on, and never\n' +
        'come back, also when the same request comes again.',
    )
    .argument('<request-digest>', 'as the Call names it')
  addActOptions(command).action(async (text: string, flags: ActFlags) => {
    const digest = requireDigest(text)
    const request = { method: 'DELETE', path: `/v1/envelopes/${digest}` } as const
    await runAct(flags, ['admin'], request, () => `the bytes of request ${digest} are erased`)
  })
  return describeEnds(command, actEnds, ['aegis envelope erase "$DIGEST"'])
}
