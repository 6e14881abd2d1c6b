/** The shape of a vector that is a Chain with the report that it must get (SPEC.md §7), and short names for its parts. */
import type { ExpectedReport, Facts } from './expected-report.ts'
import { type ForgeKey, Forge, forgeKey } from '../forge.ts'

export interface ChainCase {
  readonly name: string
  /** The section and step that decide it. */
  readonly spec: string
  readonly files: readonly Uint8Array[]
  readonly options?: {
    readonly keys?: readonly string[]
    /** The text of the file. */
    readonly trust_store?: string
    /** `SESSION:SEQ:LINE_HASH`. */
    readonly head?: string
  }
  readonly expect: ExpectedReport
}

/** The key of the vectors: seed thirty-two times 0x07. */
export const ours: ForgeKey = forgeKey(7)
/** Seed thirty-two times 0x09. */
export const other: ForgeKey = forgeKey(9)

/** What was read when the first n Lines of a Session `open`, `intent`, `outcome`, `close` were accepted. */
export function read(n: 1 | 2 | 3 | 4, more: Facts = {}): Facts {
  const covered = [0, 0, 2, 3][n - 1] ?? 0
  return { keys: [ours.keyId], first: 0, coverage: [0, covered], lines: n, sessions: 1, ...more }
}

/** The first Lines of that Session. */
export function begin(n: 0 | 1 | 2 | 3 | 4 = 4): Forge {
  const forge = new Forge()
  if (n > 0) forge.open()
  if (n > 1) forge.intent()
  if (n > 2) forge.outcome()
  if (n > 3) forge.close()
  return forge
}

/** A row of bytes that are not all text. */
export function bytesOf(...parts: readonly (string | number)[]): Uint8Array {
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.of(part))))
}
