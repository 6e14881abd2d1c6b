/** A recheck in this process, as `aegis recheck` does it over files: rows and sums as text. */
import {
  Recheck,
  type RecheckMeans,
  type RecheckSummary,
  type RecheckedRow,
  RowReader,
  rowText,
} from '../../src/recheck/index.ts'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { type PolicySet, openPolicySet } from '../../src/policy/index.ts'
import type { PolicySetHash } from '../../src/record/index.ts'
import { RowSplitter } from '../../src/verify/rows.ts'
import { recheckEngine } from './recorded-tenant.ts'

export interface RecheckGiven {
  /** One set for all, or each outcome's own, by hash. */
  readonly under: PolicySet | ReadonlyMap<string, Uint8Array>
  /** By digest. */
  readonly envelopes?: ReadonlyMap<string, Uint8Array>
  readonly since?: number
}

export interface RecheckDone {
  /** Without LF. */
  readonly rows: readonly string[]
  readonly rechecked: readonly RecheckedRow[]
  readonly summary: RecheckSummary
}

function recheckMeansOf({ envelopes, under }: RecheckGiven): RecheckMeans {
  const opened = new Map<string, PolicySet | undefined>()
  const own = (hash: PolicySetHash): PolicySet | undefined => {
    if (!(under instanceof Map)) return under as PolicySet
    if (!opened.has(hash)) {
      const bytes = under.get(hash) as Uint8Array | undefined
      const read = bytes === undefined ? undefined : openPolicySet(bytes, hash, nodeSuite)
      opened.set(hash, read?.ok === true ? read.policySet : undefined)
    }
    return opened.get(hash)
  }
  return {
    engine: recheckEngine,
    digester: nodeSuite,
    policySet: own,
    envelope: (digest) => envelopes?.get(digest),
  }
}

export function recheck(chain: Uint8Array, given: RecheckGiven): RecheckDone {
  const reader = new RowReader(recheckMeansOf(given), given.since === undefined ? {} : { since: given.since })
  const walk = new Recheck()
  const rows: string[] = []
  const rechecked: RecheckedRow[] = []
  const take = (reading: Parameters<Recheck['take']>[0]): void => {
    const row = walk.take(reading)
    if (row === undefined) return
    rows.push(rowText(row).trimEnd())
    if (row.kind === 'row') rechecked.push(row)
  }
  const splitter = new RowSplitter({
    row: (bytes, start, end) => {
      take(reader.read(bytes, start, end))
    },
    longRow: () => {
      take({ kind: 'broken', reason: 'line_too_long' })
    },
  })
  splitter.push(chain)
  splitter.endRow()
  return { rows, rechecked, summary: walk.summary }
}

/** Rows without what names the call: `unchanged allowed`. */
export function verdictsOf(done: RecheckDone): readonly string[] {
  return done.rows.map((row) => row.replace(/^call \S+ session \d+ seq \d+: /, ''))
}
