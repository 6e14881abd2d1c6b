/** The example agent against the system, with a person who approves: what ran is what was authorized, and nothing else. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bundleWorker } from '../../examples/local/authorizer.ts'
import { developmentSecrets } from '../../examples/local/secrets.ts'
import { type LocalTenant, provisionTenant, readBundleOrThrow } from '../../examples/local/tenant.ts'
import { ended } from '../cli/command.ts'
import { type System, linesOf, parseLines, readChain, startSystem } from './system.ts'

const program = fileURLToPath(new URL('../../examples/agent/main.ts', import.meta.url))
const tsx = fileURLToPath(new URL('../../node_modules/tsx/dist/cli.mjs', import.meta.url))

describe('examples/agent', () => {
  let system: System
  let tenant: LocalTenant

  beforeAll(async () => {
    system = await startSystem(await bundleWorker())
    tenant = await provisionTenant(system.authorizer, developmentSecrets, {
      tenant: 'agents',
      agent: { id: 'desk', owner: 'ada', trustMax: 'semi_trusted_customer' },
      bundle: await readBundleOrThrow('policies/default'),
    })
  })

  afterAll(async () => {
    await system.stop()
  })

  const url = (path: string) => `${system.authorizer.url}${path}`

  async function approveFirst(): Promise<void> {
    const headers = { authorization: `Bearer ${tenant.keys.approver}`, 'content-type': 'application/json' }
    for (let attempt = 0; attempt < 300; attempt += 1) {
      const answer = await fetch(url('/v1/approvals?status=pending'), { headers })
      const { approvals } = (await answer.json()) as {
        readonly approvals: readonly { readonly approval_id: string; readonly binding_hash: string }[]
      }
      const [first] = approvals
      if (first !== undefined) {
        const body = JSON.stringify({ binding_hash: first.binding_hash })
        await fetch(url(`/v1/approvals/${first.approval_id}/approve`), { method: 'POST', headers, body })
        return
      }
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    throw new Error('nothing was asked')
  }

  test('shows allow, deny, an approval, and a swap that is of no use', { timeout: 60_000 }, async () => {
    const child = spawn(process.execPath, [tsx, program], {
      env: {
        ...process.env,
        AEGIS_URL: system.authorizer.url,
        AEGIS_API_KEY: tenant.keys.agent,
        AEGIS_PUBLIC_KEY: tenant.publicKey,
      },
    })
    const [said] = await Promise.all([ended(child), approveFirst()])
    expect([said.code, said.stderr]).toEqual([0, ''])
    expect(said.stdout).toContain('list the folder: done\n   notes.md\n')
    expect(said.stdout).toContain('read a key file: denied, policy_denied; nothing ran\n')
    expect(said.stdout).toContain(
      'fetch what the cloud tells about this machine: denied, policy_denied; nothing ran\n',
    )
    expect(said.stdout).toMatch(/npx aegis approvals approve apr_\w+ --binding [0-9a-f]{64}\n/)
    expect(said.stdout).toContain('the approval, tried for another action: 409 hash_mismatch\n')
    expect(said.stdout).toContain('write a report: done\n')
    // What was swapped while the person looked changed nothing of what ran.
    expect(said.stdout).toContain(
      'In the folder now: notes.md, report.md\nReport: The pump in hall 2 leaks.\n',
    )

    const lines = parseLines(linesOf(await readChain(system.authorizer.url, tenant)))
    const count = (what: (line: (typeof lines)[number]) => boolean) => lines.filter(what).length
    expect(count((line) => line.line_type === 'decision')).toBe(1)
    expect(count((line) => line.policy?.reason === 'hash_mismatch')).toBe(1)
    // Each tool that ran was reported: list, read, fetch, write.
    expect(count((line) => line.line_type === 'outcome' && line.tool_id === 'aegis/report')).toBe(4)
  })
})
