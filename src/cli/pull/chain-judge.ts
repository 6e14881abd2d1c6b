/**
 * The walk over everything that is pulled (SPEC.md §7.3), against the pins and every head that is held. A walk looks for
 * one head; each further one has a walk of its own from its Session on, which leaves the signatures to the first.
 */
import { randomBytes } from 'node:crypto'
import { nodeSuite } from '../../crypto-node/index.ts'
import { type Pin, type Report, Walk, findForeignHead } from '../../verify/index.ts'
import { type Head, headError } from '../head-option.ts'

export interface PullHead {
  readonly head: Head
  /** What named it, for errors. */
  readonly source: string
  /** Taken from an open Session: it need not be published yet. */
  readonly open: boolean
}

interface Trace {
  readonly walk: Walk
  readonly held: PullHead | undefined
}

export class ChainJudge {
  readonly #pinned: boolean
  readonly #main: Trace
  readonly #others: readonly Trace[]

  constructor(pins: readonly Pin[] | undefined, heads: readonly PullHead[]) {
    this.#pinned = pins !== undefined
    const furthest = heads.filter(({ open }) => !open).toSorted((a, b) => compare(b.head, a.head))[0]
    const start = (held: PullHead | undefined, checksSignatures: boolean): Trace => ({
      held,
      walk: new Walk({
        digester: nodeSuite,
        check: checksSignatures
          ? ({ publicKey, message, signature }) => nodeSuite.verify(publicKey, message, signature)
          : () => true,
        salt: randomBytes(16),
        ...(pins === undefined ? {} : { pins }),
        ...(held === undefined ? {} : { head: held.head }),
      }),
    })
    this.#main = start(furthest, true)
    this.#others = heads.filter((held) => held !== furthest).map((held) => start(held, false))
  }

  /** The next Session, whole. */
  takeSession(sessionIndex: number, bytes: Uint8Array): void {
    this.#main.walk.push(bytes)
    this.#main.walk.endFile()
    for (const { walk, held } of this.#others) {
      if (held === undefined || held.head.session_index > sessionIndex) continue
      walk.push(bytes)
      walk.endFile()
    }
  }

  /** A piece of what is not published yet; the file is ended by {@link endOpen}. */
  takeOpen(piece: Uint8Array): void {
    for (const { walk } of [this.#main, ...this.#others]) walk.push(piece)
  }

  endOpen(): void {
    for (const { walk } of [this.#main, ...this.#others]) walk.endFile()
  }

  get stopped(): boolean {
    return [this.#main, ...this.#others].some(({ walk }) => walk.stopped)
  }

  /**
   * The report so far; more may be taken after it.
   *
   * @throws CliError for a head that is none of this Chain.
   */
  report(): Report {
    for (const { walk, held } of [this.#main, ...this.#others]) {
      if (held === undefined || !('line' in held.head)) continue
      const walked = { report: walk.end(), chainId: walk.chainId, headKey: walk.headKey }
      const foreign = findForeignHead(held.head, walked, this.#pinned, nodeSuite)
      if (foreign !== undefined) throw headError(held.source, held.head.file, foreign)
    }
    const report = this.#main.walk.end()
    if (report.verdict === 'tampered') return report
    // Of another walk only what is wrong counts: a head that the Chain contradicts.
    const others = this.#others.map(({ walk }) => walk.end())
    return others.find(({ verdict }) => verdict === 'tampered') ?? report
  }

  /** A head that the input does not reach, if there is one. */
  get unreached(): PullHead | undefined {
    return [this.#main, ...this.#others].find(
      ({ walk, held }) => held !== undefined && !isReached(walk.end()),
    )?.held
  }
}

function isReached(report: Report): boolean {
  return report.verdict !== 'tampered' && report.completeTo !== undefined
}

function compare(a: Head, b: Head): number {
  return a.session_index === b.session_index ? a.seq - b.seq : a.session_index - b.session_index
}
