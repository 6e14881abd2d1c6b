/**
 * Attempts until there is an answer (authorize.md §6, §7): the same bytes and the same `request_id` each time, so that a
 * retry never writes twice. Retried are a broken connection, an attempt's time-out, 429, 502, 503 and 504; nothing else,
 * because anything else would answer the same again. One deadline holds for everything, waiting included.
 */
import { type Attempted, type Fetch, type HttpAnswer, attempt } from './attempt.ts'
import { type Clock, type Moment, elapsedMs, sleep } from './clock.ts'
import { AegisAbortedError, AegisUnreachableError, toPrintable } from './errors.ts'

export interface ExchangeOptions {
  readonly fetch: Fetch
  readonly url: string
  readonly key: string
  readonly requestId: string
  readonly bytes: Uint8Array | undefined
  readonly clock: Clock
  /** For everything; counted from `started`. */
  readonly timeoutMs: number
  readonly attemptTimeoutMs: number
  readonly attemptsMax: number
  readonly started: Moment
  readonly signal: AbortSignal | undefined
  /** A number from 0 up to, not including, 1. */
  readonly fraction: () => number
}

const backoffFirstMs = 100
const backoffMaxMs = 2_000

/**
 * @returns the first answer that is not worth a retry, or the last one that time and `attemptsMax` allowed.
 * @throws AegisUnreachableError, AegisAbortedError, and AegisAnswerError for a redirect or an endless body.
 */
export async function exchange(options: ExchangeOptions): Promise<HttpAnswer> {
  for (let sent = 1; ; sent += 1) {
    const timeoutMs = Math.min(options.attemptTimeoutMs, remainingMs(options))
    const attempted: Attempted =
      timeoutMs <= 0 ? { kind: 'timeout' } : await attempt({ ...options, timeoutMs })
    if (attempted.kind === 'aborted') throw new AegisAbortedError()
    const wait = retryWaitMs(attempted, sent, options.fraction)
    if (wait === undefined || sent >= options.attemptsMax || wait >= remainingMs(options)) {
      if (attempted.kind === 'answer') return attempted.answer
      throw unreachable(attempted, sent, options)
    }
    await sleep(options.clock, wait, options.signal)
  }
}

function remainingMs(options: ExchangeOptions): number {
  return options.timeoutMs - elapsedMs(options.clock, options.started)
}

/** How long to wait before the next attempt; `undefined`: another one would not help. */
function retryWaitMs(
  attempted: Exclude<Attempted, { kind: 'aborted' }>,
  sent: number,
  fraction: () => number,
): number | undefined {
  // Full jitter, but never nothing: many clients that failed together must not come back together.
  const backoff = Math.min(backoffMaxMs, backoffFirstMs * 2 ** (sent - 1)) * (0.5 + fraction() / 2)
  if (attempted.kind !== 'answer') return backoff
  const { status, retryAfter } = attempted.answer
  if (status !== 429 && status !== 502 && status !== 503 && status !== 504) return undefined
  return Math.max(backoff, parseRetryAfter(retryAfter) ?? 0)
}

/** The delay form of `Retry-After`, which is the one that our server sends. A date would trust its clock. */
export function parseRetryAfter(value: string | null): number | undefined {
  return value !== null && /^[0-9]{1,6}$/.test(value) ? Number(value) * 1000 : undefined
}

function unreachable(
  attempted: Extract<Attempted, { kind: 'network_error' | 'timeout' }>,
  sent: number,
  options: ExchangeOptions,
): AegisUnreachableError {
  const after = `after ${String(sent)} ${sent === 1 ? 'attempt' : 'attempts'}`
  if (attempted.kind === 'timeout') {
    return new AegisUnreachableError('timeout', `no answer in time ${after}`, sent)
  }
  const why = toSafeText(attempted.why, options.key)
  return new AegisUnreachableError('network_error', `no answer ${after}: ${why}`, sent)
}

/** Foreign text for a message, without the secret of the key; the rest of it is a name. */
export function toSafeText(text: string, key: string): string {
  return toPrintable(text.replaceAll(key.slice(key.lastIndexOf('_') + 1), '[key]'))
}
