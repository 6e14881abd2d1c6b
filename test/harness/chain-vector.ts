/** A file of test/vectors/7/chains, and its input as bytes; for tests with and without a file system. */
import type { ExpectedReport } from './vectors/expected-report.ts'

/** One file of a Chain: rows that each end in LF, other text, or bytes. */
export type ChainInput =
  { readonly lines: readonly string[] } | { readonly text: string } | { readonly base64: string }

/** A file of test/vectors/7/chains. */
export interface ChainVector {
  readonly name: string
  readonly spec: string
  readonly files: readonly ChainInput[]
  readonly options?: {
    readonly keys?: readonly string[]
    readonly trust_store?: string
    readonly head?: string
  }
  readonly expect: ExpectedReport
}

/** A file of test/vectors/10/rechecks. */
export interface RecheckVector {
  readonly name: string
  readonly spec: string
  readonly files: readonly ChainInput[]
  /** The bundle object of `--policy`. */
  readonly policy?: string
  /** Files of `--policies` and `--envelopes`, by name. */
  readonly policies?: Readonly<Record<string, string>>
  readonly envelopes?: Readonly<Record<string, string>>
  readonly expect: { readonly exit: number; readonly rows: readonly string[] }
}

export function inputBytes(input: ChainInput): Uint8Array {
  if ('base64' in input) return Uint8Array.from(atob(input.base64), (letter) => letter.charCodeAt(0))
  return new TextEncoder().encode(
    'text' in input ? input.text : input.lines.map((line) => `${line}\n`).join(''),
  )
}
