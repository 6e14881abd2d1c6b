/**
 * Lines with any members, right or wrong: what a hostile or a careless writer could have made. Positions, links and
 * signatures are right unless a member is overridden. The product's writer is not used; only its canonical form is.
 */
import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto'
import { type JsonValue, encodeCanonical, utf8 } from '../../src/record/index.ts'
import { toFile } from './chain.ts'

/** `undefined` leaves a member out. */
export type Members = Readonly<Record<string, JsonValue | undefined>>

export interface ForgeKey {
  /** 64 hex. */
  readonly publicKey: string
  readonly keyId: string
  /** The seed; published and worthless. */
  readonly secret: Uint8Array
  /** 128 hex. */
  sign(message: Uint8Array): string
}

/** The key whose seed is thirty-two times this byte. */
export function forgeKey(byte: number): ForgeKey {
  return keyFromSeed(new Uint8Array(32).fill(byte))
}

export function keyFromSeed(secret: Uint8Array): ForgeKey {
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), secret])
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  const raw = createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(12)
  return {
    publicKey: raw.toString('hex'),
    keyId: sha256Hex(raw),
    secret,
    sign: (message) => sign(null, message, key).toString('hex'),
  }
}

export function sha256Hex(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex')
}

export const zeros = '0'.repeat(64)

export interface ForgeOptions {
  readonly key?: ForgeKey
  /** `null`: as AAR has it, without `chain_id` and `session_index`. */
  readonly chain?: string | null
  /** Of the first Session. */
  readonly firstSession?: number
}

export class Forge {
  readonly rows: Uint8Array[] = []
  key: ForgeKey
  readonly #chain: string | null
  #session: number
  #seq = 0
  #lastHash: string | undefined

  constructor(options: ForgeOptions = {}) {
    this.key = options.key ?? forgeKey(7)
    this.#chain = options.chain === undefined ? 'acme' : options.chain
    this.#session = (options.firstSession ?? 0) - 1
    if (this.#session >= 0) this.#lastHash = sha256Hex('the Session before')
  }

  /** `line_hash` of the Line written last. */
  get lastHash(): string {
    return this.#lastHash ?? zeros
  }

  get file(): Uint8Array {
    return toFile(this.rows)
  }

  /** Begins the next Session, under another key when one is given. */
  open(over: Members = {}, key = this.key): this {
    this.key = key
    this.#session += 1
    this.#seq = 0
    return this.line(
      'open',
      { prev_hash: zeros, prev_session_tail: this.#lastHash, public_key: key.publicKey, ...over },
      true,
    )
  }

  intent(callId = 'call-1', over: Members = {}): this {
    return this.line('intent', { ...call(callId), ...over }, false)
  }

  outcome(callId = 'call-1', over: Members = {}): this {
    return this.line(
      'outcome',
      {
        ...call(callId),
        capability: { reason: 'policy_denied', status: 'denied' },
        decision_axes: {},
        execution: { reason: 'policy_denied', status: 'host_denied' },
        policy: { reason: 'policy_denied', status: 'denied' },
        policy_set_hash: sha256Hex('policies'),
        ...over,
      },
      true,
    )
  }

  decision(approvalId: JsonValue, over: Members = {}): this {
    const verdict = { reason: 'expired', verdict: 'denied' }
    return this.line('decision', { approval_id: approvalId, verdict, ...over }, true)
  }

  close(over: Members = {}): this {
    return this.line('close', over, true)
  }

  /** A Session of one Call. */
  session(key = this.key): this {
    return this.open({}, key).intent().outcome().close()
  }

  /** Any Line; a signed one gets `key_id`, `chain_id`, `session_index` and a valid `signature`. */
  line(type: string, over: Members, signed: boolean): this {
    const ours = this.#chain === null ? {} : { chain_id: this.#chain, session_index: this.#session }
    const members: Record<string, JsonValue | undefined> = {
      line_type: type,
      schema_version: 2,
      seq: this.#seq,
      prev_hash: this.#lastHash ?? zeros,
      ...(signed ? { ...ours, key_id: this.key.keyId } : {}),
      ...over,
    }
    if (signed && !('signature' in over)) members['signature'] = this.key.sign(signingInput(members))
    const bytes = encodeCanonical(members as Record<string, JsonValue>)
    const seq = members['seq']
    this.#seq = (typeof seq === 'number' ? seq : this.#seq) + 1
    return this.raw(bytes)
  }

  /** A row as it stands; the next Line links to it. */
  raw(row: Uint8Array | string): this {
    const bytes = typeof row === 'string' ? utf8(row) : row
    this.rows.push(bytes)
    this.#lastHash = sha256Hex(bytes)
    return this
  }
}

/** What is signed of these members. */
export function signingInput(members: Members): Uint8Array {
  return encodeCanonical({ ...members, signature: undefined } as unknown as Record<string, JsonValue>)
}

function call(callId: string): Members {
  return { call_id: callId, request_digest: sha256Hex('{}'), tool_id: 'echo' }
}
