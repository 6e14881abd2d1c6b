/** Segments and Envelopes over HTTP (authorize.md §5): the index, ranges, what may be kept, who may read, what is erased. */
import { runDurableObjectAlarm } from 'cloudflare:test'
import * as v from 'valibot'
import { beforeAll, describe, expect, it } from 'vitest'
import { nodeSuite } from '../../../src/crypto-node/index.ts'
import { segmentIndexSchema } from '../../../src/protocol/index.ts'
import { encodeHex, requestDigest, utf8 } from '../../../src/record/index.ts'
import { testEnv } from '../durable-objects/object.ts'
import { type Answer, type Authorizer, body, provisionAuthorizer, send } from './authorizer.ts'

let acme: Authorizer
let other: Authorizer
const sent = JSON.stringify(body({}, { request_id: 'kept' }))

beforeAll(async () => {
  acme = await provisionAuthorizer('segments')
  other = await provisionAuthorizer('segments-other')
  await acme.issue('reader', 'auditor', { envelopes: true })
  await acme.authorize('bot', sent)
  await publish()
})

/** Seals, and lets the alarm do what is due. */
async function publish(): Promise<void> {
  await send('/v1/chain/seal', { method: 'POST', headers: acme.headers('admin') })
  await runDurableObjectAlarm(testEnv.TENANT_CHAIN.getByName('segments'))
}

function get(
  path: string,
  headers: Readonly<Record<string, string>> = {},
  name = 'auditor',
): Promise<Answer> {
  return send(path, { headers: { authorization: `Bearer ${acme.key(name)}`, ...headers } })
}

describe('the index', () => {
  it('says what each segment is, and what waits', async () => {
    const answer = await get('/v1/chain/segments')
    expect(v.is(segmentIndexSchema, answer.body)).toBe(true)
    const [first] = answer.body['segments'] as { session_index: number; bytes: number; sha256: string }[]
    const segment = await get('/v1/chain/segments/0')
    expect(segment.text.length).toBe(first?.bytes)
    expect(encodeHex(nodeSuite.sha256(utf8(segment.text)))).toBe(first?.sha256)
    expect(answer.body['unpublished']).toEqual({ sessions: 0 })
    expect((await get('/v1/chain/segments?after=0')).body['segments']).toEqual([])
    expect((await get('/v1/chain/segments?after=x')).body.code).toBe('query_invalid')
  })
})

describe('a segment', () => {
  it('may be kept for good by who asked, and is known by its hash', async () => {
    const { headers } = await get('/v1/chain/segments/0')
    expect(headers.get('cache-control')).toBe('private, immutable, max-age=31536000')
    expect(headers.get('vary')).toBe('Authorization')
    const etag = headers.get('etag') ?? ''
    expect(etag).toMatch(/^"[0-9a-f]{64}"$/)
    expect((await get('/v1/chain/segments/0', { 'if-none-match': etag })).status).toBe(304)
  })

  it.each([
    ['bytes=0-9', 0, 10],
    ['bytes=5-', 5, Number.POSITIVE_INFINITY],
    ['bytes=-7', -7, Number.POSITIVE_INFINITY],
    ['bytes=3-99999999', 3, Number.POSITIVE_INFINITY],
  ])('comes in a range: %s', async (range, start, end) => {
    const whole = (await get('/v1/chain/segments/0')).text
    const part = await get('/v1/chain/segments/0', { range })
    expect([part.status, part.text]).toEqual([206, whole.slice(start, Math.min(end, whole.length))])
    const from = start < 0 ? whole.length + start : start
    const last = from + part.text.length - 1
    expect(part.headers.get('content-range')).toBe(
      `bytes ${String(from)}-${String(last)}/${String(whole.length)}`,
    )
  })

  it('has no range behind its end, and none where the condition does not hold', async () => {
    const behind = await get('/v1/chain/segments/0', { range: 'bytes=99999999-' })
    expect([behind.status, behind.body.code]).toEqual([416, 'range_not_satisfiable'])
    expect((await get('/v1/chain/segments/0', { range: 'bytes=0-9', 'if-range': '"x"' })).status).toBe(200)
  })

  it('is for auditors of its tenant, and only where it is published', async () => {
    for (const name of ['bot', 'admin', 'approver']) {
      expect((await get('/v1/chain/segments/0', {}, name)).status).toBe(403)
    }
    expect((await get('/v1/chain/segments/99')).status).toBe(404)
    expect((await other.get('auditor', '/v1/chain/segments/0')).status).toBe(404)
  })

  it('that was replaced in the bucket is not passed on', async () => {
    const path = 'chains/segments/0000000000.aarl'
    const bytes = await (await testEnv.CHAIN.get(path))?.arrayBuffer()
    await testEnv.CHAIN.put(path, 'forged')
    const answer = await get('/v1/chain/segments/0')
    expect([answer.status, answer.text.includes('forged')]).toEqual([503, false])
    const original = bytes ?? new ArrayBuffer()
    await testEnv.CHAIN.put(path, original, { sha256: encodeHex(nodeSuite.sha256(new Uint8Array(original))) })
    expect((await get('/v1/chain/segments/0')).status).toBe(200)
  })

  it('answers a repeat of a request whose row it holds now', async () => {
    const repeated = await acme.authorize('bot', sent)
    expect(repeated.status).toBe(200)
    expect((await get('/v1/chain/segments/0')).text).toContain(`${repeated.body.receipt?.line ?? '-'}\n`)
  })
})

describe('an Envelope', () => {
  const digest = requestDigest(utf8(sent), nodeSuite)
  const path = `/v1/envelopes/${digest}`

  it('is read by an auditor to whom that was granted, and by nobody else', async () => {
    expect((await get(path, {}, 'reader')).text).toBe(sent)
    expect((await get(path)).body.code).toBe('envelopes_not_granted')
    for (const name of ['bot', 'admin', 'approver']) expect((await get(path, {}, name)).status).toBe(403)
    expect((await get(`/v1/envelopes/${'0'.repeat(64)}`, {}, 'reader')).status).toBe(404)
  })

  it('that was erased stays so, whatever arrives late or comes again', async () => {
    const erase = () => send(path, { method: 'DELETE', headers: acme.headers('admin') })
    expect((await send(path, { method: 'DELETE', headers: acme.headers('auditor') })).status).toBe(403)
    expect((await erase()).body).toMatchObject({ outcome: 'done' })
    expect((await erase()).body).toMatchObject({ outcome: 'unchanged' })
    await publish()
    expect(await testEnv.ENVELOPES.head(`envelopes/segments/${digest}`)).toBeNull()
    // A put that was under way arrives after all.
    await testEnv.ENVELOPES.put(`envelopes/segments/${digest}`, sent)
    const gone = await get(path, {}, 'reader')
    expect([gone.status, gone.body.code]).toEqual([410, 'envelope_erased'])
    const unknown = await send(`/v1/envelopes/${'0'.repeat(64)}`, {
      method: 'DELETE',
      headers: acme.headers('admin'),
    })
    expect([unknown.status, unknown.body.code]).toEqual([404, 'not_found'])
  })

  it('of the same bytes sent again is not kept again, and the Line says so', async () => {
    // A read needs neither a request_id nor a timestamp: the very same bytes come again.
    const read = body({ action: 'read', resource: null, mutates_state: false, parameters: {} })
    const members = Object.entries(read).filter(([name]) => name !== 'request_id' && name !== 'timestamp')
    const bare = JSON.stringify(Object.fromEntries(members))
    const bareDigest = requestDigest(utf8(bare), nodeSuite)
    await acme.authorize('bot', bare)
    await send(`/v1/envelopes/${bareDigest}`, { method: 'DELETE', headers: acme.headers('admin') })
    const line = (await acme.authorize('bot', bare)).body.receipt?.line ?? '{}'
    expect(JSON.parse(line)).toMatchObject({ decision_axes: { envelope: 'erased' } })
  })
})
