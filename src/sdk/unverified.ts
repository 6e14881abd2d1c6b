/**
 * The published entry `aegis-edge/sdk/unverified`: the same client without the means to check a signature, for where every
 * kilobyte counts. Receipts are read, compared with what was asked and handed on; who signed them is for others to
 * check. SHA-256 is the platform's own, so that it needs a secure context in a browser.
 */
import { AegisClient } from './client.ts'
import type { ClientOptions, UnverifiedReads } from './options.ts'
import type { Trust } from './trust.ts'

const trust: Trust = {
  hash: async (bytes) => new Uint8Array(await crypto.subtle.digest('SHA-256', new Uint8Array(bytes))),
  refuse: () => undefined,
}

/** Believes whoever answers at `url`: TLS is all there is. */
export class UnverifiedAegis<
  Reads extends UnverifiedReads | undefined = undefined,
> extends AegisClient<Reads> {
  /** @throws AegisOptionError for options that cannot work. */
  constructor(options: ClientOptions<Reads>) {
    super(options, trust)
  }
}

export {
  AegisAbortedError,
  AegisActionError,
  AegisAnswerError,
  AegisApprovalError,
  AegisDenied,
  AegisError,
  AegisOptionError,
  AegisStatusError,
  AegisUnreachableError,
} from './errors.ts'
export { type ClientOptions } from './options.ts'
