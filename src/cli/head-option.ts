/**
 * `--head` (SPEC.md §7.8), the same for every command that takes it: a position and a hash, or a file that holds one
 * signed Line. Says what is wrong with a head before anything is walked; what an input says about it is for src/verify.
 */
import { Option } from 'commander'
import { nodeSuite } from '../crypto-node/index.ts'
import { lineBytesMax } from '../record/index.ts'
import {
  type HeldHead,
  type Pin,
  type SignedHead,
  isHeadText,
  isSignedByPin,
  parseHeadLine,
  parseHeadText,
} from '../verify/index.ts'
import { fileName, once, refuseValue } from './command.ts'
import { type CliError, usageError } from './exit-codes.ts'
import { readSmallFile } from './input-files.ts'

/** With a `file` it came as a whole Line. */
export type Head = HeldHead | SignedHeadFile
export type SignedHeadFile = SignedHead & { readonly file: string }

/** The value of `--head`: the head itself, or the name of a file that holds one. */
export type HeadFlag = HeldHead | string

export function headOption(): Option {
  return new Option(
    '--head <head>',
    'SESSION:SEQ:LINE_HASH, or a file with one signed Line, that the Chain must reach',
  ).argParser(once(parseHeadFlag))
}

function parseHeadFlag(text: string): HeadFlag {
  if (!isHeadText(text)) return fileName(text)
  const parsed = parseHeadText(text)
  if (parsed.ok) return parsed.head
  throw refuseValue(`Expected SESSION:SEQ:LINE_HASH: ${parsed.detail}.`)
}

/** @param source what named it, for errors: `--head`, or what the file is for. */
export async function readHead(
  source: string,
  flag: HeadFlag,
  pins: readonly Pin[] | undefined,
): Promise<Head> {
  if (typeof flag !== 'string') return flag
  // One byte more than a Line and its LF, so that a longer one is seen as such.
  const parsed = parseHeadLine(await readSmallFile(source, flag, lineBytesMax + 2), nodeSuite)
  if (!parsed.ok) throw headError(source, flag, parsed.detail)
  checkPinnedHead(source, flag, parsed.head, pins)
  return { ...parsed.head, file: flag }
}

/** @throws CliError where keys are pinned and none of them signed it. */
export function checkPinnedHead(
  source: string,
  file: string,
  head: SignedHead,
  pins: readonly Pin[] | undefined,
): void {
  if (pins === undefined || isSignedByPin(head, pins, nodeSuite)) return
  throw headError(source, file, 'no pinned key that holds for its Chain and Session signed it')
}

export function headError(source: string, file: string, detail: string): CliError {
  return usageError(`error: ${source}: ${file} cannot be used: ${detail}`)
}
