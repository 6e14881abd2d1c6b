/**
 * `npm run bench -- writers`: what one tenant's writer takes alone and by group commit, and eight tenants at once in the
 * same workerd, over HTTP: authorize requests a second that were decided, signed, stored and answered. Each row after a
 * warm-up and in turn with the others, three times: medians and spread.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type LocalAuthorizer, bundleWorker, startAuthorizer } from '../examples/local/authorizer.ts'
import { developmentSecrets } from '../examples/local/secrets.ts'
import { provisionTenant } from '../examples/local/tenant.ts'
import { authorizeRequests, bundleOf } from './authorize.ts'
import { type Measured, percentile, runLoad } from './load.ts'
import type { BenchOptions } from './options.ts'

const runs = 3
const tenantsCount = 8

interface Setup {
  readonly name: string
  readonly tenants: number
  /** Of each tenant. */
  readonly clients: number
}

const setups: readonly Setup[] = [
  { name: 'one tenant, one client: each Call is a commit of its own', tenants: 1, clients: 1 },
  { name: 'one tenant, 8 clients: group commit', tenants: 1, clients: 8 },
  { name: 'one tenant, 64 clients: group commit', tenants: 1, clients: 64 },
  { name: '8 tenants at once, one client each', tenants: tenantsCount, clients: 1 },
  { name: '8 tenants at once, 8 clients each: group commit', tenants: tenantsCount, clients: 8 },
]

export async function benchWriters({ quick }: BenchOptions): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'aegis-bench-'))
  const authorizer = await startAuthorizer({
    stateFolder: folder,
    port: 0,
    secrets: developmentSecrets,
    modules: await bundleWorker(),
  })
  try {
    const port = await authorizer.directPort('aegis-edge')
    const sources = await makeTenants(authorizer)
    const measured = new Map<Setup, Measured[]>(setups.map((setup) => [setup, []]))
    for (const next of sources) await runLoad({ port, next, clients: 2, seconds: quick ? 0.1 : 0.5 })
    for (let run = 1; run <= runs; run += 1) {
      for (const setup of setups) {
        process.stderr.write(`bench: ${setup.name}, run ${String(run)} of ${String(runs)}\n`)
        measured.get(setup)?.push(await runSetup(setup, port, sources, quick ? 0.3 : 4))
      }
    }
    return [
      `Authorize requests a second, 20 policies, Envelopes on: median of ${String(runs)} runs (least to most).`,
      '',
      '| | requests/s | p50 ms | p99 ms |',
      '|---|--:|--:|--:|',
      ...[...measured].map(([{ name }, results]) => {
        const cells = [
          spread(
            results.map(({ perSecond }) => perSecond),
            0,
          ),
          spread(
            results.map((result) => percentile(result, 0.5)),
            2,
          ),
          spread(
            results.map((result) => percentile(result, 0.99)),
            2,
          ),
        ]
        return `| ${name} | ${cells.join(' | ')} |`
      }),
    ]
  } finally {
    await authorizer.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

async function makeTenants(authorizer: LocalAuthorizer): Promise<readonly (() => Buffer)[]> {
  const bundle = bundleOf({ policies: 20, envelope: 'on' })
  const sources: (() => Buffer)[] = []
  for (let at = 0; at < tenantsCount; at += 1) {
    const { keys } = await provisionTenant(authorizer, developmentSecrets, {
      tenant: `writer-${String(at)}`,
      agent: { id: 'bench', owner: 'bench', trustMax: 'trusted_internal_signed' },
      bundle,
    })
    sources.push(authorizeRequests(keys.agent))
  }
  return sources
}

/** The tenants' loads run together and count together. */
async function runSetup(
  { tenants, clients }: Setup,
  port: number,
  sources: readonly (() => Buffer)[],
  seconds: number,
): Promise<Measured> {
  const loads = sources.slice(0, tenants).map((next) => runLoad({ port, next, clients, seconds }))
  const results = await Promise.all(loads)
  return {
    perSecond: results.reduce((sum, { perSecond }) => sum + perSecond, 0),
    latencies: results.flatMap(({ latencies }) => latencies).sort((a, b) => a - b),
  }
}

function spread(values: readonly number[], digits: number): string {
  const sorted = values.toSorted((a, b) => a - b).map((value) => value.toFixed(digits))
  return `${sorted[Math.floor(sorted.length / 2)] ?? ''} (${sorted[0] ?? ''} to ${sorted.at(-1) ?? ''})`
}
