/** Bodies and headers that are refused before anything is decided: each says what is wrong, none leaves a Line. */
import { beforeAll, describe, expect, it } from 'vitest'
import worker from '../../../src/worker.ts'
import { testEnv } from '../durable-objects/object.ts'
import {
  type Answer,
  type Authorizer,
  body,
  origin,
  provisionAuthorizer,
  send,
  toAnswer,
} from './authorizer.ts'

let acme: Authorizer

beforeAll(async () => {
  acme = await provisionAuthorizer('refusals', { settings: { body_bytes_max: 4096 } })
})

/** Straight into the Worker: a client of HTTP would not let these headers through. */
async function inject(headers: HeadersInit, sent: BodyInit): Promise<Answer> {
  const request = new Request(`${origin}/v1/authorize`, { method: 'POST', headers, body: sent })
  return toAnswer(await worker.fetch(request, testEnv))
}

const problem = (answer: Answer) => {
  expect(answer.headers.get('content-type')).toBe('application/problem+json')
  expect(answer.body['status']).toBe(answer.status)
  return [answer.status, answer.body.code]
}

async function calls(): Promise<number> {
  return (await acme.lines()).filter(({ agent_id }) => agent_id !== undefined).length
}

describe('a body', () => {
  const cases: [string, string, Readonly<Record<string, unknown>>][] = [
    ['request_id', 'request_id', { request_id: 'a b' }],
    ['timestamp', 'timestamp', { timestamp: '2026-11-30T12:00:00Z' }],
    ['nonce', 'nonce', { nonce: '' }],
    ['tool_call', 'tool_call', { tool_call: 1 }],
    [
      'a member of tool_call',
      'tool_call.tool',
      { tool_call: { action: 'a', resource: null, mutates_state: true, parameters: {} } },
    ],
    ['action_hash', 'action_hash', { action_hash: 'x' }],
    ['context', 'context', { context: undefined }],
    ['a level of trust', 'context.source_trust', { context: { source_trust: 'high' } }],
    ['metadata', 'metadata["a"]', { metadata: { a: 1 } }],
    ['what nobody knows', 'tenant', { tenant: 'other' }],
    ['an agent of its own choosing', 'agent_id', { agent_id: 'other' }],
  ]
  it.each(cases)('with a wrong member is refused by name: %s', async (_, member, given) => {
    const before = await calls()
    const answer = await acme.authorize('bot', body({}, given))
    expect(problem(answer)).toEqual([400, 'body_invalid'])
    expect(answer.body.members?.map((refused) => refused.member)).toEqual([member])
    expect(answer.body.detail).toContain(member)
    expect(await calls()).toBe(before)
  })

  it('names all that is wrong at once', async () => {
    const answer = await acme.authorize('bot', { a: 1, b: 2, action_hash: 3 })
    expect(answer.body.members?.map(({ member }) => member).sort()).toEqual([
      'a',
      'action_hash',
      'b',
      'context',
      'tool_call',
    ])
  })

  const parameters = (text: string) => JSON.stringify(body()).replace('{"base_branch":"develop"}', text)
  const nested = (depth: number) => `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`
  it.each([
    ['an inexact number', '{"a":0.10000000000000001}'],
    ['a number without end', '{"a":1e400}'],
    ['an integer too large', '{"a":9007199254740993}'],
    ['an integer too large, as a power', '{"a":1e16}'],
    ['a negative zero', '{"a":-0}'],
    ['a negative zero with a fraction', '{"a":-0.0}'],
    ['NaN', '{"a":NaN}'],
    ['a leading zero', '{"a":01}'],
    ['a key twice', '{"a":1,"a":1}'],
    ['a key twice, once escaped', '{"a":1,"\\u0061":1}'],
    ['half a surrogate pair', '{"a":"\\ud800"}'],
    ['a key above U+FFFF', '{"\u{1d11e}":1}'],
    ['64 levels in 2', nested(63)],
    ['a comment', '{"a":1/**/}'],
    ['a trailing comma', '{"a":1,}'],
    ['a raw line feed in a string', '{"a":"\n"}'],
  ])('with %s is not read', async (_, text) => {
    const answer = await acme.authorize('bot', parameters(text))
    expect(problem(answer)).toEqual([400, 'body_malformed'])
    expect(answer.body.detail).toMatch(/^\$/)
  })

  it('nested as deep as may be is read', async () => {
    // The body, tool_call and parameters are three of the 64 levels.
    const text = parameters(nested(61))
    expect((await acme.authorize('bot', text)).body.reason?.code).toBe('action_hash_mismatch')
    expect((await acme.authorize('bot', parameters(nested(62)))).status).toBe(400)
  })

  it.each(['', 'null', '[]', '"x"', '{', '\ufeff{}', '{}{}'])('%j is not a request', async (text) => {
    expect((await acme.authorize('bot', text)).status).toBe(400)
  })

  it('that is not UTF-8 is not read', async () => {
    const answer = await inject(
      acme.headers('bot'),
      new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
    )
    expect(problem(answer)).toEqual([400, 'body_malformed'])
    expect(answer.body.detail).toContain('is not UTF-8')
  })

  it('may hold keys of prototypes, which are keys like any other', async () => {
    const text = JSON.stringify(body()).replace('"request_id"', '"metadata":{"__proto__":"x"},"request_id"')
    expect((await acme.authorize('bot', text)).body.decision).toBe('allow')
    const last = (await acme.lastOutcome()).text
    expect(last).toContain('"metadata":{"__proto__":"x"}')
  })
})

describe('the size of a body', () => {
  /** A valid body of exactly so many bytes. */
  const sized = (bytes: number) => {
    const text = JSON.stringify(body())
    return text + ' '.repeat(bytes - text.length)
  }

  it('at the limit is read, and one over is not', async () => {
    expect((await acme.authorize('bot', sized(4096))).body.decision).toBe('allow')
    const answer = await acme.authorize('bot', sized(4097))
    expect(problem(answer)).toEqual([413, 'body_too_large'])
    expect(answer.body.detail).toContain('4096')
  })

  it('is counted where no length is said', async () => {
    const chunked = (text: string) =>
      new ReadableStream<Uint8Array>({
        start(controller) {
          for (let at = 0; at < text.length; at += 100) {
            controller.enqueue(new TextEncoder().encode(text.slice(at, at + 100)))
          }
          controller.close()
        },
      })
    expect((await inject(acme.headers('bot'), chunked(sized(4096)))).body.decision).toBe('allow')
    expect(problem(await inject(acme.headers('bot'), chunked(sized(4097))))).toEqual([413, 'body_too_large'])
  })

  it('is counted where a length is said that is not true', async () => {
    const lying = (length: string) =>
      inject({ ...acme.headers('bot'), 'content-length': length }, sized(1000))
    expect(problem(await lying('10'))).toEqual([400, 'content_length_mismatch'])
    expect(problem(await lying('2000'))).toEqual([400, 'content_length_mismatch'])
    expect(problem(await lying('4097'))).toEqual([413, 'body_too_large'])
    expect(problem(await lying('9999999'))).toEqual([413, 'body_too_large'])
    expect(problem(await lying('1000, 1000'))).toEqual([400, 'header_malformed'])
    expect(problem(await lying('-1'))).toEqual([400, 'header_malformed'])
    expect(problem(await lying('1e3'))).toEqual([400, 'header_malformed'])
    expect((await lying('1000')).body.decision).toBe('allow')
  })

  it('over the hard cap is refused before anyone asks who calls', async () => {
    const headers = { 'content-type': 'application/json', authorization: 'Bearer x' }
    const answer = await send('/v1/authorize', { method: 'POST', headers, body: ' '.repeat(1_048_577) })
    expect(problem(answer)).toEqual([413, 'body_too_large'])
  })
})

describe('headers', () => {
  const sendWith = (headers: Record<string, string>) => acme.authorize('bot', JSON.stringify(body()), headers)

  it.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
  ])('of type %s are taken', async (type) => {
    expect((await sendWith({ 'content-type': type })).status).toBe(200)
  })

  it.each([
    'text/plain',
    'application/jsonl',
    'application/json; charset=latin1',
    'application/json; charset=utf-8; charset=utf-8',
    'application/json, application/json',
    'application/x-www-form-urlencoded',
    '',
  ])('of type %j are not', async (type) => {
    expect(problem(await sendWith({ 'content-type': type }))).toEqual([415, 'content_type_unsupported'])
  })

  it('with no type are not', async () => {
    const { authorization = '' } = acme.headers('bot')
    const answer = await inject({ authorization }, new TextEncoder().encode(JSON.stringify(body())))
    expect(problem(answer)).toEqual([415, 'content_type_unsupported'])
  })

  it.each(['gzip', 'br', 'identity', 'deflate, gzip'])('with encoding %s are not', async (encoding) => {
    const answer = await inject(
      { ...acme.headers('bot'), 'content-encoding': encoding },
      JSON.stringify(body()),
    )
    expect(problem(answer)).toEqual([415, 'content_encoding_unsupported'])
  })

  it.each(['a b', 'é', 'x'.repeat(129), ''])('with Idempotency-Key %j are not', async (key) => {
    const headers = new Headers(acme.headers('bot'))
    headers.set('idempotency-key', key)
    expect(problem(await inject(headers, JSON.stringify(body())))).toEqual([400, 'header_malformed'])
  })

  it('with two Idempotency-Keys are not', async () => {
    const headers = new Headers(acme.headers('bot'))
    headers.append('idempotency-key', 'a')
    headers.append('idempotency-key', 'a')
    expect(problem(await inject(headers, JSON.stringify(body())))).toEqual([400, 'header_malformed'])
  })

  it('with an Idempotency-Key that is not request_id are not', async () => {
    const answer = await sendWith({ 'idempotency-key': 'another' })
    expect(problem(answer)).toEqual([400, 'idempotency_key_mismatch'])
  })

  it('with two keys, or a key in another form, are a 400', async () => {
    const key = acme.key('bot')
    const headers = new Headers(acme.headers('bot'))
    headers.append('authorization', `Bearer ${key}`)
    expect(problem(await inject(headers, JSON.stringify(body())))).toEqual([400, 'authorization_malformed'])
    for (const value of [`Bearer  ${key}`, `Bearer ${key} x`, `Bearer ${key},`, `Bearer\t ${key}`]) {
      const answer = await sendWith({ authorization: value })
      expect([value, ...problem(answer)]).toEqual([value, 400, 'authorization_malformed'])
    }
  })
})

describe('every answer', () => {
  it('repeats a request id, or makes one', async () => {
    const said = await send('/v1/health', { headers: { 'x-request-id': 'abc-123' } })
    expect(said.headers.get('x-request-id')).toBe('abc-123')
    for (const bad of ['a b', 'a,b', 'x'.repeat(129), '"', '<b>']) {
      const { headers } = await send('/v1/health', { headers: { 'x-request-id': bad } })
      expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    }
  })

  it('is not to be stored, says how long its parts took, and opens to no other origin', async () => {
    const answer = await acme.authorize('bot', body(), { origin: 'https://evil.example' })
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('vary')).toBe('Authorization')
    expect(answer.headers.get('server-timing')).toMatch(
      /^auth;dur=[\d.]+, .*record;dur=[\d.]+, total;dur=[\d.]+$/,
    )
    expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
  })

  it('to a path that is not there is a 404, and to another method a 405 that lists those that are', async () => {
    expect(problem(await send('/nothing'))).toEqual([404, 'not_found'])
    expect(problem(await send('/v1/authorize/'))).toEqual([404, 'not_found'])
    expect(problem(await send('/V1/authorize', { method: 'POST', body: '{}' }))).toEqual([404, 'not_found'])
    for (const method of ['GET', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
      const sent = method === 'GET' || method === 'OPTIONS' ? {} : { body: '{}' }
      const answer = await send('/v1/authorize', { method, ...sent })
      expect(problem(answer)).toEqual([405, 'method_not_allowed'])
      expect(answer.headers.get('allow')).toBe('POST')
    }
    const live = await send('/v1/chain/live', { method: 'POST', body: 'x' })
    expect(live.headers.get('allow')).toBe('GET, HEAD')
  })
})
