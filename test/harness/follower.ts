/**
 * Follows a Chain that is being written, from public bytes alone: after each step the new suffix goes through
 * src/verify, and what was there before must not have changed. Throws with the report when anything is wrong.
 */
import { deriveLineKey, nodeSuite } from '../../src/crypto-node/index.ts'
import { type PublicKeyHex, encodeHex } from '../../src/record/index.ts'
import { Walk, toText } from '../../src/verify/index.ts'

/** The seed of SPEC.md's examples, which vitest.config.ts gives to the Worker too. */
export const testSeed = new Uint8Array(32).fill(7)
export const testDeployment = 'test'

const publicKeys = new Map<string, PublicKeyHex>()

/** The public key of a tenant's generation 0 under {@link testSeed}. */
export function publicKeyOf(tenant: string): PublicKeyHex {
  const known = publicKeys.get(tenant)
  if (known !== undefined) return known
  const seed = deriveLineKey(testSeed, testDeployment, tenant, 0)
  const publicKey = encodeHex(nodeSuite.signer(seed).publicKey) as PublicKeyHex
  publicKeys.set(tenant, publicKey)
  return publicKey
}

export interface FollowedOutcome {
  readonly seq: number
  readonly session_index: number
  readonly call_id: string
  readonly tool_id: string
  readonly agent_id?: string
  readonly policy: { readonly status: string; readonly reason?: string }
  readonly decision_axes: {
    readonly decided_by?: string
    readonly suppressed?: number
    readonly explained?: number
    readonly envelope?: string
  }
}

export class Follower {
  readonly #walk: Walk
  #seen = new Uint8Array()

  constructor(tenant: string) {
    this.#walk = new Walk({
      digester: nodeSuite,
      check: ({ publicKey, message, signature }) => nodeSuite.verify(publicKey, message, signature),
      pins: [{ publicKey: publicKeyOf(tenant) }],
    })
  }

  /** Takes the whole Chain as it is now. It ends in an open Session whose every Line is covered. */
  follow(chain: Uint8Array): void {
    const before = this.#seen.length
    if (Buffer.compare(chain.subarray(0, before), this.#seen) !== 0) throw new Error('earlier bytes changed')
    this.#walk.push(chain.subarray(before))
    this.#seen = chain.slice()
    const report = this.#walk.end()
    const lines = linesOf(chain).length
    const whole =
      report.verdict === 'indeterminate' &&
      report.finding.reason === 'unanchored_tail' &&
      report.inFlight.length === 0 &&
      report.lines === lines &&
      report.coverage?.seq === lines - 1
    if (!whole) throw new Error(`not one whole Chain of ${String(lines)} Lines:\n${toText(report)}`)
  }
}

/** One walk over a Chain in an open Session; throws like {@link Follower.follow}. */
export function verifyLive(tenant: string, chain: Uint8Array): void {
  new Follower(tenant).follow(chain)
}

/** The Lines of a file, as text. */
export function linesOf(chain: Uint8Array): string[] {
  const lines = new TextDecoder().decode(chain).split('\n')
  if (lines.pop() !== '') throw new Error('the file does not end with LF')
  return lines
}

/** Outcomes in order, those of administrative Calls left out unless asked for. */
export function outcomesOf(chain: Uint8Array, { administrative = false } = {}): FollowedOutcome[] {
  return linesOf(chain)
    .map((line) => JSON.parse(line) as FollowedOutcome & { readonly line_type: string })
    .filter((line) => line.line_type === 'outcome')
    .filter((line) => administrative || !line.tool_id.startsWith('aegis/'))
}
