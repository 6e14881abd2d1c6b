/**
 * ASCII and lowercase hex as bytes, compared and written in place: a walk reads its digests where they stand and
 * allocates next to nothing for a Line. Not a check: what is read here was found to be hex (scan.ts).
 */

export function equalBytes(bytes: Uint8Array, start: number, end: number, expected: Uint8Array): boolean {
  if (end - start !== expected.length) return false
  for (let at = 0; at < expected.length; at += 1) if (bytes[start + at] !== expected[at]) return false
  return true
}

export function asciiText(bytes: Uint8Array, start: number, end: number): string {
  return String.fromCharCode(...bytes.subarray(start, end))
}

export function asciiBytes(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0))
}

/** Writes a hash of 32 bytes as its 64 digits. */
export function hexInto(target: Uint8Array, hash: Uint8Array): void {
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
export function unhexInto(target: Uint8Array, bytes: Uint8Array, start: number): void {
  for (let at = 0; at < target.length; at += 1) {
    target[at] = (hexValue(bytes[start + 2 * at] ?? 0) << 4) | hexValue(bytes[start + 2 * at + 1] ?? 0)
  }
}

function hexValue(digit: number): number {
  return digit < 0x3a ? digit - 0x30 : digit - 0x57
}
