/** Webhooks of approver groups over HTTP (authorize.md §4): set, refused, listed without their secrets, and never waited for. */
import * as v from 'valibot'
import { beforeAll, describe, expect, it } from 'vitest'
import { groupListSchema, webhookSecretSchema } from '../../../src/protocol/index.ts'
import { deriveWebhookSecret } from '../../../src/crypto-node/index.ts'
import { testDeployment, testSeed } from '../../harness/follower.ts'
import { type Answer, type Authorizer, body, provisionAuthorizer, send } from './authorizer.ts'

let acme: Authorizer

beforeAll(async () => {
  acme = await provisionAuthorizer('webhooks')
})

const members = ['lena@example.com']
const hook = { url: 'https://hooks.example.com/services/T0/B0/secret', format: 'slack' }

function put(group: string, sent: unknown, name = 'admin'): Promise<Answer> {
  return send(`/v1/groups/${group}`, {
    method: 'PUT',
    headers: acme.headers(name),
    body: JSON.stringify(sent),
  })
}

const groups = async () => (await acme.get('auditor', '/v1/groups')).body['groups']

describe('a group', () => {
  it('gains a webhook, keeps it, and loses it; of its URL only the origin is shown', async () => {
    const shown = {
      name: 'leads',
      members,
      webhook: { origin: 'https://hooks.example.com', format: 'slack' },
    }
    expect((await put('leads', { members, webhook: hook })).status).toBe(200)
    const listed = await acme.get('auditor', '/v1/groups')
    expect(v.safeParse(groupListSchema, listed.body).issues).toBeUndefined()
    expect(listed.text).not.toContain('secret')
    expect(await groups()).toEqual([shown])
    expect((await put('leads', { members })).status).toBe(200)
    expect(await groups()).toEqual([shown])
    expect((await put('leads', { members, webhook: null })).status).toBe(200)
    expect(await groups()).toEqual([{ name: 'leads', members }])
    await acme.lines()
  })

  it.each([
    'http://hooks.example.com/',
    'https://127.0.0.1/',
    'https://[fd00::1]/',
    'https://localhost/',
    'https://a@example.com/',
  ])('is not changed by one that leads to %s, and the refusal is recorded', async (url) => {
    const refused = await put('leads', { members: [], webhook: { url, format: 'standard' } })
    expect([refused.status, refused.body.code]).toEqual([400, 'webhook_refused'])
    expect((await acme.lines()).at(-1)).toMatchObject({
      tool_id: 'aegis/group.change',
      call_id: refused.body.call_id,
      policy: { status: 'denied', reason: 'webhook_refused' },
    })
    expect(await groups()).toEqual([{ name: 'leads', members }])
  })

  it.each([
    [{ url: 'ftp://example.com/', format: 'standard' }, 'webhook.url'],
    [{ url: `https://example.com/${'x'.repeat(1_000)}`, format: 'standard' }, 'webhook.url'],
    [{ url: 'https://example.com/', format: 'teams' }, 'webhook.format'],
    [{ url: 'https://example.com/', format: 'slack', secret: 'mine' }, 'webhook.secret'],
    ['https://example.com/', 'webhook'],
  ])('names what is wrong with %j: %s', async (webhook, member) => {
    const refused = await put('leads', { members, webhook })
    expect([refused.status, refused.body.code]).toEqual([400, 'body_invalid'])
    expect(refused.body.members?.map((one) => one.member)).toEqual([member])
  })
})

describe('the secret of a group', () => {
  it('is read by an admin, made from the seed, and another one for each group', async () => {
    await put('security', { members })
    const leads = await acme.get('admin', '/v1/groups/leads/webhook-secret')
    const security = await acme.get('admin', '/v1/groups/security/webhook-secret')
    expect(v.is(webhookSecretSchema, leads.body)).toBe(true)
    const secret = deriveWebhookSecret(testSeed, testDeployment, acme.tenant, 'leads')
    expect(leads.body['secret']).toBe(`whsec_${Buffer.from(secret).toString('base64')}`)
    expect(security.body['secret']).not.toBe(leads.body['secret'])
    expect(leads.headers.get('cache-control')).toBe('no-store')
  })

  it('is nobody else’s, and no secret is of a group that is not there', async () => {
    for (const name of ['auditor', 'approver', 'bot']) {
      expect((await acme.get(name, '/v1/groups/leads/webhook-secret')).status).toBe(403)
    }
    for (const group of ['nobody', 'No%20such']) {
      expect((await acme.get('admin', `/v1/groups/${group}/webhook-secret`)).status).toBe(404)
    }
    const beta = await provisionAuthorizer('webhooks-beta')
    const own = await beta.get('admin', '/v1/groups/leads/webhook-secret')
    const ours = await acme.get('admin', '/v1/groups/leads/webhook-secret')
    expect(own.body['secret']).not.toBe(ours.body['secret'])
  })
})

describe('a receiver that cannot be reached', () => {
  it('holds up neither the request, nor the vote, nor the use', async () => {
    await put('leads', { members, webhook: { url: 'https://hooks.invalid/', format: 'standard' } })
    await acme.issue('lena', 'approver', { subject: 'lena@example.com' })
    const asked = await acme.authorize('bot', body({ parameters: { base_branch: 'main' } }))
    const { approval_id: id, ...hashes } = asked.body.approval as unknown as Record<string, string>
    const post = (name: string, act: string, sent: object) =>
      send(`/v1/approvals/${id ?? ''}/${act}`, {
        method: 'POST',
        headers: acme.headers(name),
        body: JSON.stringify(sent),
      })
    const vote = await post('lena', 'approve', { binding_hash: hashes['binding_hash'] })
    expect(vote.body['state']).toBe('approved')
    const used = await post('bot', 'consume', {
      request_id: 'r',
      action_hash: hashes['action_hash'],
      binding_hash: hashes['binding_hash'],
    })
    expect(used.body.decision).toBe('allow')
    await acme.lines()
  })
})
