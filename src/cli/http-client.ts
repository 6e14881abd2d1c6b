/**
 * Requests to a deployment (authorize.md): a key, a time limit, no redirect, a bounded body, few retries. Every failure
 * is a sentence that names what was asked and never holds the key. Not for what an answer means: its caller reads it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseBody } from '../record/index.ts'
import { CliError, exitCodes } from './exit-codes.ts'

export interface HttpClientOptions {
  /** `https:` or loopback; paths are put behind it. */
  readonly baseUrl: string
  readonly key: string
  /** Until an answer begins, and between two pieces of its body. */
  readonly timeoutMs: number
}

export interface ClientRequest {
  /** Default GET. */
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** From `/v1/`, already encoded. */
  readonly path: string
  /** Sent as JSON; bytes are JSON already, and are sent as they are. */
  readonly body?: unknown
  /** A longer answer is refused as soon as it is. */
  readonly bytesMax: number
  /** Whether it may be sent again when nobody knows what became of it. Default: unless it is a POST. */
  readonly repeatable?: boolean
  /** Where the body goes; without one it comes back with the answer. */
  readonly sink?: BodySink
  /** Shown the headers of a 2xx. */
  readonly takeHeaders?: (headers: Headers) => void
}

/** Takes a body in pieces. */
export interface BodySink {
  /** A body begins, perhaps again: what came of it so far is worth nothing. */
  begin(): Promise<void>
  write(piece: Uint8Array): Promise<void>
}

/** A request that did not end in 2xx. */
export class RequestError extends CliError {
  /** Of the problem that came, or one of ours: `unreachable`, `redirected`, `body_too_long`, `not_a_problem`. */
  readonly code: string
  readonly status: number | undefined

  constructor(message: string, exitCode: number, code: string, status: number | undefined) {
    super(message, exitCode)
    this.code = code
    this.status = status
  }
}

const attemptsMax = 4
const backoffFirstMs = 200
/** A deployment that asks for a longer pause is left alone, and the person is told. */
const retryAfterMaxMs = 60_000
/** Of a body, over and above the time between its pieces: slower than this is not a connection, but a trap. */
const bytesPerMsMin = 16
const problemBytesMax = 65_536

/** How one attempt ended without a usable answer. */
interface Failed {
  readonly error: RequestError
  /** Nobody knows whether it was carried out. */
  readonly unsure: boolean
  readonly worthRetry: boolean
  readonly retryAfterMs: number | undefined
}

export class HttpClient {
  readonly #options: HttpClientOptions

  constructor(options: HttpClientOptions) {
    this.#options = options
  }

  /**
   * Sends a request, again where that is safe and can help.
   *
   * @returns the body of a 2xx; empty where a sink took it.
   * @throws RequestError: exit code 1 for what the deployment refuses, 2 for what it could not answer.
   */
  async send(request: ClientRequest): Promise<Uint8Array> {
    const repeatable = request.repeatable ?? request.method !== 'POST'
    for (let attempt = 1; ; attempt += 1) {
      const answer = await this.#attempt(request)
      if (!('error' in answer)) return answer.body
      const wait = Math.max(
        answer.retryAfterMs ?? 0,
        backoffFirstMs * 2 ** (attempt - 1) * (1 + Math.random()),
      )
      const hopeful = answer.worthRetry && wait <= retryAfterMaxMs && (repeatable || !answer.unsure)
      if (!hopeful || attempt === attemptsMax) throw answer.error
      await sleep(wait)
    }
  }

  async #attempt(request: ClientRequest): Promise<{ readonly body: Uint8Array } | Failed> {
    const watch = new Watch(this.#options.timeoutMs, request.bytesMax)
    let response: Response
    try {
      response = await fetch(this.#options.baseUrl.replace(/\/$/, '') + request.path, {
        method: request.method ?? 'GET',
        headers: {
          authorization: `Bearer ${this.#options.key}`,
          ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(request.body === undefined ? {} : { body: encodeBody(request.body) }),
        redirect: 'manual',
        signal: watch.signal,
      })
    } catch (thrown) {
      watch.end()
      return this.#unreachable(request, watch, thrown)
    }
    try {
      if (response.ok) {
        request.takeHeaders?.(response.headers)
        return { body: await this.#readBody(request, response, watch) }
      }
      return await this.#readRefusal(request, response, watch)
    } catch (thrown) {
      // Ours, or of the sink: not about the connection.
      if (thrown instanceof CliError || thrown instanceof SinkError) throw unwrapped(thrown)
      return this.#unreachable(request, watch, thrown)
    } finally {
      watch.end()
      response.body?.cancel().catch(() => undefined)
    }
  }

  async #readBody(request: ClientRequest, response: Response, watch: Watch): Promise<Uint8Array> {
    const gathered = new Gathered()
    const sink = request.sink ?? gathered
    await sink.begin().catch(throwAsSinkError)
    let length = 0
    for await (const piece of piecesOf(response, watch)) {
      length += piece.length
      if (length > request.bytesMax) {
        throw this.#error(
          request,
          `the answer is longer than ${String(request.bytesMax)} bytes`,
          exitCodes.unreadable,
          'body_too_long',
          response.status,
        )
      }
      await sink.write(piece).catch(throwAsSinkError)
    }
    return gathered.bytes
  }

  async #readRefusal(request: ClientRequest, response: Response, watch: Watch): Promise<Failed> {
    const { status } = response
    if (status >= 300 && status <= 399) {
      throw this.#error(
        request,
        `the deployment redirected (${String(status)}); a redirect is never followed`,
        exitCodes.unreadable,
        'redirected',
        status,
      )
    }
    const gathered = new Gathered()
    let length = 0
    for await (const piece of piecesOf(response, watch)) {
      length += piece.length
      if (length > problemBytesMax) break
      await gathered.write(piece)
    }
    const problem = isProblem(response) ? readProblem(gathered.bytes) : undefined
    const cannotNow = status === 429 || status >= 500
    const retryAfterMs = parseRetryAfter(response.headers.get('retry-after'))
    const later =
      cannotNow && retryAfterMs !== undefined ? `; ask again in ${String(retryAfterMs / 1_000)} s` : ''
    const said = problem === undefined ? 'without saying why' : problem.text
    return {
      error: this.#error(
        request,
        `${String(status)} ${said}${later}`,
        cannotNow ? exitCodes.unreadable : exitCodes.failed,
        problem?.code ?? 'not_a_problem',
        status,
      ),
      // At 429 and 503 a deployment has done nothing; a proxy before it may have lost an answer.
      unsure: status !== 429 && status !== 503,
      worthRetry: status === 429 || status === 502 || status === 503 || status === 504,
      retryAfterMs,
    }
  }

  #unreachable(request: ClientRequest, watch: Watch, thrown: unknown): Failed {
    const why = watch.expired ?? describeThrown(thrown)
    const error = this.#error(request, `no answer: ${why}`, exitCodes.unreadable, 'unreachable', undefined)
    return { error, unsure: true, worthRetry: true, retryAfterMs: undefined }
  }

  #error(
    request: ClientRequest,
    what: string,
    exitCode: number,
    code: string,
    status: number | undefined,
  ): RequestError {
    const { baseUrl, key } = this.#options
    const text = `error: ${request.method ?? 'GET'} ${baseUrl.replace(/\/$/, '')}${request.path}: ${what}`
    // Whoever answers was shown the key and could say it back; all of it but its secret is a name.
    const secret = key.slice(key.lastIndexOf('_') + 1)
    return new RequestError(text.replaceAll(secret, '[secret]'), exitCode, code, status)
  }
}

/** The time limits of one attempt: between two signs of life, and for the whole of it. */
class Watch {
  readonly #controller = new AbortController()
  readonly #idleMs: number
  #idle: NodeJS.Timeout
  readonly #whole: NodeJS.Timeout
  /** What ran out. */
  expired: string | undefined

  constructor(idleMs: number, bytesMax: number) {
    this.#idleMs = idleMs
    this.#idle = this.#startIdle()
    this.#whole = setTimeout(
      () => {
        this.#expire('it came too slowly')
      },
      idleMs + Math.ceil(bytesMax / bytesPerMsMin),
    )
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  alive(): void {
    clearTimeout(this.#idle)
    this.#idle = this.#startIdle()
  }

  end(): void {
    clearTimeout(this.#idle)
    clearTimeout(this.#whole)
  }

  #startIdle(): NodeJS.Timeout {
    return setTimeout(() => {
      this.#expire(`nothing came for ${String(this.#idleMs / 1_000)} s`)
    }, this.#idleMs)
  }

  #expire(why: string): void {
    this.expired = why
    this.#controller.abort()
  }
}

class Gathered implements BodySink {
  #pieces: Uint8Array[] = []

  get bytes(): Uint8Array {
    const whole = Buffer.concat(this.#pieces)
    return new Uint8Array(whole.buffer, whole.byteOffset, whole.length)
  }

  begin(): Promise<void> {
    this.#pieces = []
    return Promise.resolve()
  }

  write(piece: Uint8Array): Promise<void> {
    this.#pieces.push(piece)
    return Promise.resolve()
  }
}

/** Carries what a sink threw past the handling of broken connections. */
class SinkError extends Error {}

function throwAsSinkError(cause: unknown): never {
  throw new SinkError('sink', { cause })
}

function unwrapped(thrown: CliError | SinkError): unknown {
  return thrown instanceof SinkError ? thrown.cause : thrown
}

/** What comes out of the platform's decompression, so that a small body cannot become a large one unseen. */
async function* piecesOf(response: Response, watch: Watch): AsyncGenerator<Uint8Array> {
  watch.alive()
  const body = response.body as ReadableStream<Uint8Array> | null
  if (body === null) return
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      watch.alive()
      yield value
    }
  } finally {
    reader.cancel().catch(() => undefined)
    reader.releaseLock()
  }
}

function encodeBody(body: unknown): string | Uint8Array<ArrayBuffer> {
  return body instanceof Uint8Array ? new Uint8Array(body) : JSON.stringify(body)
}

function isProblem(response: Response): boolean {
  return /^application\/problem\+json\b/i.test(response.headers.get('content-type') ?? '')
}

function readProblem(bytes: Uint8Array): { readonly code: string; readonly text: string } | undefined {
  const read = parseBody(bytes)
  if (!read.ok) return undefined
  const { code, detail, state, call_id: callId } = read.value
  if (typeof code !== 'string') return undefined
  const now = typeof state === 'string' ? `; it is ${state.slice(0, 64)}` : ''
  const parts = `${[code.slice(0, 64), ...(typeof detail === 'string' ? [detail.slice(0, 512)] : [])].join(': ')}${now}`
  return {
    code,
    text: typeof callId === 'string' ? `${parts} (call_id ${callId.slice(0, 64)})` : parts,
  }
}

/** The delay form, which is the one that a deployment sends. A date would trust its clock. */
function parseRetryAfter(value: string | null): number | undefined {
  return value !== null && /^[0-9]{1,6}$/.test(value) ? Number(value) * 1_000 : undefined
}

/** Messages of an error and its causes: `fetch` says the useful thing in its cause. */
function describeThrown(thrown: unknown): string {
  const said: string[] = []
  let at: unknown = thrown
  for (let depth = 0; depth < 4 && at instanceof Error; depth += 1) {
    const code = 'code' in at && typeof at.code === 'string' ? at.code : ''
    // An error of several addresses has no message of its own.
    const text = at.message === '' ? code : at.message
    if (text !== '') said.push(text)
    at = at.cause
  }
  return said.length === 0 ? 'the connection failed' : said.join(': ')
}
