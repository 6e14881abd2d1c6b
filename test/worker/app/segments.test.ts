/** What an auditor downloads over HTTP: the index, segments whole and in ranges, what may be cached, and public keys. */
import { SELF, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import * as v from 'valibot'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { SqlChainStore } from '../../../durable-objects/store.ts'
import type { TenantChain } from '../../../durable-objects/tenant-chain.ts'
import { keysPath, segmentPath } from '../../../src/archive/paths.ts'
import { nodeSuite } from '../../../src/crypto-node/index.ts'
import { type SegmentIndex, publicKeysSchema, segmentIndexSchema } from '../../../src/protocol/index.ts'
import { encodeHex, utf8 } from '../../../src/record/index.ts'
import { Walk, parseTrustStore } from '../../../src/verify/index.ts'
import { testEnv } from '../durable-objects/object.ts'
import {
  type Answer,
  type Authorizer,
  body,
  origin,
  provisionAuthorizer,
  readCall,
  send,
} from './authorizer.ts'

const post = (tenant: Authorizer, name: string, path: string): Promise<Answer> =>
  send(path, { method: 'POST', headers: tenant.headers(name) })

async function indexOf(tenant: Authorizer, query = ''): Promise<SegmentIndex> {
  const answer = await tenant.get('auditor', `/v1/chain/segments${query}`)
  if (answer.status !== 200) throw new Error(answer.text)
  return v.parse(segmentIndexSchema, answer.body)
}

/** Seals over HTTP, and waits for the object's alarm to have published it. */
async function publish(tenant: Authorizer): Promise<SegmentIndex> {
  const sealed = await post(tenant, 'admin', '/v1/chain/seal')
  if (sealed.status !== 200) throw new Error(sealed.text)
  for (let attempt = 0; attempt < 100; attempt += 1) {
    await runDurableObjectAlarm(testEnv.TENANT_CHAIN.getByName(tenant.tenant))
    const index = await indexOf(tenant)
    if (index.unpublished.sessions === 0) return index
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error('it was not published')
}

/** Bytes, and what the answer says of them. */
async function fetchSegment(
  tenant: Authorizer,
  n: number | string,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly response: Response; readonly bytes: Uint8Array }> {
  const init = { headers: { ...tenant.headers('auditor'), ...headers } }
  const response = await SELF.fetch(`${origin}/v1/chain/segments/${String(n)}`, init)
  return { response, bytes: new Uint8Array(await response.arrayBuffer()) }
}

let acme: Authorizer
let whole: Uint8Array
let tag: string

beforeAll(async () => {
  acme = await provisionAuthorizer('segments')
  await acme.authorize('bot', body(readCall))
  await publish(acme)
  for (let at = 0; at < 5; at += 1) await acme.authorize('bot', body())
  await publish(acme)
  const { response, bytes } = await fetchSegment(acme, 1)
  whole = bytes
  tag = response.headers.get('etag') ?? ''
})

describe('the index', () => {
  it('says of every segment what its bytes are, and nothing waits', async () => {
    const index = await indexOf(acme)
    expect(index.segments.map((segment) => segment.session_index)).toEqual([0, 1])
    expect(index.unpublished).toEqual({ sessions: 0 })
    expect(index.next).toBeUndefined()
    const walk = new Walk({
      digester: nodeSuite,
      check: ({ publicKey, message, signature }) => nodeSuite.verify(publicKey, message, signature),
    })
    for (const segment of index.segments) {
      const { bytes } = await fetchSegment(acme, segment.session_index)
      expect([bytes.length, encodeHex(nodeSuite.sha256(bytes))]).toEqual([segment.bytes, segment.sha256])
      walk.push(bytes)
      walk.endFile()
    }
    expect(walk.end().verdict).toBe('verified')
  })

  it('comes in pages of 1,000, each behind the one before', async () => {
    const long = await provisionAuthorizer('segments-long')
    await publish(long)
    const stub = testEnv.TENANT_CHAIN.getByName('segments-long')
    await runInDurableObject(stub, (_: TenantChain, { storage }) => {
      const store = new SqlChainStore(storage)
      const [first] = store.listSegments(-1, 1)
      if (first === undefined) throw new Error('nothing is published')
      for (let sessionIndex = 1; sessionIndex <= 2_000; sessionIndex += 1) {
        store.insertSegment({ ...first, sessionIndex })
      }
    })
    const seen: number[] = []
    const sizes: number[] = []
    let next: number | undefined = -1
    while (next !== undefined) {
      const page: SegmentIndex = await indexOf(long, next < 0 ? '' : `?after=${String(next)}`)
      seen.push(...page.segments.map((segment) => segment.session_index))
      sizes.push(page.segments.length)
      next = page.next
    }
    expect(sizes).toEqual([1_000, 1_000, 1])
    expect(seen).toEqual(Array.from({ length: 2_001 }, (_, at) => at))
    expect((await indexOf(long, '?after=2000')).segments).toEqual([])
    expect((await indexOf(long, '?after=9999999999')).segments).toEqual([])
  })

  it('takes no other query for a position', async () => {
    for (const after of ['-1', '01', '1.0', '1e3', 'x', '', '99999999999', '%20']) {
      const answer = await acme.get('auditor', `/v1/chain/segments?after=${after}`)
      expect([after, answer.status, answer.body.code]).toEqual([after, 400, 'query_invalid'])
    }
  })

  it('says how many Sessions wait, since when, and that publishing has stopped', async () => {
    const printed = vi.spyOn(console, 'error').mockReturnValue(undefined)
    const stuck = await provisionAuthorizer('segments-stuck')
    await testEnv.CHAIN.put(segmentPath('segments-stuck', 0), 'something else\n')
    const before = Date.now()
    await post(stuck, 'admin', '/v1/chain/seal')
    await runDurableObjectAlarm(testEnv.TENANT_CHAIN.getByName('segments-stuck'))
    await vi.waitFor(async () => {
      const { segments, unpublished } = await indexOf(stuck)
      expect(segments).toEqual([])
      expect(unpublished).toMatchObject({ sessions: 1, stopped: 'archive_conflict' })
      expect(unpublished.oldest_closed_at).toBeGreaterThanOrEqual(before)
    })
    expect(await (await testEnv.CHAIN.get(segmentPath('segments-stuck', 0)))?.text()).toBe('something else\n')
    printed.mockRestore()
  })
})

describe('a segment', () => {
  it('is whole, verbatim, and for the client to keep: for nobody between, and for no other key', async () => {
    const { response, bytes } = await fetchSegment(acme, 1)
    expect(response.status).toBe(200)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'accept-ranges': 'bytes',
      'cache-control': 'private, immutable, max-age=31536000',
      'content-length': String(bytes.length),
      'content-type': 'application/jsonl; charset=utf-8',
      etag: `"${encodeHex(nodeSuite.sha256(bytes))}"`,
      vary: 'Authorization',
      'x-content-type-options': 'nosniff',
    })
  })

  const size = (): number => whole.length
  it.each<readonly [string, () => readonly [number, number]]>([
    ['bytes=0-0', () => [0, 1]],
    ['bytes=0-99', () => [0, 100]],
    ['bytes=100-', () => [100, size()]],
    ['bytes=-1', () => [size() - 1, size()]],
    ['bytes=-500', () => [size() - 500, size()]],
    ['bytes=-99999999', () => [0, size()]],
    ['bytes=7-99999999', () => [7, size()]],
    ['bytes=0-999999999999999', () => [0, size()]],
  ])('in the range %s is those bytes', async (range, of) => {
    const [from, to] = of()
    const { response, bytes } = await fetchSegment(acme, 1, { range })
    expect(response.status).toBe(206)
    expect(response.headers.get('content-range')).toBe(
      `bytes ${String(from)}-${String(to - 1)}/${String(size())}`,
    )
    expect(response.headers.get('content-length')).toBe(String(to - from))
    expect(response.headers.get('etag')).toBe(tag)
    expect(response.headers.get('vary')).toBe('Authorization')
    expect(bytes).toEqual(whole.subarray(from, to))
  })

  it('whose range begins behind its end is a 416 that says its size', async () => {
    for (const range of [
      `bytes=${String(size())}-`,
      'bytes=99999999-',
      'bytes=-0',
      `bytes=${String(size())}-${String(size() + 9)}`,
    ]) {
      const { response } = await fetchSegment(acme, 1, { range })
      expect([range, response.status]).toEqual([range, 416])
      expect(response.headers.get('content-range')).toBe(`bytes */${String(size())}`)
      expect(response.headers.get('cache-control')).toBe('no-store')
    }
    const { response } = await fetchSegment(acme, 1, { range: `bytes=${String(size() - 1)}-` })
    expect(response.status).toBe(206)
  })

  it('is whole where the range is none that we know', async () => {
    for (const range of [
      'bytes=',
      'bytes=-',
      'bytes=5-2',
      'bytes=0-1,3-4',
      'lines=0-1',
      'bytes 0-1',
      'bytes=a-b',
      'bytes=0x1-2',
    ]) {
      const { response, bytes } = await fetchSegment(acme, 1, { range })
      expect([range, response.status, bytes.length]).toEqual([range, 200, size()])
    }
  })

  it('goes on in ranges only where If-Range names these very bytes', async () => {
    const range = 'bytes=10-19'
    expect((await fetchSegment(acme, 1, { range, 'if-range': tag })).response.status).toBe(206)
    for (const other of [
      `"${'0'.repeat(64)}"`,
      `W/${tag}`,
      'Mon, 30 Nov 2026 12:00:00 GMT',
      tag.slice(1, -1),
    ]) {
      const { response, bytes } = await fetchSegment(acme, 1, { range, 'if-range': other })
      expect([other, response.status, bytes.length]).toEqual([other, 200, size()])
    }
  })

  it('that the client has is a 304 without bytes, however the tag is listed', async () => {
    for (const known of [tag, `W/${tag}`, `"a", ${tag}`, `W/"a",W/${tag} , "b"`, '*']) {
      const { response, bytes } = await fetchSegment(acme, 1, { 'if-none-match': known, range: 'bytes=0-9' })
      expect([known, response.status, bytes.length]).toEqual([known, 304, 0])
      expect(response.headers.get('etag')).toBe(tag)
      expect(response.headers.get('vary')).toBe('Authorization')
      expect(response.headers.get('cache-control')).toContain('private, immutable')
    }
    for (const other of [`"${'0'.repeat(64)}"`, tag.slice(1, -1), '""', '']) {
      expect((await fetchSegment(acme, 1, { 'if-none-match': other })).response.status).toBe(200)
    }
  })

  it('answers HEAD with what it would say', async () => {
    const response = await SELF.fetch(`${origin}/v1/chain/segments/1`, {
      method: 'HEAD',
      headers: acme.headers('auditor'),
    })
    expect([response.status, (await response.arrayBuffer()).byteLength]).toEqual([200, 0])
    expect(response.headers.get('etag')).toBe(tag)
  })

  it('that never was is not there, under any name', async () => {
    for (const n of [
      '2',
      '99',
      '9999999999',
      '99999999999',
      '00',
      '01',
      '-1',
      '1.aarl',
      'x',
      '1e0',
      '%31%00',
    ]) {
      const answer = await acme.get('auditor', `/v1/chain/segments/${n}`)
      expect([n, answer.status, answer.body.code]).toEqual([n, 404, 'not_found'])
      expect(answer.headers.get('cache-control')).toBe('no-store')
    }
  })

  it("is the auditor's, and only of his own tenant", async () => {
    for (const path of ['/v1/chain/segments', '/v1/chain/segments/1', '/v1/chain/head', '/v1/chain/live']) {
      for (const role of ['bot', 'approver', 'admin']) {
        const answer = await acme.get(role, path)
        expect([path, role, answer.status, answer.body.code]).toEqual([path, role, 403, 'role_not_allowed'])
      }
      expect((await send(path)).status).toBe(401)
    }
    const other = await provisionAuthorizer('segments-other')
    const theirs = await other.get('auditor', '/v1/chain/segments/1')
    const never = await other.get('auditor', '/v1/chain/segments/7')
    expect([theirs.status, theirs.body.code]).toEqual([404, 'not_found'])
    expect(theirs.body).toEqual(never.body)
    expect((await indexOf(other)).segments).toEqual([])
    await acme.issue('past', 'auditor', { expiresAt: Date.now() + 300 })
    expect((await acme.get('past', '/v1/chain/segments/1')).status).toBe(200)
    await new Promise((resolve) => setTimeout(resolve, 350))
    expect((await acme.get('past', '/v1/chain/segments/1')).status).toBe(401)
  })

  it('that was altered or removed in the bucket is a 503, in whole and in part, never the other bytes', async () => {
    const tenant = await provisionAuthorizer('segments-altered')
    await publish(tenant)
    const path = segmentPath('segments-altered', 0)
    const { bytes } = await fetchSegment(tenant, 0)
    const flipped = bytes.slice()
    flipped[20] = (flipped[20] ?? 0) ^ 1
    const puts: readonly (() => Promise<unknown>)[] = [
      () => testEnv.CHAIN.put(path, flipped),
      () => testEnv.CHAIN.put(path, flipped, { sha256: nodeSuite.sha256(flipped) }),
      () =>
        testEnv.CHAIN.put(path, bytes.subarray(0, -1), { sha256: nodeSuite.sha256(bytes.subarray(0, -1)) }),
      // The right bytes, but nobody has vouched for them: whole or in part, they are read by nobody first.
      () => testEnv.CHAIN.put(path, bytes),
      () => testEnv.CHAIN.delete(path),
    ]
    for (const put of puts) {
      await put()
      for (const headers of [{}, { range: 'bytes=0-9' }]) {
        const { response } = await fetchSegment(tenant, 0, headers)
        expect(response.status).toBe(503)
        expect(response.headers.get('cache-control')).toBe('no-store')
        expect(response.headers.get('etag')).toBeNull()
      }
    }
    await testEnv.CHAIN.put(path, bytes, { sha256: nodeSuite.sha256(bytes) })
    expect((await fetchSegment(tenant, 0)).bytes).toEqual(bytes)
  })
})

describe('across a seal', () => {
  it('the head is the close, the live Session empty, and the next one begins with the next Call', async () => {
    const tenant = await provisionAuthorizer('segments-seal')
    const first = await tenant.get('auditor', '/v1/chain/live')
    const sealed = await post(tenant, 'admin', '/v1/chain/seal')
    expect(sealed.body['outcome']).toBe('done')
    const head = await tenant.get('auditor', '/v1/chain/head')
    expect(JSON.parse(head.text)).toMatchObject({ line_type: 'close', session_index: 0 })
    expect((await tenant.get('auditor', '/v1/chain/live')).text).toBe('')
    expect((await post(tenant, 'admin', '/v1/chain/seal')).body['outcome']).toBe('unchanged')
    await publish(tenant)
    const { bytes } = await fetchSegment(tenant, 0)
    const text = new TextDecoder().decode(bytes)
    expect(text.startsWith(first.text)).toBe(true)
    expect(text.endsWith(`${head.text}\n`)).toBe(true)
    expect((await tenant.get('auditor', '/v1/chain/head')).text).toBe(head.text)
    await tenant.authorize('bot', body(readCall))
    const next = (await tenant.get('auditor', '/v1/chain/live')).text.split('\n')[0] ?? ''
    expect(JSON.parse(next)).toMatchObject({ line_type: 'open', session_index: 1 })
    const published = await tenant.get('auditor', '/v1/chain/live?from=0')
    expect([published.status, published.body.code]).toEqual([404, 'not_found'])
    expect((await tenant.get('auditor', '/v1/chain/live?from=2')).text).toBe('')
  })

  it('a repeat of a request whose Line was published gets the same answer, out of the segment', async () => {
    const tenant = await provisionAuthorizer('segments-repeat')
    const asked = JSON.stringify(body())
    const first = await tenant.authorize('bot', asked)
    await publish(tenant)
    const repeated = await tenant.authorize('bot', asked)
    const left = repeated.body.grant?.expires_in_ms ?? Infinity
    expect(repeated.status).toBe(200)
    expect(left).toBeLessThanOrEqual(first.body.grant?.expires_in_ms ?? 0)
    expect(repeated.body).toEqual({ ...first.body, grant: { ...first.body.grant, expires_in_ms: left } })
    expect(repeated.body.receipt).toEqual(first.body.receipt)
    expect((await tenant.authorize('bot', `${asked} `)).body.code).toBe('idempotency_conflict')
    // Without the segment nothing is answered; the retry is safe.
    const path = segmentPath('segments-repeat', 0)
    const bytes = await (await testEnv.CHAIN.get(path))?.arrayBuffer()
    await testEnv.CHAIN.delete(path)
    expect((await tenant.authorize('bot', asked)).status).toBe(503)
    await testEnv.CHAIN.put(path, `${new TextDecoder().decode(bytes)}\n`)
    expect((await tenant.authorize('bot', asked)).status).toBe(503)
    await testEnv.CHAIN.put(path, bytes ?? '')
    expect((await tenant.authorize('bot', asked)).body.receipt).toEqual(first.body.receipt)
    expect(await tenant.get('auditor', '/v1/chain/live')).toMatchObject({ text: '' })
  })
})

describe('the public keys', () => {
  it('need no key, are a trust store, and grow with each rotation', async () => {
    const tenant = await provisionAuthorizer('keys-rotated')
    expect((await send('/v1/keys/keys-rotated')).status).toBe(404)
    await tenant.authorize('bot', body(readCall))
    expect((await post(tenant, 'admin', '/v1/chain/rotate-key')).status).toBe(200)
    const before = await tenant.authorize('bot', body(readCall))
    await publish(tenant)
    const answer = await send('/v1/keys/keys-rotated')
    expect(answer.headers.get('content-type')).toBe('application/json')
    const { keys } = v.parse(publicKeysSchema, answer.body)
    expect(
      keys.map(({ key_epoch: epoch, first_session: first, last_session: last }) => [epoch, first, last]),
    ).toEqual([
      [0, 0, 0],
      [1, 1, undefined],
    ])
    expect(JSON.parse(before.body.receipt?.line ?? '')).toMatchObject({
      key_id: keys[1]?.key_id,
      session_index: 1,
    })
    const pins = parseTrustStore(utf8(answer.text))
    const walk = new Walk({
      digester: nodeSuite,
      check: ({ publicKey, message, signature }) => nodeSuite.verify(publicKey, message, signature),
      pins: pins.ok ? pins.value : [],
    })
    for (const n of [0, 1]) walk.push((await fetchSegment(tenant, n)).bytes)
    expect(walk.end().verdict).toBe('verified')
  })

  it('of a name that somebody makes up are not there, and wake no object', async () => {
    for (const name of ['nobody-here', 'Nobody', 'a', 'x'.repeat(40), '..', 'a%2Fb', '%00']) {
      expect([name, (await send(`/v1/keys/${name}`)).status]).toEqual([name, 404])
    }
    expect(await testEnv.CHAIN.head(keysPath('nobody-here'))).toBeNull()
  })

  it('are rotated and Sessions sealed by admins only', async () => {
    for (const path of ['/v1/chain/rotate-key', '/v1/chain/seal']) {
      for (const role of ['bot', 'approver', 'auditor']) {
        const answer = await post(acme, role, path)
        expect([path, role, answer.status, answer.body.code]).toEqual([path, role, 403, 'role_not_allowed'])
      }
    }
  })
})
