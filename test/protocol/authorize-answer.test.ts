/** The 200 body as a function of the outcome Line (authorize.md §2), over Lines that the chain floor really wrote. */
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import {
  answerFromOutcome,
  authorizeAnswerSchema,
  problemCodes,
  problemSchema,
  problemStatus,
  toProblem,
} from '../../src/protocol/index.ts'
import {
  type ActionHash,
  type BindingHash,
  type OutcomeDraft,
  type PolicySetHash,
  type RequestDigest,
  decodeUtf8,
  nextLine,
  nobleSuite,
} from '../../src/record/index.ts'

const hex = 'a'.repeat(64)
const signer = nobleSuite.signer(new Uint8Array(32).fill(3))
const opened = nextLine(
  { state: 'empty', chainId: 'acme' },
  { line_type: 'open', opened_at: 1, deployment: 'test' },
  signer,
  nobleSuite,
)
if (opened.kind !== 'line') throw new Error('no open Line')

function outcome(parts: Partial<OutcomeDraft>) {
  const draft: OutcomeDraft = {
    line_type: 'outcome',
    call_id: 'call_1',
    tool_id: 'github.merge_pr',
    request_digest: hex as RequestDigest,
    policy_set_hash: hex as PolicySetHash,
    action_hash: hex as ActionHash,
    decided_at: 1000,
    policy: { status: 'denied', reason: 'policy_denied' },
    capability: { status: 'denied', reason: 'policy_denied' },
    execution: { status: 'host_denied', reason: 'policy_denied' },
    decision_axes: {},
    ...parts,
  }
  if (opened.kind !== 'line') throw new Error('no open Line')
  const next = nextLine(opened.head, draft, signer, nobleSuite)
  if (next.kind !== 'line') throw new Error('too long')
  return { line: decodeUtf8(next.bytes), lineHash: next.lineHash, now: 2000 }
}

const context = { risk: { long: '40' }, risk_level: 'medium' }
const granted = {
  policy: { status: 'allowed' },
  capability: {
    status: 'granted',
    grant: { grant_id: 'grt_1', tool_id: 't.a', action_hash: hex as ActionHash, expires_at: 61_000 },
  },
  execution: { status: 'delegated' },
  decision_axes: { context, matched_rules: ['p1'], reason_text: 'because' },
} as const

describe('the answer', () => {
  it('of an allow carries the grant, counted down by the clock', () => {
    const made = outcome(granted)
    const answer = answerFromOutcome(made, false)
    expect(answer).toEqual({
      decision: 'allow',
      call_id: 'call_1',
      reason: { code: 'permitted', detail: 'because' },
      risk: { level: 'medium', score: 40 },
      grant: { grant_id: 'grt_1', expires_at: '1970-01-01T00:01:01.000Z', expires_in_ms: 59_000 },
      receipt: { line: made.line, line_hash: made.lineHash },
    })
    expect(v.is(authorizeAnswerSchema, answer)).toBe(true)
  })

  it('of an allow whose grant is over has no time left', () => {
    expect(answerFromOutcome({ ...outcome(granted), now: 61_000 }, false).grant?.expires_in_ms).toBe(0)
    expect(answerFromOutcome({ ...outcome(granted), now: 99_000 }, false).grant?.expires_in_ms).toBe(0)
  })

  it('shows rules only where it should', () => {
    expect(answerFromOutcome(outcome(granted), true).matched_rules).toEqual(['p1'])
    expect(answerFromOutcome(outcome(granted), false)).not.toHaveProperty('matched_rules')
  })

  it('of a pending one says what is to be approved, and why', () => {
    const answer = answerFromOutcome(
      outcome({
        policy: { status: 'pending_approval', approval_id: 'apr_1' },
        decision_axes: {
          context,
          overrides: ['critical_requires_approval'],
          approval: {
            groups: ['leads'],
            quorum: 2,
            approve_by: 5000,
            use_within_ms: 600_000,
            binding_hash: hex as BindingHash,
          },
        },
      }),
      false,
    )
    expect(answer.decision).toBe('require_approval')
    expect(answer.reason.code).toBe('critical_requires_approval')
    expect(answer.approval).toEqual({
      approval_id: 'apr_1',
      action_hash: hex,
      binding_hash: hex,
      groups: ['leads'],
      quorum: 2,
      approve_by: '1970-01-01T00:00:05.000Z',
    })
    expect(answer).not.toHaveProperty('grant')
    expect(v.is(authorizeAnswerSchema, answer)).toBe(true)
  })

  it('of a refusal without an evaluation counts the risk as the worst, and finds words', () => {
    const answer = answerFromOutcome(outcome({ policy: { status: 'denied', reason: 'agent_frozen' } }), true)
    expect(answer.decision).toBe('deny')
    expect(answer.reason).toEqual({ code: 'agent_frozen', detail: 'this agent is frozen' })
    expect(answer.risk).toEqual({ level: 'critical', score: 95 })
    expect(answer).not.toHaveProperty('matched_rules')
  })

  it('is never made of anything but an outcome Line', () => {
    expect(() => answerFromOutcome({ line: '{}', lineHash: hex, now: 0 }, false)).toThrow(
      'not an outcome Line',
    )
    const other = {
      line: decodeUtf8(opened.kind === 'line' ? opened.bytes : new Uint8Array()),
      lineHash: hex,
      now: 0,
    }
    expect(() => answerFromOutcome(other, false)).toThrow('not an outcome Line')
  })
})

describe('problems', () => {
  it.each(problemCodes)('%s has a status, a title and words', (code) => {
    const problem = toProblem(code)
    expect(problem.status).toBe(problemStatus(code))
    expect(problem.title).not.toBe('')
    expect(problem.detail).not.toBe('')
    expect(v.is(problemSchema, problem)).toBe(true)
  })
})
