/**
 * One HTTP attempt: sends the bytes, reads at most so many back, and gives up at its deadline or on a signal, also when
 * `fetch` itself does not. Redirects are never followed. Says what came, not what it means.
 */
import { AegisAnswerError } from './errors.ts'

/** The part of the platform's `fetch` that is used; the global one fits. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

export interface AttemptOptions {
  readonly fetch: Fetch
  readonly url: string
  readonly key: string
  /** Sent as `X-Request-ID`. */
  readonly requestId: string
  /** What is posted; `undefined` is a GET. */
  readonly bytes: Uint8Array | undefined
  /** Milliseconds for everything, the last byte of the body included. */
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
}

export interface HttpAnswer {
  readonly status: number
  /** Lowercase media type with its parameters; empty when there is none. */
  readonly contentType: string
  readonly retryAfter: string | null
  /** Whole; of an answer that is not JSON, empty. */
  readonly body: Uint8Array
}

export type Attempted =
  | { readonly kind: 'answer'; readonly answer: HttpAnswer }
  | { readonly kind: 'network_error'; readonly why: string }
  | { readonly kind: 'timeout' }
  | { readonly kind: 'aborted' }

/** Four Lines of the largest size, escaped; an answer holds one, and a page of grants is shorter. */
const answerBytesMax = 524_288

/** @throws AegisAnswerError for a redirect or a body beyond {@link answerBytesMax}. */
export async function attempt(options: AttemptOptions): Promise<Attempted> {
  const { signal } = options
  if (signal?.aborted === true) return { kind: 'aborted' }
  const controller = new AbortController()
  let stop: (how: Attempted) => void = () => undefined
  const stopped = new Promise<Attempted>((resolve) => {
    stop = resolve
  })
  const timer = setTimeout(() => {
    stop({ kind: 'timeout' })
    controller.abort()
  }, options.timeoutMs)
  const onAbort = (): void => {
    stop({ kind: 'aborted' })
    controller.abort()
  }
  signal?.addEventListener('abort', onAbort, { once: true })
  try {
    // A `fetch` that ignores its signal is left behind; its answer is never looked at.
    return await Promise.race([exchange(options, controller.signal), stopped])
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
    // Whatever is still open, a body that grew too large included, ends here.
    controller.abort()
  }
}

async function exchange(options: AttemptOptions, signal: AbortSignal): Promise<Attempted> {
  try {
    const headers = {
      authorization: `Bearer ${options.key}`,
      accept: 'application/json, application/problem+json',
      'x-request-id': options.requestId,
    }
    const response = await options.fetch(options.url, {
      ...(options.bytes === undefined
        ? { method: 'GET', headers }
        : {
            method: 'POST',
            headers: { ...headers, 'content-type': 'application/json' },
            // A copy of its own, so that no `fetch` can change what the next attempt sends.
            body: new Uint8Array(options.bytes),
          }),
      redirect: 'manual',
      signal,
    })
    // `type` as text: the types of Workers lack the opaque one.
    const { status, type }: { readonly status: number; readonly type: string } = response
    // An opaque redirect has status 0; `redirected` is a `fetch` that followed one in spite of `manual`.
    if (response.redirected || type === 'opaqueredirect' || (status >= 300 && status <= 399)) {
      discard(response)
      throw new AegisAnswerError('redirected', 'a redirect is never followed')
    }
    const contentType = (response.headers.get('content-type') ?? '').toLowerCase()
    const answer = { status, contentType, retryAfter: response.headers.get('retry-after') }
    if (!isJson(contentType)) {
      discard(response)
      return { kind: 'answer', answer: { ...answer, body: new Uint8Array(0) } }
    }
    return { kind: 'answer', answer: { ...answer, body: await readBody(response) } }
  } catch (thrown) {
    if (thrown instanceof AegisAnswerError) throw thrown
    return { kind: 'network_error', why: describeThrown(thrown) }
  }
}

/** JSON or a problem, with no parameter but a charset of UTF-8. */
function isJson(contentType: string): boolean {
  return /^application\/(problem\+)?json[ \t]*(;[ \t]*charset="?utf-8"?[ \t]*)?$/.test(contentType)
}

export function isAnswerType(contentType: string): boolean {
  return isJson(contentType) && !contentType.includes('problem')
}

export function isProblemType(contentType: string): boolean {
  return isJson(contentType) && contentType.includes('problem')
}

/** Counts what comes out of the platform's decompression, so that a small body cannot become a large one. */
async function readBody(response: Response): Promise<Uint8Array> {
  const reader = response.body?.getReader()
  if (reader === undefined) return new Uint8Array(0)
  const parts: Uint8Array[] = []
  let length = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    length += value.length
    if (length > answerBytesMax) {
      reader.cancel().catch(ignore)
      throw new AegisAnswerError(
        'answer_too_large',
        `the answer is longer than ${String(answerBytesMax)} bytes`,
      )
    }
    parts.push(value)
  }
  const body = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    body.set(part, at)
    at += part.length
  }
  return body
}

/** An unread body holds its connection. */
function discard(response: Response): void {
  response.body?.cancel().catch(ignore)
}

function ignore(): void {
  // The stream was given up; how it ended does not matter.
}

/** Messages of an error and its causes: a `fetch` says the useful thing in its cause. */
function describeThrown(thrown: unknown): string {
  const said: string[] = []
  let at: unknown = thrown
  for (let depth = 0; depth < 4 && at instanceof Error; depth += 1) {
    said.push(at.message)
    at = at.cause
  }
  return said.length === 0 ? 'fetch threw no Error' : said.join(': ')
}
