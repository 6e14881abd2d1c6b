/**
 * Lowercase Crockford base32 of whole bytes (authorize.md §1): the letters of API keys. Strict: one text for each
 * value, so no uppercase, no look-alikes, no padding, and the unused bits of the last character are zero. Not for the
 * ids of Calls, which are never decoded.
 */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

/** Five bits a character, the last one filled up with zero bits. */
export function encodeBase32(bytes: Uint8Array): string {
  let text = ''
  let held = 0
  let bits = 0
  for (const byte of bytes) {
    held = ((held << 8) | byte) & 0xfff
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text += alphabet.charAt((held >> bits) & 31)
    }
  }
  return bits === 0 ? text : text + alphabet.charAt((held << (5 - bits)) & 31)
}

/** The exact inverse: `undefined` unless the text is the one that {@link encodeBase32} makes of `length` bytes. */
export function decodeBase32(text: string, length: number): Uint8Array | undefined {
  if (text.length !== Math.ceil((length * 8) / 5)) return undefined
  const bytes = new Uint8Array(length)
  let held = 0
  let bits = 0
  let at = 0
  for (const character of text) {
    const value = alphabet.indexOf(character)
    if (value < 0) return undefined
    held = ((held << 5) | value) & 0xfff
    bits += 5
    if (bits < 8) continue
    bits -= 8
    bytes[at++] = (held >> bits) & 0xff
  }
  return (held & ((1 << bits) - 1)) === 0 ? bytes : undefined
}
