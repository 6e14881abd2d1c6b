/**
 * How Lines lie in a row of the store: each with its LF, as they will lie in the segment. A canonical Line holds no LF
 * (SPEC.md §3.3), so that the bytes can be taken apart again.
 */
const lf = 0x0a

/** Lines without LF to a row. */
export function encodeRow(lines: readonly Uint8Array[]): Uint8Array {
  const row = new Uint8Array(lines.reduce((sum, line) => sum + line.length + 1, 0))
  let at = 0
  for (const line of lines) {
    row.set(line, at)
    row[at + line.length] = lf
    at += line.length + 1
  }
  return row
}

/** Rows, or parts of them, one behind the other. */
export function joinRows(parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    joined.set(part, at)
    at += part.length
  }
  return joined
}

/** A row to its Lines, without LF; views, not copies. */
export function decodeRow(row: Uint8Array): Uint8Array[] {
  const lines: Uint8Array[] = []
  for (let at = 0; at < row.length;) {
    const end = row.indexOf(lf, at)
    if (end < 0) throw new Error('a stored row does not end with LF')
    lines.push(row.subarray(at, end))
    at = end + 1
  }
  return lines
}
