/**
 * Webhooks of the system as it is deployed: an admin sets one, an agent asks, the receiver of examples/ is told, and a
 * receiver that hangs or fails holds nobody up.
 */
import { type RequestListener, type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bundleWorker } from '../../examples/local/authorizer.ts'
import { developmentSecrets } from '../../examples/local/secrets.ts'
import {
  KeyHolder,
  type LocalTenant,
  provisionTenant,
  readBundleOrThrow,
} from '../../examples/local/tenant.ts'
import { type Notice, createReceiver } from '../../examples/webhook-receiver/receiver.ts'
import { policyMeans } from '../../src/cli/policy-engine.ts'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { decide } from '../../src/policy/index.ts'
import { actionHash } from '../../src/record/index.ts'
import { type System, startSystem } from './system.ts'

let system: System
let tenant: LocalTenant
let admin: KeyHolder
let agent: KeyHolder
let ask: () => Promise<Asked>
const servers: Server[] = []

interface Asked {
  readonly decision: string
  readonly ms: number
  readonly approval: {
    readonly approval_id: string
    readonly groups: readonly string[]
    readonly approve_by: string
  }
}

beforeAll(async () => {
  const bindings = { AEGIS_APPROVAL_LINK: 'https://aegis.example/approvals/{approval_id}' }
  system = await startSystem(await bundleWorker(), { bindings })
  const bundle = await readBundleOrThrow('policies/examples/github')
  tenant = await provisionTenant(system.authorizer, developmentSecrets, {
    tenant: 'hooked',
    agent: { id: 'asker', owner: 'ada', trustMax: 'trusted_internal_signed' },
    bundle,
  })
  admin = new KeyHolder(system.authorizer.url, tenant.keys.admin)
  agent = new KeyHolder(system.authorizer.url, tenant.keys.agent)
  const means = policyMeans()
  const sample = bundle.cases.find((one) => {
    const { decision } = decide({ ...one, agent: tenant.agent, policySet: bundle.policySet }, means)
    return decision === 'require_approval'
  })
  if (sample === undefined) throw new Error('no case asks for an approval')
  const { toolCall, sourceTrust } = sample.request
  ask = async () => {
    const from = performance.now()
    const answer = await agent.send('POST', '/v1/authorize', {
      request_id: crypto.randomUUID(),
      timestamp: new Date().toISOString(),
      tool_call: toolCall,
      action_hash: actionHash(toolCall, nodeSuite),
      context: { source_trust: sourceTrust },
    })
    return { ...(answer as unknown as Asked), ms: performance.now() - from }
  }
}, 120_000)

afterAll(async () => {
  for (const server of servers) {
    server.close()
    server.closeAllConnections()
  }
  await system.stop()
})

async function listen(server: Server): Promise<string> {
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/secret-path`
}

const serve = (listener: RequestListener) => listen(createServer(listener))

/** For every group that the action needs, as the admin does it. */
async function hook(groups: readonly string[], url: string | null): Promise<void> {
  const webhook = url === null ? null : { url, format: 'standard' }
  for (const group of groups) {
    await admin.send('PUT', `/v1/groups/${group}`, {
      members: ['lena@example.com', 'max@example.com'],
      webhook,
    })
  }
}

describe('a webhook', () => {
  it('is sent as soon as an agent asks, and verified with the secret that an admin reads', async () => {
    const { approval: first } = await ask()
    const groups = first.groups
    const { secret } = (await admin.send('GET', `/v1/groups/${groups[0] ?? ''}/webhook-secret`)) as {
      readonly secret?: string
    }
    const got: Notice[] = []
    const url = await listen(
      createReceiver({ secret: secret ?? '', pass: (notice) => void got.push(notice) }),
    )
    await hook(groups.slice(0, 1), url)
    const asked = await ask()
    expect(asked.decision).toBe('require_approval')
    await expect.poll(() => got, { timeout: 10_000 }).toHaveLength(1)
    const { approval_id: id, approve_by: approveBy } = asked.approval
    expect(got[0]).toEqual({
      tenant: 'hooked',
      approval_id: id,
      agent: 'asker',
      tool_id: expect.stringMatching(/^github\./) as unknown,
      approve_by: approveBy,
      link: `https://aegis.example/approvals/${id}`,
    })
    const listed = await admin.send('GET', '/v1/groups')
    expect(JSON.stringify(listed)).toContain(
      `"webhook":{"origin":"${new URL(url).origin}","format":"standard"}`,
    )
    expect(JSON.stringify(listed)).not.toContain('secret-path')
    await hook(groups, null)
  })

  it('that hangs or fails holds no decision up', async () => {
    const { approval } = await ask()
    let attempts = 0
    const hangs = await serve(() => void (attempts += 1))
    await hook(approval.groups, hangs)
    const slow = await ask()
    await expect.poll(() => attempts, { timeout: 10_000 }).toBeGreaterThan(0)
    // The alarm is waiting for the receiver now.
    const meanwhile = await Promise.all([ask(), ask(), ask()])
    for (const one of [slow, ...meanwhile]) {
      expect(one.decision).toBe('require_approval')
      expect(one.ms).toBeLessThan(3_000)
    }
    const fails = await serve((_request, response) => {
      attempts += 1
      response.writeHead(500).end()
    })
    await hook(approval.groups, fails)
    const before = attempts
    expect((await ask()).decision).toBe('require_approval')
    await expect.poll(() => attempts, { timeout: 20_000 }).toBeGreaterThan(before)
    await hook(approval.groups, null)
  }, 60_000)

  it('that fails at first is told in the end', async () => {
    const { approval } = await ask()
    const seen = new Map<string, number>()
    const url = await serve((request, response) => {
      // What failed before comes too, each under its own id.
      const id = String(request.headers['webhook-id'])
      seen.set(id, (seen.get(id) ?? 0) + 1)
      response.writeHead(seen.get(id) === 1 ? 503 : 204).end()
    })
    await hook(approval.groups.slice(0, 1), url)
    const asked = await ask()
    const id = `${asked.approval.approval_id}_${approval.groups[0] ?? ''}`
    await expect.poll(() => seen.get(id), { timeout: 30_000 }).toBe(2)
    await hook(approval.groups, null)
  }, 60_000)
})
