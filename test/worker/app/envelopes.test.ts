/** Envelopes over HTTP: who may read one, who may erase one, and that what was erased stays so. */
import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import type { TenantChain } from '../../../durable-objects/tenant-chain.ts'
import { envelopePath } from '../../../src/archive/paths.ts'
import { nodeSuite } from '../../../src/crypto-node/index.ts'
import { bareRequest } from '../../../src/protocol/index.ts'
import { type RequestDigest, requestDigest, utf8 } from '../../../src/record/index.ts'
import { testEnv } from '../durable-objects/object.ts'
import { type Answer, type Authorizer, body, provisionAuthorizer, readCall, send } from './authorizer.ts'

const digestOf = (text: string): RequestDigest => requestDigest(utf8(text), nodeSuite)

const read = (tenant: Authorizer, name: string, digest: string): Promise<Answer> =>
  tenant.get(name, `/v1/envelopes/${digest}`)

const erase = (tenant: Authorizer, name: string, digest: string): Promise<Answer> =>
  send(`/v1/envelopes/${digest}`, { method: 'DELETE', headers: tenant.headers(name) })

async function seal(tenant: Authorizer): Promise<void> {
  await send('/v1/chain/seal', { method: 'POST', headers: tenant.headers('admin') })
}

/** Sealed, so that the alarm moves what is staged. */
async function untilMoved(tenant: Authorizer, digest: RequestDigest): Promise<void> {
  await seal(tenant)
  await vi.waitFor(async () => {
    await runDurableObjectAlarm(testEnv.TENANT_CHAIN.getByName(tenant.tenant))
    expect(await isArchived(tenant, digest)).toBe(true)
  })
}

async function isArchived(tenant: Authorizer, digest: RequestDigest): Promise<boolean> {
  return (await testEnv.ENVELOPES.head(envelopePath(tenant.tenant, digest))) !== null
}

async function tenantWithReader(name: string): Promise<Authorizer> {
  const tenant = await provisionAuthorizer(name)
  await tenant.issue('reader', 'auditor', { envelopes: true })
  return tenant
}

let acme: Authorizer

beforeAll(async () => {
  acme = await tenantWithReader('envelopes')
})

describe('an Envelope', () => {
  it('is the bytes that were sent, staged or archived, for an auditor to whom it was granted', async () => {
    const asked = `  ${JSON.stringify(body(readCall))}\n`
    const digest = digestOf(asked)
    await acme.authorize('bot', asked)
    expect((await acme.lastOutcome()).request_digest).toBe(digest)
    const staged = await read(acme, 'reader', digest)
    expect([staged.status, staged.text]).toEqual([200, asked])
    await untilMoved(acme, digest)
    const archived = await read(acme, 'reader', digest)
    expect([archived.status, archived.text]).toEqual([200, asked])
    for (const { headers } of [staged, archived]) {
      expect(Object.fromEntries(headers)).toMatchObject({
        'cache-control': 'no-store',
        'content-disposition': 'attachment',
        'content-type': 'application/octet-stream',
        vary: 'Authorization',
        'x-content-type-options': 'nosniff',
      })
    }
  })

  it('is read by nobody else, and erased by admins only', async () => {
    const asked = JSON.stringify(body(readCall))
    const digest = digestOf(asked)
    await acme.authorize('bot', asked)
    expect((await read(acme, 'auditor', digest)).body.code).toBe('envelopes_not_granted')
    for (const role of ['bot', 'approver', 'admin']) {
      const answer = await read(acme, role, digest)
      expect([role, answer.status, answer.body.code]).toEqual([role, 403, 'role_not_allowed'])
    }
    for (const role of ['bot', 'approver', 'auditor', 'reader']) {
      const answer = await erase(acme, role, digest)
      expect([role, answer.status, answer.body.code]).toEqual([role, 403, 'role_not_allowed'])
    }
    expect((await send(`/v1/envelopes/${digest}`)).status).toBe(401)
    expect((await read(acme, 'reader', digest)).status).toBe(200)
  })

  it("of another tenant is not there, and is not erased by its neighbour's admin", async () => {
    const other = await tenantWithReader('envelopes-other')
    const asked = JSON.stringify(body(readCall))
    const digest = digestOf(asked)
    await acme.authorize('bot', asked)
    await untilMoved(acme, digest)
    const theirs = await read(other, 'reader', digest)
    const never = await read(other, 'reader', 'ab'.repeat(32))
    expect([theirs.status, theirs.body]).toEqual([404, never.body])
    expect((await erase(other, 'admin', digest)).status).toBe(404)
    expect((await read(acme, 'reader', digest)).status).toBe(200)
  })

  it('has only the name that is its digest', async () => {
    for (const name of ['x', 'AB'.repeat(32), 'ab'.repeat(31), `${'ab'.repeat(32)}0`, '..%2F..%2Fheads']) {
      expect([name, (await read(acme, 'reader', name)).status]).toEqual([name, 404])
      expect([name, (await erase(acme, 'admin', name)).status]).toEqual([name, 404])
    }
  })

  it('that was altered in the bucket is not passed on', async () => {
    const asked = JSON.stringify(body(readCall))
    const digest = digestOf(asked)
    await acme.authorize('bot', asked)
    await untilMoved(acme, digest)
    await testEnv.ENVELOPES.put(envelopePath('envelopes', digest), `${asked} `)
    expect((await read(acme, 'reader', digest)).status).toBe(404)
  })
})

describe('an Envelope that is erased', () => {
  it('is a Call with its actor, whose digest has a preimage; asked again, nothing is recorded', async () => {
    const tenant = await tenantWithReader('erase-call')
    const asked = JSON.stringify(body(readCall))
    const digest = digestOf(asked)
    await tenant.authorize('bot', asked)
    const erased = await erase(tenant, 'admin', digest)
    expect([erased.status, erased.body['outcome']]).toEqual([200, 'done'])
    const line = JSON.parse(erased.body.receipt?.line ?? '') as Record<string, unknown>
    expect(line).toMatchObject({
      tool_id: 'aegis/envelope.erase',
      policy: { status: 'allowed' },
      execution: { status: 'success' },
      decision_axes: { actor: { role: 'admin', subject: 'admin@example.com' } },
      request_digest: requestDigest(bareRequest('envelope.erase', { request_digest: digest }), nodeSuite),
    })
    const lines = await tenant.lines()
    expect((await erase(tenant, 'admin', digest)).body['outcome']).toBe('unchanged')
    expect(await tenant.lines()).toHaveLength(lines.length)
    const gone = await read(tenant, 'reader', digest)
    expect([gone.status, gone.body.code]).toEqual([410, 'envelope_erased'])
    // Nobody learns by it what he may not read.
    expect((await read(tenant, 'auditor', digest)).body.code).toBe('envelopes_not_granted')
  })

  it('that was never there is refused, and recorded', async () => {
    const answer = await erase(acme, 'admin', 'cd'.repeat(32))
    expect([answer.status, answer.body.code]).toEqual([404, 'not_found'])
    expect(answer.body.call_id).toMatch(/^call_/)
    expect((await read(acme, 'reader', 'cd'.repeat(32))).status).toBe(404)
  })

  it('is gone from the bucket, and neither a late put nor the same bytes bring it back', async () => {
    const tenant = await tenantWithReader('erase-stays')
    const asked = JSON.stringify({ ...body(readCall), request_id: undefined, timestamp: undefined })
    const digest = digestOf(asked)
    const object = testEnv.TENANT_CHAIN.getByName('erase-stays')
    await tenant.authorize('bot', asked)
    await untilMoved(tenant, digest)
    await erase(tenant, 'admin', digest)
    expect((await read(tenant, 'reader', digest)).status).toBe(410)
    await vi.waitFor(async () => {
      await runDurableObjectAlarm(object)
      expect(await isArchived(tenant, digest)).toBe(false)
    })
    // A put that was under way arrives.
    await testEnv.ENVELOPES.put(envelopePath('erase-stays', digest), asked)
    expect((await read(tenant, 'reader', digest)).status).toBe(410)
    const again = await tenant.authorize('bot', asked)
    expect(again.body.decision).toBe('allow')
    expect((await tenant.lastOutcome()).text).toContain('"envelope":"erased"')
    expect((await read(tenant, 'reader', digest)).status).toBe(410)
    // The next deletion is some minutes away.
    await runInDurableObject(object, (_: TenantChain, { storage }) => {
      storage.sql.exec("UPDATE due SET at = 1 WHERE name = 'erase'")
      return storage.setAlarm(1)
    })
    await vi.waitFor(async () => {
      await runDurableObjectAlarm(object)
      expect(await isArchived(tenant, digest)).toBe(false)
    })
  })

  it('the Chain verifies as before, and a repeat of its request is answered', async () => {
    const tenant = await tenantWithReader('erase-repeat')
    const asked = JSON.stringify(body())
    const first = await tenant.authorize('bot', asked)
    await erase(tenant, 'admin', digestOf(asked))
    const repeated = await tenant.authorize('bot', asked)
    expect(repeated.body.receipt).toEqual(first.body.receipt)
    const lines = await tenant.lines()
    expect(lines.some(({ text }) => text === first.body.receipt?.line)).toBe(true)
  })
})
