/** The six values of `line_type` (SPEC.md §4), told apart in the bytes of a row; any other is `unknown`. */
import { asciiBytes, equalBytes } from './ascii.ts'

const knownTypes = ['open', 'intent', 'outcome', 'decision', 'close', 'checkpoint'] as const
export type LineType = (typeof knownTypes)[number] | 'unknown'

const typeNames = knownTypes.map((type) => [type, asciiBytes(type)] as const)

/** The type that the string content in `[start, end)` names. None of the six has an escape. */
export function readLineType(bytes: Uint8Array, start: number, end: number): LineType {
  for (const [type, name] of typeNames) if (equalBytes(bytes, start, end, name)) return type
  return 'unknown'
}
