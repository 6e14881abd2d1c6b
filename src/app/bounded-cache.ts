/**
 * A least-recently-used cache with a budget, and loads that are shared while they are under way: a thousand tenants in
 * one isolate keep its memory bounded, and a burst on a cold one asks once. Not a promise cache: a failed load is
 * forgotten at once.
 */
export class BoundedCache<V> {
  readonly #weightMax: number
  readonly #entries = new Map<string, { readonly value: V; readonly weight: number }>()
  #weight = 0

  /** @param weightMax in the unit of `set`'s weights. */
  constructor(weightMax: number) {
    this.#weightMax = weightMax
  }

  get size(): number {
    return this.#entries.size
  }

  get weight(): number {
    return this.#weight
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    // Re-inserted, so that the first in the map is the one used longest ago.
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.value
  }

  /** What is heavier than the whole budget is not kept. */
  set(key: string, value: V, weight = 1): void {
    this.delete(key)
    if (weight > this.#weightMax) return
    this.#entries.set(key, { value, weight })
    this.#weight += weight
    for (const [oldest] of this.#entries) {
      if (this.#weight <= this.#weightMax) return
      this.delete(oldest)
    }
  }

  delete(key: string): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    this.#weight -= entry.weight
  }
}

/**
 * A joiner waits this long for another request's load and then does its own: the platform may have cancelled the
 * request that the load belongs to, and its promise then never settles.
 */
const joinMsMax = 2_000

export class SharedLoads<V> {
  readonly #loads = new Map<string, Promise<V>>()

  /** The value of a load under way, or of a new one. */
  async run(key: string, load: () => Promise<V>): Promise<V> {
    const underWay = this.#loads.get(key)
    if (underWay === undefined) return this.#start(key, load)
    const joined = await waitAtMost(joinMsMax, underWay)
    return joined === undefined ? this.#start(key, load) : joined.value
  }

  async #start(key: string, load: () => Promise<V>): Promise<V> {
    const started = load()
    this.#loads.set(key, started)
    try {
      return await started
    } finally {
      // Only our own: after a time-out another one may stand here.
      if (this.#loads.get(key) === started) this.#loads.delete(key)
    }
  }
}

async function waitAtMost<V>(ms: number, promise: Promise<V>): Promise<{ readonly value: V } | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const timeOut = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms)
  })
  try {
    return await Promise.race([promise.then((value) => ({ value })), timeOut])
  } finally {
    clearTimeout(timer)
  }
}
