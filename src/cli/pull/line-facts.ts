/**
 * What a pull needs to know of Lines besides their verdict: which Session they say they are, how they end, and which
 * policy sets they name. Read from bytes that nobody has verified yet: it believes nothing and refuses nothing, because
 * whether these are Lines at all is for src/verify to say.
 */
import { createHash } from 'node:crypto'
import { type PolicySetHash, lineBytesMax, noPolicySet, parseDigest } from '../../record/index.ts'

type Members = Readonly<Record<string, unknown>>

export class LineFacts {
  /** `open` Lines. */
  opens = 0
  /** Of the first `open`. */
  chainId: unknown
  sessionIndex: unknown
  /** Lines of any kind. */
  lines = 0
  /** The last row that is not empty, without LF. */
  lastRow = new Uint8Array(0)
  readonly policySets = new Set<PolicySetHash>()
  #held = new Uint8Array(0)

  /** Facts of a whole file. */
  static of(bytes: Uint8Array): LineFacts {
    const facts = new LineFacts()
    facts.push(bytes)
    facts.end()
    return facts
  }

  get lastHash(): string {
    return sha256(this.lastRow)
  }

  /** The next bytes; they are only lent. */
  push(piece: Uint8Array): void {
    let start = 0
    for (;;) {
      const lf = piece.indexOf(0x0a, start)
      if (lf < 0) break
      this.#row(this.#joined(piece.subarray(start, lf)))
      start = lf + 1
    }
    // A row longer than a Line may be is refused by src/verify; it need not be held.
    if (this.#held.length <= lineBytesMax) this.#held = this.#joined(piece.slice(start))
  }

  end(): void {
    this.#row(this.#joined(new Uint8Array(0)))
  }

  #joined(rest: Uint8Array): Uint8Array<ArrayBuffer> {
    const row = new Uint8Array(this.#held.length + rest.length)
    row.set(this.#held)
    row.set(rest, this.#held.length)
    this.#held = new Uint8Array(0)
    return row
  }

  #row(row: Uint8Array<ArrayBuffer>): void {
    if (row.length === 0) return
    this.lastRow = row
    if (row.length > lineBytesMax) return
    const members = parseRow(row)
    if (members === undefined) return
    this.lines += 1
    if (members['line_type'] === 'open') {
      if (this.opens === 0) {
        this.chainId = members['chain_id']
        this.sessionIndex = members['session_index']
      }
      this.opens += 1
    }
    if (members['line_type'] === 'outcome') this.#addPolicySets(members)
  }

  /** Of the verdict and of a candidate that ran beside it; nowhere else, since callers write much of a Line. */
  #addPolicySets(outcome: Members): void {
    const shadow = asObject(asObject(outcome['decision_axes'])?.['shadow'])
    for (const value of [outcome['policy_set_hash'], shadow?.['policy_set_hash']]) {
      const hash = parseDigest<PolicySetHash>(value)
      if (hash !== undefined && hash !== noPolicySet) this.policySets.add(hash)
    }
  }
}

function parseRow(row: Uint8Array): Members | undefined {
  try {
    return asObject(JSON.parse(Buffer.from(row.buffer, row.byteOffset, row.length).toString('utf8')))
  } catch {
    return undefined
  }
}

function asObject(value: unknown): Members | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : undefined
}

/** 64 lowercase hex. */
export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
