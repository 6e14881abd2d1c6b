/**
 * Objects of earlier versions under this code: fixtures that the code of each version wrote itself (table-dump.ts says how)
 * are opened by every migration since, and their Chains go on.
 */
import { runDurableObjectAlarm } from 'cloudflare:test'
import { describe, expect, it } from 'vitest'
import { createTables, migrate, migrations, readSchemaVersion } from '../../../durable-objects/migrations.ts'
import { segmentPath } from '../../../src/archive/paths.ts'
import { nodeSuite } from '../../../src/crypto-node/index.ts'
import { Walk } from '../../../src/verify/index.ts'
import { outcomesOf } from '../../harness/follower.ts'
import { publicKeyOfEpoch } from '../../harness/memory-tenant.ts'
import version1 from './fixtures/version-1.sql?raw'
import { ObjectUnderTest, testEnv } from './object.ts'
import { dumpTables, loadTables } from './table-dump.ts'

const fixtures = [{ version: 1, text: version1 }] as const

/** What is made, without the tables of ids, which differ with the day. */
function shapeOf(sql: SqlStorage): string[] {
  return dumpTables(sql)
    .split('\n')
    .filter((line) => line.startsWith('CREATE ') && !/^CREATE TABLE (request_ids|nonces|grants)_/.test(line))
}

describe('the tables of every version but the current one', () => {
  it('are a fixture', () => {
    expect(fixtures.map(({ version }) => version)).toEqual(
      migrations.slice(0, -1).map(({ version }) => version),
    )
  })

  it.each(fixtures)('version $version is what its code says, text and back', async ({ version, text }) => {
    const object = new ObjectUnderTest(`dump-${String(version)}`)
    await object.inside(({ storage }) => {
      loadTables(storage, text)
      expect(readSchemaVersion(storage.sql)).toBe(version)
      expect(dumpTables(storage.sql)).toBe(text)
    })
  })

  it.each(fixtures)('version $version is opened by each migration since', async ({ version, text }) => {
    const fresh = new ObjectUnderTest(`fresh-${String(version)}`)
    const wanted = await fresh.inside(({ storage }) => {
      createTables(storage.sql)
      return shapeOf(storage.sql)
    })
    const object = new ObjectUnderTest(`steps-${String(version)}`)
    await object.inside(({ storage }) => {
      loadTables(storage, text)
      for (const { version: next } of migrations.filter((step) => step.version > version)) {
        expect(migrate(storage, migrations.slice(0, next))).toEqual({ kind: 'current' })
        expect(readSchemaVersion(storage.sql)).toBe(next)
      }
      expect(shapeOf(storage.sql)).toEqual(wanted)
    })
  })
})

describe('an object of version 1', () => {
  it('goes on: keys, freezes, groups and the Chain, which verifies from its first Line to its last', async () => {
    const object = new ObjectUnderTest('of-version-1')
    await object.inside(({ storage }) => {
      loadTables(storage, version1)
    })
    const seen = await object.rpc.overview()
    if (seen.kind !== 'overview') throw new Error(seen.kind)
    object.revision = seen.revision
    expect(seen).toMatchObject({ frozen: false, keyEpoch: 0, admins: 1, handedOver: true })

    expect((await object.admit('bot', { requestId: 'new' })).kind).toBe('admitted')
    const refused = await object.admit('ice')
    expect('line' in refused && refused.line).toContain('"reason":"agent_frozen"')
    const toolId = 'bank.pay'
    const frozen = await object.admit('bot', { evaluation: { toolId } })
    expect('line' in frozen && frozen.line).toContain('"reason":"tool_frozen"')

    // Keys of version 1 say nothing of a confirmation: they are good. The revoked one is not.
    expect((await object.do({ act: 'tool.unfreeze', toolId }, 'adm')).kind).toBe('done')
    expect((await object.do({ act: 'tool.freeze', toolId }, 'old')).kind).toBe('unauthorized')
    const keys = await object.rpc.apiKeys('aud', '')
    expect(keys.kind === 'list' && keys.entries.map(({ id, confirmed }) => [id, confirmed])).toEqual(
      ['adm', 'aud', 'bot', 'ice', 'lena', 'old'].map((id) => [id, true]),
    )
    const agents = await object.rpc.agents('adm', '')
    expect(agents.kind === 'list' && agents.entries).toMatchObject([
      { id: 'bot', frozen: false, lastCallAt: expect.any(Number) as number },
      { id: 'gone', revoked: true },
      { id: 'ice', frozen: true },
    ])
    expect(await object.rpc.groups('adm', '')).toMatchObject({
      entries: [{ name: 'leads', members: ['lars@example.com', 'lena@example.com'] }],
    })
    // What waited for people then could never be decided: it is gone, and counts against nobody.
    expect(await object.rpc.approvals('lena', { after: '' })).toMatchObject({ approvals: [] })

    const sealed = await object.do({ act: 'chain.seal' }, 'adm')
    expect(['done', 'unchanged']).toContain(sealed.kind)
    const chain = await publishedChain(object)
    const walk = new Walk({
      digester: nodeSuite,
      check: ({ publicKey, message, signature }) => nodeSuite.verify(publicKey, message, signature),
      pins: [{ publicKey: publicKeyOfEpoch('of-version-1', 0) }],
    })
    walk.push(chain)
    expect(walk.end().verdict).toBe('verified')
    const outcomes = outcomesOf(chain, { administrative: true })
    expect(outcomes[0]?.tool_id).toBe('aegis/tenant.create')
    expect(outcomes.some(({ tool_id: tool }) => tool === 'aegis/chain.seal')).toBe(sealed.kind === 'done')
  })

  it('is not touched by code that is older than its tables', async () => {
    const object = new ObjectUnderTest('of-a-later-version')
    await object.inside(({ storage }) => {
      loadTables(storage, version1)
      storage.sql.exec('UPDATE schema SET version = 99')
      const before = dumpTables(storage.sql)
      expect(migrate(storage)).toEqual({ kind: 'newer', version: 99 })
      expect(dumpTables(storage.sql)).toBe(before)
    })
    expect(await object.rpc.overview()).toEqual({ kind: 'unavailable', code: 'schema_newer' })
    expect(await object.admit('bot')).toEqual({ kind: 'unavailable', code: 'schema_newer' })
  })
})

/** Everything that was sealed, once the archive has all of it. */
async function publishedChain(object: ObjectUnderTest): Promise<Uint8Array> {
  for (let attempt = 0; attempt < 50; attempt += 1) {
    await runDurableObjectAlarm(object.stub)
    const index = await object.rpc.segments('aud', -1)
    if (index.kind !== 'index') throw new Error(index.kind)
    if (index.waiting > 0) continue
    const parts = await Promise.all(
      index.segments.map(async ({ sessionIndex }) => {
        const stored = await testEnv.CHAIN.get(segmentPath(object.tenant, sessionIndex))
        return new Uint8Array((await stored?.arrayBuffer()) ?? new ArrayBuffer(0))
      }),
    )
    return new Uint8Array(Buffer.concat(parts))
  }
  throw new Error('it was not published')
}
