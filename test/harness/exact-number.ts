/** SPEC.md §3.5 word for word, over exact rationals: what the product's digit comparison is held against. */

/** A decimal literal as numerator over a power of ten; only for exponents of a few hundred. */
function exactOf(literal: string): { readonly numerator: bigint; readonly scale: number } {
  const match = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/.exec(literal)
  if (match === null) throw new Error(`no number: ${literal}`)
  const fraction = match[3] ?? ''
  const exponent = BigInt(match[4] ?? '0') - BigInt(fraction.length)
  const digits = BigInt(`${match[2] ?? ''}${fraction}`) * (match[1] === '-' ? -1n : 1n)
  // Zero times any power of ten is zero; nothing else in a test is allowed to be astronomical.
  if (digits === 0n) return { numerator: 0n, scale: 0 }
  if (exponent > 5000n || exponent < -5000n) throw new Error(`too far out to expand: ${literal}`)
  return exponent >= 0n
    ? { numerator: digits * 10n ** exponent, scale: 0 }
    : { numerator: digits, scale: Number(-exponent) }
}

/** Every step that refuses the literal, or the text that it is written as. */
export function exactNumber(literal: string): { readonly text: string } | { readonly refused: number[] } {
  const double = Number(literal)
  if (!Number.isFinite(double)) return { refused: [1] }
  const text = String(double)
  const value = exactOf(literal)
  const read = exactOf(text)
  const steps: number[] = []
  if (value.numerator * 10n ** BigInt(read.scale) !== read.numerator * 10n ** BigInt(value.scale))
    steps.push(2)
  const unit = 10n ** BigInt(value.scale)
  const magnitude = value.numerator < 0n ? -value.numerator : value.numerator
  if (magnitude % unit === 0n && magnitude / unit > 9007199254740991n) steps.push(3)
  if (value.numerator === 0n && literal.startsWith('-')) steps.push(4)
  return steps.length === 0 ? { text } : { refused: steps }
}
