/**
 * The client's options, checked once in the constructor: what cannot work is an error there and never a surprise in the
 * middle of a run. Not a place for defaults that weaken anything: no option is read from the environment.
 */
import type { Fetch } from './attempt.ts'
import { type Clock, systemClock } from './clock.ts'
import { AegisOptionError } from './errors.ts'
import { frozenCopy } from './frozen-copy.ts'
import type { ActionContext } from './request.ts'

/** `Reads` says in the type whether {@link ClientOptions.allowUnverifiedReads} may be there. */
export interface ClientOptions<Reads extends UnverifiedReads | undefined = UnverifiedReads | undefined> {
  /** Where the authorizer is: `https:`, or `http:` on this machine. A path is kept; a query is refused. */
  readonly url: string
  /** An agent's API key, `aegis_agent_…`. */
  readonly key: string
  /** Instead of the platform's `fetch`. It must not follow redirects when told so. */
  readonly fetch?: Fetch
  /** Milliseconds for a whole `authorize`, retries and waiting included: 1 to 120,000. Default 10,000. */
  readonly timeoutMs?: number
  /** Milliseconds for one attempt. Default half of `timeoutMs`, so that one that hangs leaves time for another. */
  readonly attemptTimeoutMs?: number
  /** Requests for one `authorize`: 1 to 10. Default 3. */
  readonly attemptsMax?: number
  /** The agent that the key belongs to: given, receipts of another one are refused. */
  readonly agentId?: string
  /** What the authorizer's clock may differ from this one by, in ms: 0 to 300,000. Default 60,000. */
  readonly clockSkewMs?: number
  /** Send a single-use nonce besides the `request_id`. Default false: the `request_id` already makes a repeat one. */
  readonly nonce?: boolean
  /** Members of the context that hold for every call; a call's own win. */
  readonly context?: ActionContext
  /**
   * Actions that may run without a decision while the authorizer cannot be reached (no answer, or 5xx): only those
   * listed here, and only with `mutates: false`. Left out, nothing runs without a decision.
   */
  readonly allowUnverifiedReads?: Reads
  readonly clock?: Clock
  /** Numbers from 0 up to, not including, 1, for the jitter of waits. Default `Math.random`. */
  readonly random?: () => number
}

export interface UnverifiedReads {
  /** By tool, the actions that the caller himself holds to be of low risk; names exactly as they are sent. */
  readonly lowRisk: Readonly<Record<string, readonly string[]>>
}

/** Options with every default filled in and every text parsed. */
export interface SettledOptions {
  /** Up to `/v1/`. */
  readonly base: string
  readonly tenant: string
  readonly fetch: Fetch
  readonly timeoutMs: number
  readonly attemptTimeoutMs: number
  readonly attemptsMax: number
  readonly agentId: string | undefined
  readonly clockSkewMs: number
  readonly nonce: boolean
  readonly context: ActionContext | undefined
  /** `undefined`: nothing is let through. */
  readonly unverifiedReads: ReadonlyMap<string, ReadonlySet<string>> | undefined
  readonly clock: Clock
  readonly random: () => number
}

/** Far below the server's replay window, within which a retry must arrive. */
const timeoutMsMax = 120_000

/** @throws AegisOptionError, whose text never holds the key. */
export function settleOptions(options: ClientOptions): SettledOptions {
  const timeoutMs = integer('timeoutMs', options.timeoutMs ?? 10_000, 1, timeoutMsMax)
  return {
    base: parseBase(options.url),
    tenant: parseTenant(options.key),
    fetch: options.fetch ?? platformFetch,
    timeoutMs,
    attemptTimeoutMs: integer(
      'attemptTimeoutMs',
      options.attemptTimeoutMs ?? Math.ceil(timeoutMs / 2),
      1,
      timeoutMsMax,
    ),
    attemptsMax: integer('attemptsMax', options.attemptsMax ?? 3, 1, 10),
    agentId: options.agentId,
    clockSkewMs: integer('clockSkewMs', options.clockSkewMs ?? 60_000, 0, 300_000),
    nonce: options.nonce ?? false,
    // A copy, so that a later change of the caller's object changes no call.
    context:
      options.context === undefined
        ? undefined
        : (frozenCopy(options.context, '$context') as unknown as ActionContext),
    unverifiedReads: toTable(options.allowUnverifiedReads),
    clock: options.clock ?? systemClock,
    random: options.random ?? (() => Math.random()),
  }
}

/** Called through the global each time: Workers insist on its `this`, and tests of others replace it. */
const platformFetch: Fetch = (url, init) => globalThis.fetch(url, init)

function parseBase(text: string): string {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    throw new AegisOptionError('url_invalid', 'url is not an absolute URL')
  }
  const bare = url.username + url.password + url.search + url.hash === ''
  if (!bare || (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url.hostname)))) {
    throw new AegisOptionError(
      'url_invalid',
      'url must be https:// (http:// only for this machine), without user, password, query or fragment',
    )
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}/v1/`
}

/** `URL` has brought the address to one spelling: 127.1 is 127.0.0.1 here. */
function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)
}

/** The shape of a key (authorize.md §1), as far as a client can tell: whether it is one is for the server to say. */
const keyShape =
  /^aegis_(agent|approver|auditor|admin)_([a-z][a-z0-9-]{1,38})_[0-9a-hjkmnp-tv-z]{29}_[0-9a-hjkmnp-tv-z]{52}$/

function parseTenant(text: unknown): string {
  const [, role, tenant] = (typeof text === 'string' && keyShape.exec(text)) || []
  if (tenant === undefined)
    throw new AegisOptionError('key_invalid', 'key is not an Aegis API key of an agent')
  if (role !== 'agent') throw new AegisOptionError('key_invalid', 'only the key of an agent can authorize')
  return tenant
}

function toTable(reads: UnverifiedReads | undefined): SettledOptions['unverifiedReads'] {
  if (reads === undefined) return undefined
  return new Map(Object.entries(reads.lowRisk).map(([tool, actions]) => [tool, new Set(actions)]))
}

function integer(name: string, value: number, min: number, max: number): number {
  if (Number.isInteger(value) && value >= min && value <= max) return value
  throw new AegisOptionError(
    'option_invalid',
    `${name} is not an integer from ${String(min)} to ${String(max)}`,
  )
}
