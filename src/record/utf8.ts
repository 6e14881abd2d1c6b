/**
 * Strict UTF-8 both ways (RFC 3629): no overlong form, no surrogate, nothing above U+10FFFF, no repair.
 * Here because the runtime-free floors have no `TextEncoder` (SPEC.md §3.4). Not for lossy display.
 */

/** The text as UTF-8 bytes, or `undefined` when it holds a lone surrogate, which has no UTF-8 form. */
export function encodeUtf8(text: string): Uint8Array | undefined {
  // Most Lines are ASCII throughout: one exact array, one plain loop.
  const ascii = new Uint8Array(text.length)
  let plain = 0
  for (; plain < text.length; plain += 1) {
    const code = text.charCodeAt(plain)
    if (code >= 0x80) return encodeFrom(text, ascii, plain)
    ascii[plain] = code
  }
  return ascii
}

function encodeFrom(text: string, ascii: Uint8Array, start: number): Uint8Array | undefined {
  const bytes = new Uint8Array(start + (text.length - start) * 3)
  bytes.set(ascii.subarray(0, start))
  let length = start
  for (let at = start; at < text.length; at += 1) {
    let code = text.charCodeAt(at)
    if (code < 0x80) {
      bytes[length++] = code
      continue
    }
    if (code < 0x800) {
      bytes[length++] = 0xc0 | (code >> 6)
      bytes[length++] = 0x80 | (code & 0x3f)
      continue
    }
    if (code >= 0xd800 && code <= 0xdfff) {
      const low = text.charCodeAt(at + 1)
      if (code > 0xdbff || !(low >= 0xdc00 && low <= 0xdfff)) return undefined
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00)
      at += 1
      bytes[length++] = 0xf0 | (code >> 18)
      bytes[length++] = 0x80 | ((code >> 12) & 0x3f)
    } else {
      bytes[length++] = 0xe0 | (code >> 12)
    }
    bytes[length++] = 0x80 | ((code >> 6) & 0x3f)
    bytes[length++] = 0x80 | (code & 0x3f)
  }
  return bytes.slice(0, length)
}

/** Like {@link encodeUtf8}, for text that our own code made; a lone surrogate there is a broken invariant. */
export function utf8(text: string): Uint8Array {
  const bytes = encodeUtf8(text)
  if (bytes === undefined) throw new Error('a lone surrogate has no UTF-8 form')
  return bytes
}

/**
 * The length of the well-formed sequence at `at` (1 to 4), or 0 when there is none.
 * Bounds for the second byte follow table 3-7 of the Unicode standard.
 */
export function utf8SequenceLength(bytes: Uint8Array, at: number, end: number): number {
  const first = bytes[at] ?? 0
  if (first < 0x80) return 1
  if (first < 0xc2 || first > 0xf4) return 0
  const length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
  if (at + length > end) return 0
  const second = bytes[at + 1] ?? 0
  const low = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80
  const high = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf
  if (second < low || second > high) return 0
  for (let next = at + 2; next < at + length; next += 1) if (((bytes[next] ?? 0) & 0xc0) !== 0x80) return 0
  return length
}

/** The offset of the first byte that is not part of well-formed UTF-8, or `undefined` when all are. */
export function findInvalidUtf8(bytes: Uint8Array, start = 0, end = bytes.length): number | undefined {
  let at = start
  while (at < end) {
    if ((bytes[at] ?? 0) < 0x80) {
      at += 1
      continue
    }
    const length = utf8SequenceLength(bytes, at, end)
    if (length === 0) return at
    at += length
  }
  return undefined
}

/** Well-formed UTF-8 in `[start, end)` as text. Call {@link findInvalidUtf8} first: this one does not check. */
export function decodeUtf8(bytes: Uint8Array, start = 0, end = bytes.length): string {
  const parts: string[] = []
  // 4,096 code units a piece: far below the argument limit of every engine.
  let codes: number[] = []
  let at = start
  while (at < end) {
    const first = bytes[at] ?? 0
    if (first < 0x80) {
      codes.push(first)
      at += 1
    } else if (first < 0xe0) {
      codes.push(((first & 0x1f) << 6) | ((bytes[at + 1] ?? 0) & 0x3f))
      at += 2
    } else if (first < 0xf0) {
      codes.push(
        ((first & 0x0f) << 12) | (((bytes[at + 1] ?? 0) & 0x3f) << 6) | ((bytes[at + 2] ?? 0) & 0x3f),
      )
      at += 3
    } else {
      const code =
        (((first & 0x07) << 18) |
          (((bytes[at + 1] ?? 0) & 0x3f) << 12) |
          (((bytes[at + 2] ?? 0) & 0x3f) << 6) |
          ((bytes[at + 3] ?? 0) & 0x3f)) -
        0x10000
      codes.push(0xd800 | (code >> 10), 0xdc00 | (code & 0x3ff))
      at += 4
    }
    if (codes.length >= 4096) {
      parts.push(String.fromCharCode(...codes))
      codes = []
    }
  }
  parts.push(String.fromCharCode(...codes))
  return parts.length === 1 ? (parts[0] ?? '') : parts.join('')
}
