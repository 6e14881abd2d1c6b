/** `GET /v1/calls`: what the Lines say, newest first, over published and unpublished Sessions, in pages of any length. */
import * as v from 'valibot'
import { runDurableObjectAlarm } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Call, callListSchema, foundCallSchema } from '../../../src/protocol/index.ts'
import { testEnv } from '../durable-objects/object.ts'
import { type Authorizer, type RecordedLine, body, provisionAuthorizer, readCall } from './authorizer.ts'
import { ask } from './operator.ts'

let acme: Authorizer
/** Every outcome, oldest first. */
const outcomes: RecordedLine[] = []

/** Those of the open Session. */
async function keep(): Promise<void> {
  const { text } = await acme.get('auditor', '/v1/chain/live')
  const lines = text.split('\n').filter((line) => line.includes('"line_type":"outcome"'))
  outcomes.push(...lines.map((line) => ({ ...(JSON.parse(line) as RecordedLine), text: line })))
}

/** Ends the Session, and has the alarm publish it. */
async function publish(): Promise<void> {
  await keep()
  const sealed = await ask(acme.key('admin'), 'POST', '/v1/chain/seal')
  expect(sealed.status).toBe(200)
  const line = String((sealed.body.receipt as { readonly line: string }).line)
  outcomes.push({ ...(JSON.parse(line) as RecordedLine), text: line })
  for (let round = 0; round < 20; round += 1) {
    await runDurableObjectAlarm(testEnv.TENANT_CHAIN.getByName(acme.tenant))
    const index = await acme.get('auditor', '/v1/chain/segments')
    if ((index.body['unpublished'] as { readonly sessions: number }).sessions === 0) return
  }
  throw new Error('it was not published')
}

beforeAll(async () => {
  acme = await provisionAuthorizer('calls')
  await acme.addAgent('other')
  for (let session = 0; session < 3; session += 1) {
    for (const agent of ['bot', 'other']) {
      await acme.authorize(agent, body())
      await acme.authorize(agent, body(readCall))
      await acme.authorize(agent, body({ tool: 'unheard' }))
      await acme.authorize(agent, body({ parameters: { base_branch: 'main' } }))
    }
    if (session < 2) await publish()
  }
  await keep()
})

async function page(query: Readonly<Record<string, string>>) {
  const answer = await acme.get('auditor', `/v1/calls?${new URLSearchParams(query).toString()}`)
  expect([answer.status, answer.text.slice(0, 200)]).toEqual([200, expect.any(String) as string])
  return v.parse(callListSchema, answer.body)
}

async function all(query: Readonly<Record<string, string>>): Promise<readonly Call[]> {
  const calls: Call[] = []
  let after: string | undefined
  do {
    const got = await page({ ...query, ...(after === undefined ? {} : { after }) })
    calls.push(...got.calls)
    after = got.next
  } while (after !== undefined)
  return calls
}

const idsOf = (calls: readonly { readonly call_id?: string }[]) => calls.map(({ call_id: id }) => id)
const newestFirst = (wanted: (line: RecordedLine) => boolean) => idsOf(outcomes.filter(wanted)).reverse()

describe('calls', () => {
  it.each(['1', '3', '7', '100', '1000'])('are all there is, newest first, in pages of %s', async (limit) => {
    expect(idsOf(await all({ limit }))).toEqual(newestFirst(() => true))
  })

  it('are those of an agent, a tool, a decision, a rule', async () => {
    expect(idsOf(await all({ agent: 'other', limit: '2' }))).toEqual(
      newestFirst((line) => line.agent_id === 'other'),
    )
    expect(idsOf(await all({ tool: 'aegis/chain.seal' }))).toEqual(
      newestFirst((line) => line.tool_id === 'aegis/chain.seal'),
    )
    expect(idsOf(await all({ decision: 'deny', agent: 'bot' }))).toEqual(
      newestFirst((line) => line.agent_id === 'bot' && line.policy?.status === 'denied'),
    )
    expect(idsOf(await all({ decision: 'require_approval' }))).toHaveLength(6)
    const rule = await all({ rule: 'merges' })
    expect(idsOf(rule)).toEqual(
      newestFirst((line) => line.decision_axes?.matched_rules?.includes('merges') === true),
    )
    expect(rule.length).toBeGreaterThan(0)
    expect(await all({ agent: 'nobody' })).toEqual([])
  })

  it('are those of a time', async () => {
    const everything = await all({})
    const middle = everything[Math.floor(everything.length / 2)]?.decided_at ?? ''
    const late = everything.filter(({ decided_at: at }) => at >= middle)
    expect(await all({ since: middle })).toEqual(late)
    expect(await all({ until: middle })).toEqual(everything.filter(({ decided_at: at }) => at < middle))
    expect(await all({ since: '2099-01-01T00:00:00.000Z' })).toEqual([])
  })

  it('behind a position are those that came since', async () => {
    const [newest] = (await page({ limit: '1' })).calls
    const behind = `${String(newest?.session_index)}:${String(newest?.seq)}`
    expect(await all({ behind })).toEqual([])
    const decided = await acme.authorize('bot', body(readCall))
    const [call, ...more] = await all({ behind })
    expect([call?.call_id, more]).toEqual([decided.body.call_id, []])
    outcomes.push({ ...(JSON.parse(decided.body.receipt?.line ?? '') as RecordedLine), text: '' })
  })

  it('say what was answered, and nothing else', async () => {
    const decided = await acme.authorize('bot', body({ parameters: { base_branch: 'main' } }))
    const [call] = (await page({ limit: '1' })).calls
    expect(call).toMatchObject({
      call_id: decided.body.call_id,
      agent: 'bot',
      decision: 'require_approval',
      reason: decided.body.reason,
      risk: decided.body.risk,
      approval_id: decided.body.approval?.approval_id,
    })
    outcomes.push({ ...(JSON.parse(decided.body.receipt?.line ?? '') as RecordedLine), text: '' })
    const [act] = await all({ tool: 'aegis/chain.seal', limit: '1' })
    expect(act).toMatchObject({
      decision: 'allow',
      execution: 'success',
      actor: { role: 'admin', subject: 'admin@example.com' },
    })
    expect(act).not.toHaveProperty('agent')
  })

  it('refuses a query that it would not understand', async () => {
    for (const query of [
      'limit=0',
      'limit=1001',
      'limit=x',
      'after=1',
      'after=01:2',
      'behind=-1:0',
      'decision=no',
      'since=today',
      'agent=',
    ]) {
      const answer = await acme.get('auditor', `/v1/calls?${query}`)
      expect([query, answer.status, answer.body.code]).toEqual([query, 400, 'query_invalid'])
    }
    for (const name of ['admin', 'bot', 'approver']) {
      expect((await acme.get(name, '/v1/calls')).body.code).toBe('role_not_allowed')
    }
  })
})

describe('one call', () => {
  const find = async (id: string, query = '') => {
    const answer = await acme.get('auditor', `/v1/calls/${id}${query}`)
    if (answer.status !== 200) throw new Error(answer.text)
    return v.parse(foundCallSchema, answer.body)
  }

  it('is found in whatever Session it is, with its Lines', async () => {
    for (const line of [outcomes[3], outcomes.at(-3), outcomes[Math.floor(outcomes.length / 2)]]) {
      const found = await find(line?.call_id ?? '')
      expect(found).toMatchObject({ outcome: line?.text, call: { call_id: line?.call_id } })
      expect('intent' in found && found.intent).toContain('"line_type":"intent"')
    }
  })

  it('comes with what is about it', async () => {
    const asked = await acme.authorize('bot', body({ parameters: { base_branch: 'main' } }))
    const id = asked.body.approval?.approval_id ?? ''
    await ask(acme.key('bot'), 'POST', `/v1/approvals/${id}/cancel`)
    const found = await find(asked.body.call_id ?? '')
    expect(
      'related' in found &&
        found.related.map((line) => (JSON.parse(line) as { line_type: string }).line_type),
    ).toEqual(['decision'])
    expect(found).toMatchObject({ related_complete: true })
  })

  it('that is not there is not found', async () => {
    for (const id of [`call_${'0'.repeat(26)}`, 'x']) {
      expect((await acme.get('auditor', `/v1/calls/${id}`)).status).toBe(404)
    }
    // Looked for only before the Session that it is in.
    const last = outcomes.at(-1)
    expect((await acme.get('auditor', `/v1/calls/${last?.call_id ?? ''}?after=1:0`)).status).toBe(404)
  })
})
