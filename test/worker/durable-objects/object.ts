/** A tenant's real object for tests: provisioned, driven through its stub, its Chain read and verified as auditors do. */
import { env } from 'cloudflare:workers'
import { runInDurableObject } from 'cloudflare:test'
import type { Act } from '../../../src/chain/acts.ts'
import type { ChainSettings } from '../../../src/chain/records.ts'
import type {
  AdministerResult,
  AdmitResult,
  AuthorizeDraft,
  DirectAct,
  LivePosition,
  TenantChainRpc,
} from '../../../durable-objects/rpc.ts'
import type { TenantChain } from '../../../durable-objects/tenant-chain.ts'
import { nodeSuite } from '../../../src/crypto-node/index.ts'
import {
  type PolicySetHash,
  encodeCanonical,
  requestDigest,
  toDigest,
  utf8,
} from '../../../src/record/index.ts'
import { type DraftGiven, act, agentFields, draft, keyFields, wideSettings } from '../../harness/drafts.ts'
import { Follower } from '../../harness/follower.ts'

export interface TestEnv {
  readonly TENANT_CHAIN: DurableObjectNamespace<TenantChain>
  readonly CHAIN: R2Bucket
  readonly ENVELOPES: R2Bucket
  readonly AEGIS_SEED: string
  readonly AEGIS_DEPLOYMENT: string
}

export const testEnv = env as unknown as TestEnv

/** A bundle object as far as the writer reads it. */
export function bundleObject(settings: Partial<ChainSettings> = {}): {
  readonly bytes: Uint8Array
  readonly policySetHash: PolicySetHash
} {
  const bytes = encodeCanonical({
    format: 1,
    policies: {},
    settings: { ...wideSettings, ...settings },
    tools: {},
  })
  return { bytes, policySetHash: toDigest<PolicySetHash>(nodeSuite.sha256(bytes)) }
}

export class ObjectUnderTest {
  readonly tenant: string
  readonly #follower: Follower
  revision = 0

  constructor(tenant: string) {
    this.tenant = tenant
    this.#follower = new Follower(tenant)
  }

  get stub(): DurableObjectStub<TenantChain> {
    return testEnv.TENANT_CHAIN.getByName(this.tenant)
  }

  /** A fresh one each time, since an abort breaks those that exist. */
  get rpc(): TenantChainRpc {
    return this.stub
  }

  create() {
    const request = utf8('{}')
    return this.rpc.create({
      tenant: this.tenant,
      request,
      requestDigest: requestDigest(request, nodeSuite),
    })
  }

  async do(what: DirectAct, adminKeyId?: string): Promise<AdministerResult> {
    return this.#raised(await this.rpc.administer(act(what, adminKeyId)))
  }

  async activate(settings: Partial<ChainSettings> = {}): Promise<AdministerResult> {
    const { bytes, policySetHash } = bundleObject(settings)
    const actor = { role: 'operator' } as const
    const pushed = await this.rpc.pushPolicy({ actor, bundle: bytes })
    if (pushed.kind !== 'done') throw new Error(JSON.stringify(pushed))
    const call = act({ act: 'policy.push', policySetHash } satisfies Act)
    return this.#raised(await this.rpc.activatePolicy({ ...call, policySetHash }))
  }

  #raised(result: AdministerResult): AdministerResult {
    if ('revision' in result) this.revision = result.revision
    return result
  }

  draft(keyId: string, given: DraftGiven = {}): AuthorizeDraft {
    return draft(keyId, this.revision, Date.now(), given)
  }

  admit(keyId: string, given: DraftGiven = {}): Promise<AdmitResult> {
    return this.rpc.admit(this.draft(keyId, given))
  }

  /** The whole open Session as an auditor reads it, page by page. */
  async live(): Promise<Uint8Array> {
    const pages: Uint8Array[] = []
    let after: LivePosition | undefined
    for (;;) {
      const page = await this.rpc.live('aud', after)
      if (page.kind !== 'lines') throw new Error(JSON.stringify(page))
      pages.push(page.bytes)
      if (page.next === undefined) return new Uint8Array(Buffer.concat(pages))
      after = page.next
    }
  }

  /** Reads the Chain and verifies what is new in it. */
  async verified(): Promise<Uint8Array> {
    const chain = await this.live()
    this.#follower.follow(chain)
    return chain
  }

  /** Resets the object where it stands, as a deploy does: Calls under way are cut off. */
  async lose(): Promise<void> {
    const lost = this.inside((state) => {
      state.abort('reset by a test')
    })
    await lost.catch(() => undefined)
  }

  /** Runs inside the object, where its storage can be looked at. */
  inside<T>(work: (state: DurableObjectState, instance: TenantChain) => T | Promise<T>): Promise<T> {
    return runInDurableObject(this.stub, (instance: TenantChain, state) => work(state, instance))
  }
}

/** A provisioned tenant with an active bundle, the keys `adm` and `aud`, and agents whose keys have their names. */
export async function provision(
  tenant: string,
  given: { readonly settings?: Partial<ChainSettings>; readonly agents?: readonly string[] } = {},
): Promise<ObjectUnderTest> {
  const object = new ObjectUnderTest(tenant)
  const created = await object.create()
  if (created.kind !== 'done') throw new Error(JSON.stringify(created))
  await object.do({ act: 'key.issue', key: keyFields('adm') })
  await object.do({ act: 'key.issue', key: keyFields('aud', { role: 'auditor' }) })
  await object.activate(given.settings)
  for (const agent of given.agents ?? ['bot']) {
    await object.do({ act: 'agent.create', agent: agentFields(agent) })
    await object.do({ act: 'key.issue', key: keyFields(agent, { agentId: agent }) })
  }
  await object.verified()
  return object
}
