/**
 * The fence over HTTP (authorize.md §3 step 8): once a freeze, a revocation or an activation has been answered, no
 * request that starts later is decided under the old state, however warm this Worker's memory is.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import worker from '../../../src/worker.ts'
import { testEnv } from '../durable-objects/object.ts'
import { type Authorizer, body, origin, provisionAuthorizer, readCall, toAnswer } from './authorizer.ts'

const code = async (acme: Authorizer, agent = 'bot') => {
  const answer = await acme.authorize(agent, body())
  return answer.body.reason?.code ?? answer.body.code
}

describe('after the answer to', () => {
  it('a freeze of the agent, its lifting, and its revocation', async () => {
    const acme = await provisionAuthorizer('fence-agent')
    expect(await code(acme)).toBe('permitted')
    await acme.do({ act: 'agent.freeze', agentId: 'bot' })
    expect(await code(acme)).toBe('agent_frozen')
    await acme.do({ act: 'agent.unfreeze', agentId: 'bot' })
    expect(await code(acme)).toBe('permitted')
    await acme.do({ act: 'agent.revoke', agentId: 'bot' })
    expect(await code(acme)).toBe('agent_revoked')
  })

  it('a freeze of the tenant, and of one tool', async () => {
    const acme = await provisionAuthorizer('fence-tenant')
    await code(acme)
    await acme.do({ act: 'tenant.freeze' })
    expect(await code(acme)).toBe('tenant_frozen')
    await acme.do({ act: 'tenant.unfreeze' })
    await acme.do({ act: 'tool.freeze', toolId: 'github.merge_pr' })
    expect(await code(acme)).toBe('tool_frozen')
    expect((await acme.authorize('bot', body(readCall))).body.decision).toBe('allow')
  })

  it('an activation: the very next request is decided under the new set, and says so', async () => {
    const acme = await provisionAuthorizer('fence-policy')
    expect(await code(acme)).toBe('permitted')
    const stricter = await acme.activate({ policies: '@id("stop") forbid(principal, action, resource);' })
    expect(await code(acme)).toBe('policy_denied')
    expect((await acme.lastOutcome()).policy_set_hash).toBe(stricter.policySetHash)
  })

  it('a change of the agent’s record', async () => {
    const acme = await provisionAuthorizer('fence-record')
    expect(await code(acme)).toBe('permitted')
    const fields = {
      id: 'bot',
      environment: 'production',
      owner: 'o@example.com',
      riskTier: 'standard',
      trustMax: 'trusted_internal_signed',
      roles: ['coder'],
    }
    await acme.do({ act: 'agent.change', agent: { ...fields, forceApproval: true } })
    expect(await code(acme)).toBe('force_approval')
  })

  it('any run of such acts, with requests in between (property)', async () => {
    const acme = await provisionAuthorizer('fence-property')
    const open = await acme.activate()
    const shut = await acme.activate({ policies: '@id("stop") forbid(principal, action, resource);' })
    await acme.activateHash(open)
    const state = { frozenTenant: false, frozenAgent: false, frozenTool: false, shut: false }
    const expected = () => {
      if (state.frozenTenant) return 'tenant_frozen'
      if (state.frozenAgent) return 'agent_frozen'
      if (state.frozenTool) return 'tool_frozen'
      return state.shut ? 'policy_denied' : 'permitted'
    }
    const step = fc.record({
      what: fc.constantFrom('tenant', 'agent', 'tool', 'policy'),
      on: fc.boolean(),
      warm: fc.nat(2),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 6 }), async (steps) => {
        for (const { what, on, warm } of steps) {
          await Promise.all(Array.from({ length: warm }, () => code(acme)))
          if (what === 'tenant') {
            await acme.do({ act: on ? 'tenant.freeze' : 'tenant.unfreeze' })
            state.frozenTenant = on
          } else if (what === 'agent') {
            await acme.do({ act: on ? 'agent.freeze' : 'agent.unfreeze', agentId: 'bot' })
            state.frozenAgent = on
          } else if (what === 'tool') {
            await acme.do({ act: on ? 'tool.freeze' : 'tool.unfreeze', toolId: 'github.merge_pr' })
            state.frozenTool = on
          } else {
            await acme.activateHash(on ? shut : open)
            state.shut = on
          }
          const seen = await Promise.all([code(acme), code(acme)])
          expect(seen).toEqual([expected(), expected()])
        }
      }),
      { numRuns: 8 },
    )
    await acme.lines()
  }, 30_000)
})

describe('stale', () => {
  /** The Worker with an object that is asked through `admit`. */
  function through(
    acme: Authorizer,
    admit: (calls: number, really: () => Promise<unknown>) => Promise<unknown>,
  ) {
    let calls = 0
    const env = {
      ...testEnv,
      TENANT_CHAIN: {
        getByName: () => ({
          resolve: (keyId: string) => acme.rpc.resolve(keyId),
          admit: (draft: Parameters<typeof acme.rpc.admit>[0]) => {
            calls += 1
            return admit(calls, () => acme.rpc.admit(draft))
          },
        }),
      },
    }
    const send = async () => {
      const init = { method: 'POST', headers: acme.headers('bot'), body: JSON.stringify(body()) }
      return toAnswer(await worker.fetch(new Request(`${origin}/v1/authorize`, init), env))
    }
    return { send, calls: () => calls }
  }

  it('is decided again, twice at most, and then is a 503 that allowed nothing', async () => {
    const acme = await provisionAuthorizer('fence-restless')
    // Before each admission the tenant really changes.
    const restless = through(acme, async (_, really) => {
      await acme.do({ act: 'tool.freeze', toolId: 'x.y' })
      return really()
    })
    const answer = await restless.send()
    expect([answer.status, answer.body.code]).toEqual([503, 'still_stale'])
    expect(answer.headers.get('retry-after')).toBe('1')
    expect(restless.calls()).toBe(3)
    const lines = await acme.lines()
    expect(lines.some(({ agent_id }) => agent_id === 'bot')).toBe(false)
  })

  it('twice is still an answer', async () => {
    const acme = await provisionAuthorizer('fence-twice')
    const restless = through(acme, async (calls, really) => {
      if (calls <= 2) await acme.do({ act: 'tool.freeze', toolId: 'x.y' })
      return really()
    })
    expect((await restless.send()).body.decision).toBe('allow')
    expect(restless.calls()).toBe(3)
  })

  it('an object that fails is a 503, and so is one that cannot be asked', async () => {
    const acme = await provisionAuthorizer('fence-failing')
    const failing = through(acme, () => Promise.resolve({ kind: 'unavailable', code: 'storage_failed' }))
    const answer = await failing.send()
    expect([answer.status, answer.body.code]).toEqual([503, 'unavailable'])
    const reset = through(acme, () =>
      Promise.reject(Object.assign(new Error('reset because its code was updated'), { remote: true })),
    )
    const unreachable = await reset.send()
    expect([unreachable.status, unreachable.body.code]).toEqual([503, 'unavailable'])
    expect(unreachable.text).not.toContain('code was updated')
    const broken = through(acme, () => Promise.reject(new Error('/some/path/in/a/stack.ts:1')))
    const fault = await broken.send()
    expect([fault.status, fault.body.code]).toEqual([500, 'internal_error'])
    expect(fault.text).not.toContain('stack')
  })
})
