/** Approvals over HTTP (authorize.md §4): what people are shown, what their acts do, and the single use. */
import * as v from 'valibot'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  approvalReviewSchema,
  approvalStateSchema,
  authorizeAnswerSchema,
  grantListSchema,
} from '../../../src/protocol/index.ts'
import { type Answer, type Authorizer, body, provisionAuthorizer, send } from './authorizer.ts'

let acme: Authorizer

beforeAll(async () => {
  acme = await provisionAuthorizer('approvals')
  await acme.issue('lena', 'approver', { subject: 'Lena@example.com' })
  await acme.issue('owner', 'approver', { subject: 'owner@example.com' })
  await acme.do({ act: 'group.change', group: 'leads', members: ['lena@example.com', 'owner@example.com'] })
  await acme.addAgent('other')
})

interface Pending {
  readonly id: string
  readonly action_hash: string
  readonly binding_hash: string
  readonly call_id: string
}

async function ask(agent = 'bot'): Promise<Pending> {
  const answer = await acme.authorize(agent, body({ parameters: { base_branch: 'main' } }))
  const approval = answer.body.approval as unknown as {
    readonly approval_id: string
    readonly action_hash: string
    readonly binding_hash: string
  }
  return {
    id: approval.approval_id,
    action_hash: approval.action_hash,
    binding_hash: approval.binding_hash,
    call_id: answer.body.call_id ?? '',
  }
}

function post(name: string, path: string, sent?: unknown): Promise<Answer> {
  const headers = acme.headers(name)
  return send(path, {
    method: 'POST',
    headers,
    ...(sent === undefined ? {} : { body: JSON.stringify(sent) }),
  })
}

const decide = (name: string, { id, binding_hash }: Pending, act: string, more: object = {}) =>
  post(name, `/v1/approvals/${id}/${act}`, { binding_hash, ...more })

const consume = (name: string, { id, action_hash, binding_hash }: Pending, given: object = {}) =>
  post(name, `/v1/approvals/${id}/consume`, {
    request_id: crypto.randomUUID(),
    action_hash,
    binding_hash,
    ...given,
  })

const typesOf = async () => (await acme.lines()).map(({ line_type }) => line_type)

describe('an approval', () => {
  it('shows an approver the whole frozen action, its agent the state, and nobody else anything', async () => {
    const pending = await ask()
    const review = await acme.get('lena', `/v1/approvals/${pending.id}`)
    expect(v.safeParse(approvalReviewSchema, review.body).issues).toBeUndefined()
    expect(review.body).toMatchObject({
      state: 'pending',
      agent: 'bot',
      request: { tool_call: { tool: 'github', parameters: { base_branch: 'main' } } },
      derived: { base_branch: 'main' },
      source_trust: { effective: 'semi_trusted_customer' },
      groups: ['leads'],
      votes: [],
    })
    const state = await acme.get('bot', `/v1/approvals/${pending.id}`)
    expect(v.safeParse(approvalStateSchema, state.body).issues).toBeUndefined()
    expect(state.text).not.toContain('base_branch')
    expect((await acme.get('admin', `/v1/approvals/${pending.id}`)).text).not.toContain('base_branch')
    for (const name of ['other', 'approver']) {
      expect((await acme.get(name, `/v1/approvals/${pending.id}`)).status).toBe(404)
    }
    expect((await acme.get('auditor', `/v1/approvals/${pending.id}`)).status).toBe(403)
    const listed = await acme.get('lena', '/v1/approvals?status=pending')
    expect(JSON.stringify(listed.body['approvals'])).toContain(pending.id)
    expect((await acme.get('approver', '/v1/approvals')).body['approvals']).toEqual([])
  })

  it('is approved by one of the group, used once by its agent, and each step is a Line', async () => {
    const pending = await ask()
    const before = (await acme.lines()).length
    const approved = await decide('lena', pending, 'approve')
    expect(approved.body).toMatchObject({ state: 'approved', votes: [{ subject: 'lena@example.com' }] })
    // The same person asking twice gets the same answer, and no second Line.
    expect((await decide('lena', pending, 'approve')).body).toMatchObject({ state: 'approved' })
    const request = { request_id: 'use-it-once' }
    const used = await consume('bot', pending, request)
    expect(v.is(authorizeAnswerSchema, used.body)).toBe(true)
    expect(used.body).toMatchObject({ decision: 'allow' })
    const receipt = JSON.parse(used.body.receipt?.line ?? '') as Record<string, unknown>
    expect(receipt).toMatchObject({
      action_hash: pending.action_hash,
      decision_axes: { approval_ref: pending.id, call_ref: pending.call_id, decided_by: 'policy' },
    })
    const again = await consume('bot', pending, request)
    expect(again.body.receipt).toEqual(used.body.receipt)
    const second = await consume('bot', pending)
    expect([second.status, second.body.code]).toEqual([409, 'already_consumed'])
    expect(second.body.call_id).toMatch(/^call_/)
    expect((await typesOf()).slice(before)).toEqual(['decision', 'intent', 'outcome', 'intent', 'outcome'])
    expect((await acme.get('bot', `/v1/approvals/${pending.id}`)).body).toMatchObject({ state: 'consumed' })
    // What was asked is no longer kept.
    expect((await acme.get('lena', `/v1/approvals/${pending.id}`)).text).not.toContain('base_branch')
  })

  it.each([
    ['owner', 'owner_excluded', 403],
    ['approver', 'not_in_group', 403],
    ['bot', 'role_not_allowed', 403],
  ])('is not decided by %s: %s, recorded', async (name, code, status) => {
    const pending = await ask()
    const before = (await acme.lines()).length
    const refused = await decide(name, pending, 'approve')
    expect([refused.status, refused.body.code]).toEqual([status, code])
    const recorded = (await acme.lines()).slice(before)
    expect(recorded.map(({ line_type }) => line_type)).toEqual(['intent', 'outcome'])
    expect(recorded[1]).toMatchObject({
      tool_id: 'aegis/approval.approve',
      call_id: refused.body.call_id,
      policy: { status: 'denied', reason: code },
    })
    expect((await acme.get('bot', `/v1/approvals/${pending.id}`)).body).toMatchObject({ state: 'pending' })
  })

  it('with another hash than the one shown is refused', async () => {
    const pending = await ask()
    const refused = await decide('lena', { ...pending, binding_hash: 'ab'.repeat(32) }, 'approve')
    expect([refused.status, refused.body.code]).toEqual([409, 'approval_changed'])
  })

  it('is denied by one; cancelled by its agent; withdrawn before it is used', async () => {
    const denied = await ask()
    expect((await decide('lena', denied, 'deny', { reason: 'not today' })).body).toMatchObject({
      state: 'denied',
      reason: { code: 'denied', detail: 'not today' },
    })
    const lost = await decide('lena', denied, 'approve')
    expect([lost.status, lost.body.code, lost.body['state']]).toEqual([409, 'approval_decided', 'denied'])
    const unused = await consume('bot', denied)
    expect([unused.status, unused.body.code, unused.body['state']]).toEqual([409, 'not_approved', 'denied'])

    const cancelled = await ask()
    expect((await post('other', `/v1/approvals/${cancelled.id}/cancel`)).status).toBe(404)
    expect((await post('bot', `/v1/approvals/${cancelled.id}/cancel`)).body).toMatchObject({
      state: 'cancelled',
    })

    const withdrawn = await ask()
    await decide('lena', withdrawn, 'approve')
    expect((await decide('lena', withdrawn, 'withdraw')).body).toMatchObject({ state: 'withdrawn' })
    expect((await consume('bot', withdrawn)).body.code).toBe('not_approved')
    await acme.lines()
  })

  it('is not used by another agent, nor for another action, and both leave a Call', async () => {
    const pending = await ask()
    await decide('lena', pending, 'approve')
    const foreign = await consume('other', pending)
    const never = await consume('bot', { ...pending, id: `apr_${'0'.repeat(26)}` })
    for (const answer of [foreign, never]) {
      expect([answer.status, answer.body.code, answer.body['state']]).toEqual([404, 'not_found', undefined])
      expect(answer.body.call_id).toMatch(/^call_/)
    }
    const other = await consume('bot', pending, { action_hash: 'cd'.repeat(32) })
    expect([other.status, other.body.code]).toEqual([409, 'hash_mismatch'])
    expect((await consume('bot', pending)).body.decision).toBe('allow')
  })

  it('is decided again under what is in force when it is used', async () => {
    const pending = await ask()
    await decide('lena', pending, 'approve')
    await acme.do({ act: 'agent.freeze', agentId: 'bot' })
    expect((await consume('bot', pending)).body).toMatchObject({
      decision: 'deny',
      reason: { code: 'agent_frozen' },
    })
    await acme.do({ act: 'agent.unfreeze', agentId: 'bot' })
    expect((await consume('bot', pending)).body).toMatchObject({ decision: 'allow' })
    await acme.lines()
  })
})

describe('100 uses of one approval at once', () => {
  it('are one authority', async () => {
    const pending = await ask()
    await decide('lena', pending, 'approve')
    const answers = await Promise.all(Array.from({ length: 100 }, () => consume('bot', pending)))
    const said = answers.map(({ status, body: given }) => (status === 200 ? given.decision : status))
    expect(said.filter((what) => what === 'allow')).toHaveLength(1)
    expect(said.filter((what) => what !== 'allow' && what !== 409 && what !== 429)).toEqual([])
    await acme.lines()
  })
})

describe('a grant', () => {
  it('is reported once, by its agent', async () => {
    const allowed = await acme.authorize('bot', body())
    const report = {
      call_id: allowed.body.call_id,
      grant_id: allowed.body.grant?.grant_id,
      execution: { status: 'success' },
      wall_ms: 12,
    }
    const foreign = await post('other', '/v1/reports', report)
    expect([foreign.status, foreign.body.code]).toEqual([404, 'not_found'])
    const reported = await post('bot', '/v1/reports', report)
    expect(reported.status).toBe(200)
    expect(JSON.parse(reported.body.receipt?.line ?? '')).toMatchObject({
      tool_id: 'aegis/report',
      grant_id: report.grant_id,
      execution: { status: 'success' },
      decision_axes: { decided_by: 'report', call_ref: report.call_id },
    })
    const again = await post('bot', '/v1/reports', report)
    expect([again.status, again.body.code]).toEqual([409, 'already_reported'])
    const open = await acme.get('bot', '/v1/grants?unreported=true')
    expect(v.is(grantListSchema, open.body)).toBe(true)
    await acme.lines()
  })
})
