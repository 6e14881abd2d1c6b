import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bundleWorker } from '../../examples/local/authorizer.ts'
import { developmentSecrets } from '../../examples/local/secrets.ts'
import { type LocalTenant, provisionTenant, readBundleOrThrow } from '../../examples/local/tenant.ts'
import { buildCommand } from '../cli/command.ts'
import { sharedPath } from '../harness/shared.ts'
import { type System, linesOf, parseLines, readChain, run, startSystem } from './system.ts'

const verifier = fileURLToPath(new URL('../independent/verify.py', import.meta.url))
const { program: command } = buildCommand()
const calls = sharedPath('data/airline-calls.jsonl')

describe('the recorded calls of a real model, driven through a running authorizer', () => {
  let system: System
  let tenant: LocalTenant

  beforeAll(async () => {
    system = await startSystem(await bundleWorker())
    tenant = await provisionTenant(system.authorizer, developmentSecrets, {
      tenant: 'airline',
      agent: { id: 'desk', owner: 'ada', trustMax: 'semi_trusted_customer' },
      bundle: await readBundleOrThrow('policies/examples/airline'),
    })
  })

  afterAll(async () => {
    await system.stop()
  })

  test(
    '784 Calls, each with two Lines and its receipt at its position; two verifiers cover all of them',
    { timeout: 60_000 },
    async () => {
      const { url } = system.authorizer
      const args = ['try', calls, '--tool', 'airline', '--url', url, '--key', tenant.publicKey, '--json']
      const tried = await run(process.execPath, [command, ...args], { AEGIS_API_KEY: tenant.keys.agent })
      expect(tried).toMatchObject({ code: 0, stderr: '' })
      const said = JSON.parse(tried.stdout) as {
        readonly calls: readonly {
          readonly receipt: string
          readonly call_id: string
          readonly decision: string
        }[]
        readonly summary: { readonly calls: number; readonly allow: number; readonly deny: number }
        readonly unknown_tools: readonly unknown[]
      }
      expect(said.summary.calls).toBe(784)
      expect(said.unknown_tools).toEqual([])

      const chain = await readChain(url, tenant)
      const lines = linesOf(chain)
      const ofAgent = parseLines(lines).filter((line) => line.agent_id === 'desk')
      expect(ofAgent.length).toBe(2 * 784)
      for (const { receipt, call_id: callId } of said.calls) {
        const { seq } = JSON.parse(receipt) as { readonly seq: number }
        expect(lines[seq]).toBe(receipt)
        expect(ofAgent.filter((line) => line.call_id === callId).map((line) => line.line_type)).toEqual([
          'intent',
          'outcome',
        ])
      }

      const file = join(system.folder, 'airline.aarl')
      await writeFile(file, chain)
      const ours = await run(process.execPath, [command, 'verify', '--key', tenant.publicKey, file])
      const last = lines.length - 1
      expect(ours.code).toBe(3)
      expect(ours.stdout).toContain(`Indeterminate unanchored_tail at session 0 seq ${String(last)}\n`)
      expect(ours.stdout).toContain(`coverage session 0 seq ${String(last)}\n`)
      expect(await run('python3', [verifier, '--key', tenant.publicKey, file])).toMatchObject({
        code: 3,
        stdout: ours.stdout,
      })
    },
  )

  test('decides as the bundle alone does', { timeout: 60_000 }, async () => {
    const { url } = system.authorizer
    const common = ['try', calls, '--tool', 'airline', '--summary', '--json']
    const asked = await run(process.execPath, [command, ...common, '--url', url], {
      AEGIS_API_KEY: tenant.keys.agent,
    })
    const bundle = fileURLToPath(new URL('../../policies/examples/airline', import.meta.url))
    const alone = await run(process.execPath, [command, ...common, '--bundle', bundle])
    const decisions = ({ stdout }: { readonly stdout: string }) =>
      (
        JSON.parse(stdout) as {
          readonly calls: readonly { tool_id: string; decision: string; code: string }[]
        }
      ).calls.map(({ tool_id: tool, decision, code }) => `${tool} ${decision} ${code}`)
    expect(decisions(asked)).toEqual(decisions(alone))
  })

  test(
    'sealed by Calls and on demand, pulled into an empty folder, and judged by two verifiers',
    { timeout: 60_000 },
    async () => {
      const { url } = system.authorizer
      const headers = { authorization: `Bearer ${tenant.keys.admin}` }
      const sealed = await fetch(`${url}/v1/chain/seal`, { method: 'POST', headers })
      expect(sealed.status).toBe(200)
      await untilPublished(url, tenant)

      const out = join(system.folder, 'audit')
      const env = { AEGIS_API_KEY: tenant.keys.auditor }
      const args = ['pull', '--url', url, '--out', out, '--key', tenant.publicKey]
      const pulled = await run(process.execPath, [command, ...args], env)
      expect([pulled.code, pulled.stderr]).toEqual([0, ''])
      const names = (await readdir(join(out, 'segments'))).sort()
      expect(names).toEqual(['0000000000.aarl', '0000000001.aarl'])
      const files = names.map((name) => join(out, 'segments', name))

      // What he holds now is enough, without the server: whole up to the head that was kept.
      const flags = ['--key', tenant.publicKey, '--head', join(out, 'head.aarl')]
      const ours = await run(process.execPath, [command, 'verify', ...flags, ...files])
      expect(ours.code).toBe(0)
      expect(ours.stdout).toMatch(/^Verified \(pinned to [0-9a-f]{64}\)\n/)
      expect(ours.stdout).toMatch(/\ncomplete to session 1 seq \d+\n$/)
      expect(await run('python3', [verifier, ...flags, ...files])).toMatchObject({
        code: 0,
        stdout: ours.stdout,
      })
      // Each by itself is a Chain too, and has no line types but those of the published format.
      const types = new Set<string>()
      let ofAgent = 0
      for (const file of files) {
        for (const judge of [
          [process.execPath, command, 'verify'],
          ['python3', verifier],
        ]) {
          const [program = '', ...before] = judge
          const alone = await run(program, [...before, '--key', tenant.publicKey, file])
          expect(alone.stdout).toMatch(/^Verified \(pinned to /)
        }
        const lines = parseLines(linesOf(await readFile(file)))
        for (const line of lines) types.add(line.line_type)
        ofAgent += lines.filter((line) => line.line_type === 'outcome' && line.agent_id === 'desk').length
      }
      expect([...types].sort()).toEqual(['close', 'intent', 'open', 'outcome'])
      expect(ofAgent).toBe(2 * 784)
      expect(linesOf(await readFile(files[0] ?? ''))).toHaveLength(2 * 1_000 + 2)

      // Every decision again, from what was pulled and nothing else: the same, but for those whose arguments were
      // recorded as digests, which need their Envelopes.
      const recheck = ['recheck', '--policies', join(out, 'policies'), '--json', ...files]
      const rechecked = await run(process.execPath, [command, ...recheck])
      expect(rechecked.code).toBe(3)
      const rows = linesOf(Buffer.from(rechecked.stdout))
        .map((line) => JSON.parse(line) as { readonly verdict?: string; readonly reason?: string })
        .filter(({ verdict }) => verdict !== undefined)
      expect(new Set(rows.map(({ verdict, reason }) => reason ?? verdict))).toEqual(
        new Set(['unchanged', 'missing_envelope']),
      )
      // And a second pull has nothing to do.
      const again = await run(process.execPath, [command, ...args, '--json'], env)
      expect(again.code).toBe(0)
      expect(await readdir(join(out, 'segments'))).toHaveLength(2)
    },
  )

  test('keys are never arguments, and what is missing or wrong is named', { timeout: 60_000 }, async () => {
    const { url } = system.authorizer
    const args = [command, 'try', calls, '--tool', 'airline', '--url', url]
    const cases: readonly (readonly [readonly string[], Readonly<Record<string, string>>, RegExp, number])[] =
      [
        [args, { AEGIS_API_KEY: '' }, /AEGIS_API_KEY/, 1],
        [args, { AEGIS_API_KEY: 'aegis_agent_nonsense' }, /AEGIS_API_KEY: key_invalid/, 1],
        [args, { AEGIS_API_KEY: tenant.keys.auditor }, /AEGIS_API_KEY: key_invalid/, 1],
        [[...args, '--bundle', 'x'], { AEGIS_API_KEY: tenant.keys.agent }, /--bundle/, 1],
        [[...args, '--now', '2026-11-30T12:00:00Z'], { AEGIS_API_KEY: tenant.keys.agent }, /--now/, 1],
        [[...args, '--key', '0'.repeat(64)], { AEGIS_API_KEY: tenant.keys.agent }, /receipt_untrusted/, 2],
        [
          [...args.slice(0, -1), 'http://192.0.2.1:8787'],
          { AEGIS_API_KEY: tenant.keys.agent },
          /--url: url_invalid/,
          1,
        ],
        [
          [...args.slice(0, -1), 'http://127.0.0.1:9'],
          { AEGIS_API_KEY: tenant.keys.agent },
          /--url: .*network_error/,
          2,
        ],
        [[...args, '--key-file', '/nowhere'], {}, /--key-file: .*nowhere/, 2],
      ]
    for (const [argv, env, message, code] of cases) {
      const ended = await run(process.execPath, argv, env)
      expect(ended.stderr).toMatch(message)
      expect(ended.code).toBe(code)
      expect(ended.stderr).not.toContain(tenant.keys.agent)
    }
  })
})

async function untilPublished(url: string, { keys }: LocalTenant): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const headers = { authorization: `Bearer ${keys.auditor}` }
    const index = (await (await fetch(`${url}/v1/chain/segments`, { headers })).json()) as {
      readonly unpublished: { readonly sessions: number }
    }
    if (index.unpublished.sessions === 0) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('it was not published')
}
