/** How long a grant may be used (authorize.md §2), and the reads that may do without one (§6). */
import { describe, expect, expectTypeOf, it } from 'vitest'
import { Aegis, type Clock, type Decision, type UnverifiedRead } from '../../src/sdk/index.ts'
import type { Decided } from './authorizer.ts'
import { allow, client, decide, failure, refuse, sequence } from './client.ts'
import { type Handler, closedPort, sendJson } from './hostile-server.ts'
import { action, authorizer } from './mode.ts'

class MovedClock implements Clock {
  wall = Date.now()
  monotonic = 5
  wallMs = (): number => this.wall
  monotonicMs = (): number => this.monotonic
}

describe('a grant', () => {
  async function granted(clock: MovedClock, now?: number) {
    const decided: Decided = { decision: 'allow', decidedAt: clock.wall, now: now ?? clock.wall }
    const answer = await client(await sequence(decide(decided)), { clock }).authorize(action)
    if (answer.kind !== 'allowed') throw new Error(answer.kind)
    return answer.grant
  }

  it('lives for expires_in_ms on the monotonic clock', async () => {
    const clock = new MovedClock()
    const grant = await granted(clock)
    expect(grant.remainingMs()).toBe(60_000)
    clock.monotonic += 59_999
    expect(grant.isUsable()).toBe(true)
    clock.monotonic += 1
    expect(grant.isUsable()).toBe(false)
    expect(grant.remainingMs()).toBe(0)
  })

  it('does not outlive a machine that slept, nor gain from a clock that was set back', async () => {
    const clock = new MovedClock()
    const grant = await granted(clock)
    clock.wall -= 3_600_000
    clock.monotonic += 30_000
    expect(grant.remainingMs()).toBe(30_000)
    clock.wall += 2 * 3_600_000
    expect(grant.isUsable()).toBe(false)
  })

  it('that a repeat brings has what the server says is left of it', async () => {
    const clock = new MovedClock()
    expect((await granted(clock, clock.wall + 45_000)).remainingMs()).toBe(15_000)
  })

  it('is counted from the first request, whatever the retries took', async () => {
    const clock = new MovedClock()
    const server = await sequence((response) => {
      clock.monotonic += 2_000
      response.writeHead(503).end()
    }, allow)
    const answer = await client(server, { clock }).authorize(action)
    if (answer.kind !== 'allowed') throw new Error(answer.kind)
    expect(answer.grant.remainingMs()).toBe(58_000)
  })

  it('that ended on the way is a refusal', async () => {
    const clock = new MovedClock()
    const server = await sequence((response, arrived) => {
      const body = authorizer.answer(arrived.body, { decision: 'allow' })
      clock.monotonic += 60_000
      sendJson(response, body)
    })
    const aegis = client(server, { clock, timeoutMs: 120_000 })
    expect(await failure(aegis.authorize(action))).toMatchObject({
      code: 'grant_expired',
      callId: expect.stringMatching(/^call_/) as string,
      receipt: { line: expect.stringContaining('"line_type":"outcome"') as string },
    })
  })
})

describe('reads without a decision', () => {
  it('have a kind in the type of a client that lets them through, and in no other', async () => {
    const made = {
      url: 'https://authorizer.example',
      key: authorizer.key,
      fetch: () => Promise.reject(new Error()),
    }
    const strict = new Aegis({ ...made, attemptsMax: 1 })
    const lenient = new Aegis({ ...made, attemptsMax: 1, allowUnverifiedReads: { lowRisk: {} } })
    const denied = strict.authorize(action)
    const asked = lenient.authorize(action)
    expectTypeOf(denied).resolves.toEqualTypeOf<Decision>()
    expectTypeOf(asked).resolves.toEqualTypeOf<Decision | UnverifiedRead>()
    await expect(denied).rejects.toMatchObject({ code: 'network_error' })
    await expect(asked).rejects.toMatchObject({ code: 'network_error' })
  })

  const read = { tool: 'weather', action: 'forecast', mutates: false, parameters: { city: 'Bern' } }
  const table = {
    allowUnverifiedReads: { lowRisk: { weather: ['forecast'] } },
    attemptsMax: 1,
  }

  it.each([
    ['nobody listens', closedPort],
    ['no answer comes in time', () => sequence(() => undefined)],
    ['a 500', () => sequence(refuse(500))],
    ['a 503', () => sequence(refuse(503))],
  ])('go through when listed and %s', async (_name, server) => {
    const answer = await client(await server(), { ...table, timeoutMs: 1_000 }).authorize(read)
    if (answer.kind !== 'unverified_read') throw new Error(answer.kind)
    expect(answer.action.parameters).toEqual({ city: 'Bern' })
    expect(answer).not.toHaveProperty('grant')
    expect(answer).not.toHaveProperty('receipt')
  })

  it.each([
    ['without the option', read, {}],
    ['when it is not listed', { ...read, action: 'alerts' }, table],
    ['of another tool', { ...read, tool: 'Weather' }, table],
    ['when it may change something', { tool: 'weather', action: 'forecast' }, table],
    ['when the table names what every object has', { ...read, tool: 'constructor', action: 'name' }, table],
  ])('do not go through %s', async (_name, asked, options) => {
    const server = await sequence(refuse(503))
    expect(await failure(client(server, { attemptsMax: 1, ...options }).authorize(asked))).toMatchObject({
      code: 'unavailable',
    })
  })

  it.each([
    ['a 401', refuse(401), 'unauthorized'],
    ['a 403', refuse(403), 'forbidden'],
    ['a 429', refuse(429), 'rate_limited'],
    ['a redirect', refuse(302, { location: 'https://else.example' }), 'redirected'],
    ['an answer that cannot be believed', (response) => sendJson(response, '{}'), 'answer_malformed'],
  ] satisfies [string, Handler, string][])('do not go through after %s', async (_name, handler, code) => {
    expect(await failure(client(await sequence(handler), table).authorize(read))).toMatchObject({ code })
  })

  it('do not go through when the caller gave up', async () => {
    const server = await sequence(() => undefined)
    const signal = AbortSignal.timeout(50)
    expect(await failure(client(server, table).authorize(read, { signal }))).toMatchObject({
      code: 'aborted',
    })
  })

  it('are denied when the authorizer says so', async () => {
    const server = await sequence(decide({ decision: 'deny' }))
    expect((await client(server, table).authorize(read)).kind).toBe('denied')
  })
})
