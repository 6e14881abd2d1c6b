/** What one request carries from middleware to route: Hono's typed variables. */
import type { Context } from 'hono'
import type { Caller } from './authenticate.ts'
import type { Timing } from './timing.ts'

/** What the log line says besides method, route and status. */
export interface Noted {
  tenant?: string
  keyId?: string
  callId?: string
  /** Of a problem or a reason. */
  code?: string
  decision?: string
  /** How often the writer answered `stale`. */
  stale?: number
  /** What went wrong inside, for the log only. */
  fault?: string
}

export interface RequestScope {
  Variables: {
    requestId: string
    timing: Timing
    noted: Noted
    /** Set by the middleware that authenticates. */
    caller: Caller
  }
}

export type RequestContext = Context<RequestScope>
