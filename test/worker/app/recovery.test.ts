/** The operator's part of continuity over HTTP: a tenant behind its archive, recovered, frozen, and unfrozen. */
import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import * as v from 'valibot'
import { describe, expect, it, vi } from 'vitest'
import type { TenantChain } from '../../../durable-objects/tenant-chain.ts'
import { headPath } from '../../../src/archive/paths.ts'
import { publicKeysSchema } from '../../../src/protocol/index.ts'
import { testEnv } from '../durable-objects/object.ts'
import { dumpTables, loadTables } from '../durable-objects/table-dump.ts'
import { type Answer, send } from './authorizer.ts'
import { NewTenant, ask, decisionOf, operatorKey } from './operator.ts'

const operator = (tenant: string, act: string, key = operatorKey): Promise<Answer> =>
  ask(key, 'POST', `/v1/tenants/${tenant}/${act}`)

async function publish(tenant: NewTenant, auditor: string): Promise<void> {
  const sealed = await ask(tenant.admin, 'POST', '/v1/chain/seal')
  if (sealed.status !== 200) throw new Error(sealed.text)
  await vi.waitFor(async () => {
    await runDurableObjectAlarm(testEnv.TENANT_CHAIN.getByName(tenant.tenant))
    const index = await ask(auditor, 'GET', '/v1/chain/segments')
    expect(index.body).toMatchObject({ unpublished: { sessions: 0 } })
  })
}

function inside<T>(tenant: string, work: (state: DurableObjectState) => T): Promise<T> {
  const stub = testEnv.TENANT_CHAIN.getByName(tenant)
  return runInDurableObject(stub, (_: TenantChain, state) => work(state))
}

async function takeBack(tenant: string, past: string): Promise<void> {
  await inside(tenant, ({ storage }) => {
    const tables = storage.sql
      .exec<{ name: string }>(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB '_cf_*' AND name NOT GLOB 'sqlite_*'",
      )
      .toArray()
    for (const { name } of tables) storage.sql.exec(`DROP TABLE ${name}`)
    loadTables(storage, past)
  })
  const lost = inside(tenant, (state) => {
    state.abort('restored by a test')
  })
  await lost.catch(() => undefined)
}

describe('a tenant that was restored from the past', () => {
  it('answers 503 to everyone until the operator recovers it; then it is frozen, under a key that is made public', async () => {
    const printed = vi.spyOn(console, 'error').mockReturnValue(undefined)
    const tenant = await NewTenant.create('recover-http')
    const bot = await tenant.agent('bot')
    const auditor = await tenant.key('auditor')
    await publish(tenant, auditor)
    const past = await inside('recover-http', ({ storage }) => dumpTables(storage.sql))
    await decisionOf(bot)
    await publish(tenant, auditor)
    const segment = await ask(auditor, 'GET', '/v1/chain/segments/1')
    await takeBack('recover-http', past)

    expect(await decisionOf(bot)).toBe('503 behind_archive')
    for (const [key, method, path] of [
      [auditor, 'GET', '/v1/chain/segments'],
      [auditor, 'GET', '/v1/chain/segments/0'],
      [auditor, 'GET', '/v1/chain/head'],
      [tenant.admin, 'POST', '/v1/chain/seal'],
      [tenant.admin, 'POST', '/v1/freeze'],
      [operatorKey, 'POST', '/v1/tenants/recover-http/freeze'],
    ] as const) {
      const answer = await ask(key, method, path)
      expect([path, answer.status, answer.body.code]).toEqual([path, 503, 'behind_archive'])
    }
    // Nobody but the operator recovers.
    for (const key of [tenant.admin, bot, auditor]) {
      expect([400, 401, 403]).toContain((await operator('recover-http', 'recover', key)).status)
    }
    const recovered = await operator('recover-http', 'recover')
    expect([recovered.status, recovered.body['outcome']]).toEqual([200, 'done'])
    const line = JSON.parse(recovered.body.receipt?.line ?? '') as Record<string, unknown>
    expect(line).toMatchObject({ tool_id: 'aegis/tenant.recover', session_index: 2 })

    expect(await decisionOf(bot)).toBe('deny tenant_frozen')
    const shown = await ask(operatorKey, 'GET', '/v1/tenants/recover-http')
    expect(shown.body).toMatchObject({ frozen: true, key_epoch: 1 })
    const { keys } = v.parse(publicKeysSchema, (await send('/v1/keys/recover-http')).body)
    expect(keys.map((key) => [key.first_session, key.last_session])).toEqual([
      [0, 1],
      [2, undefined],
    ])
    expect(line['key_id']).toBe(keys[1]?.key_id)
    // An admin froze nothing and unfreezes nothing.
    expect((await operator('recover-http', 'unfreeze', tenant.admin)).status).not.toBe(200)
    expect((await operator('recover-http', 'unfreeze')).status).toBe(200)
    expect(await decisionOf(bot)).not.toContain('frozen')
    expect((await ask(auditor, 'GET', '/v1/chain/segments/1')).text).toBe(segment.text)
    const again = await operator('recover-http', 'recover')
    expect([again.status, again.body.code]).toEqual([409, 'not_behind'])
    printed.mockRestore()
  })

  it('over an archive that no key of it signed is told so, and stays as it is', async () => {
    const printed = vi.spyOn(console, 'error').mockReturnValue(undefined)
    const tenant = await NewTenant.create('recover-foreign')
    const auditor = await tenant.key('auditor')
    await publish(tenant, auditor)
    await testEnv.CHAIN.put(headPath('recover-foreign'), 'nothing\n')
    const lost = inside('recover-foreign', (state) => {
      state.abort('lost by a test')
    })
    await lost.catch(() => undefined)
    const refused = await operator('recover-foreign', 'recover')
    expect([refused.status, refused.body.code, refused.body.call_id]).toEqual([
      409,
      'archive_not_ours',
      undefined,
    ])
    printed.mockRestore()
  })

  it('that never was is not there', async () => {
    for (const act of ['recover', 'freeze', 'unfreeze']) {
      expect([act, (await operator('recover-nobody', act)).status]).toEqual([act, 404])
    }
  })
})

describe('a frozen tenant', () => {
  it('is frozen by its admin or the operator, and unfrozen by the operator alone', async () => {
    const tenant = await NewTenant.create('freeze-http')
    const bot = await tenant.agent('bot')
    const before = await decisionOf(bot)
    expect((await ask(tenant.admin, 'POST', '/v1/freeze')).status).toBe(200)
    expect(await decisionOf(bot)).toBe('deny tenant_frozen')
    expect((await operator('freeze-http', 'unfreeze')).status).toBe(200)
    expect(await decisionOf(bot)).toBe(before)
    expect((await operator('freeze-http', 'freeze')).status).toBe(200)
    expect(await decisionOf(bot)).toBe('deny tenant_frozen')
  })
})
