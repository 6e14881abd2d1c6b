/**
 * Policy sets by hash: from memory, else from the archive, hashed before they are opened. A set that is absent,
 * unreadable or not what its name says is `undefined`, which is a deny. The name is the content, so that tenants with
 * one bundle share it.
 */
import type { Bucket } from '../archive/bucket.ts'
import { getBundle } from '../archive/bundles.ts'
import { type PolicySet, openPolicySet } from '../policy/index.ts'
import type { Digester, PolicySetHash } from '../record/index.ts'
import { BoundedCache, SharedLoads } from './bounded-cache.ts'

/** Bytes of bundle objects. Parsed they take about five times that: 20 MB of an isolate's 128. */
const bundleBytesHeldMax = 4 * 1_048_576

export class PolicySets {
  readonly #archive: Bucket
  readonly #digester: Digester
  readonly #sets = new BoundedCache<PolicySet>(bundleBytesHeldMax)
  readonly #loads = new SharedLoads<PolicySet | undefined>()

  constructor(archive: Bucket, digester: Digester) {
    this.#archive = archive
    this.#digester = digester
  }

  get heldBytes(): number {
    return this.#sets.weight
  }

  /** The set, or `undefined` when there is none to evaluate. Never throws. */
  async get(tenant: string, hash: PolicySetHash | undefined): Promise<PolicySet | undefined> {
    if (hash === undefined) return undefined
    const held = this.#sets.get(hash)
    if (held !== undefined) return held
    return this.#loads.run(`${tenant}/${hash}`, () => this.#load(tenant, hash))
  }

  async #load(tenant: string, hash: PolicySetHash): Promise<PolicySet | undefined> {
    try {
      const bundle = await getBundle(this.#archive, tenant, hash, this.#digester)
      if (bundle.kind !== 'found') return undefined
      const opened = openPolicySet(bundle.bytes, hash, this.#digester)
      if (!opened.ok) return undefined
      this.#sets.set(hash, opened.policySet, bundle.bytes.length)
      return opened.policySet
    } catch {
      // The archive did not answer: nothing is remembered, the next request asks again.
      return undefined
    }
  }
}
