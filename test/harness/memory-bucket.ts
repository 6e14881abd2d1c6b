/** An R2 bucket in memory, as far as src/archive uses one: conditional puts and etags, for tests of what lies in it. */
import type { Bucket, StoredObject } from '../../src/archive/bucket.ts'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { encodeHex } from '../../src/record/index.ts'

export class InMemoryBucket implements Bucket {
  readonly objects = new Map<string, Uint8Array>()

  async get(key: string, { range }: Parameters<Bucket['get']>[1] = {}): Promise<StoredObject | null> {
    const bytes = this.objects.get(key)
    if (bytes === undefined) return Promise.resolve(null)
    const part = range === undefined ? bytes : bytes.subarray(range.offset, range.offset + range.length)
    const body = new Blob([new Uint8Array(part)])
    return Promise.resolve({ ...facts(bytes), body: body.stream(), arrayBuffer: () => body.arrayBuffer() })
  }

  async head(key: string) {
    const bytes = this.objects.get(key)
    return Promise.resolve(bytes === undefined ? null : facts(bytes))
  }

  async put(
    key: string,
    value: Uint8Array,
    { onlyIf }: Parameters<Bucket['put']>[2],
  ): Promise<object | null> {
    const stored = this.objects.get(key)
    const etag = stored === undefined ? undefined : etagOf(stored)
    const isAllowed =
      onlyIf === undefined || ('etagMatches' in onlyIf ? onlyIf.etagMatches === etag : etag === undefined)
    if (!isAllowed) return Promise.resolve(null)
    this.objects.set(key, value.slice())
    return Promise.resolve({})
  }

  async delete(keys: string[]): Promise<void> {
    for (const key of keys) this.objects.delete(key)
    return Promise.resolve()
  }
}

function facts(bytes: Uint8Array) {
  const sha256 = new Uint8Array(nodeSuite.sha256(bytes)).buffer
  return { etag: etagOf(bytes), size: bytes.length, checksums: { sha256 } }
}

function etagOf(bytes: Uint8Array): string {
  return encodeHex(nodeSuite.sha256(bytes)).slice(0, 32)
}
