/**
 * TenantChain: the one writer of a tenant's Chain, and all that must not disagree with it.
 *
 * Invariant: the Lines of a tenant form one Chain. Two writers would both follow the same head and fork it, which no
 *   signature can repair; so there is one object, and nothing awaits between reading the head and replacing it.
 * Identity: one object a tenant, by name; a name is used once, ever. An object that was never provisioned has no
 *   tables, gets none by being asked, and answers like one that does not know the key.
 * Stored: the tenant, its agents, keys and groups, the head, the rows of Lines that are not yet published, ids for
 *   replay and idempotency, staged Envelopes, pending approvals, deadlines (STORAGE.md).
 * Atom: a Call. Its Lines, the new head, what it counts, the ids it uses up, its Envelope and its approval are one
 *   transaction. `admit` shares a commit among the drafts that wait (group-commit.ts), each nested in it by itself.
 * Continuity: before the first append of a life the archive is asked whether it goes on where this object stands
 *   (keeper.ts); an object that was restored from the past must not write a second future.
 *
 * No rule of the format or of the policy is here: src/chain decides, this file gives it a store, a clock and keys.
 */
import { DurableObject } from 'cloudflare:workers'
import type { Bucket } from '../src/archive/bucket.ts'
import { type BundleResult, getBundle, putBundle } from '../src/archive/bundles.ts'
import { TenantArchive } from '../src/archive/tenant-archive.ts'
import type { Act, AdministerRefusal, AdministerResult, AdministrativeCall } from '../src/chain/acts.ts'
import { administer, createTenant, mayAdminister, overview } from '../src/chain/administer.ts'
import { admit } from '../src/chain/admit.ts'
import {
  type ApprovalAct,
  type ApprovalResult,
  type ApprovalsResult,
  type FrozenResult,
  actOnApproval,
  listApprovals,
  readApproval,
  readFrozen,
} from '../src/chain/approvals.ts'
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
import {
  type AgentResult,
  type ListResult,
  type ListedAgent,
  type ListedKey,
  type PolicyStateResult,
  listAgents,
  listFrozenTools,
  listGroups,
  listKeys,
  mayReadWebhookSecret,
  readAgent,
  readPolicyState,
} from '../src/chain/listing.ts'
import type { ChainContext } from '../src/chain/ports.ts'
import {
  type EnvelopeResult,
  type HeadResult,
  type IndexResult,
  type LivePosition,
  type LiveResult,
  type LiveStart,
  type SegmentResult,
  readEnvelopePlace,
  readHeadLine,
  readIndex,
  readLive,
  readSegmentFacts,
} from '../src/chain/reading.ts'
import type { ApprovalState, ChainSettings, GroupRecord, Role } from '../src/chain/records.ts'
import {
  type GrantsResult,
  type ReportAct,
  type ReportResult,
  listUnreported,
  report,
} from '../src/chain/reports.ts'
import { readChainSettings, settingsBeforeFirstBundle } from '../src/chain/settings.ts'
import { type Unavailable, unavailable } from '../src/chain/unavailable.ts'
import { nodeSuite } from '../src/crypto-node/index.ts'
import {
  type PolicySetHash,
  type RequestDigest,
  parseBody,
  requestDigest,
  toDigest,
  isTenantName,
} from '../src/record/index.ts'
import { Keeper } from './keeper.ts'
import { type DeploymentEnv, LineKeys, NotConfigured } from './line-keys.ts'
import { describeCause, logFault } from './log.ts'
import { migrate } from './migrations.ts'
import { freshTenant, publicKeysOf } from './new-tenant.ts'
import { planRecovery } from './recovery.ts'
import type {
  BareCall,
  CreateCall,
  CreateResult,
  DirectAct,
  EraseEnvelopeCall,
  KeysResult,
  OverviewResult,
  PolicyCall,
  PushPolicyCall,
  PushPolicyResult,
  ShadowPolicyCall,
  TenantChainRpc,
  WebhookSecretResult,
} from './rpc.ts'
import { SqlChainStore } from './store.ts'
import { timedBucket } from './timed-bucket.ts'
import { type WebhookEnv, WebhookSender, formatWebhookSecret, resolveName } from './webhook-sender.ts'

export interface TenantChainEnv extends DeploymentEnv, WebhookEnv {
  /** Bundles, segments, heads. */
  readonly CHAIN: Bucket
  /** Request bytes. */
  readonly ENVELOPES: Bucket
}

/** Policy says the same of a bundle object, and a staged request must fit into a row. */
const bundleBytesMax = 1_048_576

/** When the alarm comes again if this one is cut off before it has set the next. */
const safetyMs = 5 * 60_000

export class TenantChain extends DurableObject<TenantChainEnv> implements TenantChainRpc {
  readonly #store: SqlChainStore
  readonly #commits: GroupCommit<AuthorizeDraft, AdmitResult>
  readonly #keeper: Keeper
  readonly #webhooks: WebhookSender
  readonly #chain: Bucket
  readonly #envelopes: Bucket
  #keys: LineKeys | undefined
  #migrated = false
  #storedName: string | undefined
  readonly #logged = new Set<string>()

  /** Reads nothing: what goes wrong is answered by the method that was called, and not by an object that cannot start. */
  constructor(ctx: DurableObjectState, env: TenantChainEnv) {
    super(ctx, env)
    this.#store = new SqlChainStore(ctx.storage)
    this.#chain = timedBucket(env.CHAIN)
    this.#envelopes = timedBucket(env.ENVELOPES)
    this.#webhooks = new WebhookSender(
      {
        fetch: (url, init) => fetch(url, init),
        resolve: resolveName,
        now: () => Date.now(),
        secretsOf: (group) => this.#lineKeys().webhookSecrets(this.#name(), group),
      },
      env,
    )
    this.#keeper = new Keeper({
      context: () => this.#context(),
      archive: () => this.#archive(),
      send: (notice) => this.#webhooks.send(notice),
      log: (event, facts) => {
        logFault(event, { object: this.#name(), ...facts })
      },
    })
    this.#commits = new GroupCommit({
      transaction: (work) => this.#store.transaction(work),
      judge: (draft) =>
        this.#keeper.isBehind ? unavailable('behind_archive') : admit(this.#context(), draft),
      sync: () => ctx.storage.sync(),
      failed: (cause) => this.#fail(cause),
      overloaded: () => unavailable('overloaded'),
      bytesOf: (draft) => draft.request.length,
    })
  }

  async create(call: CreateCall): Promise<CreateResult> {
    if (!isTenantName(call.tenant)) return { kind: 'invalid', code: 'tenant_name' }
    const known = this.#look()
    if (known.kind !== 'known') return known
    if (this.#name() !== call.tenant) return { kind: 'invalid', code: 'tenant_mismatch' }
    if (!known.exists) {
      // A name is used once, also when the object that used it was lost: then it is to be recovered, if anything of it
      // was published. The first Chain of the name would be signed by the same key.
      const used = await this.#fromArchive(async () => {
        const archive = this.#archive()
        const is = (await archive.readHead()) !== undefined || (await archive.readKeyEpoch()) >= 0
        return { kind: 'read', is } as const
      })
      if (used.kind === 'unavailable') return used
      if (used.is) return { kind: 'invalid', code: 'tenant_name_used' }
    }
    return this.#answer((context, keys) => {
      const created = createTenant(context, freshTenant(call.tenant, context.now, keys), call)
      return { ...created, publicKeys: publicKeysOf(context.store, keys) }
    })
  }

  async administer(call: AdministrativeCall<DirectAct>): Promise<AdministerResult> {
    // Where it leads is judged before the transaction, and the act recorded as refused.
    const { act } = call
    const webhook = act.act === 'group.change' ? act.webhook : undefined
    const isRefused = webhook !== undefined && webhook !== null && !this.#webhooks.mayGoTo(webhook)
    const judged = isRefused ? { ...call, refusal: 'webhook_refused' as const } : call
    return this.#append((context) => administer(context, judged))
  }

  async rotateKey({ actor, request, requestDigest: digest }: BareCall): Promise<AdministerResult> {
    return this.#append((context, keys) =>
      administer(context, {
        actor,
        request,
        requestDigest: digest,
        act: { act: 'signing_key.rotate', seedNumber: keys.currentSeed },
      }),
    )
  }

  async eraseEnvelope(call: EraseEnvelopeCall): Promise<AdministerResult> {
    const { actor, request, requestDigest: digest } = call
    const allowed = this.#mayAdminister(call)
    if (allowed.kind !== 'allowed') return allowed
    // Staged before, or in the archive after: what moves between the two is found in either case.
    const staged = this.#answer(
      ({ store }) => ({ kind: 'looked', is: store.readEnvelope(call.digest) !== undefined }) as const,
    )
    if (staged.kind !== 'looked') return staged
    const found = await this.#fromArchive(async () => ({
      kind: 'looked' as const,
      is: staged.is || (await this.#archive().hasEnvelope(call.digest)),
    }))
    if (found.kind !== 'looked') return found
    return this.#append((context) =>
      administer(context, {
        actor,
        request,
        requestDigest: digest,
        act: { act: 'envelope.erase', digest: call.digest, found: found.is },
      }),
    )
  }

  async recover(call: BareCall): Promise<AdministerResult> {
    if (call.actor.role !== 'operator') return { kind: 'unauthorized' }
    const { actor, request, requestDigest: digest } = call
    const known = this.#look()
    if (known.kind !== 'known') return known
    const plan = await this.#fromArchive(() =>
      planRecovery(this.#name(), this.#context(), this.#archive(), this.#lineKeys()),
    )
    if (plan.kind === 'unavailable') return plan
    if (plan.kind === 'unknown') return { kind: 'unauthorized' }
    const entry = { actor, request, requestDigest: digest }
    if (plan.kind === 'refused') {
      // Recorded where the Chain goes on; behind an archive that is not ours nothing is appended, a refusal least of all.
      const refused = await this.#append((context) =>
        administer(context, { ...entry, act: { act: 'tenant.recover' }, refusal: plan.code }),
      )
      const isForeign = refused.kind === 'unavailable' && plan.code === 'archive_not_ours'
      return isForeign ? unavailable('archive_not_ours') : refused
    }
    const result = this.#answer((context) =>
      this.#store.transaction(() => {
        const { lost } = plan
        // Another recovery may have come first.
        if (lost !== undefined && this.#store.readTenant() === undefined) {
          this.#store.createTenant(lost.tenant, lost.head)
        }
        return administer(context, { ...entry, act: plan.act })
      }),
    )
    if (result.kind === 'done') this.#keeper.recovered()
    return result
  }

  async publicKeys(): Promise<KeysResult> {
    return this.#answer((context, keys) => {
      if (context.store.readTenant() === undefined) return { kind: 'unauthorized' }
      return { kind: 'keys', publicKeys: publicKeysOf(context.store, keys) }
    })
  }

  async pushPolicy({ actor, bundle }: PushPolicyCall): Promise<PushPolicyResult> {
    if (bundle.length > bundleBytesMax) return { kind: 'too_large' }
    const allowed = this.#mayAdminister({ actor })
    if (allowed.kind !== 'allowed') return allowed
    const policySetHash = toDigest<PolicySetHash>(nodeSuite.sha256(bundle))
    // Before the Call that says so, and outside its transaction. A crash here leaves an object that nothing names.
    const put = await this.#fromArchive(() =>
      putBundle(this.#chain, allowed.tenant, policySetHash, bundle, nodeSuite),
    )
    if (put.kind === 'conflict') return this.#conflict(policySetHash)
    if (put.kind === 'unavailable') return put
    const call = await this.#append((context) =>
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

  async overview(): Promise<OverviewResult> {
    return this.#answer((context) => overview(context))
  }

  async agents(keyId: string, after: string): Promise<ListResult<ListedAgent>> {
    return this.#read((context) => listAgents(context, keyId, after))
  }

  async agent(keyId: string, agentId: string): Promise<AgentResult> {
    return this.#read((context) => readAgent(context, keyId, agentId))
  }

  async apiKeys(keyId: string, after: string): Promise<ListResult<ListedKey>> {
    return this.#read((context) => listKeys(context, keyId, after))
  }

  async groups(keyId: string, after: string): Promise<ListResult<GroupRecord>> {
    return this.#read((context) => listGroups(context, keyId, after))
  }

  async webhookSecret(keyId: string, group: string): Promise<WebhookSecretResult> {
    return this.#answer((context, keys) => {
      const found = mayReadWebhookSecret(context, keyId, group)
      if (found.kind !== 'granted') return found
      const [newest] = keys.webhookSecrets(this.#name(), group)
      if (newest === undefined) throw new Error('a deployment without a seed')
      return { kind: 'secret', secret: formatWebhookSecret(newest) }
    })
  }

  async frozenTools(keyId: string, after: string): Promise<ListResult<string>> {
    return this.#read((context) => listFrozenTools(context, keyId, after))
  }

  async policyState(keyId: string): Promise<PolicyStateResult> {
    return this.#read((context) => readPolicyState(context, keyId))
  }

  async resolve(keyId: string, agentId?: string): Promise<ResolveResult | Unavailable> {
    return this.#answer((context) => resolve(context, keyId, agentId))
  }

  async admit(draft: AuthorizeDraft): Promise<AdmitResult> {
    const known = this.#look()
    if (known.kind !== 'known') return known
    if (!known.exists) return { kind: 'unauthorized' }
    await this.#keeper.ready()
    return this.#commits.submit(draft)
  }

  async frozen(keyId: string, approvalId: string): Promise<FrozenResult> {
    return this.#answer((context) => readFrozen(context, keyId, approvalId))
  }

  async approval(keyId: string, approvalId: string): Promise<ApprovalResult> {
    return this.#append((context) => readApproval(context, keyId, approvalId))
  }

  async approvals(
    keyId: string,
    page: { readonly state?: ApprovalState; readonly after: string },
  ): Promise<ApprovalsResult> {
    return this.#append((context) => listApprovals(context, keyId, page))
  }

  async actOnApproval(act: ApprovalAct): Promise<ApprovalResult> {
    return this.#append((context) => actOnApproval(context, act))
  }

  async report(act: ReportAct): Promise<ReportResult> {
    return this.#append((context) => report(context, act))
  }

  async unreported(keyId: string, after: string): Promise<GrantsResult> {
    return this.#answer((context) => listUnreported(context, keyId, after))
  }

  async explain(ask: ExplainAsk): Promise<ExplainResult | Unavailable> {
    return this.#answer((context) => countExplanation(context, ask))
  }

  async mayRead(keyId: string, roles: readonly Role[]): Promise<LeaveResult | Unavailable> {
    return this.#answer((context) => leaveToRead(context, keyId, roles))
  }

  async head(keyId: string): Promise<HeadResult> {
    return this.#read((context) => readHeadLine(context, keyId))
  }

  async live(keyId: string, at?: LiveStart | LivePosition): Promise<LiveResult> {
    return this.#read((context) => readLive(context, keyId, at))
  }

  async segments(keyId: string, after: number): Promise<IndexResult> {
    return this.#read((context) => readIndex(context, keyId, after))
  }

  async segment(keyId: string, sessionIndex: number): Promise<SegmentResult> {
    return this.#read((context) => readSegmentFacts(context, keyId, sessionIndex))
  }

  async envelope(keyId: string, digest: RequestDigest): Promise<EnvelopeResult> {
    return this.#read((context) => readEnvelopePlace(context, keyId, digest))
  }

  /** Never throws: the platform gives an alarm up after six failures, and then nothing would be published any more. */
  override async alarm(): Promise<void> {
    try {
      await this.ctx.storage.setAlarm(Date.now() + safetyMs)
      const known = this.#look()
      // What is due stays due: set to its time, the alarm would come again at once, for as long as nothing can be done.
      if (known.kind !== 'known') return
      if (!known.exists) {
        await this.ctx.storage.deleteAlarm()
        return
      }
      await this.#keeper.run()
      this.#store.arm()
    } catch (cause) {
      logFault('alarm_failed', { object: this.#name(), cause: describeCause(cause) })
    }
  }

  /** What every method does around its own work: configuration, tables, and no exception to the caller. */
  #answer<T>(work: (context: ChainContext, keys: LineKeys) => T): T | Unavailable {
    try {
      const keys = this.#lineKeys()
      if (!this.#migrated) {
        const migrated = migrate(this.ctx.storage)
        if (migrated.kind === 'newer') return unavailable('schema_newer')
        this.#migrated = migrated.kind === 'current'
        this.#storedName = this.#store.readTenant()?.tenant
        // An alarm that the platform has given up, or that was lost with a restore, begins again with the next waking.
        if (this.#migrated) this.#store.arm()
      }
      return work(this.#context(), keys)
    } catch (cause) {
      return this.#fail(cause)
    }
  }

  /** Whether there is a tenant here, once the object can answer at all. */
  #look(): { readonly kind: 'known'; readonly exists: boolean } | Unavailable {
    return this.#answer(({ store }) => ({ kind: 'known', exists: store.readTenant() !== undefined }))
  }

  /** As {@link #answer}, for what appends: only where the archive goes on here. */
  async #append<T>(work: (context: ChainContext, keys: LineKeys) => T): Promise<T | Unavailable> {
    const known = this.#look()
    if (known.kind !== 'known') return known
    if (known.exists) await this.#keeper.ready()
    if (this.#keeper.isBehind) return unavailable('behind_archive')
    return this.#answer(work)
  }

  /** What an auditor is shown is not a past that was restored, either. */
  #read<T>(work: (context: ChainContext) => T): Promise<T | Unavailable> {
    return this.#append(work)
  }

  /** The clock is read once for each draft: everything in a Call happened at one time. */
  #context(): ChainContext {
    return {
      store: this.#store,
      suite: nodeSuite,
      now: Date.now(),
      random: (count) => crypto.getRandomValues(new Uint8Array(count)),
      signer: (tenant) => this.#lineKeys().signerOf(tenant),
      isContinuous: this.#keeper.isContinuous,
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
      getBundle(this.#chain, allowed.tenant, policySetHash, nodeSuite),
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
  ): Promise<AdministerResult> {
    const refused = refusal === undefined ? {} : { refusal }
    return this.#append((context) =>
      administer(context, { actor, request, requestDigest: digest, act, ...refused }),
    )
  }

  async #fromArchive<T>(work: () => Promise<T>): Promise<T | Unavailable> {
    try {
      return await work()
    } catch (cause) {
      if (cause instanceof NotConfigured) return this.#fail(cause)
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

  /** By the stored name: an alarm wakes the object without telling it its own. */
  #archive(): TenantArchive {
    const tenant = this.#store.readTenant()?.tenant ?? this.#name()
    return new TenantArchive(this.#chain, this.#envelopes, tenant, nodeSuite)
  }

  /** An alarm wakes the object without telling it its name; then it is the one that is stored. */
  #name(): string {
    return this.ctx.id.name ?? this.#storedName ?? this.ctx.id.toString()
  }
}

function readBundleSettings(found: BundleResult): ChainSettings | undefined {
  if (found.kind !== 'found') return undefined
  const body = parseBody(found.bytes)
  return body.ok ? readChainSettings(body.value['settings']) : undefined
}
