/** Keys and tenants over HTTP: a tenant from nothing, secrets shown once, the second admin's confirmation, revocations. */
import { describe, expect, it } from 'vitest'
import { parseApiKey, secretHash } from '../../../src/protocol/index.ts'
import { nodeSuite } from '../../../src/crypto-node/index.ts'
import { testEnv } from '../durable-objects/object.ts'
import { type Answer, send } from './authorizer.ts'
import { NewTenant, ask, decisionOf, inAnHour, operatorKey } from './operator.ts'

const fileCall = {
  tool: 'files',
  action: 'read',
  resource: null,
  mutates_state: false,
  parameters: { path: '/srv/report.txt' },
}

describe('a tenant', () => {
  it('is created with the deployed bundle in force and its first admin', async () => {
    const acme = await NewTenant.create('new-acme')
    const { created } = acme
    expect(created.headers.get('cache-control')).toBe('no-store')
    const shown = await ask(operatorKey, 'GET', '/v1/tenants/new-acme')
    expect(shown.body).toEqual({
      tenant: 'new-acme',
      created_at: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      revision: created.body['revision'],
      frozen: false,
      policy_set_hash: created.body['policy_set_hash'],
      deployed: { policy_set_hash: created.body['policy_set_hash'], active: true },
      key_epoch: 0,
      admins: 1,
    })
    expect((await send('/v1/keys/new-acme')).body['chain_id']).toBe('new-acme')
    const auditor = await acme.key('auditor')
    const live = await ask(auditor, 'GET', '/v1/chain/live')
    const acts = live.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { line_type: string; tool_id: string; decision_axes?: unknown })
      .filter(({ line_type: type }) => type === 'outcome')
    expect(acts.map(({ tool_id: tool }) => tool)).toEqual([
      'aegis/tenant.create',
      'aegis/policy.push',
      'aegis/policy.activate',
      'aegis/key.issue',
      'aegis/key.issue',
    ])
    expect(acts[3]?.decision_axes).toMatchObject({
      actor: { role: 'operator' },
      reason_text: `key ${String(created.body['key_id'])}, role admin`,
    })
    expect(await decisionOf(await acme.agent('reader'), fileCall)).toMatch(/^(allow|deny policy_denied)/)
  })

  it('is created once; a creation that was cut off is completed', async () => {
    const acme = await NewTenant.create('new-once')
    const again = await ask(operatorKey, 'POST', '/v1/tenants/new-once/create', { admin_subject: 'eve' })
    expect([again.status, again.body.code]).toEqual([409, 'already_exists'])
    expect(again.text).not.toContain('aegis_')
    // As after a Worker that ended behind the first of four Calls.
    const { request, requestDigest } = {
      request: new Uint8Array([123, 125]),
      requestDigest: 'a'.repeat(64) as never,
    }
    const half = testEnv.TENANT_CHAIN.getByName('new-half')
    expect((await half.create({ tenant: 'new-half', request, requestDigest })).kind).toBe('done')
    const { admin } = await NewTenant.create('new-half')
    expect((await ask(admin, 'GET', '/v1/agents')).status).toBe(200)
    expect((await ask(acme.admin, 'GET', '/v1/agents')).status).toBe(200)
  })

  it('that is asked for twice at once has one admin key', async () => {
    const create = () => ask(operatorKey, 'POST', '/v1/tenants/new-twice/create', { admin_subject: 'ada' })
    const answers = await Promise.all([create(), create(), create()])
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ body }) => body.code === 'already_exists')).toHaveLength(2)
  })

  it('is for the operator alone, its name and body held to the schema', async () => {
    const { admin } = await NewTenant.create('new-alone')
    const operated = [
      ['GET', '/v1/tenants'],
      ['GET', '/v1/tenants/new-alone'],
      ['POST', '/v1/tenants/new-evil/create', { admin_subject: 'eve' }],
      ['POST', '/v1/tenants/new-alone/keys', { role: 'admin', subject: 'eve', expires_at: inAnHour() }],
      ['POST', '/v1/tenants/new-alone/freeze'],
      ['POST', '/v1/tenants/new-alone/unfreeze'],
      ['POST', '/v1/tenants/new-alone/recover'],
    ] as const
    for (const [method, path, sent] of operated) {
      for (const key of [admin, operatorKey.replace(/.$/, (last) => (last === '0' ? '1' : '0')), 'x']) {
        expect([path, (await ask(key, method, path, sent)).status]).toEqual([path, 401])
      }
    }
    const create = (name: string, sent: unknown) =>
      ask(operatorKey, 'POST', `/v1/tenants/${name}/create`, sent)
    const refusals: readonly (readonly [Answer, string])[] = [
      [await create('A', { admin_subject: 'a' }), 'tenant_name_invalid'],
      [await create('new-b', {}), 'body_invalid'],
      [await create('new-b', { admin_subject: 'a', role: 'admin' }), 'body_invalid'],
      [
        await create('new-b', { admin_subject: 'a', key_expires_at: '2020-01-01T00:00:00.000Z' }),
        'body_invalid',
      ],
    ]
    for (const [answer, code] of refusals) expect([answer.status, answer.body.code]).toEqual([400, code])
    expect((await ask(operatorKey, 'GET', '/v1/tenants/new-b')).status).toBe(404)
    const key = { role: 'admin', subject: 'a', expires_at: inAnHour() }
    expect((await ask(operatorKey, 'POST', '/v1/tenants/new-b/keys', key)).status).toBe(404)
    const approver = await ask(operatorKey, 'POST', '/v1/tenants/new-alone/keys', {
      ...key,
      role: 'approver',
    })
    expect(approver.body.code).toBe('body_invalid')
  })

  it('is listed, page by page', async () => {
    await NewTenant.create('new-list')
    const page = await ask(operatorKey, 'GET', '/v1/tenants?after=new-lis')
    expect(page.body['tenants']).toContainEqual({ tenant: 'new-list' })
    const behind = await ask(operatorKey, 'GET', '/v1/tenants?after=new-list')
    expect(behind.body['tenants']).not.toContainEqual({ tenant: 'new-list' })
  })
})

describe('a key', () => {
  it('is shown once: the object holds its hash, and no list, log or second answer anything of it', async () => {
    const acme = await NewTenant.create('key-once')
    const first = await acme.issue('auditor', { envelopes: true })
    const parsed = parseApiKey(String(first.body['key']))
    if (parsed?.kind !== 'tenant') throw new Error('no key')
    expect(first.headers.get('cache-control')).toBe('no-store')
    const id = String(first.body['key_id'])
    expect([parsed.id, parsed.role, parsed.tenant]).toEqual([id, 'auditor', 'key-once'])
    const listed = await ask(acme.admin, 'GET', '/v1/keys')
    expect(listed.body['keys']).toContainEqual({
      key_id: id,
      role: 'auditor',
      subject: 'auditor@example.com',
      envelopes: true,
      expires_at: expect.stringMatching(/Z$/) as string,
      revoked: false,
      confirmed: true,
      issued_by: 'ada@example.com',
    })
    const hash = secretHash(parsed.secret, nodeSuite)
    expect(listed.text).not.toContain(hash)
    expect(listed.text).not.toContain(String(first.body['key']).slice(-52))
    const live = await ask(String(first.body['key']), 'GET', '/v1/chain/live')
    expect(live.text).not.toContain(hash)
    expect(live.text).toContain(`key ${id}, role auditor`)
  })

  it('is made once for an Idempotency-Key, whoever repeats it', async () => {
    const acme = await NewTenant.create('key-again')
    const wanted = { role: 'auditor', subject: 'aud', expires_at: inAnHour() }
    const issue = (by: string) => ask(by, 'POST', '/v1/keys', wanted, { 'idempotency-key': 'k-1' })
    const first = await issue(acme.admin)
    expect(first.status).toBe(200)
    const before = await ask(String(first.body['key']), 'GET', '/v1/chain/head')
    const again = await issue(acme.admin)
    expect([again.status, again.body.code]).toEqual([409, 'already_created'])
    expect(again.text).not.toContain('aegis_')
    expect((await ask(String(first.body['key']), 'GET', '/v1/chain/head')).text).toBe(before.text)
    // Another admin's names are his own.
    const bo = await acme.key('admin', { subject: 'bo' })
    expect((await issue(bo)).status).toBe(200)
  })

  it('that is revoked is refused by every route at once', async () => {
    const acme = await NewTenant.create('key-gone')
    const agent = await acme.agent('bot')
    expect(await decisionOf(agent, fileCall)).not.toMatch(/^401/)
    const keys = (await ask(acme.admin, 'GET', '/v1/keys')).body['keys'] as readonly {
      key_id: string
      role: string
    }[]
    const id = keys.find(({ role }) => role === 'agent')?.key_id ?? ''
    expect((await ask(acme.admin, 'POST', `/v1/keys/${id}/revoke`)).status).toBe(200)
    expect(await decisionOf(agent, fileCall)).toBe('401 unauthorized')
    expect((await ask(agent, 'GET', '/v1/approvals')).status).toBe(401)
    expect((await ask(acme.admin, 'POST', `/v1/keys/${id}/revoke`)).body.code).toBe('key_revoked')
    // His own key is an admin's too: it ends with the act.
    const own = keys.find(({ role }) => role === 'admin')?.key_id ?? ''
    expect((await ask(acme.admin, 'POST', `/v1/keys/${own}/revoke`)).status).toBe(200)
    expect((await ask(acme.admin, 'GET', '/v1/agents')).status).toBe(401)
    const fresh = { role: 'admin', subject: 'ada', expires_at: inAnHour() }
    const given = await ask(operatorKey, 'POST', '/v1/tenants/key-gone/keys', fresh)
    expect(given.body['confirmed']).toBe(true)
    expect((await ask(String(given.body['key']), 'GET', '/v1/agents')).status).toBe(200)
  })
})

describe('the second admin', () => {
  it('confirms keys of approvers and admins, as soon as there are two', async () => {
    const acme = await NewTenant.create('two', 'Ada@example.com')
    const ada = acme.admin
    const alone = await acme.issue('approver', { subject: 'lena' })
    expect(alone.body['confirmed']).toBe(true)
    // A second key of the same person makes no second admin.
    expect((await acme.issue('admin', { subject: 'ada@EXAMPLE.com' })).body['confirmed']).toBe(true)
    const second = await acme.issue('admin', { subject: 'bo' })
    expect(second.body['confirmed']).toBe(true)
    const bo = String(second.body['key'])

    const third = await acme.issue('admin', { subject: 'cy' })
    const cy = String(third.body['key'])
    const id = String(third.body['key_id'])
    expect(third.body['confirmed']).toBe(false)
    expect((await acme.issue('auditor')).body['confirmed']).toBe(true)
    for (const [method, path] of [
      ['GET', '/v1/agents'],
      ['POST', `/v1/keys/${id}/confirm`],
      ['POST', '/v1/freeze'],
      ['GET', '/v1/policies'],
    ] as const) {
      expect([path, (await ask(cy, method, path)).status]).toEqual([path, 401])
    }
    const confirm = (by: string, key = id) => ask(by, 'POST', `/v1/keys/${key}/confirm`)
    const own = await confirm(ada)
    expect([own.status, own.body.code]).toEqual([403, 'confirmation_by_another'])
    const revision = (await ask(operatorKey, 'GET', '/v1/tenants/two')).body
    expect(revision['admins']).toBe(2)
    expect((await confirm(bo)).body['outcome']).toBe('done')
    expect((await confirm(bo)).body['outcome']).toBe('unchanged')
    expect((await ask(cy, 'GET', '/v1/agents')).status).toBe(200)
    expect((await ask(operatorKey, 'GET', '/v1/tenants/two')).body['admins']).toBe(3)
  })

  it('is neither the issuer nor the holder, under any of his keys', async () => {
    const acme = await NewTenant.create('two-self')
    const bo = await acme.key('admin', { subject: 'bo' })
    // Issued by ada for another key of bo: bo is the holder.
    const forBo = await acme.issue('admin', { subject: 'BO' })
    const confirm = (by: string, answer: Answer) =>
      ask(by, 'POST', `/v1/keys/${String(answer.body['key_id'])}/confirm`)
    expect((await confirm(bo, forBo)).body.code).toBe('confirmation_by_another')
    expect((await confirm(acme.admin, forBo)).body.code).toBe('confirmation_by_another')
    const wanted = { role: 'admin', subject: 'cy', expires_at: inAnHour() }
    const cy = await ask(operatorKey, 'POST', '/v1/tenants/two-self/keys', wanted)
    expect(cy.body['confirmed']).toBe(true)
    expect((await confirm(String(cy.body['key']), forBo)).status).toBe(200)
    // A key of an agent or an auditor confirms nothing.
    const lena = await acme.issue('approver', { subject: 'lena' })
    expect(lena.body['confirmed']).toBe(false)
    const auditor = await acme.key('auditor')
    expect((await confirm(auditor, lena)).status).toBe(403)
    expect((await confirm(operatorKey, lena)).status).toBe(403)
    expect((await ask(String(lena.body['key']), 'GET', '/v1/approvals')).status).toBe(401)
    expect((await confirm(bo, lena)).status).toBe(200)
    expect((await ask(String(lena.body['key']), 'GET', '/v1/approvals')).status).toBe(200)
    const revoked = await acme.issue('approver', { subject: 'mo' })
    await ask(bo, 'POST', `/v1/keys/${String(revoked.body['key_id'])}/revoke`)
    expect((await confirm(bo, revoked)).body.code).toBe('key_revoked')
  })
})
