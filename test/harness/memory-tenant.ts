/** A tenant over `MemoryStore` with a clock that a test moves: every step is verified from the Chain's bytes. */
import type { Act, AdministerResult, AdministrativeCall } from '../../src/chain/acts.ts'
import { administer, createTenant } from '../../src/chain/administer.ts'
import { admit } from '../../src/chain/admit.ts'
import type { AdmitResult } from '../../src/chain/draft.ts'
import { MemoryStore } from '../../src/chain/memory-store.ts'
import type { ChainContext, ChainStore } from '../../src/chain/ports.ts'
import type { ChainSettings, TenantRecord } from '../../src/chain/records.ts'
import { settingsBeforeFirstBundle } from '../../src/chain/settings.ts'
import { deriveLineKey, nodeSuite } from '../../src/crypto-node/index.ts'
import { type PublicKeyHex, type Signer, encodeHex, requestDigest, utf8 } from '../../src/record/index.ts'
import { type DraftGiven, act, agentFields, draft, keyFields, somePolicySet, wideSettings } from './drafts.ts'
import { type FollowedOutcome, Follower, outcomesOf, testDeployment, testSeed } from './follower.ts'

/** Noon, so that a test may move either way within a UTC day. */
export const someNoon = Date.UTC(2026, 10, 30, 12)

export function tenantRecord(tenant: string): TenantRecord {
  return {
    tenant,
    deployment: testDeployment,
    createdAt: someNoon,
    revision: 0,
    keyEpoch: 0,
    seedNumber: 0,
    keys: [{ keyEpoch: 0, seedNumber: 0, firstSession: 0 }],
    frozen: false,
    settings: settingsBeforeFirstBundle,
  }
}

/** Random bytes that are counted, not drawn: every id is another one, and every run the same. */
export function countingRandom(): (count: number) => Uint8Array {
  let drawn = 0
  return (count) => {
    drawn += 1
    const bytes = new Uint8Array(count)
    new DataView(bytes.buffer).setUint32(0, drawn)
    return bytes
  }
}

export function chainContext(
  store: ChainStore,
  now: number,
  random: (count: number) => Uint8Array,
): ChainContext {
  return {
    store,
    suite: nodeSuite,
    now,
    random,
    signer: signerOf,
    isContinuous: true,
  }
}

/** Of a generation of a tenant's key, under the seed of the tests. */
export function publicKeyOfEpoch(tenant: string, keyEpoch: number): PublicKeyHex {
  return encodeHex(signerOf({ ...tenantRecord(tenant), keyEpoch }).publicKey) as PublicKeyHex
}

const signers = new Map<string, Signer>()

function signerOf({ deployment, tenant, keyEpoch }: TenantRecord): Signer {
  const name = JSON.stringify([deployment, tenant, keyEpoch])
  const signer = signers.get(name) ?? nodeSuite.signer(deriveLineKey(testSeed, deployment, tenant, keyEpoch))
  signers.set(name, signer)
  return signer
}

export class MemoryTenant {
  readonly store = new MemoryStore()
  now = someNoon
  readonly #random = countingRandom()
  readonly #follower: Follower

  /** `acme` with an active policy set, the admin key `adm`, and for each agent a key of the same name. */
  constructor(
    given: { readonly settings?: Partial<ChainSettings>; readonly agents?: readonly string[] } = {},
  ) {
    this.#follower = new Follower('acme')
    const request = utf8('{}')
    createTenant(this.context(), tenantRecord('acme'), {
      request,
      requestDigest: requestDigest(request, nodeSuite),
    })
    this.do({
      act: 'policy.activate',
      policySetHash: somePolicySet,
      settings: { ...wideSettings, ...given.settings },
    })
    this.do({ act: 'key.issue', key: keyFields('adm') })
    this.do({ act: 'key.issue', key: keyFields('aud', { role: 'auditor' }) })
    for (const agent of given.agents ?? ['bot']) {
      this.do({ act: 'agent.create', agent: agentFields(agent) })
      this.do({ act: 'key.issue', key: keyFields(agent, { agentId: agent }) })
    }
  }

  context(): ChainContext {
    return chainContext(this.store, this.now, this.#random)
  }

  get revision(): number {
    return this.store.readTenant()?.revision ?? -1
  }

  get chain(): Uint8Array {
    return this.store.chainBytes()
  }

  get outcomes(): FollowedOutcome[] {
    return outcomesOf(this.chain)
  }

  do(what: Act): AdministerResult {
    return this.call(act(what))
  }

  call(call: AdministrativeCall): AdministerResult {
    return this.verified(() => administer(this.context(), call))
  }

  /** A draft at the current revision and clock. */
  admit(keyId: string, given: DraftGiven = {}): AdmitResult {
    return this.verified(() => admit(this.context(), draft(keyId, this.revision, this.now, given)))
  }

  verified<T>(step: () => T): T {
    const result = step()
    this.#follower.follow(this.chain)
    return result
  }
}

/** The Line of an admitted draft; throws for any other answer. */
export function admittedLine(result: AdmitResult): string {
  if (result.kind !== 'admitted') throw new Error(`not admitted: ${JSON.stringify(result)}`)
  return result.line
}

/** What the Line says: `allowed`, or the reason of a refusal. */
export function verdictOf(result: AdmitResult): string {
  const { policy } = JSON.parse(admittedLine(result)) as FollowedOutcome
  return policy.reason ?? policy.status
}
