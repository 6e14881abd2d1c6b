/** When a request is sent again, how long that may take, and what ends it (authorize.md §6, §7). */
import { describe, expect, it } from 'vitest'
import {
  Aegis,
  AegisAbortedError,
  AegisAnswerError,
  AegisStatusError,
  AegisUnreachableError,
} from '../../src/sdk/index.ts'
import { allow, client, failure, refuse, sequence } from './client.ts'
import { type Handler, closedPort, sendJson } from './hostile-server.ts'
import { action, authorizer, opened } from './mode.ts'

describe('retries', () => {
  it.each([
    ['502', refuse(502)],
    ['503', refuse(503)],
    ['504', refuse(504)],
    ['429', refuse(429)],
    [
      'a broken connection',
      (response) => {
        response.socket?.destroy()
      },
    ],
    ['an attempt that hangs', () => undefined],
  ] satisfies [string, Handler][])(
    'after %s: the same bytes and the same request_id',
    async (_name, first) => {
      const server = await sequence(first, first, allow)
      const answer = await client(server, { attemptTimeoutMs: 800 }).authorize(action)
      expect(answer.kind).toBe('allowed')
      expect(server.arrived).toHaveLength(3)
      expect(new Set(server.arrived.map(({ body }) => Buffer.from(body).toString('hex'))).size).toBe(1)
      expect(new Set(server.arrived.map(({ headers }) => headers['x-request-id'])).size).toBe(1)
    },
  )

  it.each([400, 401, 403, 404, 409, 413, 415, 500, 501, 301])('never after a %d', async (status) => {
    const server = await sequence(refuse(status), allow)
    const error = await failure(client(server).authorize(action))
    expect(error).toBeInstanceOf(status < 400 ? AegisAnswerError : AegisStatusError)
    expect(server.arrived).toHaveLength(1)
  })

  it('never after an answer that cannot be believed', async () => {
    const server = await sequence((response) => sendJson(response, '{}'), allow)
    expect(await failure(client(server).authorize(action))).toMatchObject({ code: 'answer_malformed' })
    expect(server.arrived).toHaveLength(1)
  })

  it('end with attemptsMax', async () => {
    const server = await sequence(refuse(503))
    const error = await failure(client(server, { attemptsMax: 2 }).authorize(action))
    expect(error).toMatchObject({ code: 'unavailable', status: 503 })
    expect(server.arrived).toHaveLength(2)
  })

  it('wait as long as Retry-After says', async () => {
    const server = await sequence(refuse(429, { 'retry-after': '1' }), allow)
    expect((await client(server).authorize(action)).kind).toBe('allowed')
    const [first, second] = server.arrived
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(990)
  })

  it('do not begin to wait for what lies behind the deadline', async () => {
    const server = await sequence(refuse(429, { 'retry-after': '60' }), allow)
    const started = performance.now()
    const error = await failure(client(server).authorize(action))
    expect(error).toMatchObject({ code: 'rate_limited', retryAfterMs: 60_000 })
    expect(performance.now() - started).toBeLessThan(2_000)
  })

  it('share one deadline', async () => {
    const server = await sequence(() => undefined)
    const started = performance.now()
    const aegis = client(server, { timeoutMs: 400, attemptTimeoutMs: 150, attemptsMax: 10 })
    const error = await failure(aegis.authorize(action))
    expect(error).toBeInstanceOf(AegisUnreachableError)
    expect(error).toMatchObject({ code: 'timeout' })
    expect(performance.now() - started).toBeLessThan(1_500)
    expect(server.arrived.length).toBeGreaterThan(1)
  })

  it('name the broken connection after the last one', async () => {
    const error = await failure(client(opened(await closedPort())).authorize(action))
    expect(error).toMatchObject({ code: 'network_error', attempts: 3 })
    expect(String(error)).toContain('ECONNREFUSED')
  })
})

describe('the signal', () => {
  it('that has fired already: nothing is sent', async () => {
    const server = await sequence(allow)
    const error = await failure(client(server).authorize(action, { signal: AbortSignal.abort() }))
    expect(error).toBeInstanceOf(AegisAbortedError)
    expect(server.arrived).toEqual([])
  })

  it.each([
    ['while an answer is awaited', () => undefined],
    ['between two attempts', refuse(429, { 'retry-after': '3' })],
  ] satisfies [string, Handler][])('%s', async (_name, handler) => {
    const server = await sequence(handler)
    const controller = new AbortController()
    const started = performance.now()
    setTimeout(() => controller.abort(), 100)
    const error = await failure(client(server).authorize(action, { signal: controller.signal }))
    expect(error).toMatchObject({ code: 'aborted' })
    expect(performance.now() - started).toBeLessThan(2_000)
  })

  it('also ends a fetch that does not listen to it', async () => {
    const aegis = new Aegis({
      url: 'https://authorizer.example',
      key: authorizer.key,
      fetch: () => new Promise(() => undefined),
    })
    expect(await failure(aegis.authorize(action, { signal: AbortSignal.timeout(50) }))).toMatchObject({
      code: 'aborted',
    })
  })
})
