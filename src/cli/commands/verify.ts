/**
 * `aegis verify` (SPEC.md §7): reads the files as one Chain, has src/verify walk it, prints the report. Stdout is the
 * report and nothing else, whatever the threads, the terminal or the size of the pieces.
 */
import { availableParallelism } from 'node:os'
import { randomBytes } from 'node:crypto'
import { type Command, Option } from 'commander'
import { nodeSuite } from '../../crypto-node/index.ts'
import {
  type Pin,
  type Report,
  Walk,
  exitCodeOf,
  findForeignHead,
  toJson,
  toText,
} from '../../verify/index.ts'
import { describeEnds, integerBetween, newCommand, once } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { type Head, type HeadFlag, headError, headOption, readHead } from '../head-option.ts'
import {
  type OpenInput,
  checkInputNames,
  closeInputs,
  openInputs,
  readChunks,
  totalBytes,
} from '../input-files.ts'
import { type PinFlags, addPinOptions, readPins } from '../pin-options.ts'
import { Progress } from '../progress.ts'
import { SignaturePool } from '../signature-pool.ts'
import { Output } from '../terminal.ts'

interface VerifyFlags extends PinFlags {
  readonly head?: HeadFlag
  readonly json?: true
  readonly quiet?: true
  readonly threads?: number
}

/** More would wait for the one thread that walks. */
const threadsDefaultMax = 4
const threadsMax = 64
/** Signatures that are checked before threads are started by default: about a tenth of a second of work. */
const startAfterDefault = 2_000

/** @param workerUrl the built module of the threads that check signatures. */
export function verifyCommand(workerUrl: URL): Command {
  const command = newCommand('verify')
    .summary('check that a Chain is whole, linked and signed')
    .description(
      'Reads the files, in order, as one Chain and reports one verdict: Verified, Tampered or Indeterminate.\n' +
        'Without --key or --trust-store it says only that the file agrees with itself. - is standard input.',
    )
    .argument('<file...>', 'files of Lines; several are one Chain')
  addPinOptions(command)
    .addOption(headOption())
    .option('--json', 'the report as JSON (SPEC.md, section 7.10)')
    .option('-q, --quiet', 'print nothing where all is well, and no progress')
    .addOption(
      new Option(
        '--threads <n>',
        `threads that check signatures (default: 1 for small inputs, else the processors, at most ${String(threadsDefaultMax)})`,
      ).argParser(once(integerBetween(1, threadsMax))),
    )
    .action(async (files: string[], flags: VerifyFlags) => {
      await run(files, flags, workerUrl)
    })
  return describeEnds(
    command,
    [
      '0  Verified',
      '1  Tampered; or a usage error, with nothing on stdout',
      '2  a file could not be opened or read',
      '3  Indeterminate: it cannot be judged whole',
    ],
    [
      'aegis verify --key "$KEY" chain.aarl',
      'aegis verify --trust-store keys.json --head head.aarl segments/*.aarl',
      'zcat chain.aarl.gz | aegis verify --json -',
    ],
  )
}

async function run(files: readonly string[], flags: VerifyFlags, workerUrl: URL): Promise<void> {
  checkInputNames(files)
  const pins = await readPins(flags)
  const head = flags.head === undefined ? undefined : await readHead('--head', flags.head, pins)
  const inputs = await openInputs(files)
  let report: Report
  try {
    report = await walkInputs(inputs, { pins, head, threads: flags.threads, workerUrl })
  } finally {
    await closeInputs(inputs)
  }
  process.exitCode = exitCodeOf(report)
  if (flags.quiet === true && process.exitCode === exitCodes.ok) return
  const output = new Output()
  await output.write(flags.json === true ? toJson(report) : toText(report))
  await output.flush()
}

/** A head of another Chain ends in a usage error, whatever follows: then the rest need not be read. */
function isElsewhere(walk: Walk, head: Head | undefined): boolean {
  if (head === undefined || !('line' in head) || walk.chainId === undefined) return false
  return walk.chainId !== head.chainId
}

interface WalkSetting {
  readonly pins: readonly Pin[] | undefined
  readonly head: Head | undefined
  readonly threads: number | undefined
  readonly workerUrl: URL
}

async function walkInputs(inputs: readonly OpenInput[], setting: WalkSetting): Promise<Report> {
  const { pins, head } = setting
  const pool = new SignaturePool({
    threads: setting.threads ?? Math.min(availableParallelism(), threadsDefaultMax),
    startAfter: setting.threads === undefined ? startAfterDefault : 0,
    verifier: nodeSuite,
    settle: (id, holds) => {
      walk.settle(id, holds)
    },
    workerUrl: setting.workerUrl,
  })
  const walk = new Walk({
    digester: nodeSuite,
    check: (check) => pool.check(check),
    salt: randomBytes(16),
    ...(pins === undefined ? {} : { pins }),
    ...(head === undefined ? {} : { head }),
  })
  const progress = new Progress('verify', totalBytes(inputs))
  try {
    let doneBytes = 0
    for (const input of inputs) {
      for await (const chunk of readChunks(input)) {
        walk.push(chunk)
        doneBytes += chunk.length
        progress.update(doneBytes)
        if (walk.stopped || isElsewhere(walk, head)) break
      }
      if (walk.stopped || isElsewhere(walk, head)) break
      walk.endFile()
    }
    await pool.drain()
  } finally {
    progress.end()
    await pool.end()
  }
  const report = walk.end()
  if (head !== undefined && 'line' in head) {
    const walked = { report, chainId: walk.chainId, headKey: walk.headKey }
    const foreign = findForeignHead(head, walked, pins !== undefined, nodeSuite)
    if (foreign !== undefined) throw headError('--head', head.file, foreign)
  }
  return report
}
