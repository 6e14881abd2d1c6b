/** Approvals where two things happen at once, or too late, or under another policy than the one that asked (issue 7). */
import { beforeAll, describe, expect, it } from 'vitest'
import { runInDurableObject } from 'cloudflare:test'
import type { TenantChain } from '../../../durable-objects/tenant-chain.ts'
import type { ApprovalRecord } from '../../../src/chain/records.ts'
import { testEnv } from '../durable-objects/object.ts'
import { type Answer, type Authorizer, body, provisionAuthorizer, send } from './authorizer.ts'

interface Pending {
  readonly id: string
  readonly action_hash: string
  readonly binding_hash: string
}

async function provisioned(tenant: string, settings: Readonly<Record<string, unknown>> = {}) {
  const authorizer = await provisionAuthorizer(tenant, { settings })
  await authorizer.issue('lena', 'approver', { subject: 'lena@example.com' })
  await authorizer.issue('max', 'approver', { subject: 'max@example.com' })
  await authorizer.do({
    act: 'group.change',
    group: 'leads',
    members: ['lena@example.com', 'max@example.com'],
  })
  return authorizer
}

async function ask(at: Authorizer): Promise<Pending> {
  const answer = await at.authorize('bot', body({ parameters: { base_branch: 'main' } }))
  const { approval_id: id, ...hashes } = answer.body.approval as unknown as {
    readonly approval_id: string
    readonly action_hash: string
    readonly binding_hash: string
  }
  return { id, action_hash: hashes.action_hash, binding_hash: hashes.binding_hash }
}

function post(at: Authorizer, name: string, path: string, sent: object): Promise<Answer> {
  return send(path, { method: 'POST', headers: at.headers(name), body: JSON.stringify(sent) })
}

const decide = (at: Authorizer, name: string, { id, binding_hash }: Pending, act: string) =>
  post(at, name, `/v1/approvals/${id}/${act}`, { binding_hash })

const consume = (at: Authorizer, { id, action_hash, binding_hash }: Pending, requestId?: string) =>
  post(at, 'bot', `/v1/approvals/${id}/consume`, {
    request_id: requestId ?? crypto.randomUUID(),
    action_hash,
    binding_hash,
  })

async function approved(at: Authorizer): Promise<Pending> {
  const pending = await ask(at)
  expect((await decide(at, 'lena', pending, 'approve')).body['state']).toBe('approved')
  return pending
}

/** Moves a deadline to `ms` from now: settings allow none that a test would wait for. */
function moveDeadline(at: Authorizer, id: string, which: 'approveBy' | 'useBy', ms: number): Promise<void> {
  const stub = testEnv.TENANT_CHAIN.getByName(at.tenant)
  return runInDurableObject(stub, (_instance: TenantChain, { storage }) => {
    const [row] = storage.sql
      .exec<{ record: string }>('SELECT record FROM approvals WHERE approval_id = ?', id)
      .toArray()
    const record = JSON.parse(row?.record ?? '') as ApprovalRecord
    const deadline = Date.now() + ms
    storage.sql.exec(
      'UPDATE approvals SET deadline = ?, record = ? WHERE approval_id = ?',
      deadline,
      JSON.stringify({ ...record, [which]: deadline }),
      id,
    )
  })
}

describe('approve against deny', () => {
  it(
    'is one decision in 200 races, and both answers are true to the Chain',
    { timeout: 120_000 },
    async () => {
      const acme = await provisioned('races')
      const race = async (at: number) => {
        const pending = await ask(acme)
        const acts = [
          () => decide(acme, 'lena', pending, 'approve'),
          () => decide(acme, 'max', pending, 'deny'),
        ]
        // Each is the first to be sent in half of them.
        if (at % 2 === 1) acts.reverse()
        const answers = await Promise.all(acts.map((act) => act()))
        const [approve, deny] = at % 2 === 1 ? answers.toReversed() : answers
        if (approve === undefined || deny === undefined) throw new Error('two answers')
        return { id: pending.id, approve, deny }
      }
      const races: Awaited<ReturnType<typeof race>>[] = []
      for (let at = 0; at < 200; at += 20) {
        races.push(...(await Promise.all(Array.from({ length: 20 }, (_, more) => race(at + more)))))
      }
      const verdicts = new Map<string, string[]>()
      for (const { text } of await acme.lines()) {
        const line = JSON.parse(text) as {
          readonly line_type: string
          readonly approval_id: string
          readonly verdict: { readonly verdict: string }
        }
        if (line.line_type !== 'decision') continue
        verdicts.set(line.approval_id, [...(verdicts.get(line.approval_id) ?? []), line.verdict.verdict])
      }
      const told = races.map(({ id, approve, deny }) => {
        const state = verdicts.get(id)?.join()
        const said = [approve, deny].map(({ status, body: { code, state: now } }) => [status, code, now])
        return [state, said]
      })
      const lost = (state: string) => [409, 'approval_decided', state]
      const won = (state: string) => [200, undefined, state]
      const outcomes = {
        approved: ['approved', [won('approved'), lost('approved')]],
        denied: ['denied', [lost('denied'), won('denied')]],
      }
      expect(told).toEqual(told.map(([state]) => outcomes[state as 'approved' | 'denied']))
      expect(new Set(told.map(([state]) => state)).size).toBe(2)
    },
  )
})

describe('a use', () => {
  let acme: Authorizer
  beforeAll(async () => {
    acme = await provisioned('uses')
  })

  it('a second before its time is over is in time, a second behind it is not', async () => {
    const early = await approved(acme)
    await moveDeadline(acme, early.id, 'useBy', 1_000)
    expect((await consume(acme, early)).body.decision).toBe('allow')

    const late = await approved(acme)
    await moveDeadline(acme, late.id, 'useBy', -1_000)
    const refused = await consume(acme, late)
    expect([refused.status, refused.body.code, refused.body['state']]).toEqual([409, 'expired', 'lapsed'])
    const [lapse, , use] = (await acme.lines()).slice(-3)
    expect([lapse?.tool_id, use?.call_id, use?.policy]).toEqual([
      'aegis/approval.lapse',
      refused.body.call_id,
      { status: 'denied', reason: 'expired' },
    ])
  })

  it('of what nobody decided in time is expired, and so is a vote for it', async () => {
    const early = await ask(acme)
    await moveDeadline(acme, early.id, 'approveBy', 1_000)
    expect((await decide(acme, 'lena', early, 'approve')).status).toBe(200)

    const late = await ask(acme)
    await moveDeadline(acme, late.id, 'approveBy', -1_000)
    const vote = await decide(acme, 'lena', late, 'approve')
    expect([vote.status, vote.body.code, vote.body['state']]).toEqual([409, 'approval_decided', 'expired'])
    expect((await acme.lines()).at(-1)?.line_type).toBe('decision')
    const use = await consume(acme, late)
    expect([use.status, use.body.code]).toEqual([409, 'expired'])
  })

  it.each([
    ['tool_frozen', 'tool.freeze', 'tool.unfreeze', { toolId: 'github.merge_pr' }],
    ['tenant_frozen', 'tenant.freeze', 'tenant.unfreeze', {}],
    ['agent_frozen', 'agent.freeze', 'agent.unfreeze', { agentId: 'bot' }],
  ] as const)('is denied and recorded while frozen: %s', async (code, freeze, unfreeze, named) => {
    const pending = await approved(acme)
    await acme.do({ act: freeze, ...named } as Parameters<Authorizer['do']>[0])
    const refused = await consume(acme, pending)
    await acme.do({ act: unfreeze, ...named } as Parameters<Authorizer['do']>[0])
    expect([refused.status, refused.body.decision, refused.body.reason?.code]).toEqual([200, 'deny', code])
    expect(await outcomeOf(acme, refused)).toMatchObject({
      policy: { status: 'denied', reason: code },
      decision_axes: { decided_by: 'pipeline', approval_ref: pending.id },
    })
    expect((await consume(acme, pending)).body.decision).toBe('allow')
  })

  it('of a revoked agent is denied for good', async () => {
    await acme.addAgent('short-lived')
    const asked = await acme.authorize('short-lived', body({ parameters: { base_branch: 'main' } }))
    const { approval_id: id, ...hashes } = asked.body.approval as unknown as Record<string, string>
    await decide(
      acme,
      'lena',
      { id: id ?? '', binding_hash: hashes['binding_hash'] ?? '', action_hash: '' },
      'approve',
    )
    await acme.do({ act: 'agent.revoke', agentId: 'short-lived' })
    const refused = await post(acme, 'short-lived', `/v1/approvals/${id ?? ''}/consume`, {
      request_id: 'r',
      action_hash: hashes['action_hash'],
      binding_hash: hashes['binding_hash'],
    })
    expect(refused.body).toMatchObject({ decision: 'deny', reason: { code: 'agent_revoked' } })
  })
})

const forbidsMain = `@id("no-main") forbid(principal, action == Action::"github.merge_pr", resource)
  when { context.args.base_branch == "main" };`
const asksSecurity = `@id("security") @decision("require_approval") @approvers("security")
  permit(principal, action == Action::"github.merge_pr", resource) when { context.args.base_branch == "main" };`
const twoGroups = { approver_groups: { leads: { quorum: 1 }, security: { quorum: 1 } } }
const two = { approver_groups: { leads: { quorum: 2 } } }

describe('a use under a policy that is another one by now', () => {
  it.each([
    ['denies', { policies: forbidsMain }, 'policy_denied'],
    ['asks another group too', { policies: asksSecurity, settings: twoGroups }, 'approval_insufficient'],
    ['asks for more votes', { settings: two }, 'approval_insufficient'],
  ])('that %s is denied, by the policy, and recorded', async (what, given, code) => {
    const acme = await provisioned(`policy-${what.length.toString()}`)
    const pending = await approved(acme)
    await acme.activate(given)
    const refused = await consume(acme, pending)
    expect([refused.status, refused.body.decision, refused.body.reason?.code]).toEqual([200, 'deny', code])
    expect(await outcomeOf(acme, refused)).toMatchObject({
      policy: { status: 'denied', reason: code },
      decision_axes: { decided_by: 'policy', approval_ref: pending.id },
    })
    // The approval stands: under the policy that asked it can be used.
    await acme.activate()
    expect((await consume(acme, pending)).body.decision).toBe('allow')
  })

  it('that asks no more is allowed, with the approval named', async () => {
    const acme = await provisioned('policy-allows')
    const pending = await approved(acme)
    await acme.activate({
      policies: `@id("all") permit(principal, action == Action::"github.merge_pr", resource);`,
    })
    const used = await consume(acme, pending)
    expect(used.body.decision).toBe('allow')
    expect(await outcomeOf(acme, used)).toMatchObject({ decision_axes: { approval_ref: pending.id } })
  })
})

describe('uses of what was used', () => {
  it('are 409 and recorded up to the cap, and 429 without a Line past it', async () => {
    const acme = await provisioned('cap', { refused_calls_per_minute: 5 })
    const pending = await approved(acme)
    expect((await consume(acme, pending)).body.decision).toBe('allow')
    const before = (await acme.lines()).length
    const answers: Answer[] = []
    for (let at = 0; at < 8; at += 1) answers.push(await consume(acme, pending))
    expect(answers.map(({ status }) => status)).toEqual([409, 409, 409, 409, 409, 429, 429, 429])
    const [past] = answers.slice(-1)
    expect([past?.body.code, past?.body.call_id, past?.headers.has('retry-after')]).toEqual([
      'rate_limited',
      undefined,
      true,
    ])
    expect(await acme.lines()).toHaveLength(before + 2 * 5)
    // What went unrecorded is counted in the agent's next Line.
    await acme.authorize('bot', body())
    expect((await acme.lastOutcome()).decision_axes?.suppressed).toBe(3)
  })
})

describe('the same use again', () => {
  it('is the recorded answer, before its Session is sealed and when it is published', async () => {
    const acme = await provisioned('repeats')
    const pending = await approved(acme)
    const first = await consume(acme, pending, 'once')
    expect(first.body.decision).toBe('allow')
    const again = await consume(acme, pending, 'once')
    expect(again.body.receipt).toEqual(first.body.receipt)
    const refused = await consume(acme, pending, 'twice')
    expect(refused.body.code).toBe('already_consumed')

    expect((await post(acme, 'admin', '/v1/chain/seal', {})).status).toBe(200)
    await expect
      .poll(async () => {
        const { segments } = (await acme.get('auditor', '/v1/chain/segments')).body as {
          readonly segments?: readonly unknown[]
        }
        return segments?.length
      })
      .toBe(1)
    const published = await consume(acme, pending, 'once')
    expect(published.body).toMatchObject({ decision: 'allow', call_id: first.body.call_id })
    expect(published.body.receipt).toEqual(first.body.receipt)
    expect(published.body.grant?.grant_id).toBe(first.body.grant?.grant_id)
    const stillRefused = await consume(acme, pending, 'twice')
    expect([stillRefused.status, stillRefused.body.code, stillRefused.body.call_id]).toEqual([
      409,
      'already_consumed',
      refused.body.call_id,
    ])
    const conflict = await post(acme, 'bot', `/v1/approvals/${pending.id}/consume`, {
      request_id: 'once',
      action_hash: pending.binding_hash,
      binding_hash: pending.binding_hash,
    })
    expect([conflict.status, conflict.body.code]).toEqual([409, 'idempotency_conflict'])
  })
})

async function outcomeOf(at: Authorizer, { body: { call_id: callId } }: Answer): Promise<unknown> {
  return (await at.lines()).find((line) => line.line_type === 'outcome' && line.call_id === callId)
}
