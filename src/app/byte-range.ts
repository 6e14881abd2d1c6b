/** One range of bytes (RFC 9110 §14): what a client asks for of an object whose size is known. */
export type ByteRange =
  | { readonly kind: 'whole' }
  | { readonly kind: 'part'; readonly offset: number; readonly length: number }
  | { readonly kind: 'unsatisfiable' }

/**
 * Reads a `Range` header. Anything that is not one range of bytes is ignored, as the standard wants it.
 *
 * @param size of the object, at least 1.
 */
export function readByteRange(header: string | null, size: number): ByteRange {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '')
  const [, first = '', last = ''] = match ?? []
  if (match === null || (first === '' && last === '')) return { kind: 'whole' }
  if (first === '') {
    const length = Math.min(Number(last), size)
    return length === 0 ? { kind: 'unsatisfiable' } : { kind: 'part', offset: size - length, length }
  }
  const offset = Number(first)
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1)
  if (last !== '' && Number(last) < offset) return { kind: 'whole' }
  return offset >= size ? { kind: 'unsatisfiable' } : { kind: 'part', offset, length: end - offset + 1 }
}
