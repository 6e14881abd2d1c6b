import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bundleWorker } from '../../examples/local/authorizer.ts'
import { developmentSecrets } from '../../examples/local/secrets.ts'
import { KeyHolder, type LocalTenant, addAgent, provisionTenant } from '../../examples/local/tenant.ts'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { type Bundle, readBundle } from '../../src/policy/index.ts'
import { policyMeans } from '../../src/cli/policy-engine.ts'
import { readBundleFolder } from '../../src/cli/bundle-folder.ts'
import { actionHash, canonicalText, utf8 } from '../../src/record/index.ts'
import { type ReadLine, type System, readChain, startSystem, verifyChain } from './system.ts'

/** The example for a code host, without the limits that a loop of requests would run into. */
async function variant(grantTtlMs: number): Promise<Bundle> {
  const settings = {
    agent_rate_per_s: 5_000,
    agent_burst: 20_000,
    tenant_rate_per_s: 5_000,
    tenant_burst: 20_000,
    refused_calls_per_minute: 6_000,
    grant_ttl_ms: grantTtlMs,
    approver_groups: { maintainers: { quorum: 1 }, releasers: { quorum: 2 }, security: { quorum: 1 } },
    default_group: 'maintainers',
  }
  const files = new Map(await readBundleFolder('policies/examples/github'))
  files.set('settings.json', utf8(JSON.stringify(settings)))
  const { bundle, findings } = readBundle(files, policyMeans())
  if (bundle === undefined) throw new Error(JSON.stringify(findings))
  return bundle
}

/**
 * Two Workers with the same code bound to one object stand for two isolates. Whatever either has cached: once an act was
 * answered, no request that starts later is decided under the state before it.
 */
describe('the fence between two isolates', () => {
  let system: System
  let tenant: LocalTenant
  let admin: KeyHolder
  const bundles: { readonly hash: string }[] = []

  beforeAll(async () => {
    system = await startSystem(await bundleWorker(), { twin: true })
    const agent = { id: 'fenced', owner: 'ada', trustMax: 'trusted_internal_signed' as const }
    const [github, other] = [await variant(30_000), await variant(40_000)]
    tenant = await provisionTenant(system.authorizer, developmentSecrets, {
      tenant: 'fence',
      agent,
      bundle: github,
    })
    admin = new KeyHolder(system.authorizer.url, tenant.keys.admin)
    await admin.send('POST', '/v1/policies', other.objectBytes)
    bundles.push({ hash: github.policySet.policySetHash }, { hash: other.policySet.policySetHash })
  })

  afterAll(async () => {
    await system.stop()
  })

  const isolates = ['main', 'twin'] as const
  type Isolate = (typeof isolates)[number]

  async function ask(
    isolate: Isolate,
    key: string,
  ): Promise<{ readonly status: number; readonly line?: ReadLine }> {
    const toolCall = {
      tool: 'github',
      action: 'get_issue',
      resource: null,
      mutates_state: false,
      parameters: { owner: 'acme', repo: 'widgets', issue_number: 1 },
    }
    const init = {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: canonicalText({
        tool_call: toolCall,
        action_hash: actionHash(toolCall, nodeSuite),
        context: { source_trust: 'trusted_internal_signed' },
      }),
    }
    const answer =
      isolate === 'main'
        ? await fetch(`${system.authorizer.url}/v1/authorize`, init)
        : await system.authorizer.fetchTwin('/v1/authorize', init)
    const body = (await answer.json()) as { receipt?: { line: string } }
    if (body.receipt === undefined) return { status: answer.status }
    return { status: answer.status, line: JSON.parse(body.receipt.line) as ReadLine }
  }

  /** Requests on both isolates before, during and after an act; only those that start after its answer are judged. */
  async function around(
    act: () => Promise<unknown>,
    key: string,
  ): Promise<readonly Awaited<ReturnType<typeof ask>>[]> {
    await Promise.all(isolates.map((isolate) => ask(isolate, key)))
    let acted = false
    const before = isolates.map(async (isolate) => {
      while (!acted) await ask(isolate, key)
    })
    await act()
    const after = await Promise.all(
      [...isolates, ...isolates, ...isolates].map((isolate) => ask(isolate, key)),
    )
    acted = true
    await Promise.all(before)
    return after
  }

  const act = fc.constantFrom(
    'freeze',
    'unfreeze',
    'first set',
    'second set',
    'freeze tool',
    'unfreeze tool' as const,
  )

  test('holds for freezes and activations in any order', async () => {
    const state = { frozen: false, toolFrozen: false, hash: bundles[0]?.hash ?? '' }
    await fc.assert(
      fc.asyncProperty(fc.array(act, { minLength: 2, maxLength: 5 }), async (acts) => {
        for (const name of acts) {
          const judged = await around(async () => {
            switch (name) {
              case 'freeze':
              case 'unfreeze':
                state.frozen = name === 'freeze'
                return admin.send('POST', `/v1/agents/fenced/${name}`)
              case 'freeze tool':
              case 'unfreeze tool':
                state.toolFrozen = name === 'freeze tool'
                return admin.send(
                  'POST',
                  `/v1/tools/github.get_issue/${state.toolFrozen ? 'freeze' : 'unfreeze'}`,
                )
              default:
                state.hash = bundles[name === 'first set' ? 0 : 1]?.hash ?? ''
                return admin.send('POST', `/v1/policies/${state.hash}/activate`)
            }
          }, tenant.keys.agent)
          const reason = state.frozen ? 'agent_frozen' : state.toolFrozen ? 'tool_frozen' : 'none'
          for (const { status, line } of judged) {
            const got = { status, hash: line?.policy_set_hash, reason: line?.policy?.reason ?? 'none' }
            expect(got).toEqual({ status: 200, hash: state.hash, reason })
          }
        }
      }),
      { numRuns: 6, endOnFailure: true },
    )
  })

  test('holds for a key that is revoked and for an agent that is', async () => {
    for (const round of [0, 1, 2]) {
      const agent = {
        id: `short-${String(round)}`,
        owner: 'ada',
        trustMax: 'trusted_internal_signed' as const,
      }
      const { key, keyId } = await addAgent(system.authorizer, tenant, agent)
      const revoked = await around(() => admin.send('POST', `/v1/keys/${keyId}/revoke`), key)
      expect(revoked.map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => 401))
      const other = { ...agent, id: `gone-${String(round)}` }
      const second = await addAgent(system.authorizer, tenant, other)
      const gone = await around(() => admin.send('POST', `/v1/agents/${other.id}/revoke`), second.key)
      for (const { line } of gone) expect(line?.policy?.reason).toBe('agent_revoked')
    }
  })

  test('leaves a Chain that verifies', async () => {
    const report = verifyChain(await readChain(system.authorizer.url, tenant), tenant.publicKey)
    expect(report).toMatchObject({ verdict: 'indeterminate', finding: { reason: 'unanchored_tail' } })
  })
})
