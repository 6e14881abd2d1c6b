/**
 * The one walk over a Chain (SPEC.md §7): rows in order, the checks in the order that the specification names, so that
 * every implementation reports the same. Streaming, synchronous, and free of any runtime. It judges what the
 * specification names and nothing else: members it does not know never change a verdict.
 */
import {
  type Digester,
  type KeyId,
  type PublicKeyHex,
  decodeHex,
  keyIdOf,
  lineBytesMax,
  parseDigest,
  zeroPrevHash,
} from '../record/index.ts'
import { asciiBytes, asciiText, equalBytes, hexInto, unhexInto } from './ascii.ts'
import { DecidedApprovals } from './decided-approvals.ts'
import { HeadSearch, type HeldHead } from './held-head.ts'
import { type LineType, readLineType } from './line-type.ts'
import {
  type OpenedSession,
  findWrongChainId,
  findWrongIndex,
  findWrongTail,
  shownChainId,
  shownMember,
} from './open-link.ts'
import { type Pin, isPinned, toTrustLabel } from './pins.ts'
import {
  type Coverage,
  type Evidence,
  type Finding,
  type IndeterminateReason,
  type Position,
  type Report,
  type TamperedReason,
} from './report.ts'
import { RowSplitter } from './rows.ts'
import { type JudgedMember, type RowFault, RowScanner, classifyRow } from './scan.ts'
import { type CheckSignature, SignatureChecks } from './signature-checks.ts'
import { SigningInput } from './signing-input.ts'
import { Tally } from './tally.ts'

export interface WalkOptions {
  readonly digester: Digester
  /** What it leaves open, {@link Walk.settle} answers. */
  readonly check: CheckSignature
  /** Absent: unpinned. Empty: nothing is trusted. */
  readonly pins?: readonly Pin[]
  readonly head?: HeldHead
  /** Random bytes for the table of decided approvals; changes no report. */
  readonly salt?: Uint8Array
}

interface Session extends OpenedSession {
  readonly publicKey: Uint8Array
  readonly keyId: KeyId
  /** The same as ASCII. */
  readonly keyIdBytes: Uint8Array
  expectedSeq: number
  closed: boolean
}

/** Thrown inside the walk when a Tampered is found; never leaves it. */
class Stop extends Error {
  readonly finding: Finding<TamperedReason>
  constructor(finding: Finding<TamperedReason>) {
    super(finding.reason)
    this.finding = finding
  }
}

export class Walk {
  readonly #options: WalkOptions
  readonly #rows: RowSplitter
  readonly #scanner = new RowScanner()
  readonly #decided: DecidedApprovals

  readonly #checks: SignatureChecks
  readonly #head: HeadSearch
  readonly #tally = new Tally()

  #row = 0
  #session: Session | undefined
  /** ASCII hex of the last Line's hash. */
  readonly #lastHash = new Uint8Array(64)
  readonly #signingInput = new SigningInput()
  readonly #signature = new Uint8Array(64)
  readonly #lastHashText = (): string => asciiText(this.#lastHash, 0, 64)
  #lastAt: Position | undefined
  #endsInClose = false
  /** A row that is no JSON: torn when it is the last, Tampered as soon as another follows. */
  #broken: Finding<'not_utf8' | 'malformed_line'> | undefined
  #tampered: { readonly finding: Finding<TamperedReason>; readonly before: Coverage } | undefined
  #indeterminate: Finding<IndeterminateReason> | undefined
  #headKey: Uint8Array | undefined
  #seqGap = false

  constructor(options: WalkOptions) {
    this.#options = options
    this.#checks = new SignatureChecks(options.check)
    this.#head = new HeadSearch(options.head)
    this.#decided = new DecidedApprovals(options.digester, options.salt ?? new Uint8Array(0))
    this.#rows = new RowSplitter({
      row: (bytes, start, end) => {
        this.#guard(bytes, start, end)
      },
      longRow: () => {
        this.#guard(undefined, 0, 0)
      },
    })
  }

  /** Takes the next bytes of the current file; cuts are of no consequence. */
  push(chunk: Uint8Array): void {
    if (!this.stopped) this.#rows.push(chunk)
  }

  /** The current file ends: a last row without LF is read as if it had one. */
  endFile(): void {
    if (!this.stopped) this.#rows.endRow()
  }

  /** A Tampered was found: no further byte can change the report, checks under way still can. */
  get stopped(): boolean {
    return this.#tampered !== undefined || this.#checks.failed !== undefined
  }

  /** The answer to a check that `check` left open. Any order; each id once. */
  settle(id: number, holds: boolean): void {
    this.#checks.settle(id, holds)
  }

  /** `chain_id` of the first `open`, once it was read. */
  get chainId(): string | undefined {
    return this.#session?.chainId
  }

  /** The public key of the Session that the held head names, once its `open` was read. */
  get headKey(): Uint8Array | undefined {
    return this.#headKey
  }

  /** The report. Every check must be settled. */
  end(): Report {
    this.endFile()
    if (this.#checks.areOpen) throw new Error('signature checks are still open')
    const trust = toTrustLabel(this.#options.pins, this.#options.digester)
    // After a check that failed late the walk had gone on; what it found behind that Line does not count.
    const tampered = this.#checks.failed ?? this.#tampered
    if (tampered !== undefined) {
      return { verdict: 'tampered', finding: tampered.finding, trust, ...tampered.before }
    }
    const completeTo = this.#seqGap ? undefined : this.#head.matched
    const complete = completeTo === undefined ? {} : { completeTo }
    const finding = this.#indeterminate ?? this.#findingAtEnd()
    if (finding === undefined) return { verdict: 'verified', trust, ...complete, ...this.#tally.facts }
    const { facts, inFlight } = this.#tally
    return { verdict: 'indeterminate', finding, trust, ...complete, ...inFlight, ...facts }
  }

  /** What is found out only at the end, in the order of SPEC.md §7. */
  #findingAtEnd(): Finding<IndeterminateReason> | undefined {
    const line = this.#row
    if (line === 0) return { reason: 'empty_chain', line: 0 }
    if (this.#broken !== undefined) return { reason: 'torn_final_line', line: this.#broken.line }
    const at = this.#lastAt === undefined ? {} : { at: this.#lastAt }
    if (!this.#endsInClose) return { reason: 'unanchored_tail', ...at, line }
    const unreached = this.#head.unreached
    return unreached === undefined ? undefined : { ...unreached, ...at, line }
  }

  /** One row, or `undefined` for one that is too long. */
  #guard(bytes: Uint8Array | undefined, start: number, end: number): void {
    if (this.stopped) return
    try {
      this.#beginRow()
      if (bytes === undefined) this.#stopAtLine('line_too_long', { max: lineBytesMax })
      else this.#takeRow(bytes, start, end)
    } catch (thrown) {
      if (!(thrown instanceof Stop)) throw thrown
      this.#tampered = { finding: thrown.finding, before: this.#tally.facts }
    }
  }

  #beginRow(): void {
    // The row before was no JSON, and it was not the last: no torn write, but a broken Line.
    if (this.#broken !== undefined) throw new Stop(this.#broken)
    this.#row += 1
  }

  #takeRow(bytes: Uint8Array, start: number, end: number): void {
    if (!this.#scanner.scan(bytes, start, end)) {
      this.#refuseRow(classifyRow(bytes.subarray(start, end)))
      return
    }
    const type = this.#readEveryMember(bytes)
    const seq = this.#scanner.integer('seq') ?? 0
    if (type === 'open') this.#takeOpen(bytes, start, end, seq)
    else this.#takeOther(bytes, start, end, type, seq)
  }

  #refuseRow(fault: RowFault): void {
    if (fault === 'not_utf8' || fault === 'malformed_line') this.#broken = { reason: fault, line: this.#row }
    else this.#stopAtLine(fault)
  }

  /** `line_type`, `seq`, `prev_hash`: present and typed, in this order. */
  #readEveryMember(bytes: Uint8Array): LineType {
    const span = this.#scanner.stringSpan('line_type')
    if (span === undefined) return this.#stopAtLine('member_invalid', { member: 'line_type' })
    if (this.#scanner.integer('seq') === undefined) this.#stopAtLine('member_invalid', { member: 'seq' })
    if (this.#scanner.hexStart('prev_hash', 64) === undefined) {
      return this.#stopAtLine('member_invalid', { member: 'prev_hash' })
    }
    return readLineType(bytes, span[0], span[1])
  }

  #takeOpen(bytes: Uint8Array, start: number, end: number, seq: number): void {
    const previous = this.#session
    const stated = this.#scanner.integer('session_index')
    const index = previous === undefined ? (stated ?? 0) : previous.index + 1
    const at: Position = { session_index: index, seq }
    if (seq !== 0) this.#stop('seq_mismatch', at, { want: 0, got: seq })
    this.#comparePrevHash(bytes, zeroHashBytes, at)
    const tail = findWrongTail(this.#scanner, bytes, previous === undefined ? undefined : this.#lastHash)
    if (tail !== undefined) this.#stop('session_tail_mismatch', at, tail)
    const chain = findWrongChainId(this.#scanner, previous)
    if (chain !== undefined) this.#stop('chain_id_mismatch', at, chain)
    const chainId = this.#scanner.text('chain_id')
    const ordinal = findWrongIndex(this.#scanner, previous)
    if (ordinal !== undefined) this.#stop('session_index_mismatch', at, ordinal)
    const keyAt = this.#scanner.hexStart('public_key', 64)
    const keyHex =
      keyAt === undefined ? undefined : parseDigest<PublicKeyHex>(asciiText(bytes, keyAt, keyAt + 64))
    const publicKey = keyHex === undefined ? undefined : decodeHex(keyHex)
    if (keyHex === undefined || publicKey === undefined)
      return this.#stop('public_key_invalid', at, { got: this.#shown('public_key') })
    const keyId = keyIdOf(publicKey, this.#options.digester)
    if (this.#options.pins !== undefined && !isPinned(this.#options.pins, keyHex, chainId, index)) {
      this.#stop('untrusted_key', at, { got: keyHex })
    }
    const session: Session = {
      index,
      chainId,
      stated: stated !== undefined,
      publicKey,
      keyId,
      keyIdBytes: asciiBytes(keyId),
      expectedSeq: 0,
      closed: false,
    }
    this.#checkSchemaVersion(at)
    this.#checkSignature(bytes, start, end, at, session)
    this.#session = session
    this.#tally.addSession(index, keyId)
    if (previous === undefined) this.#head.beginAt(index)
    if (this.#head.isIn(index)) this.#headKey = publicKey
    this.#finishLine(bytes, start, end, at, session, 'open')
  }

  #takeOther(
    bytes: Uint8Array,
    start: number,
    end: number,
    type: Exclude<LineType, 'open'>,
    seq: number,
  ): void {
    const session = this.#session
    if (session === undefined)
      return this.#stopAtLine('line_before_open', { line_type: this.#shown('line_type') })
    const at: Position = { session_index: session.index, seq }
    this.#comparePrevHash(bytes, this.#lastHash, at)
    if (seq < session.expectedSeq) this.#stop('seq_mismatch', at, { want: session.expectedSeq, got: seq })
    if (seq > session.expectedSeq) {
      this.#seqGap = true
      this.#note('seq_gap', at, { want: session.expectedSeq, got: seq })
    }
    if (session.closed && type !== 'unknown' && type !== 'checkpoint') {
      this.#stop('line_after_close', at, { line_type: this.#shown('line_type') })
    }
    this.#checkSchemaVersion(at)
    const signed = type === 'unknown' ? this.#scanner.has('signature') : type !== 'intent'
    if (signed) this.#checkSignature(bytes, start, end, at, session)
    if (type === 'checkpoint') this.#note('checkpoint', at)
    if (type === 'unknown') {
      this.#note('unknown_line_type', at, { line_type: this.#shown('line_type') })
    }
    if (type === 'decision') this.#checkDecision(bytes, at)
    if (type === 'intent') this.#tally.addIntent(this.#scanner.text('call_id') || '-')
    this.#finishLine(bytes, start, end, at, session, type)
  }

  #comparePrevHash(bytes: Uint8Array, want: Uint8Array, at: Position): void {
    const start = this.#scanner.hexStart('prev_hash', 64) ?? 0
    if (equalBytes(bytes, start, start + 64, want)) return
    this.#stop('prev_hash_mismatch', at, {
      want: asciiText(want, 0, 64),
      got: asciiText(bytes, start, start + 64),
    })
  }

  #checkSchemaVersion(at: Position): void {
    if (!this.#scanner.has('schema_version')) this.#stop('schema_version_missing', at)
    if (this.#scanner.integer('schema_version') !== 2) {
      this.#note('schema_version_unsupported', at, { want: 2, got: this.#shown('schema_version') })
    }
  }

  /** The signature block: `signature`, `key_id`, `chain_id`, `session_index`. */
  #checkSignature(bytes: Uint8Array, start: number, end: number, at: Position, session: Session): void {
    if (!this.#scanner.has('signature')) this.#stop('bad_signature', at, { source: 'unsigned' })
    const hexAt = this.#scanner.hexStart('signature', 128)
    if (hexAt === undefined) return this.#stop('bad_signature', at, { source: 'malformed' })
    unhexInto(this.#signature, bytes, hexAt)
    const message = this.#signingInput.cut(this.#scanner, bytes, start, end)
    const evidence = { source: 'invalid' } as const
    const holds = this.#checks.ask(
      { publicKey: session.publicKey, message, signature: this.#signature },
      () => ({
        finding: { reason: 'bad_signature', at, line: this.#row, evidence },
        before: this.#tally.facts,
      }),
    )
    if (!holds) this.#stop('bad_signature', at, evidence)
    const keyIdAt = this.#scanner.hexStart('key_id', 64)
    if (keyIdAt === undefined || !equalBytes(bytes, keyIdAt, keyIdAt + 64, session.keyIdBytes)) {
      this.#stop('key_id_mismatch', at, { want: session.keyId, got: this.#shown('key_id') })
    }
    if (this.#scanner.has('chain_id') && this.#scanner.text('chain_id') !== session.chainId) {
      this.#stop('chain_id_mismatch', at, {
        want: shownChainId(session.chainId),
        got: this.#shown('chain_id'),
      })
    }
    const want = session.stated ? session.index : undefined
    if (this.#scanner.has('session_index') && this.#scanner.integer('session_index') !== want) {
      const got = this.#shown('session_index')
      this.#stop('session_index_mismatch', at, { want: want ?? 'absent', got })
    }
    this.#tally.cover(at)
  }

  #checkDecision(bytes: Uint8Array, at: Position): void {
    const span = this.#scanner.stringSpan('approval_id')
    if (span === undefined || this.#decided.add(bytes.subarray(span[0], span[1]))) return
    this.#stop('second_decision', at, { approval_id: this.#shown('approval_id') })
  }

  #finishLine(
    bytes: Uint8Array,
    start: number,
    end: number,
    at: Position,
    session: Session,
    type: LineType,
  ): void {
    hexInto(this.#lastHash, this.#options.digester.sha256(bytes.subarray(start, end)))
    const contradiction = this.#head.compare(at, type === 'close', this.#lastHashText)
    if (contradiction !== undefined) this.#stop('forked', at, contradiction)
    session.expectedSeq = at.seq + 1
    if (type === 'close') session.closed = true
    this.#endsInClose = type === 'close'
    this.#lastAt = at
    this.#tally.addLine()
  }

  #shown(member: JudgedMember): string | number {
    return shownMember(this.#scanner, member)
  }

  /** Remembers the first thing that keeps the Chain from being Verified; the walk goes on. */
  #note(reason: IndeterminateReason, at: Position, evidence?: Evidence): void {
    this.#indeterminate ??= { reason, at, line: this.#row, ...(evidence === undefined ? {} : { evidence }) }
  }

  #stop(reason: TamperedReason, at: Position, evidence?: Evidence): never {
    throw new Stop({ reason, at, line: this.#row, ...(evidence === undefined ? {} : { evidence }) })
  }

  #stopAtLine(reason: TamperedReason, evidence?: Evidence): never {
    throw new Stop({ reason, line: this.#row, ...(evidence === undefined ? {} : { evidence }) })
  }
}

const zeroHashBytes = asciiBytes(zeroPrevHash)
