/**
 * A request's body as bytes (authorize.md §2): its headers first, then as many bytes as may be, counted and never
 * believed. Not a parser: the strict reader is src/record's.
 */
import type { ProblemCode } from '../protocol/index.ts'

export type BodyRefusal = Extract<
  ProblemCode,
  | 'content_type_unsupported'
  | 'content_encoding_unsupported'
  | 'header_malformed'
  | 'body_too_large'
  | 'content_length_mismatch'
>

/** What is wrong with the headers of a body of JSON; looked at before the caller is. */
export function refuseBodyHeaders(headers: Headers, bytesMax: number): BodyRefusal | undefined {
  if (!jsonType.test(headers.get('content-type') ?? '')) return 'content_type_unsupported'
  if (headers.has('content-encoding')) return 'content_encoding_unsupported'
  const length = headers.get('content-length')
  if (length === null) return undefined
  if (!/^\d{1,15}$/.test(length)) return 'header_malformed'
  return Number(length) > bytesMax ? 'body_too_large' : undefined
}

const jsonType = /^application\/json[ \t]*(?:;[ \t]*charset=(?:utf-8|"utf-8")[ \t]*)?$/i

export type ReadBody =
  | { readonly kind: 'body'; readonly bytes: Uint8Array }
  | { readonly kind: 'refused'; readonly code: BodyRefusal }

/** Reads at most `bytesMax` bytes; the stream is read to its end or cancelled, whatever comes out. */
export async function readBody(request: Request, bytesMax: number): Promise<ReadBody> {
  const said = request.headers.get('content-length')
  if (said !== null && Number(said) > bytesMax) {
    await request.body?.cancel()
    return { kind: 'refused', code: 'body_too_large' }
  }
  const chunks: Uint8Array[] = []
  let length = 0
  if (request.body !== null) {
    const reader = request.body.getReader() as ReadableStreamDefaultReader<Uint8Array>
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      length += value.length
      if (length > bytesMax) {
        await reader.cancel()
        return { kind: 'refused', code: 'body_too_large' }
      }
      chunks.push(value)
    }
  }
  if (said !== null && Number(said) !== length) return { kind: 'refused', code: 'content_length_mismatch' }
  return { kind: 'body', bytes: join(chunks, length) }
}

function join(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const [first] = chunks
  if (chunks.length === 1 && first !== undefined) return first
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}
