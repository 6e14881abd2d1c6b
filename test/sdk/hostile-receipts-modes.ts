/** Ways in which decisions, grants, receipts and clocks do not fit the request (authorize.md §6); the tests are hostile-*.test.ts. */
import { nodeSuite } from '../../src/crypto-node/index.ts'
import type { AuthorizeAnswer } from '../../src/protocol/authorize-answer.ts'
import { type OutcomeDraft, actionHash, encodeHex, utf8 } from '../../src/record/index.ts'
import type { AegisErrorCode } from '../../src/sdk/index.ts'
import { type Decided, TestAuthorizer } from './authorizer.ts'
import { type Mode, action, altered, authorizer } from './mode.ts'

const otherTenant = new TestAuthorizer(nodeSuite, { tenant: 'umbrella' })
const otherKey = new TestAuthorizer(nodeSuite, { seed: 8 })
export const pinned = { verify: { keys: [authorizer.publicKey] } }
const someHash = 'ab'.repeat(32)

/** A mode whose outcome Line is altered before it is signed, so that its signature holds. */
function signed(
  code: AegisErrorCode,
  outcome: (draft: OutcomeDraft) => OutcomeDraft,
  decision: Decided['decision'] = 'allow',
): Mode {
  return altered(code, (answer) => answer, { decided: { decision, outcome } })
}

/** The grant of an outcome, changed. */
function withGrant(draft: OutcomeDraft, change: Record<string, unknown>): OutcomeDraft {
  if (draft.capability.status !== 'granted') throw new Error('not an allow')
  return { ...draft, capability: { status: 'granted', grant: { ...draft.capability.grant, ...change } } }
}

/** Another line in the receipt, with the hash that belongs to it. */
function relined(answer: AuthorizeAnswer, change: (line: string) => string): AuthorizeAnswer {
  const line = change(answer.receipt.line)
  return { ...answer, receipt: { line, line_hash: encodeHex(nodeSuite.sha256(utf8(line))) } }
}

/** The whole answer to an earlier request for the same action. */
function replayed(): (answer: AuthorizeAnswer) => AuthorizeAnswer {
  const toolCall = { ...action, resource: null, mutates_state: true }
  const earlier = authorizer.answer(
    utf8(
      JSON.stringify({
        request_id: 'earlier',
        timestamp: new Date().toISOString(),
        tool_call: toolCall,
        action_hash: actionHash(toolCall, nodeSuite),
        context: { source_trust: 'unknown' },
      }),
    ),
    { decision: 'allow' },
  )
  return () => earlier
}

export const receiptModes: Readonly<Record<string, Mode>> = {
  // decisions
  'Allow in capitals': altered('unknown_decision', (answer) => ({ ...answer, decision: 'Allow' })),
  'allow with a space': altered('unknown_decision', (answer) => ({ ...answer, decision: 'allow ' })),
  'a decision of tomorrow': altered('unknown_decision', (answer) => ({ ...answer, decision: 'allow_once' })),
  'a decision that is true': altered('answer_malformed', (answer) => ({ ...answer, decision: true })),
  'a member of another case': altered('answer_malformed', ({ decision, ...rest }) => ({
    ...rest,
    Decision: decision,
  })),
  'allow over the receipt of a deny': altered(
    'receipt_mismatch',
    (answer) => ({ ...answer, decision: 'allow' }),
    {
      decided: { decision: 'deny' },
    },
  ),
  'allow over the receipt of a pending one': altered(
    'receipt_mismatch',
    ({ approval: _, ...answer }) => ({ ...answer, decision: 'allow' }),
    { decided: { decision: 'require_approval' } },
  ),
  'deny over the receipt of a pending one': altered(
    'receipt_mismatch',
    ({ approval: _, ...answer }) => ({ ...answer, decision: 'deny' }),
    { decided: { decision: 'require_approval' } },
  ),
  'a deny for another reason than the receipt has': altered(
    'receipt_mismatch',
    (answer) => ({ ...answer, reason: { code: 'agent_frozen', detail: '' } }),
    { decided: { decision: 'deny' } },
  ),
  'deny over the receipt of an allow': altered('receipt_mismatch', ({ grant: _, ...answer }) => ({
    ...answer,
    decision: 'deny',
  })),
  // grants
  'allow without a grant': altered('grant_missing', ({ grant: _, ...answer }) => answer),
  'deny with a grant': altered(
    'grant_unexpected',
    (answer) => ({
      ...answer,
      grant: { grant_id: 'grt_1', expires_at: '2099-01-01T00:00:00.000Z', expires_in_ms: 60_000 },
    }),
    { decided: { decision: 'deny' } },
  ),
  'an approval with a grant': altered(
    'grant_unexpected',
    (answer) => ({
      ...answer,
      grant: { grant_id: 'grt_1', expires_at: '2099-01-01T00:00:00.000Z', expires_in_ms: 60_000 },
    }),
    { decided: { decision: 'require_approval' } },
  ),
  'an allow with an approval': altered('answer_malformed', (answer) => ({
    ...answer,
    approval: {
      approval_id: 'apr_1',
      action_hash: someHash,
      binding_hash: someHash,
      groups: [],
      quorum: 0,
      approve_by: '2099-01-01T00:00:00.000Z',
    },
  })),
  'an approval without an approval': altered('answer_malformed', ({ approval: _, ...answer }) => answer, {
    decided: { decision: 'require_approval' },
  }),
  'an approval of another binding': altered(
    'receipt_mismatch',
    (answer) => ({ ...answer, approval: { ...answer.approval, binding_hash: someHash } }),
    { decided: { decision: 'require_approval' } },
  ),
  'an approval of another id': altered(
    'receipt_mismatch',
    (answer) => ({ ...answer, approval: { ...answer.approval, approval_id: 'apr_other' } }),
    { decided: { decision: 'require_approval' } },
  ),
  'an approval until another time': altered(
    'receipt_mismatch',
    (answer) => ({ ...answer, approval: { ...answer.approval, approve_by: '2099-01-01T00:00:00.000Z' } }),
    { decided: { decision: 'require_approval' } },
  ),
  'a receipt whose grant is not the one it names': altered(
    'receipt_mismatch',
    (answer) => ({ ...answer, grant: { ...answer.grant, grant_id: 'grt_other' } }),
    { decided: { decision: 'allow', outcome: (draft) => ({ ...draft, grant_id: 'grt_other' }) } },
  ),
  'a grant of another id': altered('receipt_mismatch', (answer) => ({
    ...answer,
    grant: { ...answer.grant, grant_id: 'grt_other' },
  })),
  'a grant that ends later than the receipt says': altered('receipt_mismatch', (answer) => ({
    ...answer,
    grant: { ...answer.grant, expires_at: '2099-01-01T00:00:00.000Z' },
  })),
  'a grant that lives longer than the receipt says': altered('receipt_mismatch', (answer) => ({
    ...answer,
    grant: { ...answer.grant, expires_in_ms: 3_600_000 },
  })),
  'a grant whose life is a text': altered('answer_malformed', (answer) => ({
    ...answer,
    grant: { ...answer.grant, expires_in_ms: '60000' },
  })),
  'a grant whose life is negative': altered('answer_malformed', (answer) => ({
    ...answer,
    grant: { ...answer.grant, expires_in_ms: -1 },
  })),
  'a grant that has ended': altered('grant_expired', (answer) => ({
    ...answer,
    grant: { ...answer.grant, expires_in_ms: 0 },
  })),
  // receipts
  'allow without a receipt': altered('receipt_missing', ({ receipt: _, ...answer }) => answer),
  'a receipt that is null': altered('receipt_missing', (answer) => ({ ...answer, receipt: null })),
  'a receipt without its line': altered('receipt_missing', (answer) => ({
    ...answer,
    receipt: { line_hash: answer.receipt.line_hash },
  })),
  'a receipt that is not JSON': altered('receipt_malformed', (answer) => ({
    ...answer,
    receipt: { ...answer.receipt, line: 'allow' },
  })),
  'a receipt with a space more': altered('receipt_malformed', (answer) =>
    relined(answer, (line) => line.replace(':', ': ')),
  ),
  'a receipt with its keys in another order': altered('receipt_malformed', (answer) =>
    relined(answer, (line) => {
      const { action_hash: first, ...rest } = JSON.parse(line) as Record<string, unknown>
      return JSON.stringify({ ...rest, action_hash: first })
    }),
  ),
  'a receipt and an LF': altered('receipt_malformed', (answer) => relined(answer, (line) => `${line}\n`)),
  'a receipt that is an intent': altered('receipt_malformed', (answer) =>
    relined(answer, (line) => {
      const { call_id, prev_hash, request_digest, schema_version, seq, tool_id } = JSON.parse(line) as Record<
        string,
        unknown
      >
      return JSON.stringify({
        call_id,
        line_type: 'intent',
        prev_hash,
        request_digest,
        schema_version,
        seq,
        tool_id,
      })
    }),
  ),
  'a receipt with another hash': altered('receipt_mismatch', (answer) => ({
    ...answer,
    receipt: { ...answer.receipt, line_hash: someHash },
  })),
  'a receipt of an earlier call': altered('receipt_mismatch', replayed()),
  'a receipt of another call': altered('receipt_mismatch', (answer) => ({
    ...answer,
    call_id: 'call_other',
  })),
  'a receipt of another action': signed('receipt_mismatch', (draft) => ({
    ...draft,
    action_hash: someHash as NonNullable<OutcomeDraft['action_hash']>,
  })),
  'a receipt that does not name the action': signed(
    'receipt_mismatch',
    ({ action_hash: _, ...draft }) => draft,
  ),
  'a grant for another action': signed('receipt_mismatch', (draft) =>
    withGrant(draft, { action_hash: someHash }),
  ),
  'a grant for another tool': signed('receipt_mismatch', (draft) =>
    withGrant(draft, { tool_id: 'shell.exec' }),
  ),
  'a receipt of other bytes': signed('receipt_mismatch', (draft) => ({
    ...draft,
    request_digest: someHash as OutcomeDraft['request_digest'],
  })),
  'a receipt of no agent': signed('receipt_mismatch', ({ agent_id: _, ...draft }) => draft),
  'a receipt of another agent': {
    ...signed('receipt_mismatch', (draft) => ({ ...draft, agent_id: 'deployer' })),
    options: { agentId: 'ci-merger' },
  },
  'a receipt of an administrative act': signed('receipt_mismatch', (draft) => ({
    ...withGrant(draft, { tool_id: 'aegis/agent.freeze' }),
    tool_id: 'aegis/agent.freeze',
  })),
  'a receipt of a tool that has run': signed('receipt_mismatch', (draft) => ({
    ...draft,
    execution: { status: 'success' },
  })),
  'a receipt of a deny that may run': signed(
    'receipt_mismatch',
    (draft) => ({ ...draft, execution: { status: 'delegated' } }),
    'deny',
  ),
  'a receipt without a time': signed(
    'receipt_mismatch',
    ({ decided_at: _, ...draft }) => draft as OutcomeDraft,
  ),
  'a deny without a time': signed(
    'receipt_mismatch',
    ({ decided_at: _, ...draft }) => draft as OutcomeDraft,
    'deny',
  ),
  'a receipt of another tenant': altered('receipt_mismatch', (_, arrived) =>
    otherTenant.answer(arrived.body, { decision: 'allow' }),
  ),
  'a receipt under another key than the pinned one': altered(
    'receipt_untrusted',
    (_, arrived) => otherKey.answer(arrived.body, { decision: 'allow' }),
    { options: pinned },
  ),
  'a deny under another key than the pinned one': altered(
    'receipt_untrusted',
    (_, arrived) => otherKey.answer(arrived.body, { decision: 'deny' }),
    { options: pinned },
  ),
  'a receipt under a key pinned for other Sessions': altered('receipt_untrusted', (answer) => answer, {
    options: { verify: { keys: [{ publicKey: authorizer.publicKey as never, firstSession: 1 }] } },
  }),
  'a receipt that is not signed': altered('receipt_malformed', (answer) =>
    relined(answer, (line) => line.replace(/"signature":"[0-9a-f]*",/, '')),
  ),
  'a receipt whose signature is for another Line': altered(
    'receipt_untrusted',
    (answer) => relined(answer, (line) => line.replace('the-rule', 'my-rule')),
    { options: pinned },
  ),
  // clocks
  'a clock that is two minutes ahead': altered('clock_skew', (answer) => answer, {
    decided: { decision: 'allow', decidedAt: Date.now() + 120_000 },
  }),
  'a clock that is two minutes behind': altered('clock_skew', (answer) => answer, {
    decided: { decision: 'allow', decidedAt: Date.now() - 120_000 },
  }),
}
