/**
 * The client that checks signatures. Its methods are in client.ts; this file is where it gets its keys.
 */
import { type CryptoSuite, nobleSuite } from '../record/index.ts'
import type { Pin } from '../verify/index.ts'
import { AegisClient } from './client.ts'
import type { ClientOptions, UnverifiedReads } from './options.ts'
import { parsePins, trustOf } from './trust.ts'

/** `Reads` says in the type whether `allowUnverifiedReads` may be there. */
export interface AegisOptions<
  Reads extends UnverifiedReads | undefined = UnverifiedReads | undefined,
> extends ClientOptions<Reads> {
  /**
   * The tenant's public keys, 64 hex or with the Sessions they hold for. Given, every receipt must be signed by one of
   * them. Left out, no signature is checked: then who answers is known by TLS alone.
   */
  readonly verify?: { readonly keys: readonly (string | Pin)[] }
  /** Hashes and signatures. Default the portable one; `aegis-edge/crypto-node` has a faster one for Node. */
  readonly suite?: CryptoSuite
}

/**
 * @example
 * const aegis = new Aegis({ url, key, verify: { keys: [publicKey] } })
 * const answer = await aegis.authorize({ tool: 'github', action: 'merge_pr', parameters: { base_branch: 'main' } })
 * if (answer.kind === 'allowed' && answer.grant.isUsable()) await merge(answer.action.parameters, answer.receipt)
 */
export class Aegis<Reads extends UnverifiedReads | undefined = undefined> extends AegisClient<Reads> {
  /** @throws AegisOptionError for options that cannot work. */
  constructor(options: AegisOptions<Reads>) {
    const pins = options.verify === undefined ? undefined : parsePins('verify.keys', options.verify.keys)
    super(options, trustOf(pins, options.suite ?? nobleSuite))
  }
}
