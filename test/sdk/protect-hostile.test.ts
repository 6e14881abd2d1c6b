/**
 * Every way in which a server can fail or lie, with an approval in the middle (authorize.md §6): as the decision, as the
 * state of the approval, as the answer to the consume. The function never runs.
 */
import { describe, expect, it } from 'vitest'
import type { ApprovalStateBody } from '../../src/protocol/index.ts'
import type { OutcomeDraft } from '../../src/record/index.ts'
import { Aegis, AegisError, type AegisErrorCode, type Fetch } from '../../src/sdk/index.ts'
import { UnverifiedAegis } from '../../src/sdk/unverified.ts'
import { type Route, approvalServer, routeOf } from './approval-server.ts'
import { failure } from './client.ts'
import { httpModes } from './hostile-http-modes.ts'
import { receiptModes } from './hostile-receipts-modes.ts'
import { type Handler, sendJson } from './hostile-server.ts'
import { type Mode, authorizer, opened } from './mode.ts'
import { PatientClock } from './patient-clock.ts'

const modes = { ...httpModes, ...receiptModes }

/** A protected call whose requests of one route go to the server that fails or lies. */
async function run(
  mode: Mode,
  at: Route,
  Client: typeof Aegis | typeof UnverifiedAegis = Aegis,
): Promise<{ error: unknown; ran: number; consumes: number }> {
  const good = await approvalServer(authorizer)
  const bad = opened(await mode.server())
  const inner: Fetch = mode.options?.fetch ?? ((url, init) => fetch(url, init))
  const routed: Fetch = (url, init) => {
    const path = url.slice(good.url.length)
    return inner(routeOf(path) === at ? bad.url + path : url, init)
  }
  const options = { url: good.url, key: authorizer.key, attemptsMax: 1, clock: new PatientClock() }
  let ran = 0
  const aegis = new Client({ ...options, ...mode.options, fetch: routed })
  const error = await aegis
    .protect(() => (ran += 1), { tool: 'github', action: 'merge_pr', waitMs: 0 })({})
    .catch((thrown: unknown) => thrown)
  return { error, ran, consumes: good.of('consume').length }
}

/** A consume may not ask for an approval at all, so that it does not matter what is wrong with the one it asks for. */
const otherwise: Readonly<Record<string, AegisErrorCode>> = {
  'an approval of another binding': 'answer_malformed',
  'an approval of another id': 'answer_malformed',
  'an approval until another time': 'answer_malformed',
}

describe('instead of the decision', () => {
  it.each(Object.entries(modes))('%s', async (_name, mode) => {
    const { error, ran, consumes } = await run(mode, 'authorize')
    expect(error).toBeInstanceOf(mode.error)
    expect(error).toMatchObject({ code: mode.code })
    expect([ran, consumes]).toEqual([0, 0])
  })
})

describe('instead of the answer to the consume', () => {
  it.each(Object.entries(modes))('%s', async (name, mode) => {
    const { error, ran } = await run(mode, 'consume')
    expect(error).toBeInstanceOf(AegisError)
    expect(error).toMatchObject({ code: otherwise[name] ?? mode.code })
    expect(ran).toBe(0)
  })
})

describe('instead of the state of the approval', () => {
  it.each(Object.entries(httpModes))('%s', async (_name, mode) => {
    const { error, ran, consumes } = await run(mode, 'poll')
    expect(error).toBeInstanceOf(AegisError)
    expect([ran, consumes]).toEqual([0, 0])
  })
})

describe('a state that lies', () => {
  const state = (change: (state: ApprovalStateBody) => unknown): Handler => {
    return (response, { path }) => {
      const sound = authorizer.state(path.slice('/v1/approvals/'.length))
      sendJson(response, change({ ...sound, state: 'approved' }))
    }
  }
  const other = 'ab'.repeat(32)
  it.each([
    ['another approval', (sound) => ({ ...sound, approval_id: 'apr_other' }), 'state_mismatch'],
    ['another call', (sound) => ({ ...sound, call_id: 'call_other' }), 'state_mismatch'],
    ['another action', (sound) => ({ ...sound, action_hash: other }), 'state_mismatch'],
    ['another binding', (sound) => ({ ...sound, binding_hash: other }), 'state_mismatch'],
    ['a state of tomorrow', (sound) => ({ ...sound, state: 'preapproved' }), 'unknown_state'],
    ['Approved in capitals', (sound) => ({ ...sound, state: 'Approved' }), 'unknown_state'],
    ['a state that is true', (sound) => ({ ...sound, state: true }), 'answer_malformed'],
    ['no state', ({ state: _, ...sound }) => sound, 'answer_malformed'],
    [
      'a time without a day',
      (sound) => ({ ...sound, approve_by: '2026-02-30T00:00:00.000Z' }),
      'answer_malformed',
    ],
    ['groups that are a text', (sound) => ({ ...sound, groups: 'all' }), 'answer_malformed'],
    [
      'pending and approved',
      (sound) => JSON.stringify(sound).replace('{', '{"state":"pending",'),
      'answer_malformed',
    ],
  ] satisfies [string, (sound: ApprovalStateBody) => unknown, AegisErrorCode][])(
    'of %s',
    async (_name, change, code) => {
      const server = await approvalServer(authorizer, { routes: { poll: state(change) } })
      let ran = 0
      const aegis = new Aegis({ url: server.url, key: authorizer.key })
      const merge = aegis.protect(() => (ran += 1), { tool: 'github', action: 'merge_pr' })
      expect(await failure(merge())).toMatchObject({ code })
      expect([ran, server.of('consume').length]).toEqual([0, 0])
    },
  )
})

describe('a receipt of the consume that', () => {
  const axes =
    (change: object) =>
    (draft: OutcomeDraft): OutcomeDraft => ({
      ...draft,
      decision_axes: { ...draft.decision_axes, ...change },
    })
  it.each([
    ['names another approval', axes({ approval_ref: 'apr_other' })],
    ['names no approval', axes({ approval_ref: undefined })],
    ['belongs to another call', axes({ call_ref: 'call_other' })],
    ['is for another request', axes({ authorized_digest: 'ab'.repeat(32) })],
  ])('%s', async (_name, outcome) => {
    const consume: Handler = (response, { body }) =>
      sendJson(response, authorizer.answer(body, { decision: 'allow', outcome }))
    const server = await approvalServer(authorizer, { routes: { consume } })
    let ran = 0
    const aegis = new Aegis({ url: server.url, key: authorizer.key })
    const merge = aegis.protect(() => (ran += 1), { tool: 'github', action: 'merge_pr' })
    expect(await failure(merge())).toMatchObject({ code: 'receipt_mismatch' })
    expect(ran).toBe(0)
  })

  it('is the one of an earlier consume, whose grant has ended', async () => {
    const consume: Handler = (response, { body }) => {
      const now = Date.now()
      sendJson(
        response,
        authorizer.answer(body, { decision: 'allow', decidedAt: now - 50_000, now: now + 10_000 }),
      )
    }
    const server = await approvalServer(authorizer, { routes: { consume } })
    let ran = 0
    const aegis = new Aegis({ url: server.url, key: authorizer.key })
    const merge = aegis.protect(() => (ran += 1), { tool: 'github', action: 'merge_pr' })
    expect(await failure(merge())).toMatchObject({ code: 'grant_expired' })
    expect(ran).toBe(0)
  })
})

describe('a client without signatures', () => {
  const unsigned = Object.entries(modes).filter(([, { options }]) => options?.verify === undefined)

  it('runs what is allowed', async () => {
    const server = await approvalServer(authorizer)
    const aegis = new UnverifiedAegis({ url: server.url, key: authorizer.key })
    const merge = aegis.protect(({ n }: { n: number }) => n + 1, { tool: 'github', action: 'merge_pr' })
    expect(await merge({ n: 1 })).toBe(2)
  })

  it.each(unsigned)('takes nothing else for an allow: %s', async (name, mode) => {
    for (const at of ['authorize', 'consume'] as const) {
      const { error, ran } = await run(mode, at, UnverifiedAegis)
      expect(error).toMatchObject({ code: (at === 'consume' ? otherwise[name] : undefined) ?? mode.code })
      expect(ran).toBe(0)
    }
  })
})
