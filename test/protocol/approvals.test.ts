/** The messages of approvals, consumes, reports and grants (authorize.md §4, §5). */
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import {
  approvalListSchema,
  approvalReviewSchema,
  approvalStateSchema,
  approvalStates,
  grantListSchema,
  parseConsumeRequest,
  parseReportRequest,
  problemSchema,
  reportAnswerSchema,
  toProblem,
} from '../../src/protocol/index.ts'
import { utf8 } from '../../src/record/index.ts'

const hex = 'ab'.repeat(32)
const instant = '2026-11-30T12:00:00.000Z'

const state = {
  approval_id: 'apr_1',
  state: 'approved',
  call_id: 'call_1',
  action_hash: hex,
  binding_hash: hex,
  tool_id: 'github.merge_pr',
  groups: ['leads'],
  quorum: 1,
  approve_by: instant,
  use_by: instant,
  decided_at: instant,
}
const review = {
  ...state,
  agent: 'ci-merger',
  on_behalf_of: 'u1',
  request: {
    tool_call: {
      tool: 'github',
      action: 'merge_pr',
      resource: null,
      mutates_state: true,
      parameters: { base_branch: 'main' },
    },
    context: { source_trust: 'unknown' },
  },
  environment: 'production',
  derived: { base_branch: 'main' },
  risk: { level: 'high', score: 75 },
  source_trust: { effective: 'unknown', claimed: 'trusted_internal_signed' },
  matched_rules: ['main-needs-a-human'],
  why: { code: 'approval_required', detail: 'main is protected' },
  votes: [{ subject: 'lena@harbour.example', at: instant, groups: ['leads'] }],
  grants: { expires_in_ms: 60_000 },
  policy_set_hash: hex,
  request_digest: hex,
}

describe('the state of an approval', () => {
  it.each(approvalStates)('%s', (name) => {
    expect(v.is(approvalStateSchema, { ...state, state: name })).toBe(true)
  })

  it.each([
    ['another state', { ...state, state: 'maybe' }],
    ['a hash in capitals', { ...state, action_hash: hex.toUpperCase() }],
    ['a time without milliseconds', { ...state, use_by: '2026-11-30T12:00:00Z' }],
    ['what only an approver sees', { ...state, request: review.request }],
    ['no quorum', { ...state, quorum: 0 }],
  ])('not %s', (_name, body) => {
    expect(v.is(approvalStateSchema, body)).toBe(false)
  })

  it('for an approver has all of the action, and lists take both', () => {
    expect(v.is(approvalReviewSchema, review)).toBe(true)
    expect(v.is(approvalReviewSchema, state)).toBe(false)
    expect(v.is(approvalListSchema, { approvals: [review, state], next: 'apr_1' })).toBe(true)
    expect(v.is(approvalListSchema, { approvals: [{ ...review, votes: 1 }] })).toBe(false)
  })
})

describe('a consume', () => {
  const body = { request_id: 'req_1', action_hash: hex, binding_hash: hex }
  const parse = (value: unknown) => parseConsumeRequest(utf8(JSON.stringify(value)))

  it('is read', () => {
    expect(parse(body)).toEqual({
      ok: true,
      request: { requestId: 'req_1', actionHash: hex, bindingHash: hex },
    })
  })

  it.each([
    ['no request_id', { ...body, request_id: undefined }, 'request_id'],
    ['a request_id with a space', { ...body, request_id: 'a b' }, 'request_id'],
    ['half a hash', { ...body, binding_hash: hex.slice(1) }, 'binding_hash'],
    ['another member', { ...body, state: 'approved' }, 'state'],
  ])('not with %s', (_name, value, member) => {
    expect(parse(value)).toMatchObject({ ok: false, code: 'body_invalid', members: [{ member }] })
  })

  it('is read strictly', () => {
    const twice = utf8(JSON.stringify(body).replace('{', '{"request_id":"req_2",'))
    expect(parseConsumeRequest(twice)).toMatchObject({ ok: false, code: 'body_malformed' })
  })
})

describe('a report', () => {
  const body = { call_id: 'call_1', grant_id: 'grt_1', execution: { status: 'success' } }
  const parse = (value: unknown) => parseReportRequest(utf8(JSON.stringify(value)))

  it.each([
    { status: 'success' },
    { status: 'trap', message: 'TypeError' },
    { status: 'resource_exceeded', kind: 'time' },
    { status: 'host_denied', reason: 'aborted' },
  ])('of %j', (execution) => {
    const whole = { ...body, execution, response_digest: hex, wall_ms: 12 }
    expect(parse(whole)).toEqual({
      ok: true,
      request: { callId: 'call_1', grantId: 'grt_1', execution, responseDigest: hex, wallMs: 12 },
    })
    expect(parse({ ...body, execution })).toMatchObject({ ok: true })
  })

  it.each([
    ['a status of tomorrow', { ...body, execution: { status: 'delegated' } }, 'execution.status'],
    ['a trap without a message', { ...body, execution: { status: 'trap' } }, 'execution.message'],
    [
      'a long message',
      { ...body, execution: { status: 'trap', message: 'é'.repeat(257) } },
      'execution.message',
    ],
    ['an empty id', { ...body, grant_id: '' }, 'grant_id'],
    ['half a millisecond', { ...body, wall_ms: 0.5 }, 'wall_ms'],
    ['a time before it began', { ...body, wall_ms: -1 }, 'wall_ms'],
    ['another member', { ...body, result: 'ok' }, 'result'],
  ])('not with %s', (_name, value, member) => {
    const read = parse(value)
    expect(read).toMatchObject({ ok: false, code: 'body_invalid' })
    expect(JSON.stringify(read)).toContain(`"member":"${member}"`)
  })

  it('is answered with its receipt', () => {
    expect(v.is(reportAnswerSchema, { call_id: 'call_2', receipt: { line: '{}', line_hash: hex } })).toBe(
      true,
    )
    expect(v.is(reportAnswerSchema, { call_id: 'call_2' })).toBe(false)
  })

  it('that is missing is listed with its grant', () => {
    const grant = { grant_id: 'grt_1', call_id: 'call_1', tool_id: 'a.b', expires_at: instant }
    expect(v.is(grantListSchema, { grants: [grant], next: 'grt_1' })).toBe(true)
    expect(v.is(grantListSchema, { grants: [{ ...grant, expires_at: 0 }] })).toBe(false)
  })
})

describe('a problem', () => {
  it('may say in which state the approval is', () => {
    const problem = toProblem('not_approved', { state: 'pending', callId: 'call_1' })
    expect(problem).toMatchObject({ status: 409, state: 'pending', call_id: 'call_1' })
    expect(v.is(problemSchema, problem)).toBe(true)
    expect(v.is(problemSchema, { ...problem, state: 'maybe' })).toBe(false)
  })
})
