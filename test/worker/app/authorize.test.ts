/** POST /v1/authorize over HTTP, decisions and what is recorded of them (authorize.md §2, §3). */
import * as v from 'valibot'
import { beforeAll, describe, expect, it } from 'vitest'
import { nodeSuite } from '../../../src/crypto-node/index.ts'
import { authorizeAnswerSchema } from '../../../src/protocol/index.ts'
import { encodeHex, requestDigest, utf8 } from '../../../src/record/index.ts'
import { verifyReceipt } from '../../../src/verify/index.ts'
import { publicKeyOf } from '../../harness/follower.ts'
import { type Authorizer, body, provisionAuthorizer, readCall } from './authorizer.ts'

let acme: Authorizer

beforeAll(async () => {
  acme = await provisionAuthorizer('decisions')
})

describe('a decision', () => {
  it('to allow has a grant and a receipt that verifies', async () => {
    const sent = body()
    const answer = await acme.authorize('bot', sent)
    expect(answer.status).toBe(200)
    expect(v.is(authorizeAnswerSchema, answer.body)).toBe(true)
    expect(answer.body).toMatchObject({
      decision: 'allow',
      reason: { code: 'permitted' },
      risk: { level: 'high', score: 75 },
    })
    expect(answer.body.matched_rules).toBeUndefined()
    expect(answer.body.grant?.expires_in_ms).toBeLessThanOrEqual(60_000)
    expect(answer.body.grant?.expires_in_ms).toBeGreaterThan(55_000)
    const line = answer.body.receipt?.line ?? ''
    expect(encodeHex(nodeSuite.sha256(utf8(line)))).toBe(answer.body.receipt?.line_hash)
    const verdict = verifyReceipt(
      utf8(line),
      {
        action: sent.tool_call,
        now: Date.now(),
        chainId: 'decisions',
        keys: [{ publicKey: publicKeyOf('decisions') }],
        agentId: 'bot',
      },
      nodeSuite,
    )
    expect(verdict).toMatchObject({ valid: true })
    const recorded = await acme.lastOutcome()
    expect(recorded.text).toBe(line)
    expect(recorded.request_digest).toBe(requestDigest(utf8(JSON.stringify(sent)), nodeSuite))
  })

  it('to deny is an answer like any other, and names no policy', async () => {
    const answer = await acme.authorize('bot', body({ parameters: { base_branch: 'release' } }))
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ decision: 'deny', reason: { code: 'no_policy_permits' } })
    expect(v.is(authorizeAnswerSchema, answer.body)).toBe(true)
    expect(answer.body.grant).toBeUndefined()
  })

  it('to ask says who is to approve what', async () => {
    const answer = await acme.authorize('bot', body({ parameters: { base_branch: 'main' } }))
    expect(answer.body).toMatchObject({
      decision: 'require_approval',
      reason: { code: 'approval_required', detail: 'main is protected' },
      approval: { groups: ['leads'], quorum: 1 },
    })
    expect(v.is(authorizeAnswerSchema, answer.body)).toBe(true)
    expect(answer.body.grant).toBeUndefined()
  })

  it.each([
    ['critical_requires_approval', 'require_approval', { tool: 'bank', action: 'pay', parameters: {} }],
    ['default_deny', 'deny', { tool: 'vault', action: 'open', mutates_state: false, parameters: {} }],
    ['unknown_tool', 'deny', { tool: 'nothing', action: 'known', parameters: {} }],
    ['binding_failed', 'deny', { parameters: {} }],
    ['binding_failed', 'deny', { parameters: { base_branch: 7 } }],
    ['resource_mismatch', 'deny', { action: 'comment', resource: 'other', parameters: { issue: 'this' } }],
    ['permitted', 'allow', { action: 'comment', resource: 'this', parameters: { issue: 'this' } }],
    ['permitted', 'allow', { ...readCall }],
  ])('%s: %s', async (code, decision, call) => {
    const answer = await acme.authorize('bot', body(call))
    expect(answer.body).toMatchObject({ decision, reason: { code } })
    expect((await acme.lastOutcome()).call_id).toBe(answer.body.call_id)
  })

  it('reads the worse of the claimed trust and the agent’s own', async () => {
    const context = { source_trust: 'malicious_suspected' }
    const answer = await acme.authorize('bot', body({}, { context }))
    expect(answer.body).toMatchObject({ decision: 'deny', reason: { code: 'policy_denied' } })
    await acme.addAgent('lowly', { trustMax: 'malicious_suspected' })
    const lowly = await acme.authorize('lowly', body())
    expect(lowly.body).toMatchObject({ decision: 'deny', reason: { code: 'policy_denied' } })
    expect((await acme.lastOutcome()).decision_axes?.claims).toEqual({
      source_trust: 'semi_trusted_customer',
    })
  })

  it('records metadata and session, and lets metadata decide nothing', async () => {
    const metadata = { traceparent: '00-ab', constructor: 'x' }
    const context = { source_trust: 'semi_trusted_customer', session: 'run-7', user: { id: 'u1' } }
    await acme.authorize('bot', body({}, { metadata, context }))
    const recorded = await acme.lastOutcome()
    expect(recorded.decision_axes?.metadata).toEqual(metadata)
    expect(recorded.decision_axes?.context).toMatchObject({ session: 'run-7', user: { id: 'u1' } })
  })

  it('shows rules to agents only where the settings say so', async () => {
    const open = await provisionAuthorizer('shown', { settings: { matched_rules_shown_to: ['agent'] } })
    expect((await open.authorize('bot', body())).body.matched_rules).toEqual(['merges'])
  })
})

describe('what is checked before the policy', () => {
  it('denies a wrong action_hash, and records the right one', async () => {
    const sent = body({}, { action_hash: 'f'.repeat(64) })
    const answer = await acme.authorize('bot', sent)
    expect(answer.body).toMatchObject({ decision: 'deny', reason: { code: 'action_hash_mismatch' } })
    const recorded = await acme.lastOutcome()
    expect(recorded.action_hash).toBe(body().action_hash)
    expect(recorded.tool_id).toBe('github.merge_pr')
    expect(recorded.decision_axes).toMatchObject({
      decided_by: 'pipeline',
      claims: { action_hash: 'f'.repeat(64) },
    })
  })

  it.each([
    ['request_id', { request_id: undefined }],
    ['timestamp', { timestamp: undefined }],
    ['both', { request_id: undefined, timestamp: undefined }],
  ])('denies a change of state without %s', async (_, given) => {
    const answer = await acme.authorize('bot', body({}, given))
    expect(answer.body).toMatchObject({ decision: 'deny', reason: { code: 'replay_fields_missing' } })
    const { decision_axes: axes } = await acme.lastOutcome()
    expect(axes?.decided_by).toBe('pipeline')
    expect(axes?.matched_rules).toBeUndefined()
  })

  it('denies it also when the caller says that nothing changes', async () => {
    const answer = await acme.authorize('bot', body({ mutates_state: false }, { request_id: undefined }))
    expect(answer.body.reason?.code).toBe('replay_fields_missing')
  })

  it('takes Idempotency-Key for request_id', async () => {
    const sent = body({}, { request_id: undefined })
    const headers = { 'idempotency-key': 'from-the-header' }
    const first = await acme.authorize('bot', sent, headers)
    expect(first.body.decision).toBe('allow')
    const again = await acme.authorize('bot', sent, headers)
    expect(again.body.call_id).toBe(first.body.call_id)
  })

  it('needs neither for reading', async () => {
    const answer = await acme.authorize(
      'bot',
      body(readCall, { request_id: undefined, timestamp: undefined }),
    )
    expect(answer.body.decision).toBe('allow')
  })

  it('denies a nonce without a timestamp, for reading too, and does not use it up', async () => {
    const nonce = crypto.randomUUID()
    const bare = body(readCall, { nonce, timestamp: undefined })
    expect((await acme.authorize('bot', bare)).body.reason?.code).toBe('replay_fields_missing')
    expect((await acme.authorize('bot', body(readCall, { nonce }))).body.decision).toBe('allow')
  })

  it('denies a nonce the second time', async () => {
    const nonce = crypto.randomUUID()
    expect((await acme.authorize('bot', body({}, { nonce }))).body.decision).toBe('allow')
    expect((await acme.authorize('bot', body({}, { nonce }))).body.reason?.code).toBe('nonce_replayed')
    await acme.addAgent('other')
    expect((await acme.authorize('other', body({}, { nonce }))).body.decision).toBe('allow')
  })

  it.each([
    [-301_000, 'timestamp_out_of_window'],
    [301_000, 'timestamp_out_of_window'],
    [-295_000, 'permitted'],
    [295_000, 'permitted'],
  ])('looks at a timestamp %i ms away', async (away, code) => {
    const timestamp = new Date(Date.now() + away).toISOString()
    expect((await acme.authorize('bot', body({}, { timestamp }))).body.reason?.code).toBe(code)
  })

  it('denies with policy_unavailable before the first activation, and says so in the record', async () => {
    const bare = await provisionAuthorizer('bundle-gone')
    await bare.activate({ policies: '@id("more") permit(principal, action, resource);' })
    const { current } = (await bare.rpc.resolve(bare.keyIds.get('bot') ?? '')) as {
      current: { policySetHash: string }
    }
    const { testEnv } = await import('../durable-objects/object.ts')
    await testEnv.CHAIN.delete(`policies/bundle-gone/${current.policySetHash}.json`)
    const answer = await bare.authorize('bot', body())
    expect(answer.body).toMatchObject({ decision: 'deny', reason: { code: 'policy_unavailable' } })
    expect(await bare.lastOutcome()).toMatchObject({
      policy: { status: 'denied', reason: 'policy_unavailable' },
      policy_set_hash: current.policySetHash,
      decision_axes: { decided_by: 'pipeline' },
    })
    // Not what its name says: as good as absent.
    await testEnv.CHAIN.put(`policies/bundle-gone/${current.policySetHash}.json`, '{}')
    expect((await bare.authorize('bot', body())).body.reason?.code).toBe('policy_unavailable')
  })
})

describe('identifiers', () => {
  const allowed: [string, string][] = [
    ['GitHub', 'MERGE_PR'],
    ['git%68ub', 'merge%5Fpr'],
  ]
  it.each(allowed)('%s %s is the known tool', async (tool, action) => {
    const answer = await acme.authorize('bot', body({ tool, action }))
    expect(answer.body.decision).toBe('allow')
    const recorded = await acme.lastOutcome()
    expect(recorded.tool_id).toBe('github.merge_pr')
    // Hashes stay over the original.
    expect(recorded.action_hash).toBe(body({ tool, action }).action_hash)
  })

  const refused: [string, string, string][] = [
    ['KELVIN SIGN', 'github', 'mer\u212Ae_pr'],
    ['zero-width space', 'git\u200bhub', 'merge_pr'],
    ['no-break space', 'github\u00a0', 'merge_pr'],
    ['Cyrillic', 'github', 'm\u0435rge_pr'],
    ['fullwidth', '\uff47ithub', 'merge_pr'],
    ['space', ' github', 'merge_pr'],
    ['reserved', 'AEGIS%2Freport', 'x'],
    ['reserved, plain', 'aegis/tenant', 'freeze'],
    ['reserved group', 'tool:github', 'merge_pr'],
    ['reserved risk', 'Risk:high', 'merge_pr'],
    ['dots', 'git..hub', 'merge_pr'],
    ['slashes', 'git//hub', 'merge_pr'],
    ['encoded dots', 'git%2e%2ehub', 'merge_pr'],
    ['double encoding', 'git%2568ub', 'merge_pr'],
    ['invalid escape', 'git%zzhub', 'merge_pr'],
    ['lone percent', 'github%', 'merge_pr'],
    ['encoded NUL', 'git%00hub', 'merge_pr'],
    ['a dot in the action', 'github', 'merge.pr'],
    ['empty', '', 'merge_pr'],
    ['empty action', 'github', ''],
    ['too long', 'g'.repeat(129), 'merge_pr'],
    ['much too long', 'g'.repeat(5000), 'merge_pr'],
    ['line feed', 'github\n', 'merge_pr'],
  ]
  it.each(refused)('%s is refused, and recorded without becoming a tool', async (_, tool, action) => {
    const answer = await acme.authorize('bot', body({ tool, action }))
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ decision: 'deny', reason: { code: 'identifier_not_allowed' } })
    const recorded = await acme.lastOutcome()
    expect(recorded.tool_id).toBe('-')
    expect(recorded.decision_axes?.claims).toMatchObject({ tool: tool.slice(0, 128) })
  })
})

describe('a request_id', () => {
  it('used again with the same bytes gives the same answer, but for the time that is left', async () => {
    const sent = body()
    const answers = await Promise.all(Array.from({ length: 20 }, () => acme.authorize('bot', sent)))
    const withoutTime = answers.map(({ body: { grant, ...rest } }) =>
      JSON.stringify([rest, grant?.grant_id, grant?.expires_at]),
    )
    expect(new Set(withoutTime).size).toBe(1)
    const lines = await acme.lines()
    expect(lines.filter(({ call_id }) => call_id === answers[0]?.body.call_id)).toHaveLength(2)
  })

  it('used again with other bytes is a conflict', async () => {
    const sent = body()
    await acme.authorize('bot', sent)
    const answer = await acme.authorize('bot', { ...sent, metadata: { a: 'b' } })
    expect(answer.status).toBe(409)
    expect(answer.body.code).toBe('idempotency_conflict')
  })
})

describe('limits', () => {
  it('answer 429 with when to come again, and the Call that it was', async () => {
    const slow = await provisionAuthorizer('limited', { settings: { agent_burst: 2, agent_rate_per_s: 1 } })
    const answers = []
    for (let at = 0; at < 4; at += 1) answers.push(await slow.authorize('bot', body()))
    const limited = answers.filter(({ status }) => status === 429)
    expect(limited.length).toBeGreaterThan(0)
    for (const { headers, body: problem } of limited) {
      expect(problem.code).toBe('rate_limited')
      expect(problem.call_id).toMatch(/^call_/)
      expect(headers.get('content-type')).toBe('application/problem+json')
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
      expect(headers.get('ratelimit')).toMatch(/^"agent_rate";r=0;t=\d+$/)
    }
    const recorded = await slow.lastOutcome()
    expect(recorded.policy).toEqual({ status: 'rate_limited', reason: 'rate_limited' })
  })

  it('past the refused-call cap answer 429 without a Call, and the next Line counts them', async () => {
    const capped = await provisionAuthorizer('capped', { settings: { refused_calls_per_minute: 2 } })
    const denied = () => capped.authorize('bot', body({ tool: 'nothing' }))
    const answers = [await denied(), await denied(), await denied(), await denied()]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429, 429])
    expect(answers[2]?.body.call_id).toBeUndefined()
    await capped.authorize('bot', body())
    expect((await capped.lastOutcome()).decision_axes?.suppressed).toBe(2)
  })
})
