/** Nothing is signed by a default key: a deployment whose seed or name is missing or another answers nothing. */
import { describe, expect, it, vi } from 'vitest'
import { TenantChain, type TenantChainEnv } from '../../../durable-objects/tenant-chain.ts'
import { utf8 } from '../../../src/record/index.ts'
import { act } from '../../harness/drafts.ts'
import { ObjectUnderTest, provision, testEnv } from './object.ts'

const notConfigured = { kind: 'unavailable', code: 'not_configured' }

/** The same object under another environment. */
function underEnv<T>(
  object: ObjectUnderTest,
  env: Partial<TenantChainEnv>,
  work: (chain: TenantChain) => Promise<T>,
): Promise<T> {
  return object.inside((state) =>
    work(new TenantChain(state, { CHAIN: testEnv.CHAIN, ENVELOPES: testEnv.ENVELOPES, ...env })),
  )
}

describe('without its configuration', () => {
  it.each([
    ['AEGIS_SEED', { AEGIS_DEPLOYMENT: 'test' }],
    ['AEGIS_SEED', { AEGIS_DEPLOYMENT: 'test', AEGIS_SEED: '' }],
    ['AEGIS_SEED', { AEGIS_DEPLOYMENT: 'test', AEGIS_SEED: '0:ab' }],
    ['AEGIS_DEPLOYMENT', { AEGIS_SEED: testEnv.AEGIS_SEED }],
  ])(
    '%s: every method is unavailable, makes no table, and the log names the binding once',
    async (name, env) => {
      const printed = vi.spyOn(console, 'error').mockReturnValue(undefined)
      const object = new ObjectUnderTest('unconfigured')
      const request = { request: utf8('{}'), requestDigest: 'ab'.repeat(32) as never }
      await underEnv(object, env, async (chain) => {
        expect(await chain.create({ tenant: 'unconfigured', ...request })).toEqual(notConfigured)
        expect(await chain.resolve('bot')).toEqual(notConfigured)
        expect(await chain.admit(object.draft('bot'))).toEqual(notConfigured)
        expect(await chain.live('aud')).toEqual(notConfigured)
      })
      expect(printed).toHaveBeenCalledTimes(1)
      const text = String(printed.mock.calls[0]?.[0])
      expect(JSON.parse(text)).toMatchObject({ what: 'not_configured', binding: name })
      expect(text).not.toContain('0:ab')
      printed.mockRestore()
      const tables = await object.inside(({ storage }) =>
        storage.sql.exec('SELECT name FROM sqlite_schema').toArray(),
      )
      expect(tables).toEqual([])
    },
  )

  it.each([
    ['its seed is gone', { AEGIS_SEED: `1:${'08'.repeat(32)}`, AEGIS_DEPLOYMENT: 'test' }],
    ['it is another deployment', { AEGIS_SEED: testEnv.AEGIS_SEED, AEGIS_DEPLOYMENT: 'staging' }],
  ])('an existing tenant takes no Line when %s', async (why, env) => {
    const printed = vi.spyOn(console, 'error').mockReturnValue(undefined)
    const object = await provision(why.replaceAll(' ', '-'))
    const before = await object.verified()
    await underEnv(object, env, async (chain) => {
      expect(await chain.admit(object.draft('bot'))).toEqual(notConfigured)
      expect(await chain.administer(act({ act: 'tenant.freeze' }))).toEqual(notConfigured)
    })
    printed.mockRestore()
    expect(await object.verified()).toEqual(before)
  })

  it('a further seed changes nothing for a tenant made under the first', async () => {
    const object = await provision('two-seeds')
    const env = { AEGIS_SEED: `${testEnv.AEGIS_SEED},1:${'08'.repeat(32)}`, AEGIS_DEPLOYMENT: 'test' }
    await underEnv(object, env, async (chain) => {
      expect((await chain.admit(object.draft('bot'))).kind).toBe('admitted')
    })
    await object.verified()
  })
})
