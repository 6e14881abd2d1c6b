/** Small changes to an input, by a seeded random: a bit, a byte, a cut, a piece of another, a piece again, a word. */
import type { Random } from '../test/harness/random.ts'

/** Long enough for a Line or two; what is longer is slow and finds no more. */
export const inputBytesMax = 8_192

/** What grammars turn on. */
const words = [
  '{',
  '}',
  '[',
  ']',
  '"',
  '\\u',
  '\\ud83d',
  ':',
  ',',
  '0',
  '-',
  'e',
  '1e400',
  'null',
  '\n',
  '\r',
  '\u0000',
]
const wordBytes = words.map((word) => new TextEncoder().encode(word))

/** One to four changes. */
export function mutate(seed: Uint8Array, other: Uint8Array, random: Random): Uint8Array {
  let bytes = [...seed.subarray(0, inputBytesMax)]
  for (let changes = 1 + random.below(4); changes > 0; changes -= 1) {
    const at = random.below(bytes.length + 1)
    switch (random.below(7)) {
      case 0:
        if (at < bytes.length) bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8))
        break
      case 1:
        bytes.splice(at, 0, random.below(256))
        break
      case 2:
        bytes.splice(at, 1 + random.below(8))
        break
      case 3: {
        const from = random.below(other.length + 1)
        bytes.splice(at, 0, ...other.subarray(from, from + random.below(64)))
        break
      }
      case 4:
        bytes.splice(at, 0, ...bytes.slice(at, at + random.below(64)))
        break
      case 5:
        bytes.splice(at, 0, ...random.pick(wordBytes))
        break
      default:
        if (random.below(4) === 0) bytes = bytes.slice(0, at)
    }
  }
  return Uint8Array.from(bytes.slice(0, inputBytesMax))
}
