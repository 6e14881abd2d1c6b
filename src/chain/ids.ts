/**
 * Ids that we make (`call_`, `apr_`, `grt_`: SPEC.md §3.6), and the generations by which ids of others are forgotten:
 * ids of one span of time share a table, and a table goes as a whole, so that no index on time is kept.
 */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

/** 26 lowercase Crockford base32 characters behind the prefix: 130 bits, of which 17 bytes are drawn. */
export function newId(prefix: 'call' | 'apr' | 'grt', random: (count: number) => Uint8Array): string {
  const bytes = random(17)
  let text = `${prefix}_`
  let bits = 0
  let held = 0
  let at = 0
  while (text.length < prefix.length + 27) {
    if (held < 5) {
      bits = ((bits << 8) | (bytes[at++] ?? 0)) & 0x1fff
      held += 8
    }
    held -= 5
    text += alphabet.charAt((bits >> held) & 31)
  }
  return text
}

/** A repeat is recognised for 24 h (authorize.md §3 step 11); a generation is that long, and two are kept. */
export const requestGenerationMs = 24 * 60 * 60 * 1000

/** The longest replay window that settings may name. */
export const replayWindowMaxMs = 15 * 60 * 1000

/**
 * A nonce counts until timestamp + the longest window + 60 s. Its timestamp is at most one window ahead of the clock,
 * so two windows and a minute after its arrival it is out of every window; a generation is that long, and two are kept.
 */
export const nonceGenerationMs = 2 * replayWindowMaxMs + 60_000

/** A report may come until 24 h after a grant has expired, which is 15 minutes at most after it was given. */
export const grantGenerationMs = 25 * 60 * 60 * 1000

/** Number of the generation that a time falls into. */
export function generationOf(now: number, generationMs: number): number {
  return Math.floor(now / generationMs)
}
