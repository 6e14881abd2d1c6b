/**
 * Real R2 with one fault: the k-th request to any of these buckets fails before it happened, behind it, or is the moment
 * at which the object is lost.
 */
import type { Bucket } from '../../../src/archive/bucket.ts'
import { testEnv } from './object.ts'

export const bucketFaults = ['before', 'after', 'lost_before', 'lost_after'] as const
export type BucketFault = (typeof bucketFaults)[number]

export class FaultyBuckets {
  requests = 0
  readonly #at: number
  readonly #fault: BucketFault
  readonly #lose: () => void
  readonly CHAIN: Bucket
  readonly ENVELOPES: Bucket

  /** @param at counted from 1; 0 for no fault. */
  constructor(at: number, fault: BucketFault, lose: () => void) {
    this.#at = at
    this.#fault = fault
    this.#lose = lose
    this.CHAIN = this.#facing(testEnv.CHAIN)
    this.ENVELOPES = this.#facing(testEnv.ENVELOPES)
  }

  #facing(bucket: R2Bucket): Bucket {
    const real = bucket as unknown as Bucket
    return {
      get: (key, options) => this.#ask(() => real.get(key, options)),
      head: (key) => this.#ask(() => real.head(key)),
      put: (key, value, options) => this.#ask(() => real.put(key, value, options)),
      delete: (keys) => this.#ask(() => real.delete(keys)),
    }
  }

  async #ask<T>(request: () => Promise<T>): Promise<T> {
    this.requests += 1
    const fault = this.requests === this.#at ? this.#fault : undefined
    switch (fault) {
      case undefined:
        return request()
      case 'before':
        throw new Error('R2 failed')
      case 'after':
        await request()
        throw new Error('R2 failed, and it happened')
      case 'lost_before':
      case 'lost_after':
        if (fault === 'lost_after') await request()
        this.#lose()
        return new Promise<never>(() => undefined)
    }
  }
}
