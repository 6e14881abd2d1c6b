/**
 * A tenant's part of R2 (authorize.md §5) behind the port that the chain works with: its segments and its head in one
 * bucket, its Envelopes in another. What is immutable is put only where nothing is; the head is replaced only where it is
 * still the one that was read.
 */
import type { ArchivedHead, ChainArchive, KeptResult } from '../chain/ports.ts'
import { type Digester, type RequestDigest, encodeHex, requestDigest } from '../record/index.ts'
import { type Bucket, putAbsent, readBytes } from './bucket.ts'
import { envelopePath, headPath, keysPath, segmentPath } from './paths.ts'
import { highestEpoch } from './public-keys.ts'

const lineType = 'application/jsonl; charset=utf-8'

export class TenantArchive implements ChainArchive {
  readonly #chain: Bucket
  readonly #envelopes: Bucket
  readonly #tenant: string
  readonly #digester: Digester

  constructor(chain: Bucket, envelopes: Bucket, tenant: string, digester: Digester) {
    this.#chain = chain
    this.#envelopes = envelopes
    this.#tenant = tenant
    this.#digester = digester
  }

  async readHead(): Promise<ArchivedHead | undefined> {
    const object = await this.#chain.get(headPath(this.#tenant))
    if (object === null) return undefined
    return { bytes: new Uint8Array(await object.arrayBuffer()), tag: object.etag }
  }

  async replaceHead(bytes: Uint8Array, replaces: string | undefined): Promise<boolean> {
    const onlyIf = replaces === undefined ? { etagDoesNotMatch: '*' } : { etagMatches: replaces }
    const put = await this.#chain.put(headPath(this.#tenant), bytes, {
      onlyIf,
      sha256: encodeHex(this.#digester.sha256(bytes)),
      httpMetadata: { contentType: lineType },
    })
    return put !== null
  }

  putSegment(sessionIndex: number, bytes: Uint8Array): Promise<KeptResult> {
    const object = { bytes, contentType: lineType }
    return putAbsent(this.#chain, segmentPath(this.#tenant, sessionIndex), object, this.#digester)
  }

  readSegment(sessionIndex: number): Promise<Uint8Array | undefined> {
    return readBytes(this.#chain, segmentPath(this.#tenant, sessionIndex))
  }

  putEnvelope(digest: RequestDigest, bytes: Uint8Array): Promise<KeptResult> {
    if (requestDigest(bytes, this.#digester) !== digest) {
      throw new Error('an Envelope was to be kept under the digest of another')
    }
    const object = { bytes, contentType: 'application/octet-stream' }
    return putAbsent(this.#envelopes, envelopePath(this.#tenant, digest), object, this.#digester)
  }

  async hasEnvelope(digest: RequestDigest): Promise<boolean> {
    return (await this.#envelopes.head(envelopePath(this.#tenant, digest))) !== null
  }

  deleteEnvelopes(digests: readonly RequestDigest[]): Promise<void> {
    return this.#envelopes.delete(digests.map((digest) => envelopePath(this.#tenant, digest)))
  }

  async readKeyEpoch(): Promise<number> {
    const bytes = await readBytes(this.#chain, keysPath(this.#tenant))
    return bytes === undefined ? -1 : highestEpoch(bytes)
  }
}
