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
import { DecidedApprovals } from './decided-approvals.ts'
import { type Pin, isPinned, toTrustLabel } from './pins.ts'
import {
  type Coverage,
  type Evidence,
  type Finding,
  type IndeterminateReason,
  type Position,
  type Report,
  type TamperedReason,
  cutForReport,
  shownMax,
} from './report.ts'
import { type JudgedMember, type RowFault, RowScanner, classifyRow } from './scan.ts'
import { RowSplitter } from './rows.ts'

/** A signature to check. The arrays are only lent: a caller that answers later copies them. */
export interface SignatureCheck {
  /** Counts from 0 in walk order. */
  readonly id: number
  readonly publicKey: Uint8Array
  readonly message: Uint8Array
  readonly signature: Uint8Array
}

/** A point that the input must reach: the position and hash of a signed Line that the reader holds. */
export interface HeldHead extends Position {
  readonly lineHash: string
}

export interface WalkOptions {
  readonly digester: Digester
  /** Whether a signature holds, or `undefined` when {@link Walk.settle} will say so later. */
  readonly check: (check: SignatureCheck) => boolean | undefined
  /** Absent: unpinned. Empty: nothing is trusted. */
  readonly pins?: readonly Pin[]
  readonly head?: HeldHead
  /** Random bytes for the table of decided approvals; changes no report. */
  readonly salt?: Uint8Array
}

interface Session {
  readonly index: number
  readonly chainId: string | undefined
  /** Whether its `open` states `session_index`. */
  readonly stated: boolean
  readonly publicKey: Uint8Array
  readonly keyId: KeyId
  /** The same as ASCII. */
  readonly keyIdBytes: Uint8Array
  expectedSeq: number
  closed: boolean
}

/** A report's facts as they were before the Line whose signature is still being checked. */
interface Unsettled {
  readonly finding: Finding<'bad_signature'>
  readonly before: Coverage
}

const knownTypes = ['open', 'intent', 'outcome', 'decision', 'close', 'checkpoint'] as const
type KnownType = (typeof knownTypes)[number]
const knownTypeBytes = knownTypes.map((type) => [type, asciiBytes(type)] as const)

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

  #row = 0
  #session: Session | undefined
  /** ASCII hex of the last Line's hash. */
  readonly #lastHash = new Uint8Array(64)
  /** What is lent to `check`, over and over: a walk allocates next to nothing for a Line. */
  readonly #message = new Uint8Array(lineBytesMax)
  readonly #signature = new Uint8Array(64)
  #lastAt: Position | undefined
  #endsInClose = false
  /** A row that is no JSON: torn when it is the last, Tampered as soon as another follows. */
  #broken: Finding<'not_utf8' | 'malformed_line'> | undefined
  #tampered: { readonly finding: Finding<TamperedReason>; readonly before: Coverage } | undefined
  #indeterminate: Finding<IndeterminateReason> | undefined
  #headState: 'ahead' | 'passed' | 'matched' | 'before_file' = 'ahead'
  #headKey: Uint8Array | undefined
  #seqGap = false

  readonly #keyIds: KeyId[] = []
  #keyIdsMore = 0
  #firstSession: number | undefined
  #coverage: Position | undefined
  #lines = 0
  #sessions = 0
  #inFlight: string[] = []
  #inFlightMore = 0

  #checks = 0
  readonly #unsettled = new Map<number, Unsettled>()
  #failed: { readonly id: number; readonly unsettled: Unsettled } | undefined

  constructor(options: WalkOptions) {
    this.#options = options
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
    return this.#tampered !== undefined || this.#failed !== undefined
  }

  /** The answer to a check that `check` left open. Any order; each id once. */
  settle(id: number, holds: boolean): void {
    const unsettled = this.#unsettled.get(id)
    if (unsettled === undefined) throw new Error(`no signature check ${String(id)} is open`)
    this.#unsettled.delete(id)
    if (!holds && (this.#failed === undefined || id < this.#failed.id)) this.#failed = { id, unsettled }
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
    if (this.#unsettled.size > 0) throw new Error('signature checks are still open')
    const trust = toTrustLabel(this.#options.pins, this.#options.digester)
    if (this.#failed !== undefined) {
      // The walk had gone on; what it found behind this Line does not count.
      const { finding, before } = this.#failed.unsettled
      return { verdict: 'tampered', finding, trust, ...before }
    }
    if (this.#tampered !== undefined) {
      return { verdict: 'tampered', finding: this.#tampered.finding, trust, ...this.#tampered.before }
    }
    const completeTo = this.#completeTo()
    const complete = completeTo === undefined ? {} : { completeTo }
    const finding = this.#indeterminate ?? this.#findingAtEnd()
    if (finding === undefined) return { verdict: 'verified', trust, ...complete, ...this.#facts() }
    const inFlight = { inFlight: this.#inFlight, inFlightMore: this.#inFlightMore }
    return { verdict: 'indeterminate', finding, trust, ...complete, ...inFlight, ...this.#facts() }
  }

  #completeTo(): Position | undefined {
    const head = this.#options.head
    if (head === undefined || this.#headState !== 'matched' || this.#seqGap) return undefined
    return { session_index: head.session_index, seq: head.seq }
  }

  /** What is found out only at the end, in the order of SPEC.md §7. */
  #findingAtEnd(): Finding<IndeterminateReason> | undefined {
    const line = this.#row
    if (line === 0) return { reason: 'empty_chain', line: 0 }
    if (this.#broken !== undefined) return { reason: 'torn_final_line', line: this.#broken.line }
    const at = this.#lastAt === undefined ? {} : { at: this.#lastAt }
    if (!this.#endsInClose) return { reason: 'unanchored_tail', ...at, line }
    const head = this.#options.head
    if (head === undefined) return undefined
    const evidence = { session_index: head.session_index, seq: head.seq }
    if (this.#headState === 'ahead') return { reason: 'before_head', ...at, line, evidence }
    if (this.#headState === 'before_file') return { reason: 'head_not_in_file', ...at, line, evidence }
    return undefined
  }

  #facts(): Coverage {
    return {
      keyIds: [...this.#keyIds],
      keyIdsMore: this.#keyIdsMore,
      ...(this.#firstSession === undefined ? {} : { firstSession: this.#firstSession }),
      ...(this.#coverage === undefined ? {} : { coverage: this.#coverage }),
      lines: this.#lines,
      sessions: this.#sessions,
    }
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
      this.#tampered = { finding: thrown.finding, before: this.#facts() }
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
  #readEveryMember(bytes: Uint8Array): KnownType | 'unknown' {
    const span = this.#scanner.stringSpan('line_type')
    if (span === undefined) return this.#stopAtLine('member_invalid', { member: 'line_type' })
    if (this.#scanner.integer('seq') === undefined) this.#stopAtLine('member_invalid', { member: 'seq' })
    if (this.#scanner.hexStart('prev_hash', 64) === undefined) {
      return this.#stopAtLine('member_invalid', { member: 'prev_hash' })
    }
    for (const [type, name] of knownTypeBytes) if (equalBytes(bytes, span[0], span[1], name)) return type
    return 'unknown'
  }

  #takeOpen(bytes: Uint8Array, start: number, end: number, seq: number): void {
    const previous = this.#session
    const stated = this.#scanner.integer('session_index')
    const index = previous === undefined ? (stated ?? 0) : previous.index + 1
    const at: Position = { session_index: index, seq }
    if (seq !== 0) this.#stop('seq_mismatch', at, { want: 0, got: seq })
    this.#comparePrevHash(bytes, zeroHashBytes, at)
    this.#checkSessionTail(bytes, at, stated)
    const chainId = this.#checkOpenChainId(at)
    this.#checkOpenSessionIndex(at, stated)
    const keyAt = this.#scanner.hexStart('public_key', 64)
    const keyHex =
      keyAt === undefined ? undefined : parseDigest<PublicKeyHex>(ascii(bytes, keyAt, keyAt + 64))
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
    this.#sessions += 1
    if (this.#firstSession === undefined) {
      this.#firstSession = index
      if (this.#options.head !== undefined && this.#options.head.session_index < index)
        this.#headState = 'before_file'
    }
    if (this.#options.head?.session_index === index) this.#headKey = publicKey
    if (!this.#keyIds.includes(keyId)) {
      if (this.#keyIds.length < shownMax) this.#keyIds.push(keyId)
      else this.#keyIdsMore += 1
    }
    this.#finishLine(bytes, start, end, at, session, 'open')
  }

  #takeOther(
    bytes: Uint8Array,
    start: number,
    end: number,
    type: Exclude<KnownType, 'open'> | 'unknown',
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
    if (type === 'intent') {
      if (this.#inFlight.length < shownMax)
        this.#inFlight.push(cutForReport(this.#scanner.text('call_id') || '-'))
      else this.#inFlightMore += 1
    }
    this.#finishLine(bytes, start, end, at, session, type)
  }

  /** A first `open` cannot be compared with the Session before it, but 0 is the one ordinal that has none. */
  #checkSessionTail(bytes: Uint8Array, at: Position, stated: number | undefined): void {
    const present = this.#scanner.has('prev_session_tail')
    const start = this.#scanner.hexStart('prev_session_tail', 64)
    const got = this.#shown('prev_session_tail')
    if (this.#session !== undefined) {
      if (start !== undefined && equalBytes(bytes, start, start + 64, this.#lastHash)) return
      this.#stop('session_tail_mismatch', at, { want: ascii(this.#lastHash, 0, 64), got })
    }
    if (present ? start === undefined : stated !== undefined && stated > 0) {
      this.#stop('session_tail_mismatch', at, { want: 'digest', got })
    }
    if (present && stated === 0) this.#stop('session_tail_mismatch', at, { want: 'absent', got })
  }

  #checkOpenChainId(at: Position): string | undefined {
    const chainId = this.#scanner.text('chain_id')
    const got = this.#shown('chain_id')
    const previous = this.#session
    if (chainId === undefined && this.#scanner.has('chain_id')) {
      const want = previous === undefined ? 'string' : shownChainId(previous.chainId)
      this.#stop('chain_id_mismatch', at, { want, got })
    }
    if (previous !== undefined && chainId !== previous.chainId) {
      this.#stop('chain_id_mismatch', at, { want: shownChainId(previous.chainId), got })
    }
    return chainId
  }

  #checkOpenSessionIndex(at: Position, stated: number | undefined): void {
    const got = this.#shown('session_index')
    if (this.#session === undefined) {
      if (stated !== undefined || !this.#scanner.has('session_index')) return
      return this.#stop('session_index_mismatch', at, { want: 'integer', got })
    }
    const want = this.#session.stated ? at.session_index : undefined
    if (stated === want && (want !== undefined || !this.#scanner.has('session_index'))) return
    this.#stop('session_index_mismatch', at, { want: want ?? 'absent', got })
  }

  #comparePrevHash(bytes: Uint8Array, want: Uint8Array, at: Position): void {
    const start = this.#scanner.hexStart('prev_hash', 64) ?? 0
    if (equalBytes(bytes, start, start + 64, want)) return
    this.#stop('prev_hash_mismatch', at, { want: ascii(want, 0, 64), got: ascii(bytes, start, start + 64) })
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
    const id = this.#checks++
    const message = this.#signingInput(bytes, start, end)
    const { publicKey } = session
    const holds = this.#options.check({ id, publicKey, message, signature: this.#signature })
    if (holds === false) this.#stop('bad_signature', at, { source: 'invalid' })
    if (holds === undefined) {
      const finding = {
        reason: 'bad_signature',
        at,
        line: this.#row,
        evidence: { source: 'invalid' },
      } as const
      this.#unsettled.set(id, { finding, before: this.#facts() })
    }
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
    this.#coverage = at
    if (this.#inFlight.length > 0) this.#inFlight = []
    this.#inFlightMore = 0
  }

  /** The row without its member `signature` and one comma: the canonical form that was signed, never re-serialised. */
  #signingInput(bytes: Uint8Array, start: number, end: number): Uint8Array {
    let [cutFrom, cutTo] = this.#scanner.memberSpan('signature')
    if (bytes[cutTo] === 0x2c) cutTo += 1
    else if (bytes[cutFrom - 1] === 0x2c) cutFrom -= 1
    const message = this.#message
    message.set(bytes.subarray(start, cutFrom), 0)
    message.set(bytes.subarray(cutTo, end), cutFrom - start)
    return message.subarray(0, end - start - (cutTo - cutFrom))
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
    type: KnownType | 'unknown',
  ): void {
    hexInto(this.#lastHash, this.#options.digester.sha256(bytes.subarray(start, end)))
    if (this.#options.head !== undefined) this.#compareHead(this.#options.head, at, type)
    session.expectedSeq = at.seq + 1
    if (type === 'close') session.closed = true
    this.#endsInClose = type === 'close'
    this.#lastAt = at
    this.#lines += 1
  }

  #compareHead(head: HeldHead, at: Position, type: KnownType | 'unknown'): void {
    if (this.#headState !== 'ahead') return
    if (at.session_index === head.session_index) {
      if (at.seq === head.seq) {
        const got = ascii(this.#lastHash, 0, 64)
        if (got !== head.lineHash) this.#stop('forked', at, { want: head.lineHash, got })
        this.#headState = 'matched'
      } else if (at.seq > head.seq) {
        // A gap in the numbers jumped over the position: nothing stands there to compare.
        this.#headState = 'passed'
      } else if (type === 'close') {
        this.#stop('forked', at, { want: head.lineHash, got: 'absent' })
      }
    } else if (at.session_index > head.session_index) {
      this.#stop('forked', at, { want: head.lineHash, got: 'absent' })
    }
  }

  /** A member as evidence (SPEC.md §7.6): a string cut, an integer, or the name of what it is instead. */
  #shown(member: JudgedMember): string | number {
    const text = this.#scanner.text(member)
    return text === undefined
      ? (this.#scanner.integer(member) ?? this.#scanner.kind(member))
      : cutForReport(text)
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

function shownChainId(chainId: string | undefined): string {
  return chainId === undefined ? 'absent' : cutForReport(chainId)
}

function equalBytes(bytes: Uint8Array, start: number, end: number, expected: Uint8Array): boolean {
  if (end - start !== expected.length) return false
  for (let at = 0; at < expected.length; at += 1) if (bytes[start + at] !== expected[at]) return false
  return true
}

function ascii(bytes: Uint8Array, start: number, end: number): string {
  return String.fromCharCode(...bytes.subarray(start, end))
}

function asciiBytes(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0))
}

function hexInto(target: Uint8Array, hash: Uint8Array): void {
  for (let at = 0; at < 32; at += 1) {
    const byte = hash[at] ?? 0
    target[2 * at] = hexDigit(byte >> 4)
    target[2 * at + 1] = hexDigit(byte & 15)
  }
}

function hexDigit(value: number): number {
  return value < 10 ? 0x30 + value : 0x57 + value
}

/** Fills the target from digits that were found to be lowercase hex. */
function unhexInto(target: Uint8Array, bytes: Uint8Array, start: number): void {
  for (let at = 0; at < target.length; at += 1) {
    target[at] = (hexValue(bytes[start + 2 * at] ?? 0) << 4) | hexValue(bytes[start + 2 * at + 1] ?? 0)
  }
}

function hexValue(digit: number): number {
  return digit < 0x3a ? digit - 0x30 : digit - 0x57
}
