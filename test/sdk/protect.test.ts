/** A protected function runs what was authorized, once, or not at all (authorize.md §7). */
import { describe, expect, expectTypeOf, it } from 'vitest'
import { parseAuthorizeRequest, parseConsumeRequest } from '../../src/protocol/index.ts'
import { Aegis, AegisApprovalError, AegisDenied, type ApprovalRequired } from '../../src/sdk/index.ts'
import { type ApprovalServer, type Script, approvalServer, sendProblem } from './approval-server.ts'
import { client, failure } from './client.ts'
import { type Handler, sendJson } from './hostile-server.ts'
import { authorizer, merge, merging, reports } from './merging.ts'

describe('allowed', () => {
  it('runs with the frozen copy, under the grant, and is reported', async () => {
    const server = await approvalServer(authorizer, { decision: 'allow' })
    const { run, ran } = merging(server)
    expect(await run({ base_branch: 'main' })).toBe('merged main')
    const [one, ...more] = ran
    expect(more).toEqual([])
    expect(one?.parameters).toEqual({ base_branch: 'main' })
    expect(Object.isFrozen(one?.parameters)).toBe(true)
    expect(one?.call.decision.action).toMatchObject({
      tool: 'github',
      action: 'merge_pr',
      resource: 'branch:main',
      mutates_state: true,
      parameters: { base_branch: 'main' },
    })
    expect(one?.call.decision.action.parameters).toBe(one?.parameters)
    expect(reports(server)).toEqual([
      {
        callId: one?.call.decision.callId,
        grantId: one?.call.decision.grant.grantId,
        execution: { status: 'success' },
        wallMs: expect.any(Number) as number,
      },
    ])
    expect(server.of('poll')).toEqual([])
  })

  it('takes any arguments through `parameters`, and hands over what that made', async () => {
    const server = await approvalServer(authorizer, { decision: 'allow' })
    const aegis = client(server)
    const copy = aegis.protect(({ from, to }: { from: string; to: string }) => `${from} to ${to}`, {
      tool: 'files',
      action: 'copy',
      parameters: (from: string, to: URL) => ({ from, to: to.pathname }),
    })
    expect(await copy('/a', new URL('file:///b'))).toBe('/a to /b')
    const read = parseAuthorizeRequest(server.of('authorize')[0]?.body ?? new Uint8Array())
    expect(read).toMatchObject({ request: { toolCall: { parameters: { from: '/a', to: '/b' } } } })
  })

  it('takes no argument for an empty object, and refuses a second one', async () => {
    const server = await approvalServer(authorizer, { decision: 'allow' })
    const list = client(server).protect((parameters: object) => Object.keys(parameters), merge)
    expect(await list({})).toEqual([])
    expect(await (list as unknown as () => Promise<string[]>)()).toEqual([])
    const two = list as unknown as (...args: unknown[]) => Promise<unknown>
    expect(await failure(two({}, 'unseen'))).toMatchObject({ code: 'action_invalid', path: '$.parameters' })
    expect(server.of('authorize')).toHaveLength(2)
  })

  it('keeps the type of the function, and does not compile for what JSON cannot hold', () => {
    const aegis = new Aegis({ url: 'https://authorizer.example', key: authorizer.key })
    const run = aegis.protect(async ({ n }: { n: number; tags?: string[] }) => [n], merge)
    expectTypeOf(run).parameters.toEqualTypeOf<
      [parameters: { readonly n: number; readonly tags?: readonly string[] }]
    >()
    expectTypeOf(run).returns.resolves.toEqualTypeOf<number[]>()
    const dated = aegis.protect(({ at }: { at: Date }) => at.getTime(), merge)
    const big = aegis.protect(({ n }: { n: bigint }) => n, merge)
    // @ts-expect-error a Date is not JSON
    void (() => dated({ at: new Date() }))
    // @ts-expect-error nor is a BigInt
    void (() => big({ n: 1n }))
    // @ts-expect-error several arguments need `parameters`
    void aegis.protect((a: string, b: string) => a + b, merge)
  })

  it('reports the class of an error and not its message, and throws the error itself', async () => {
    const server = await approvalServer(authorizer, { decision: 'allow' })
    class QuotaExceeded extends Error {}
    const thrown = new QuotaExceeded('secret-token-123')
    const run = client(server).protect(() => Promise.reject(thrown), merge)
    expect(await failure(run())).toBe(thrown)
    expect(await failure(run.with({ describeError: (error) => (error as Error).message })())).toBe(thrown)
    expect(reports(server).map(({ execution }) => execution)).toEqual([
      { status: 'trap', message: 'QuotaExceeded' },
      { status: 'trap', message: 'secret-token-123' },
    ])
    expect(Buffer.from(server.of('report')[0]?.body ?? []).toString()).not.toContain('secret')
  })

  it.each([
    ['a 503', (response) => sendProblem(response, 503, { code: 'unavailable' })],
    ['a 404', (response) => sendProblem(response, 404, { code: 'not_found' })],
    ['an answer that is not one', (response) => sendJson(response, {})],
    [
      'the receipt of another report',
      (response, { body }) =>
        sendJson(
          response,
          authorizer.report(body, (draft) => ({ ...draft, grant_id: 'grt_other' })),
        ),
    ],
    ['a broken connection', (response) => void response.socket?.destroy()],
  ] satisfies [string, Handler][])(
    'keeps its result whatever becomes of the report: %s',
    async (_name, report) => {
      const server = await approvalServer(authorizer, { decision: 'allow', routes: { report } })
      const { run } = merging(server)
      const errors: unknown[] = []
      const told = run.with({
        onReportError: (error) => {
          errors.push(error)
          throw new Error('from the callback')
        },
      })
      expect(await told({ base_branch: 'main' })).toBe('merged main')
      expect(errors).toHaveLength(1)
      expect(errors[0]).toMatchObject({ code: expect.any(String) as string })
    },
  )

  it('whose report arrived at the first attempt, and was answered at the second, is reported', async () => {
    const report: Handler = (response, { body }) => {
      if (server.of('report').length > 1) return sendProblem(response, 409, { code: 'already_reported' })
      authorizer.report(body)
      response.socket?.destroy()
    }
    const server: ApprovalServer = await approvalServer(authorizer, { decision: 'allow', routes: { report } })
    const errors: unknown[] = []
    const { run } = merging(server)
    await run.with({ onReportError: (error) => errors.push(error) })({ base_branch: 'main' })
    expect(server.of('report')).toHaveLength(2)
    expect(errors).toEqual([])
  })

  it('does not wait for a report that `waitUntil` takes over', async () => {
    let answer: () => void = () => undefined
    const report: Handler = (response, { body }) => {
      answer = () => sendJson(response, authorizer.report(body))
    }
    const server = await approvalServer(authorizer, { decision: 'allow', routes: { report } })
    const work: Promise<void>[] = []
    const { run } = merging(server)
    await run.with({ waitUntil: (promise) => work.push(promise) })({ base_branch: 'main' })
    expect(work).toHaveLength(1)
    while (server.of('report').length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    answer()
    await work[0]
  })
})

describe('denied', () => {
  it('throws the decision, and nothing runs', async () => {
    const server = await approvalServer(authorizer, { decision: 'deny' })
    const { run, ran } = merging(server)
    const error = await failure(run({ base_branch: 'main' }))
    expect(error).toBeInstanceOf(AegisDenied)
    expect(error).toMatchObject({
      code: 'denied',
      reason: { code: 'policy_denied', detail: 'not on a Friday' },
      callId: expect.stringMatching(/^call_/) as string,
      receipt: { line: expect.stringContaining('policy_denied') as string },
    })
    expect(ran).toEqual([])
    expect(server.arrived).toHaveLength(1)
  })
})

describe('a read that nobody decides', () => {
  const down = {
    routes: { authorize: (response) => sendProblem(response, 503, { code: 'unavailable' }) },
  } satisfies Script

  it('runs where the client was told to let it, and says so to the function', async () => {
    const server = await approvalServer(authorizer, down)
    const allowUnverifiedReads = { lowRisk: { weather: ['forecast'] } }
    const aegis = new Aegis({ url: server.url, key: authorizer.key, attemptsMax: 1, allowUnverifiedReads })
    const forecast = (mutates: boolean) =>
      aegis.protect(({ city }: { city: string }, { decision }) => `${city} ${decision.kind}`, {
        tool: 'weather',
        action: 'forecast',
        mutates,
      })
    expect(await forecast(false)({ city: 'Bern' })).toBe('Bern unverified_read')
    expect(await failure(forecast(true)({ city: 'Bern' }))).toMatchObject({ code: 'unavailable' })
    expect(server.of('report')).toEqual([])
  })
})

describe('what others wrote', () => {
  it('does not steer the terminal that an error is printed on', async () => {
    const poll: Handler = (response, { path }) => {
      const state = authorizer.state(path.slice('/v1/approvals/'.length))
      sendJson(response, {
        ...state,
        state: 'denied',
        reason: { code: 'denied', detail: 'no\u001b[2J\u202e' },
      })
    }
    const { run } = merging(await approvalServer(authorizer, { routes: { poll } }))
    const error = await failure(run({ base_branch: 'main' }))
    expect(String(error)).toMatch(/approval_denied: apr_\d+: denied \(no\ufffd\[2J\ufffd\)$/)
    expect(error).toMatchObject({ reason: { detail: 'no\u001b[2J\u202e' } })
  })
})

describe('approval required', () => {
  it('waits, consumes with a request_id of its own, and runs under a receipt that names the approval', async () => {
    const server = await approvalServer(authorizer, { states: ['pending', 'pending', 'pending', 'approved'] })
    const { run, ran, clock } = merging(server)
    const told: ApprovalRequired[] = []
    const waiting = run.with({ onApproval: (required) => void told.push(required) })
    expect(await waiting({ base_branch: 'main' })).toBe('merged main')
    expect(ran).toHaveLength(1)
    const [required] = told
    expect(told).toHaveLength(1)
    expect(required?.approval).toMatchObject({
      approvalId: expect.stringMatching(/^apr_/) as string,
      actionHash: ran[0]?.call.decision.actionHash,
      bindingHash: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      groups: ['release-managers'],
      useWithinMs: 600_000,
    })
    expect(server.of('poll').map(({ method }) => method)).toEqual(['GET', 'GET', 'GET', 'GET'])
    // Ever longer, half of it jitter.
    expect(clock.slept).toHaveLength(3)
    for (const [at, ms] of clock.slept.entries()) {
      expect(ms).toBeGreaterThanOrEqual(500 * 1.5 ** at)
      expect(ms).toBeLessThanOrEqual(1_000 * 1.5 ** at)
    }
    const consume = parseConsumeRequest(server.of('consume')[0]?.body ?? new Uint8Array())
    const asked = parseAuthorizeRequest(server.of('authorize')[0]?.body ?? new Uint8Array())
    if (!consume.ok || !asked.ok) throw new Error('not read')
    expect(consume.request).toMatchObject({
      actionHash: required?.actionHash,
      bindingHash: required?.approval.bindingHash,
    })
    expect(consume.request.requestId).not.toBe(asked.request.requestId)
    expect(JSON.parse(ran[0]?.call.decision.receipt.line ?? '')).toMatchObject({
      decision_axes: { approval_ref: required?.approval.approvalId, call_ref: required?.callId },
    })
    expect(reports(server)).toMatchObject([{ callId: ran[0]?.call.decision.callId }])
  })

  it.each([
    ['denied', 'approval_denied'],
    ['expired', 'approval_expired'],
    ['cancelled', 'approval_cancelled'],
    ['withdrawn', 'approval_withdrawn'],
    ['lapsed', 'approval_lapsed'],
    ['consumed', 'approval_consumed'],
  ] as const)('that ends %s: nothing runs', async (state, code) => {
    const server = await approvalServer(authorizer, { states: ['pending', state] })
    const { run, ran } = merging(server)
    const error = await failure(run({ base_branch: 'main' }))
    expect(error).toBeInstanceOf(AegisApprovalError)
    expect(error).toMatchObject({
      code,
      callId: expect.stringMatching(/^call_/) as string,
      approval: { quorum: 1 },
      receipt: { line: expect.stringContaining('pending_approval') as string },
      reason: state === 'denied' ? { code: 'denied', detail: 'not before the freeze ends' } : undefined,
    })
    expect(ran).toEqual([])
    expect(server.of('consume')).toEqual([])
  })

  it.each([
    ['already_consumed', undefined, 'approval_consumed'],
    ['not_approved', 'pending', 'approval_pending'],
    ['not_approved', 'withdrawn', 'approval_withdrawn'],
    ['not_approved', 'approved', 'approval_pending'],
    ['expired', 'lapsed', 'approval_lapsed'],
    ['expired', undefined, 'approval_expired'],
    ['hash_mismatch', 'approved', 'approval_hash_mismatch'],
    ['idempotency_conflict', undefined, 'conflict'],
  ])('whose consume is refused, %s in state %s: %s', async (problem, state, code) => {
    const consume: Handler = (response) =>
      sendProblem(response, 409, { code: problem, state, call_id: 'call_9' })
    const server = await approvalServer(authorizer, { routes: { consume } })
    const { run, ran } = merging(server)
    expect(await failure(run({ base_branch: 'main' }))).toMatchObject({ code, callId: 'call_9' })
    expect(ran).toEqual([])
    expect(server.of('consume')).toHaveLength(1)
  })

  it('that today’s policy denies at the consume: denied', async () => {
    const consume: Handler = (response, { body }) =>
      sendJson(response, authorizer.answer(body, { decision: 'deny' }))
    const { run, ran } = merging(await approvalServer(authorizer, { routes: { consume } }))
    expect(await failure(run({ base_branch: 'main' }))).toBeInstanceOf(AegisDenied)
    expect(ran).toEqual([])
  })

  it('sends a consume that broke off again with the same bytes, and runs once', async () => {
    let first = true
    const server: ApprovalServer = await approvalServer(authorizer, {
      routes: {
        consume: (response, { body }) => {
          answer ??= authorizer.answer(body, { decision: 'allow' })
          if (first) response.socket?.destroy()
          else sendJson(response, answer)
          first = false
        },
      },
    })
    let answer: unknown
    const { run, ran } = merging(server)
    await run({ base_branch: 'main' })
    expect(ran).toHaveLength(1)
    const bytes = server.of('consume').map(({ body }) => Buffer.from(body).toString())
    expect(bytes).toHaveLength(2)
    expect(new Set(bytes).size).toBe(1)
  })

  it('that nobody decides ends with its time: approve_by and the time to use it', async () => {
    const server = await approvalServer(authorizer, { states: ['pending'] })
    const { run, ran, clock } = merging(server)
    expect(await failure(run({ base_branch: 'main' }))).toMatchObject({ code: 'approval_pending' })
    const waited = clock.slept.reduce((sum, ms) => sum + ms, 0)
    // 30 min and 10 min, and what the clocks may differ by.
    expect(waited).toBeGreaterThan(2_390_000)
    expect(waited).toBeLessThan(2_470_000)
    expect(Math.max(...clock.slept)).toBeLessThanOrEqual(10_000)
    expect(ran).toEqual([])
  })

  it('waits no longer than `waitMs`; 0 asks once', async () => {
    const server = await approvalServer(authorizer, { states: ['pending'] })
    const { run, clock } = merging(server)
    expect(await failure(run.with({ waitMs: 0 })({ base_branch: 'main' }))).toMatchObject({
      code: 'approval_pending',
    })
    expect(clock.slept).toEqual([])
    expect(server.of('poll')).toHaveLength(1)
  })

  it('goes on waiting through failures that pass, as long as Retry-After says', async () => {
    const poll: Handler = (response, { path }) => {
      const id = path.slice('/v1/approvals/'.length)
      switch (server.of('poll').length) {
        case 1:
          return void response.socket?.destroy()
        case 2:
          response.setHeader('retry-after', '30')
          return sendProblem(response, 429, { code: 'rate_limited' })
        case 3:
          return sendProblem(response, 503, { code: 'unavailable' })
        default:
          return sendJson(response, { ...authorizer.state(id), state: 'approved' })
      }
    }
    const consume: Handler = (response, { body }) =>
      sendJson(response, authorizer.answer(body, { decision: 'allow' }))
    const server: ApprovalServer = await approvalServer(authorizer, { routes: { poll, consume } })
    const { run, ran, clock } = merging(server)
    await run({ base_branch: 'main' })
    expect(ran).toHaveLength(1)
    expect(clock.slept[1]).toBe(30_000)
  })

  it('does not run when the callback fails', async () => {
    const { run, ran } = merging(await approvalServer(authorizer))
    const onApproval = () => Promise.reject(new Error('the chat is down'))
    const error = await failure(run.with({ onApproval })({ base_branch: 'main' }))
    expect(String(error)).toContain('the chat is down')
    expect(ran).toEqual([])
  })
})
