/** What src/archive promises, over R2 as the runtime simulates it: conditional puts, digests, etags. */
import { describe, expect, it } from 'vitest'
import { TenantArchive } from '../../../src/archive/tenant-archive.ts'
import { nodeSuite } from '../../../src/crypto-node/index.ts'
import { requestDigest, utf8 } from '../../../src/record/index.ts'
import { testEnv } from '../durable-objects/object.ts'
import { readObject } from '../durable-objects/published.ts'

const range = (count: number): number[] => Array.from({ length: count }, (_, at) => at)

describe('the archive over R2', () => {
  const bytes = (text: string): Uint8Array => utf8(`${text}\n`)
  const archive = new TenantArchive(testEnv.CHAIN, testEnv.ENVELOPES, 'archive', nodeSuite)

  it('keeps a segment that is put where nothing is, says so of the same bytes, and never overwrites', async () => {
    expect(await archive.readSegment(3)).toBeUndefined()
    expect(await archive.putSegment(3, bytes('one'))).toEqual({ kind: 'kept' })
    expect(await archive.putSegment(3, bytes('one'))).toEqual({ kind: 'kept' })
    expect(await archive.putSegment(3, bytes('two'))).toEqual({ kind: 'conflict' })
    expect(await archive.readSegment(3)).toEqual(bytes('one'))
    expect(await readObject(testEnv.CHAIN, 'chains/archive/0000000003.aarl')).toEqual(bytes('one'))
  })

  it('of two that put at once keeps one, and tells the other', async () => {
    const kinds = await Promise.all(range(6).map((at) => archive.putSegment(4, bytes(`put ${String(at)}`))))
    expect(kinds.filter(({ kind }) => kind === 'kept')).toHaveLength(1)
  })

  it('replaces the head only behind the one that was read', async () => {
    expect(await archive.readHead()).toBeUndefined()
    expect(await archive.replaceHead(bytes('a'), 'made up')).toBe(false)
    expect(await archive.replaceHead(bytes('a'), undefined)).toBe(true)
    expect(await archive.replaceHead(bytes('b'), undefined)).toBe(false)
    const first = await archive.readHead()
    expect(first?.bytes).toEqual(bytes('a'))
    expect(await archive.replaceHead(bytes('b'), first?.tag)).toBe(true)
    expect(await archive.replaceHead(bytes('c'), first?.tag)).toBe(false)
    expect((await archive.readHead())?.bytes).toEqual(bytes('b'))
  })

  it('keeps Envelopes under their own digest only, and deletes what is there and what is not', async () => {
    const [one, other] = [utf8('one'), utf8('other')]
    const digest = requestDigest(one, nodeSuite)
    expect(() => archive.putEnvelope(digest, other)).toThrow('under the digest of another')
    expect(await archive.putEnvelope(digest, one)).toEqual({ kind: 'kept' })
    expect(await archive.hasEnvelope(digest)).toBe(true)
    await archive.deleteEnvelopes([digest, requestDigest(other, nodeSuite)])
    expect(await archive.hasEnvelope(digest)).toBe(false)
    await archive.deleteEnvelopes([digest])
  })
})
