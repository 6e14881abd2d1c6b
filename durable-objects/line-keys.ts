/**
 * The Line keys of a deployment, out of `AEGIS_SEED` and `AEGIS_DEPLOYMENT` (SPEC.md §6.4). There is no default: where a
 * key cannot be derived, nothing is signed.
 */
import type { LineKeyRecord, TenantRecord } from '../src/chain/records.ts'
import {
  type SeedSet,
  deriveLineKey,
  deriveWebhookSecret,
  nodeSuite,
  parseSeeds,
} from '../src/crypto-node/index.ts'
import type { Signer } from '../src/record/index.ts'

export interface DeploymentEnv {
  readonly AEGIS_SEED?: string
  readonly AEGIS_DEPLOYMENT?: string
}

/** Thrown where a key is needed and cannot be made; names the binding, never its value. */
export class NotConfigured extends Error {
  readonly binding: string
  constructor(binding: string, detail: string) {
    super(`${binding} ${detail}`)
    this.binding = binding
  }
}

export class LineKeys {
  readonly deployment: string
  readonly #seeds: SeedSet
  /** The one in use: an object signs for one tenant and one generation at a time. */
  #signer: { readonly name: string; readonly signer: Signer } | undefined

  /** @throws NotConfigured */
  constructor(env: DeploymentEnv) {
    const { AEGIS_SEED: text, AEGIS_DEPLOYMENT: deployment } = env
    if (deployment === undefined || deployment === '') {
      throw new NotConfigured('AEGIS_DEPLOYMENT', 'is missing')
    }
    if (text === undefined || text === '') throw new NotConfigured('AEGIS_SEED', 'is missing')
    const parsed = parseSeeds(text)
    if (parsed.kind === 'invalid') throw new NotConfigured('AEGIS_SEED', `is malformed: ${parsed.detail}`)
    this.deployment = deployment
    this.#seeds = parsed.set
  }

  /** The seed for keys that are made now. */
  get currentSeed(): number {
    return this.#seeds.current
  }

  /** Whether keys of this seed can still be derived: one that leaked is taken out in the end. */
  hasSeed(seedNumber: number): boolean {
    return this.#seeds.seeds.has(seedNumber)
  }

  /** Of a group's webhook, out of each seed, the newest first: one that a receiver knows goes on until its seed is gone. */
  webhookSecrets(tenant: string, group: string): readonly Uint8Array[] {
    return [...this.#seeds.seeds]
      .sort(([left], [right]) => right - left)
      .map(([, seed]) => deriveWebhookSecret(seed, this.deployment, tenant, group))
  }

  /** The public key of a generation. @throws NotConfigured as {@link signerOf}. */
  publicKeyOf(tenant: Pick<TenantRecord, 'deployment' | 'tenant'>, generation: LineKeyRecord): Signer {
    return this.#signerOf(tenant, generation)
  }

  /**
   * A key of the tenant by its id, whichever seed and generation it is of: for what an archive holds that a restored
   * object no longer remembers.
   */
  find(tenant: Pick<TenantRecord, 'deployment' | 'tenant'>, keyId: string, epochsMax: number) {
    for (const seedNumber of this.#seeds.seeds.keys()) {
      for (let keyEpoch = 0; keyEpoch <= epochsMax; keyEpoch += 1) {
        const signer = this.#signerOf(tenant, { keyEpoch, seedNumber })
        if (signer.keyId === keyId) return { publicKey: signer.publicKey, keyEpoch, seedNumber }
      }
    }
    return undefined
  }

  /** @throws NotConfigured when the tenant was made under another deployment's name or under a seed that is gone. */
  signerOf(tenant: TenantRecord): Signer {
    const name = JSON.stringify([tenant.deployment, tenant.tenant, tenant.keyEpoch, tenant.seedNumber])
    if (this.#signer?.name === name) return this.#signer.signer
    this.#signer = { name, signer: this.#signerOf(tenant, tenant) }
    return this.#signer.signer
  }

  #signerOf(
    { deployment, tenant }: Pick<TenantRecord, 'deployment' | 'tenant'>,
    { keyEpoch, seedNumber }: Pick<LineKeyRecord, 'keyEpoch' | 'seedNumber'>,
  ): Signer {
    if (deployment !== this.deployment) {
      throw new NotConfigured('AEGIS_DEPLOYMENT', 'is not the one that the tenant was made under')
    }
    const seed = this.#seeds.seeds.get(seedNumber)
    if (seed === undefined) {
      throw new NotConfigured('AEGIS_SEED', `has no entry ${String(seedNumber)}, which signs for the tenant`)
    }
    return nodeSuite.signer(deriveLineKey(seed, deployment, tenant, keyEpoch))
  }
}
