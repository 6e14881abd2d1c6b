/**
 * TenantChain: the one writer of a tenant's Chain, and all that must not disagree with it.
 *
 * Invariant: the Lines of a tenant form one Chain. Two writers would both follow the same head and fork it, which no
 *   signature can repair; so there is one object, and nothing awaits between reading the head and replacing it.
 * Identity: one object a tenant, by name; a name is used once, ever. An object that was never provisioned has no
 *   tables, gets none by being asked, and answers like one that does not know the key.
 * Stored: the tenant, its agents, keys and groups, the head, the rows of Lines that are not yet published, ids for
 *   replay and idempotency, staged Envelopes, pending approvals (STORAGE.md).
 * Atom: a Call. Its Lines, the new head, what it counts, the ids it uses up, its Envelope and its approval are one
 *   transaction. `admit` shares a commit among the drafts that wait (group-commit.ts), each nested in it by itself.
 *
 * No rule of the format or of the policy is here: src/chain decides, this file gives it a store, a clock and keys.
 */
import { DurableObject } from 'cloudflare:workers'
import type { Bucket } from '../src/archive/bucket.ts'
import { type BundleResult, getBundle, putBundle } from '../src/archive/bundles.ts'
import {
  type Act,
  type AdministerRefusal,
  type AdministerResult,
  type AdministrativeCall,
  administer,
  createTenant,
  mayAdminister,
} from '../src/chain/administer.ts'
import { admit } from '../src/chain/admit.ts'
import {
  type ExplainAsk,
  type ExplainResult,
  type LeaveResult,
  type ResolveResult,
  countExplanation,
  leaveToRead,
  resolve,
} from '../src/chain/consult.ts'
import type { AdmitResult, AuthorizeDraft } from '../src/chain/draft.ts'
import { GroupCommit } from '../src/chain/group-commit.ts'
import type { ChainContext } from '../src/chain/ports.ts'
import {
  type HeadResult,
  type LivePosition,
  type LiveResult,
  readHeadLine,
  readLive,
} from '../src/chain/reading.ts'
import type { ChainSettings, Role, TenantRecord } from '../src/chain/records.ts'
import { readChainSettings, settingsBeforeFirstBundle } from '../src/chain/settings.ts'
import { type Unavailable, unavailable } from '../src/chain/unavailable.ts'
import { nodeSuite } from '../src/crypto-node/index.ts'
import { type PolicySetHash, parseBody, requestDigest, toDigest } from '../src/record/index.ts'
import { type DeploymentEnv, LineKeys, NotConfigured } from './line-keys.ts'
import { describeCause, logFault } from './log.ts'
import { migrate } from './migrations.ts'
import type {
  CreateCall,
  CreateResult,
  DirectAct,
  PolicyCall,
  PushPolicyCall,
  PushPolicyResult,
  ShadowPolicyCall,
  TenantChainRpc,
} from './rpc.ts'
import { SqlChainStore } from './store.ts'

export interface TenantChainEnv extends DeploymentEnv {
  /** Bundles, segments, heads. */
  readonly CHAIN: Bucket
}

/** Policy says the same of a bundle object, and a staged request must fit into a row. */
const bundleBytesMax = 1_048_576

const tenantName = /^[a-z][a-z0-9-]{1,38}$/

export class TenantChain extends DurableObject<TenantChainEnv> implements TenantChainRpc {
  readonly #store: SqlChainStore
  readonly #commits: GroupCommit<AuthorizeDraft, AdmitResult>
  #keys: LineKeys | undefined
  #migrated = false
  readonly #logged = new Set<string>()

  /** Reads nothing: what goes wrong is answered by the method that was called, and not by an object that cannot start. */
  constructor(ctx: DurableObjectState, env: TenantChainEnv) {
    super(ctx, env)
    this.#store = new SqlChainStore(ctx.storage)
    this.#commits = new GroupCommit({
      transaction: (work) => this.#store.transaction(work),
      judge: (draft) => admit(this.#context(), draft),
      sync: () => ctx.storage.sync(),
      failed: (cause) => this.#fail(cause),
      overloaded: () => unavailable('overloaded'),
      bytesOf: (draft) => draft.request.length,
    })
  }

  async create(call: CreateCall): Promise<CreateResult> {
    if (!tenantName.test(call.tenant)) return { kind: 'invalid', code: 'tenant_name' }
    if (this.ctx.id.name !== call.tenant) return { kind: 'invalid', code: 'tenant_mismatch' }
    return this.#answer((context, keys) => {
      const tenant: TenantRecord = {
        tenant: call.tenant,
        deployment: keys.deployment,
        createdAt: context.now,
        revision: 0,
        keyEpoch: 0,
        seedNumber: keys.currentSeed,
        frozen: false,
        settings: settingsBeforeFirstBundle,
      }
      return createTenant(context, tenant, call)
    })
  }

  async administer(call: AdministrativeCall<DirectAct>): Promise<AdministerResult> {
    return this.#answer((context) => administer(context, call))
  }

  async pushPolicy({ actor, bundle }: PushPolicyCall): Promise<PushPolicyResult> {
    if (bundle.length > bundleBytesMax) return { kind: 'too_large' }
    const allowed = this.#mayAdminister({ actor })
    if (allowed.kind !== 'allowed') return allowed
    const policySetHash = toDigest<PolicySetHash>(nodeSuite.sha256(bundle))
    // Before the Call that says so, and outside its transaction. A crash here leaves an object that nothing names.
    const put = await this.#fromArchive(() =>
      putBundle(this.env.CHAIN, allowed.tenant, policySetHash, bundle, nodeSuite),
    )
    if (put.kind === 'conflict') return this.#conflict(policySetHash)
    if (put.kind === 'unavailable') return put
    const call = this.#answer((context) =>
      administer(context, {
        actor,
        request: bundle,
        requestDigest: requestDigest(bundle, nodeSuite),
        act: { act: 'policy.push', policySetHash },
      }),
    )
    return 'callId' in call ? { ...call, policySetHash } : call
  }

  async activatePolicy(call: PolicyCall): Promise<AdministerResult> {
    return this.#withBundle(call, call.policySetHash, (settings) => ({
      act: 'policy.activate',
      policySetHash: call.policySetHash,
      settings,
    }))
  }

  async shadowPolicy(call: ShadowPolicyCall): Promise<AdministerResult> {
    const { policySetHash } = call
    const act: Act = { act: 'policy.shadow', policySetHash }
    if (policySetHash === undefined) return this.#administerPolicy(call, act)
    return this.#withBundle(call, policySetHash, () => act)
  }

  async resolve(keyId: string, agentId?: string): Promise<ResolveResult | Unavailable> {
    return this.#answer((context) => resolve(context, keyId, agentId))
  }

  async admit(draft: AuthorizeDraft): Promise<AdmitResult> {
    const known = this.#answer((context): AdmitResult | { readonly kind: 'known' } =>
      context.store.readTenant() === undefined ? { kind: 'unauthorized' } : { kind: 'known' },
    )
    return known.kind === 'known' ? this.#commits.submit(draft) : known
  }

  async explain(ask: ExplainAsk): Promise<ExplainResult | Unavailable> {
    return this.#answer((context) => countExplanation(context, ask))
  }

  async mayRead(keyId: string, roles: readonly Role[]): Promise<LeaveResult | Unavailable> {
    return this.#answer((context) => leaveToRead(context, keyId, roles))
  }

  async head(keyId: string): Promise<HeadResult> {
    return this.#answer((context) => readHeadLine(context, keyId))
  }

  async live(keyId: string, after?: LivePosition): Promise<LiveResult> {
    return this.#answer((context) => readLive(context, keyId, after))
  }

  /** What every method does around its own work: configuration, tables, and no exception to the caller. */
  #answer<T>(work: (context: ChainContext, keys: LineKeys) => T): T | Unavailable {
    try {
      const keys = this.#lineKeys()
      if (!this.#migrated) {
        const migrated = migrate(this.ctx.storage)
        if (migrated.kind === 'newer') return unavailable('schema_newer')
        this.#migrated = migrated.kind === 'current'
      }
      return work(this.#context(), keys)
    } catch (cause) {
      return this.#fail(cause)
    }
  }

  /** The clock is read once for each draft: everything in a Call happened at one time. */
  #context(): ChainContext {
    return {
      store: this.#store,
      suite: nodeSuite,
      now: Date.now(),
      random: (count) => crypto.getRandomValues(new Uint8Array(count)),
      signer: (tenant) => this.#lineKeys().signerOf(tenant),
    }
  }

  #lineKeys(): LineKeys {
    this.#keys ??= new LineKeys(this.env)
    return this.#keys
  }

  #mayAdminister({ actor }: Pick<AdministrativeCall, 'actor'>) {
    return this.#answer((context) => {
      const tenant = mayAdminister(context, actor)
      if (tenant === undefined) return { kind: 'unauthorized' } as const
      return { kind: 'allowed', tenant: tenant.tenant } as const
    })
  }

  /** An act on a bundle that must be in the archive: read outside the transaction, then the Call. */
  async #withBundle(
    call: Omit<PolicyCall, 'policySetHash'>,
    policySetHash: PolicySetHash,
    toAct: (settings: ChainSettings) => Act,
  ): Promise<AdministerResult> {
    const allowed = this.#mayAdminister(call)
    if (allowed.kind !== 'allowed') return allowed
    const found = await this.#fromArchive(() =>
      getBundle(this.env.CHAIN, allowed.tenant, policySetHash, nodeSuite),
    )
    if (found.kind === 'unavailable') return found
    if (found.kind === 'corrupt') return this.#conflict(policySetHash)
    const settings = readBundleSettings(found)
    if (settings !== undefined) return this.#administerPolicy(call, toAct(settings))
    const refusal = found.kind === 'absent' ? 'not_found' : 'bundle_invalid'
    return this.#administerPolicy(call, toAct(settingsBeforeFirstBundle), refusal)
  }

  #administerPolicy(
    { actor, request, requestDigest: digest }: Omit<PolicyCall, 'policySetHash'>,
    act: Act,
    refusal?: AdministerRefusal,
  ): AdministerResult {
    const refused = refusal === undefined ? {} : { refusal }
    return this.#answer((context) =>
      administer(context, { actor, request, requestDigest: digest, act, ...refused }),
    )
  }

  async #fromArchive<T>(work: () => Promise<T>): Promise<T | Unavailable> {
    try {
      return await work()
    } catch (cause) {
      logFault('archive_failed', { object: this.#name(), cause: describeCause(cause) })
      return unavailable('archive_failed')
    }
  }

  #conflict(policySetHash: PolicySetHash): Unavailable {
    logFault('archive_conflict', { object: this.#name(), policy_set_hash: policySetHash })
    return unavailable('archive_conflict')
  }

  #fail(cause: unknown): Unavailable {
    if (cause instanceof NotConfigured) {
      if (!this.#logged.has(cause.binding)) {
        this.#logged.add(cause.binding)
        logFault('not_configured', { object: this.#name(), binding: cause.binding, cause: cause.message })
      }
      return unavailable('not_configured')
    }
    const text = describeCause(cause)
    logFault('storage_failed', { object: this.#name(), cause: text })
    return unavailable(/SQLITE_FULL|disk is full/.test(text) ? 'storage_full' : 'storage_failed')
  }

  #name(): string {
    return this.ctx.id.name ?? this.ctx.id.toString()
  }
}

function readBundleSettings(found: BundleResult): ChainSettings | undefined {
  if (found.kind !== 'found') return undefined
  const body = parseBody(found.bytes)
  return body.ok ? readChainSettings(body.value['settings']) : undefined
}
