/**
 * Chains from a number: the same seed gives the same bytes, on every machine. Realistic Lines in the shape that the
 * product writes (SPEC.md §4), for tests, benchmarks and the differential test against test/independent/verify.py.
 * Written with `nextLine`; Chains that break a rule come from forge.ts instead.
 */
import { deriveLineKey, nodeSuite } from '../../src/crypto-node/index.ts'
import {
  type ActionHash,
  type ApprovalBinding,
  type BindingsHash,
  type ChainHead,
  type CryptoSuite,
  type DecisionAxes,
  type LineDraft,
  type LineHash,
  type PolicySetHash,
  type PublicKeyHex,
  type RequestDigest,
  type Signer,
  type ToolCall,
  actionHash,
  bindingHash,
  encodeHex,
  nextLine,
  requestDigest,
  toDigest,
  utf8,
} from '../../src/record/index.ts'
import { type Random, randomFrom } from './random.ts'

export interface ChainOptions {
  /** Everything but the signing keys follows from it. */
  readonly seed: number
  readonly sessions?: number
  readonly callsPerSession?: number
  /** Intents of several Calls stand before their outcomes, and the outcomes in another order. */
  readonly interleave?: boolean
  /** Every third Call waits for a human; its decision stands later, often in a later Session, then its consume. */
  readonly approvals?: boolean
  /** Every Session has a key of its own. */
  readonly rotate?: boolean
  readonly tenant?: string
  readonly deployment?: string
  /** `false`: the last Session has no `close`. */
  readonly closeLast?: boolean
  /** Published, worthless: thirty-two bytes of 0x07 unless another is given. */
  readonly masterSeed?: Uint8Array
  readonly suite?: CryptoSuite
}

export interface BuiltLine {
  /** Without LF. */
  readonly bytes: Uint8Array
  readonly type: LineDraft['line_type']
  readonly session_index: number
  readonly seq: number
  readonly lineHash: LineHash
}

export interface BuiltKey {
  readonly publicKey: PublicKeyHex
  readonly keyId: string
  /** The 32-byte Ed25519 seed: these are test keys. */
  readonly secret: Uint8Array
  readonly firstSession: number
  readonly lastSession: number
}

export interface BuiltChain {
  readonly tenant: string
  /** One for each Session, each Line ended by LF. */
  readonly files: readonly Uint8Array[]
  /** The files joined. */
  readonly bytes: Uint8Array
  readonly lines: readonly BuiltLine[]
  readonly keys: readonly BuiltKey[]
  /** The last Line, as a reader holds it. */
  readonly head: { readonly session_index: number; readonly seq: number; readonly lineHash: LineHash }
  /** The keys with their ranges, as `--trust-store` reads them. */
  readonly trustStore: Uint8Array
}

/** Builds a Chain; see {@link ChainOptions}. Two Sessions of three Calls unless told otherwise. */
export function buildChain(options: ChainOptions): BuiltChain {
  return new Builder(options).build()
}

/** Bytes one behind the other. */
export function joinBytes(parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    joined.set(part, at)
    at += part.length
  }
  return joined
}

const LF = Uint8Array.of(0x0a)

/** Lines as a file: each with its LF. */
export function toFile(lines: readonly Uint8Array[]): Uint8Array {
  return joinBytes(lines.flatMap((line) => [line, LF]))
}

interface Call {
  readonly callId: string
  readonly action: ToolCall
  readonly actionHash: ActionHash
  readonly requestDigest: RequestDigest
  readonly agentId: string
  /** Of a consume: what it was approved by, and the Call that asked. */
  readonly approved?: Pending
  readonly refused?: string
  readonly waits: boolean
}

interface Pending {
  readonly approvalId: string
  readonly call: Call
  readonly binding: ApprovalBinding
}

const tools = [
  ['github', 'merge_pr', 'repo:acme/widgets#'],
  ['github', 'comment', 'repo:acme/widgets#'],
  ['shell', 'exec', 'host:build-'],
  ['payments', 'refund', 'order:'],
  ['files', 'write', 'path:/srv/data/'],
] as const
const agents = ['ci-merger', 'support-bot', 'deployer'] as const
const refusals = ['policy_denied', 'no_policy_permits', 'rate_limited', 'agent_frozen'] as const
/** Text that a canonical form must carry: quotes, controls, DEL, a line separator, letters beyond the BMP. */
const notes = [
  'plain',
  'a "quoted" \\ word',
  'tab\tand\u0001',
  '\u007f\u2028',
  'déjà vu ☕',
  '𐀀 and 🜁',
] as const

/** 2026-11-30T12:00:00Z: a start for the clock of every test Chain. */
const clockStart = 1_796_040_000_000

class Builder {
  readonly #options: Required<Omit<ChainOptions, 'suite' | 'masterSeed'>>
  readonly #suite: CryptoSuite
  readonly #masterSeed: Uint8Array
  readonly #random: Random
  readonly #policySet: PolicySetHash
  readonly #bindings: BindingsHash
  readonly #lines: BuiltLine[] = []
  readonly #keys: BuiltKey[] = []
  #head: ChainHead
  #signer: Signer | undefined
  #now = clockStart
  #pending: Pending[] = []
  #approved: Pending[] = []
  #calls = 0

  constructor(options: ChainOptions) {
    this.#options = {
      seed: options.seed,
      sessions: options.sessions ?? 2,
      callsPerSession: options.callsPerSession ?? 3,
      interleave: options.interleave ?? false,
      approvals: options.approvals ?? false,
      rotate: options.rotate ?? false,
      tenant: options.tenant ?? 'acme',
      deployment: options.deployment ?? 'test',
      closeLast: options.closeLast ?? true,
    }
    this.#suite = options.suite ?? nodeSuite
    this.#masterSeed = options.masterSeed ?? new Uint8Array(32).fill(7)
    this.#random = randomFrom(options.seed)
    this.#policySet = toDigest<PolicySetHash>(this.#suite.sha256(utf8(`policy set ${String(options.seed)}`)))
    this.#bindings = toDigest<BindingsHash>(this.#suite.sha256(utf8(`bindings ${String(options.seed)}`)))
    this.#head = { state: 'empty', chainId: this.#options.tenant }
  }

  build(): BuiltChain {
    const { sessions, closeLast, tenant } = this.#options
    for (let session = 0; session < sessions; session += 1) {
      this.#open(session)
      for (const group of this.#groups()) this.#appendGroup(group)
      if (this.#options.approvals) this.#decideSome()
      if (session < sessions - 1 || closeLast) this.#close()
    }
    const last = this.#lines[this.#lines.length - 1]
    if (last === undefined) throw new Error('a Chain has at least one Session')
    const bySession: Uint8Array[][] = Array.from({ length: sessions }, () => [])
    for (const line of this.#lines) bySession[line.session_index]?.push(line.bytes)
    const files = bySession.map(toFile)
    const { session_index, seq, lineHash } = last
    return {
      tenant,
      files,
      bytes: joinBytes(files),
      lines: this.#lines,
      keys: this.#keys,
      head: { session_index, seq, lineHash },
      trustStore: utf8(
        JSON.stringify({
          chain_id: tenant,
          keys: this.#keys.map((key) => ({
            public_key: key.publicKey,
            first_session: key.firstSession,
            last_session: key.lastSession,
          })),
        }),
      ),
    }
  }

  #append(draft: LineDraft): void {
    if (this.#signer === undefined) throw new Error('no Session has been opened')
    const next = nextLine(this.#head, draft, this.#signer, this.#suite)
    if (next.kind !== 'line') throw new Error(`a Line of ${String(next.bytes)} bytes`)
    this.#head = next.head
    const { sessionIndex: session_index, seq } = next.head
    this.#lines.push({
      bytes: next.bytes,
      type: draft.line_type,
      session_index,
      seq,
      lineHash: next.lineHash,
    })
  }

  #open(session: number): void {
    const last = this.#keys[this.#keys.length - 1]
    if (last === undefined || this.#options.rotate) {
      const { deployment, tenant } = this.#options
      const secret = deriveLineKey(this.#masterSeed, deployment, tenant, this.#keys.length)
      this.#signer = this.#suite.signer(secret)
      const publicKey = encodeHex(this.#signer.publicKey) as PublicKeyHex
      const keyId = this.#signer.keyId
      this.#keys.push({ publicKey, keyId, secret, firstSession: session, lastSession: session })
    } else {
      this.#keys[this.#keys.length - 1] = { ...last, lastSession: session }
    }
    this.#calls = 0
    this.#append({ line_type: 'open', opened_at: this.#tick(), deployment: this.#options.deployment })
  }

  #close(): void {
    this.#append({ line_type: 'close', closed_at: this.#tick(), calls: this.#calls })
  }

  /** The Calls of one Session, in groups whose intents stand together. */
  #groups(): Call[][] {
    const calls = Array.from({ length: this.#options.callsPerSession }, (_, at) => this.#newCall(at))
    if (!this.#options.interleave) return calls.map((call) => [call])
    const groups: Call[][] = []
    for (let at = 0; at < calls.length;) {
      const size = 1 + this.#random.below(4)
      groups.push(calls.slice(at, at + size))
      at += size
    }
    return groups
  }

  #newCall(at: number): Call {
    const approved = this.#approved.shift()
    if (approved !== undefined) {
      const bytes = utf8(JSON.stringify({ approval_id: approved.approvalId }))
      const { action, actionHash: hash, agentId } = approved.call
      return {
        callId: this.#id('call_'),
        action,
        actionHash: hash,
        agentId,
        requestDigest: requestDigest(bytes, this.#suite),
        approved,
        waits: false,
      }
    }
    const [tool, name, resource] = this.#random.pick(tools)
    const action: ToolCall = {
      tool,
      action: name,
      resource: resource + String(this.#random.below(1000)),
      mutates_state: this.#random.below(2) === 0,
      parameters: { note: this.#random.pick(notes), count: this.#random.below(100) },
    }
    const refused = this.#random.below(4) === 0 ? this.#random.pick(refusals) : undefined
    return {
      callId: this.#id('call_'),
      action,
      actionHash: actionHash(action, this.#suite),
      agentId: this.#random.pick(agents),
      requestDigest: requestDigest(utf8(JSON.stringify(action)), this.#suite),
      waits: this.#options.approvals && at % 3 === 0,
      ...(refused === undefined ? {} : { refused }),
    }
  }

  #appendGroup(group: readonly Call[]): void {
    for (const call of group) {
      this.#append({
        line_type: 'intent',
        call_id: call.callId,
        tool_id: toolIdOf(call),
        request_digest: call.requestDigest,
        agent_id: call.agentId,
        action_hash: call.actionHash,
      })
    }
    for (const call of this.#random.shuffle(group)) this.#appendOutcome(call)
  }

  #appendOutcome(call: Call): void {
    this.#calls += 1
    const decidedAt = this.#tick()
    const tool_id = toolIdOf(call)
    const every = {
      line_type: 'outcome',
      call_id: call.callId,
      tool_id,
      request_digest: call.requestDigest,
      policy_set_hash: this.#policySet,
      agent_id: call.agentId,
      action_hash: call.actionHash,
      decided_at: decidedAt,
    } as const
    const axes = this.#axes(call, decidedAt)
    if (call.waits) {
      const pending = this.#newPending(call, decidedAt)
      this.#pending.push(pending)
      const { approve_by, use_within_ms, quorum, approver_groups } = pending.binding
      const approval = {
        groups: approver_groups,
        quorum,
        approve_by,
        use_within_ms,
        binding_hash: bindingHash(pending.binding, this.#suite),
      }
      this.#append({
        ...every,
        policy: { status: 'pending_approval', approval_id: pending.approvalId },
        capability: { status: 'denied', reason: 'approval_pending' },
        execution: { status: 'host_denied', reason: 'approval_pending' },
        decision_axes: { ...axes, approval },
      })
    } else if (call.refused !== undefined) {
      const reason = call.refused
      const byPolicy = reason === 'policy_denied' || reason === 'no_policy_permits'
      this.#append({
        ...every,
        policy: { status: reason === 'rate_limited' ? 'rate_limited' : 'denied', reason },
        capability: { status: 'denied', reason },
        execution: { status: 'host_denied', reason },
        decision_axes: byPolicy
          ? { ...axes, reason_text: 'refused by a rule' }
          : { decided_by: 'pipeline', session: 'run-1' },
      })
    } else {
      const grantId = this.#id('grt_')
      const grant = {
        grant_id: grantId,
        tool_id,
        action_hash: call.actionHash,
        expires_at: decidedAt + 60_000,
      }
      this.#append({
        ...every,
        grant_id: grantId,
        policy: { status: 'allowed' },
        capability: { status: 'granted', grant },
        execution: { status: 'delegated' },
        decision_axes: axes,
      })
    }
  }

  #axes(call: Call, decidedAt: number): DecisionAxes {
    const note = call.action.parameters['note']
    return {
      decided_by: 'policy',
      evaluator: 'aegis-edge 1, cedar 4.13.0',
      matched_rule: 'allow-known-tools',
      matched_rules: ['allow-known-tools'],
      role: 'worker',
      session: 'run-1',
      capability: 'net.http',
      principal: {
        type: 'Agent',
        id: call.agentId,
        attrs: { risk_tier: 'standard', budget: { decimal: '12.5' } },
        parents: [{ type: 'Role', id: 'worker' }],
      },
      action: { type: 'Action', id: toolIdOf(call) },
      resource: { type: 'Resource', id: call.action.resource ?? '' },
      context: {
        args: { note: typeof note === 'string' ? note : '' },
        now: { datetime: new Date(decidedAt).toISOString() },
        risk: { long: String(this.#random.below(100)) },
        tags: { set: ['a', 'b'] },
        mutates_state: call.action.mutates_state,
      },
      bindings_hash: this.#bindings,
      ...(call.approved === undefined
        ? {}
        : {
            approval_ref: call.approved.approvalId,
            call_ref: call.approved.call.callId,
            authorized_digest: call.approved.call.requestDigest,
          }),
    }
  }

  #newPending(call: Call, decidedAt: number): Pending {
    const approvalId = this.#id('apr_')
    const binding: ApprovalBinding = {
      action_hash: call.actionHash,
      agent_id: call.agentId,
      approval_id: approvalId,
      approve_by: decidedAt + 1_800_000,
      approver_groups: ['release-managers', 'security'],
      call_id: call.callId,
      environment: 'production',
      policy_set_hash: this.#policySet,
      quorum: 1 + this.#random.below(2),
      request_digest: call.requestDigest,
      source_trust: 'semi_trusted_customer',
      tenant: this.#options.tenant,
      use_within_ms: 600_000,
    }
    return { approvalId, call, binding }
  }

  /** About half of what waits; the rest is decided in a later Session, or never. */
  #decideSome(): void {
    const waiting = this.#pending
    this.#pending = []
    for (const pending of waiting) {
      if (this.#random.below(2) === 0) {
        this.#pending.push(pending)
        continue
      }
      const denied =
        this.#random.below(3) === 0 ? this.#random.pick(['denied', 'expired', 'cancelled']) : undefined
      const at = this.#tick()
      const votes = denied === 'expired' || denied === 'cancelled' ? 0 : pending.binding.quorum
      this.#append({
        line_type: 'decision',
        approval_id: pending.approvalId,
        action_hash: pending.call.actionHash,
        binding_hash: bindingHash(pending.binding, this.#suite),
        decided_at: at,
        approvers: Array.from({ length: votes }, (_, vote) => ({
          subject: `approver-${String(vote)}@${this.#options.tenant}.example`,
          api_key: this.#id('').slice(0, 16),
          groups: ['release-managers'],
          at,
        })),
        verdict:
          denied === undefined
            ? { verdict: 'approved', scope: { tool_id: toolIdOf(pending.call) } }
            : { verdict: 'denied', reason: denied },
        ...(denied === 'cancelled' ? { actor: { role: 'admin', subject: 'ida' } } : {}),
      })
      if (denied === undefined) this.#approved.push(pending)
    }
  }

  #tick(): number {
    this.#now += 1 + this.#random.below(5000)
    return this.#now
  }

  #id(prefix: string): string {
    let id = prefix
    for (let at = 0; at < 26; at += 1) id += crockford.charAt(this.#random.below(32))
    return id
  }
}

const crockford = '0123456789abcdefghjkmnpqrstvwxyz'

function toolIdOf(call: Call): string {
  return `${call.action.tool}.${call.action.action}`
}
