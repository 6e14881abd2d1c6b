/**
 * `npm run bench -- calls`: what `aegis calls` costs over 50,000 Calls of one tenant, most of them published: the last
 * hundred, a scan that finds nothing, and every one of them; over HTTP alone, and as the command with its start and its
 * memory. Everything is removed afterwards.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundleWorker, startAuthorizer } from '../examples/local/authorizer.ts'
import { developmentSecrets } from '../examples/local/secrets.ts'
import { provisionTenant } from '../examples/local/tenant.ts'
import { authorizeRequests, bundleOf } from './authorize.ts'
import { program, runCommand } from './command-run.ts'
import { runLoad } from './load.ts'
import type { BenchOptions } from './options.ts'

const rounds = 5

export async function benchCalls({ quick }: BenchOptions): Promise<readonly string[]> {
  if (!existsSync(program)) throw new Error('the command is not built: npm run build')
  const wanted = quick ? 1_000 : 50_000
  const folder = await mkdtemp(join(tmpdir(), 'aegis-bench-'))
  const authorizer = await startAuthorizer({
    stateFolder: folder,
    port: 0,
    secrets: developmentSecrets,
    modules: await bundleWorker(),
  })
  try {
    const agent = { id: 'bench', owner: 'bench', trustMax: 'trusted_internal_signed' as const }
    const tenant = await provisionTenant(authorizer, developmentSecrets, {
      tenant: 'bench',
      agent,
      bundle: bundleOf({ policies: 20, envelope: 'off' }),
    })
    const port = await authorizer.directPort('aegis-edge')
    const next = authorizeRequests(tenant.keys.agent)
    let recorded = 0
    while (recorded < wanted) {
      recorded += (await runLoad({ port, next, clients: 32, seconds: quick ? 0.5 : 5 })).latencies.length
      process.stderr.write(`${String(recorded)} Calls\n`)
    }
    const keyFile = join(folder, 'auditor.key')
    writeFileSync(keyFile, tenant.keys.auditor)
    const get = async (query: string): Promise<number> => {
      const started = performance.now()
      const answer = await fetch(`${authorizer.url}/v1/calls${query}`, {
        headers: { authorization: `Bearer ${tenant.keys.auditor}` },
      })
      const text = await answer.text()
      if (answer.status !== 200) throw new Error(text)
      return performance.now() - started
    }
    const run = async (...args: readonly string[]) => {
      const ended = await runCommand([
        'calls',
        'list',
        ...args,
        '--url',
        authorizer.url,
        '--key-file',
        keyFile,
      ])
      if (ended.code !== 0) throw new Error(`aegis calls list ended with ${String(ended.code)}`)
      return { ...ended, rows: ended.stdout.split('\n').length - 1 }
    }
    const https: number[] = []
    for (let round = 0; round < rounds; round += 1) https.push(await get('?limit=100'))
    const last = await run('-q')
    const none = await run('-q', '--agent', 'nobody')
    const all = await run('--all', '--json')
    const mib = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(0)} MiB`
    const line = (what: string, { rows, seconds, peakBytes }: Awaited<ReturnType<typeof run>>): string =>
      `| ${what} | ${String(rows)} | ${seconds.toFixed(2)} s | ${mib(peakBytes)} |`
    return [
      `${String(recorded)} Calls. Over HTTP, the last hundred: median ${median(https).toFixed(0)} ms of ${String(rounds)}.`,
      '',
      '| `aegis calls list`, with its start | rows | time | memory at most |',
      '|---|---|---|---|',
      line('the last hundred', last),
      line('`--agent` of nobody: the whole Chain', none),
      line('`--all --json`', all),
    ]
  } finally {
    await authorizer.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN
}
