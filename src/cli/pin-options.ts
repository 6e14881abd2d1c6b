/**
 * `--key` and `--trust-store` (SPEC.md §7.7), the same for every command that pins keys. Either flag pins, also when
 * the store holds no key.
 */
import { type Command, Option } from 'commander'
import { type PublicKeyHex, describeFormatError, parseDigest } from '../record/index.ts'
import { type Pin, parseTrustStore } from '../verify/index.ts'
import { each, fileName, once, refuseValue } from './command.ts'
import { usageError } from './exit-codes.ts'
import { readSmallFile } from './input-files.ts'
import { warn } from './terminal.ts'

/** A key a kilobyte, and ten thousand of them. */
const trustStoreBytesMax = 10_000_000

export interface PinFlags {
  readonly key?: readonly PublicKeyHex[]
  readonly trustStore?: string
}

export function addPinOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--key <hex>',
        'a public key to trust, for every Chain and Session; any number of times',
      ).argParser(each(parseKey)),
    )
    .addOption(
      new Option('--trust-store <file>', 'a file of public keys, with the Sessions they hold for').argParser(
        once(fileName),
      ),
    )
}

function parseKey(value: string): PublicKeyHex {
  const key = parseDigest<PublicKeyHex>(value)
  if (key !== undefined) return key
  if (/^[0-9a-fA-F]{64}$/.test(value))
    throw refuseValue('A public key is lowercase hex; this one has capitals.')
  throw refuseValue(
    `A public key has 64 lowercase hex characters (this: ${String(value.length)}); aegis key derive prints one.`,
  )
}

/** The pinned keys of both flags together; `undefined` where neither was given. */
export async function readPins(flags: PinFlags): Promise<readonly Pin[] | undefined> {
  if (flags.key === undefined && flags.trustStore === undefined) return undefined
  const pins: Pin[] = (flags.key ?? []).map((publicKey) => ({ publicKey }))
  if (flags.trustStore === undefined) return pins
  const bytes = await readSmallFile('--trust-store', flags.trustStore, trustStoreBytesMax)
  const store = parseTrustStore(bytes)
  if (!store.ok) {
    const why = bytes.length === 0 ? 'the file is empty' : describeFormatError(store.error)
    throw usageError(
      `error: --trust-store: ${flags.trustStore} is not a trust store: ${why}; expected {"keys":[{"public_key":HEX}]}`,
    )
  }
  if (store.value.length === 0) warn(`--trust-store: ${flags.trustStore} holds no key`)
  return [...pins, ...store.value]
}
