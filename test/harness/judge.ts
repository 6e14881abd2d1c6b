/** Runs src/verify over bytes the way a test wants it: whole, in pieces, with answers that come late. */
import type { CryptoSuite, PublicKeyHex } from '../../src/record/index.ts'
import {
  type HeldHead,
  type Pin,
  type Report,
  type SignatureCheck,
  Walk,
  exitCodeOf,
  parseTrustStore,
  toJson,
  toText,
} from '../../src/verify/index.ts'
import type { ExpectedReport } from './vectors/expected-report.ts'

export interface JudgeOptions {
  readonly suite: CryptoSuite
  readonly pins?: readonly Pin[]
  readonly head?: HeldHead
  /** Lengths of the pieces, used in turn; whole files when absent. */
  readonly chunks?: readonly number[]
  /** Signatures are answered only at the end, in the order that this function puts them into. */
  readonly settle?: (ids: readonly number[]) => readonly number[]
  readonly salt?: Uint8Array
}

/** The report on these files, one behind the other. */
export function judge(files: readonly Uint8Array[], options: JudgeOptions): Report {
  const { suite, pins, head, settle, salt } = options
  const answers = new Map<number, boolean>()
  const verify = ({ publicKey, message, signature }: SignatureCheck): boolean =>
    suite.verify(publicKey, message, signature)
  const walk = new Walk({
    digester: suite,
    check: (check) => {
      const holds = verify(check)
      if (settle === undefined) return holds
      answers.set(check.id, holds)
      return undefined
    },
    ...(pins === undefined ? {} : { pins }),
    ...(head === undefined ? {} : { head }),
    ...(salt === undefined ? {} : { salt }),
  })
  for (const file of files) {
    for (const piece of pieces(file, options.chunks)) walk.push(piece)
    walk.endFile()
  }
  if (settle !== undefined)
    for (const id of settle([...answers.keys()])) walk.settle(id, answers.get(id) === true)
  return walk.end()
}

function* pieces(bytes: Uint8Array, lengths: readonly number[] | undefined): Generator<Uint8Array> {
  if (lengths === undefined || lengths.length === 0) {
    yield bytes
    return
  }
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const length = Math.max(1, lengths[turn % lengths.length] ?? 1)
    // A copy: whoever reads from a stream may use the buffer again.
    yield bytes.slice(at, at + length)
    at += length
  }
}

/** All three outputs that are API. */
export function outputsOf(report: Report): ExpectedReport {
  return { exit: exitCodeOf(report), text: toText(report), json: toJson(report) }
}

/** `REASON`, or `verified`. */
export function reasonOf(report: Report): string {
  return report.verdict === 'verified' ? 'verified' : report.finding.reason
}

/** The pins of `--key` and `--trust-store`; `undefined` when neither is given. */
export function toPins(
  keys: readonly string[] | undefined,
  trustStore: string | undefined,
): readonly Pin[] | undefined {
  if (keys === undefined && trustStore === undefined) return undefined
  const pins: Pin[] = (keys ?? []).map((key) => ({ publicKey: key as PublicKeyHex }))
  if (trustStore === undefined) return pins
  const store = parseTrustStore(new TextEncoder().encode(trustStore))
  if (!store.ok) throw new Error(`${store.error.path} ${store.error.code}`)
  return [...pins, ...store.value]
}

/** `SESSION:SEQ:LINE_HASH`. */
export function toHead(text: string | undefined): HeldHead | undefined {
  if (text === undefined) return undefined
  const match = /^([0-9]+):([0-9]+):([0-9a-f]{64})$/.exec(text)
  if (match === null) throw new Error(`no head: ${text}`)
  return { session_index: Number(match[1]), seq: Number(match[2]), lineHash: match[3] ?? '' }
}

/** The same as options of {@link judge}, from a vector's. */
export function judgeOptions(
  suite: CryptoSuite,
  options: { keys?: readonly string[]; trust_store?: string; head?: string } = {},
): JudgeOptions {
  const pins = toPins(options.keys, options.trust_store)
  const head = toHead(options.head)
  return { suite, ...(pins === undefined ? {} : { pins }), ...(head === undefined ? {} : { head }) }
}

/**
 * The same suite, which checks a signature that held before only once: for tests that read one Chain thousands of times
 * with one Line changed. A pure function of the same bytes, so that it hides nothing.
 */
export function rememberingSuite(suite: CryptoSuite): CryptoSuite {
  const held = new Set<string>()
  return {
    ...suite,
    verify(publicKey, message, signature) {
      const name = Buffer.concat([publicKey, signature, message]).toString('latin1')
      if (held.has(name)) return true
      const holds = suite.verify(publicKey, message, signature)
      if (holds) held.add(name)
      return holds
    },
  }
}
