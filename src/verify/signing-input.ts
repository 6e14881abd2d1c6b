/**
 * The signing input of a Line (SPEC.md §5.2), cut from the row as it stands and never re-serialised: a canonical row
 * without one member and its comma is the canonical form of the rest.
 */
import { lineBytesMax } from '../record/index.ts'
import type { RowScanner } from './scan.ts'

/** Writes into one buffer over and over: what {@link cut} returns is only lent until the next call. */
export class SigningInput {
  readonly #bytes = new Uint8Array(lineBytesMax)

  /** @param scanner which scanned the row in `[start, end)` and found a `signature` there. */
  cut(scanner: RowScanner, bytes: Uint8Array, start: number, end: number): Uint8Array {
    let [cutFrom, cutTo] = scanner.memberSpan('signature')
    if (bytes[cutTo] === 0x2c) cutTo += 1
    else if (bytes[cutFrom - 1] === 0x2c) cutFrom -= 1
    this.#bytes.set(bytes.subarray(start, cutFrom), 0)
    this.#bytes.set(bytes.subarray(cutTo, end), cutFrom - start)
    return this.#bytes.subarray(0, end - start - (cutTo - cutFrom))
  }
}
