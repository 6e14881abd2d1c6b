import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type WorkerModules, bundleWorker } from '../../examples/local/authorizer.ts'
import { developmentSecrets } from '../../examples/local/secrets.ts'
import {
  type LocalTenant,
  addAgent,
  provisionTenant,
  readBundleOrThrow,
} from '../../examples/local/tenant.ts'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { Aegis } from '../../src/sdk/index.ts'
import { type System, linesOf, parseLines, readChain, startSystem, verifyChain } from './system.ts'

/** Answers of one agent, in the order in which they came. */
interface Answered {
  readonly agentId: string
  readonly receipts: readonly string[]
}

const agentsCount = 64

describe('64 agents at once', () => {
  let modules: WorkerModules
  let system: System

  beforeAll(async () => {
    modules = await bundleWorker()
    system = await startSystem(modules)
  })

  afterAll(async () => {
    await system.stop()
  })

  test('leave one dense Chain with every answered receipt in it, once', async () => {
    const { tenant, agents } = await manyAgents(system, 'crowd')
    const answered = await Promise.all(agents.map((agent) => ask(system, tenant, agent, 6)))
    expect(await callsHeld(system, tenant, answered)).toBe(6 * agentsCount)
  })

  test('lose nothing that was acknowledged when the runtime is ended and started again in between', async () => {
    const { tenant, agents } = await manyAgents(system, 'restarted')
    let ended = false
    const answering = Promise.all(agents.map((agent) => ask(system, tenant, agent, 6))).finally(() => {
      ended = true
    })
    let restarts = 0
    while (!ended && restarts < 3) {
      await new Promise((resolve) => setTimeout(resolve, 250))
      await system.restart()
      restarts += 1
    }
    const answered = await answering
    expect(restarts).toBeGreaterThan(0)
    expect(await callsHeld(system, tenant, answered)).toBe(6 * agentsCount)
  })

  test('of two tenants never meet', async () => {
    const [first, second] = await Promise.all([
      manyAgents(system, 'north', 8),
      manyAgents(system, 'south', 8),
    ])
    const both = [first, second].flatMap(({ tenant, agents }) =>
      agents.map((agent) => ask(system, tenant, agent, 4)),
    )
    const answered = await Promise.all(both)
    expect(await callsHeld(system, first.tenant, answered.slice(0, 8))).toBe(32)
    expect(await callsHeld(system, second.tenant, answered.slice(8))).toBe(32)
    for (const { tenant } of [first, second]) {
      const other = tenant.tenant === 'north' ? 'south' : 'north'
      expect(Buffer.from(await readChain(system.authorizer.url, tenant)).includes(other)).toBe(false)
    }
  })
})

interface Agent {
  readonly id: string
  readonly key: string
}

async function manyAgents(
  { authorizer }: System,
  name: string,
  count = agentsCount,
): Promise<{ readonly tenant: LocalTenant; readonly agents: readonly Agent[] }> {
  const agent = { id: `${name}-0`, owner: `owner-of-${name}`, trustMax: 'trusted_internal_signed' as const }
  const bundle = await readBundleOrThrow('policies/examples/github')
  const tenant = await provisionTenant(authorizer, developmentSecrets, { tenant: name, agent, bundle })
  const agents: Agent[] = [{ id: agent.id, key: tenant.keys.agent }]
  for (let at = 1; at < count; at += 1) {
    const more = { ...agent, id: `${name}-${String(at)}` }
    const { key } = await addAgent(authorizer, tenant, more)
    agents.push({ id: more.id, key })
  }
  return { tenant, agents }
}

/** Reads and writes in turn, so that allowed and denied Calls mix. */
async function ask(system: System, tenant: LocalTenant, agent: Agent, calls: number): Promise<Answered> {
  const aegis = new Aegis({
    url: system.authorizer.url,
    key: agent.key,
    agentId: agent.id,
    suite: nodeSuite,
    verify: { keys: [tenant.publicKey] },
    timeoutMs: 60_000,
    attemptTimeoutMs: 20_000,
    attemptsMax: 10,
  })
  const receipts: string[] = []
  for (let at = 0; at < calls; at += 1) {
    const parameters = { owner: 'acme', repo: 'widgets', issue_number: at, body: 'text' }
    const action = at % 2 === 0 ? 'get_issue' : 'add_issue_comment'
    const answer = await aegis.authorize(
      { tool: 'github', action, resource: 'repo:acme/widgets', mutates: at % 2 === 1, parameters },
      {
        context: {
          sourceTrust: at % 3 === 0 ? 'untrusted_external' : 'trusted_internal_signed',
          containsSensitiveData: false,
        },
      },
    )
    receipts.push(answer.receipt.line)
  }
  return { agentId: agent.id, receipts }
}

/** Holds the Chain against every answer, and says how many Calls of agents are in it. */
async function callsHeld(
  system: System,
  tenant: LocalTenant,
  answered: readonly Answered[],
): Promise<number> {
  const bytes = await readChain(system.authorizer.url, tenant)
  const report = verifyChain(bytes, tenant.publicKey)
  const lines = linesOf(bytes)
  expect(report).toMatchObject({ verdict: 'indeterminate', finding: { reason: 'unanchored_tail' } })
  expect(report.coverage?.seq).toBe(lines.length - 1)
  const read = parseLines(lines)
  expect(read.map(({ seq }) => seq)).toEqual(lines.map((_, at) => at))
  for (const { receipts } of answered) {
    for (const receipt of receipts) {
      const { seq } = JSON.parse(receipt) as { seq: number }
      expect(lines[seq]).toBe(receipt)
    }
  }
  const receipts = answered.flatMap((one) => one.receipts)
  expect(new Set(receipts).size).toBe(receipts.length)
  // With the receipts all different, as many Calls as receipts: a retried request was written once.
  return read.filter((line) => line.line_type === 'outcome' && line.agent_id !== undefined).length
}
