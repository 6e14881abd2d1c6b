/**
 * Brings a folder up to what a deployment has published (docs/cli.md): what is there is verified first, then each further
 * segment is fetched, compared with the index, verified as the next Session of the one Chain, and only then kept. The
 * deployment's opinion of its own record is never used: pins and heads come from the reader.
 */
import { type LineHash, type PolicySetHash, parseLineObject } from '../../record/index.ts'
import type { Pin, Report } from '../../verify/index.ts'
import { CliError, exitCodes, usageError } from '../exit-codes.ts'
import { type HttpClient, RequestError } from '../http-client.ts'
import { closeInputs, openInputs, readChunks } from '../input-files.ts'
import { Progress } from '../progress.ts'
import { ChainJudge, type PullHead } from './chain-judge.ts'
import { pullKeys, pullPolicy } from './companions.ts'
import type { PullFolder } from './folder.ts'
import { headName, liveName } from './heads.ts'
import { LineFacts, sha256 } from './line-facts.ts'
import { checkSegment, fetchSegment, segmentName } from './segment.ts'
import { type SegmentEntry, type Unpublished, readIndexPage, segmentBytesMax } from './segment-index.ts'
import { PullStop, atSession } from './stop.ts'

/** Two hundred and fifty Sessions that wait for an archive; more is for the deployment's operator to look into. */
const liveBytesMax = 1_073_741_824
/** A Session that is published between the index and the live Lines is listed the next time. */
const liveRoundsMax = 3

export interface PullOptions {
  readonly client: HttpClient
  readonly tenant: string
  readonly folder: PullFolder
  readonly pins: readonly Pin[] | undefined
  readonly heads: readonly PullHead[]
  readonly live: boolean
  readonly quiet: boolean
}

/** The verified `close` that ends what is kept. */
export interface KeptHead {
  readonly sessionIndex: number
  readonly seq: number
  readonly lineHash: LineHash
  readonly line: Uint8Array
}

export interface PullResult {
  readonly report: Report
  readonly stop: PullStop | undefined
  /** Verified and in the folder. */
  readonly segments: number
  readonly downloaded: { readonly segments: number; readonly bytes: number; readonly policies: number }
  readonly head: KeptHead | undefined
  /** Of the open Session, where it was asked for and is good. */
  readonly live: { readonly bytes: number; readonly lines: number } | undefined
  readonly unpublished: Unpublished | undefined
  readonly unreached: PullHead | undefined
}

/** @throws CliError for what could not be read, written or reached; what was good by then is kept. */
export async function pullChain(options: PullOptions): Promise<PullResult> {
  return new ChainPull(options).run()
}

class ChainPull {
  readonly #options: PullOptions
  readonly #judge: ChainJudge
  readonly #policySets = new Set<PolicySetHash>()
  /** `session_index` of the next segment: as many are kept. */
  #next = 0
  #head: KeptHead | undefined
  /** Of the last one that is kept. */
  #lastHeld: { readonly tail: string; readonly sha256: string } | undefined
  #live: PullResult['live']
  #unpublished: Unpublished | undefined
  readonly #downloaded = { segments: 0, bytes: 0, policies: 0 }

  constructor(options: PullOptions) {
    this.#options = options
    this.#judge = new ChainJudge(options.pins, options.heads)
  }

  async run(): Promise<PullResult> {
    const { client, folder, tenant } = this.#options
    let stop: PullStop | undefined
    try {
      await this.#readLocal()
      await this.#pullSegments()
      if (this.#options.live) await this.#pullLive()
      await this.#pullPolicies()
      await pullKeys(client, folder, tenant)
    } catch (error) {
      if (!(error instanceof PullStop)) {
        // The next run goes on from here, and it should hold the head of what is good.
        await this.#keepHead().catch(() => undefined)
        throw this.#withWhatIsKept(error)
      }
      stop = error
    }
    await this.#keepHead()
    if (stop === undefined) await this.#dropPublishedLive()
    return {
      report: this.#judge.report(),
      stop,
      segments: this.#next,
      downloaded: this.#downloaded,
      head: this.#head,
      live: this.#live,
      unpublished: this.#unpublished,
      unreached: this.#judge.unreached,
    }
  }

  /** What is there is the beginning of the Chain, and is read and verified like anything that comes later. */
  async #readLocal(): Promise<void> {
    const { folder } = this.#options
    const sizes: number[] = []
    for (;;) {
      const size = await folder.sizeOf(segmentName(sizes.length))
      if (size === undefined) break
      sizes.push(size)
    }
    const progress = this.#progress(
      'verify',
      sizes.reduce((sum, size) => sum + size, 0),
    )
    try {
      let done = 0
      for (const size of sizes) {
        const bytes = await folder.read(segmentName(this.#next), segmentBytesMax)
        if (bytes === undefined) throw usageError(`error: --out: ${folder.path} is being changed`)
        this.#acceptLocal(bytes)
        done += size
        progress?.update(done)
      }
    } finally {
      progress?.end()
    }
  }

  #acceptLocal(bytes: Uint8Array): void {
    const { folder, tenant } = this.#options
    const facts = LineFacts.of(bytes)
    if (facts.opens > 0 && facts.chainId !== tenant) {
      throw usageError(
        `error: --out: ${folder.pathOf(segmentName(this.#next))} belongs to another Chain than ${tenant}, whose key was given`,
      )
    }
    this.#acceptSession(bytes, facts)
    this.#advance(facts, sha256(bytes))
  }

  async #pullSegments(): Promise<void> {
    const { client } = this.#options
    // From the last one that is held: the deployment must still show it, and show the same.
    const held = Math.max(this.#next - 1, 0)
    let page = await readIndexPage(client, held)
    let fresh = page.segments
    if (this.#next > 0) {
      const [shown, ...others] = page.segments
      if (shown === undefined) {
        throw new PullStop(
          'before_head',
          atSession(held),
          'the deployment does not list this Session, which is held: it shows an older state',
          exitCodes.indeterminate,
        )
      }
      this.#compareHeld(shown)
      fresh = others
    }
    for (;;) {
      this.#unpublished = page.unpublished
      await this.#pullPage(fresh)
      // A page that leads on holds something, so that each one comes closer to an end.
      if (!page.more) return
      page = await readIndexPage(client, this.#next)
      fresh = page.segments
    }
  }

  #compareHeld(entry: SegmentEntry): void {
    const held = this.#lastHeld
    if (held === undefined) return
    if (entry.tail !== held.tail) {
      throw new PullStop(
        'forked',
        atSession(entry.sessionIndex),
        `the deployment says that it ends in ${entry.tail}; the one held, verified, ends in ${held.tail}`,
      )
    }
    if (entry.sha256 !== held.sha256) {
      throw new PullStop(
        'segment_sha256',
        atSession(entry.sessionIndex),
        `the index says ${entry.sha256}; the segment held has ${held.sha256}`,
      )
    }
  }

  async #pullPage(entries: readonly SegmentEntry[]): Promise<void> {
    const progress = this.#progress(
      'pull',
      entries.reduce((sum, entry) => sum + entry.bytes, 0),
    )
    try {
      let done = 0
      for (const entry of entries) {
        await this.#pullSegment(entry)
        done += entry.bytes
        progress?.update(done)
      }
    } finally {
      progress?.end()
    }
  }

  async #pullSegment(entry: SegmentEntry): Promise<void> {
    const { client, folder, tenant } = this.#options
    const name = segmentName(entry.sessionIndex)
    // Behind one that was missing.
    const present = await folder.read(name, segmentBytesMax)
    const bytes = present ?? (await fetchSegment(client, entry))
    const facts = LineFacts.of(bytes)
    checkSegment(entry, bytes, facts, tenant)
    this.#acceptSession(bytes, facts)
    // A crash from here on leaves a whole file, or none.
    if (present === undefined) {
      await folder.keep(name, bytes)
      this.#downloaded.segments += 1
      this.#downloaded.bytes += bytes.length
    }
    this.#advance(facts, entry.sha256)
  }

  /** One Session, the next one, from its `open` to a `close` whose signature holds. */
  #acceptSession(bytes: Uint8Array, facts: LineFacts): void {
    const at = atSession(this.#next)
    // None at all is left to the walk, which says what is wrong with the first row.
    if (facts.opens > 1 || (facts.opens === 1 && facts.sessionIndex !== this.#next)) {
      throw new PullStop('segment_session', at, 'the bytes are not this one Session')
    }
    this.#judge.takeSession(this.#next, bytes)
    const report = this.#judge.report()
    if (report.verdict === 'tampered') throw notVerified(at, exitCodes.failed)
    if (report.verdict === 'indeterminate' && report.finding.reason !== 'before_head') {
      throw notVerified(at, exitCodes.indeterminate)
    }
    if (facts.opens === 0) throw new PullStop('segment_session', at, 'the bytes are not this one Session')
  }

  /** The next Session is verified, and in the folder. */
  #advance(facts: LineFacts, hash: string): void {
    for (const policySet of facts.policySets) this.#policySets.add(policySet)
    this.#head = toHead(this.#next, facts)
    this.#lastHeld = { tail: facts.lastHash, sha256: hash }
    this.#next += 1
  }

  async #pullLive(): Promise<void> {
    const { client, folder } = this.#options
    const part = folder.beginPart(liveName)
    for (let round = 1; ; round += 1) {
      try {
        await client.send({
          path: `/v1/chain/live?from=${String(this.#next)}`,
          bytesMax: liveBytesMax,
          sink: part,
        })
        break
      } catch (error) {
        await part.drop()
        if (!(error instanceof RequestError && error.status === 404)) throw error
        const before = this.#next
        if (round < liveRoundsMax) await this.#pullSegments()
        if (this.#next > before) continue
        throw new PullStop(
          'live_contradiction',
          atSession(before),
          'the deployment says that it is published, and its index does not list it',
        )
      }
    }
    try {
      const before = this.#judge.report().lines
      await this.#acceptLive(part.path)
      await part.keep()
      this.#live = { bytes: part.bytes, lines: this.#judge.report().lines - before }
    } catch (error) {
      await part.drop()
      throw error
    }
  }

  /** Whatever is not published yet: Sessions that wait, then the open one. */
  async #acceptLive(path: string): Promise<void> {
    const at = atSession(this.#next)
    const facts = new LineFacts()
    const inputs = await openInputs([path])
    try {
      for (const input of inputs) {
        for await (const piece of readChunks(input)) {
          facts.push(piece)
          if (facts.opens > 0 && facts.chainId !== this.#options.tenant) {
            throw new PullStop('foreign_chain', at, `it is not of the Chain ${this.#options.tenant}`)
          }
          if (facts.opens > 0 && facts.sessionIndex !== this.#next) {
            throw new PullStop('segment_session', at, 'the Lines are not of this Session')
          }
          this.#judge.takeOpen(piece)
          if (this.#judge.stopped) break
        }
      }
    } finally {
      await closeInputs(inputs)
    }
    this.#judge.endOpen()
    facts.end()
    const report = this.#judge.report()
    if (report.verdict === 'tampered') throw notVerified(at, exitCodes.failed)
    const { unreached } = this.#judge
    if (unreached?.open === true) {
      throw new PullStop(
        'before_head',
        atSession(unreached.head.session_index),
        `the deployment no longer shows seq ${String(unreached.head.seq)}, which ${liveName} holds from before`,
        exitCodes.indeterminate,
      )
    }
    const accepted = ['before_head', 'unanchored_tail', 'empty_chain']
    if (report.verdict === 'indeterminate' && !accepted.includes(report.finding.reason)) {
      throw notVerified(at, exitCodes.indeterminate)
    }
    for (const hash of facts.policySets) this.#policySets.add(hash)
  }

  async #pullPolicies(): Promise<void> {
    const { client, folder } = this.#options
    for (const hash of [...this.#policySets].sort()) {
      if (await pullPolicy(client, folder, hash)) this.#downloaded.policies += 1
    }
  }

  /** Only ever moves forward: a head that was held stays held until the Chain reaches beyond it. */
  async #keepHead(): Promise<void> {
    const head = this.#head
    if (head === undefined) return
    const held = this.#options.heads.find(({ source }) => source === headName)
    if (held !== undefined && held.head.session_index >= head.sessionIndex) return
    await this.#options.folder.keep(headName, Buffer.concat([head.line, Uint8Array.of(0x0a)]))
  }

  /** Lines of an open Session that were pulled before, found again in a segment, say nothing more. */
  async #dropPublishedLive(): Promise<void> {
    const { folder, heads, live } = this.#options
    if (live || (await folder.sizeOf(liveName)) === undefined) return
    const held = heads.find(({ open }) => open)
    const reached = held !== undefined && held.head.session_index < this.#next
    if (held === undefined || reached) await folder.remove(liveName)
  }

  #withWhatIsKept(error: unknown): unknown {
    const next = this.#downloaded.segments === 0 ? 0 : this.#next
    if (!(error instanceof CliError) || error.exitCode !== exitCodes.unreadable || next === 0) return error
    const kept = next === 1 ? 'session 0 is' : `sessions 0 to ${String(next - 1)} are`
    return new CliError(`${error.message}; ${kept} kept: run it again to go on`, error.exitCode)
  }

  #progress(title: string, bytes: number): Progress | undefined {
    return this.#options.quiet ? undefined : new Progress(title, bytes)
  }
}

function notVerified(at: string, exitCode: number): PullStop {
  return new PullStop('not_verified', at, 'its Lines do not verify', exitCode)
}

function toHead(sessionIndex: number, facts: LineFacts): KeptHead {
  const line = parseLineObject(facts.lastRow)
  const seq = line.ok ? line.value['seq'] : undefined
  // The walk has just accepted these bytes as a `close`.
  if (typeof seq !== 'number') throw new Error('a verified close has no seq')
  return { sessionIndex, seq, lineHash: facts.lastHash as LineHash, line: facts.lastRow }
}
