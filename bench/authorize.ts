/**
 * `npm run bench -- authorize`: one authorize, over HTTP, next to the floors that the platform itself sets, all in one
 * run in one workerd: latency and throughput at 1, 16 and 64 clients, with 20 and 200 policies, Envelopes on and off,
 * and where the time of one authorize goes. Everything is removed afterwards.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import { bundleWorker, startAuthorizer } from '../examples/local/authorizer.ts'
import { developmentSecrets } from '../examples/local/secrets.ts'
import { provisionTenant } from '../examples/local/tenant.ts'
import { policyMeans } from '../src/cli/policy-engine.ts'
import { nodeSuite } from '../src/crypto-node/index.ts'
import { type Bundle, readBundle } from '../src/policy/index.ts'
import { actionHash, canonicalText, utf8 } from '../src/record/index.ts'
import { type Measured, percentile, runLoad } from './load.ts'
import type { BenchOptions } from './options.ts'

const clientCounts = [1, 16, 64] as const
const actionsCount = 50

interface Variant {
  readonly name: string
  readonly policies: number
  readonly envelope: 'on' | 'off'
}

const variants: readonly Variant[] = [
  { name: 'authorize, 20 policies', policies: 20, envelope: 'on' },
  { name: 'authorize, 20 policies, Envelopes off', policies: 20, envelope: 'off' },
  { name: 'authorize, 200 policies', policies: 200, envelope: 'on' },
]

export async function benchAuthorize({ quick }: BenchOptions): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'aegis-bench-'))
  const authorizer = await startAuthorizer({
    stateFolder: folder,
    port: 0,
    secrets: developmentSecrets,
    modules: await bundleWorker(),
    floor: await bundleFloor(),
  })
  try {
    const floorPort = await authorizer.directPort('floor')
    const port = await authorizer.directPort('aegis-edge')
    const subjects: Subject[] = (['empty', 'object', 'insert'] as const).map((path) => ({
      name: floorNames[path],
      port: floorPort,
      next: () => floorRequest(path),
    }))
    for (const [at, variant] of variants.entries()) {
      const agent = { id: 'bench', owner: 'bench', trustMax: 'trusted_internal_signed' as const }
      const tenant = await provisionTenant(authorizer, developmentSecrets, {
        tenant: `bench-${String(at)}`,
        agent,
        bundle: bundleOf(variant),
      })
      subjects.push({ name: variant.name, port, next: authorizeRequests(tenant.keys.agent) })
    }
    return await measure(subjects, quick ? 0.5 : 4)
  } finally {
    await authorizer.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

interface Subject {
  readonly name: string
  readonly port: number
  readonly next: () => Buffer
}

const floorNames = {
  empty: 'empty Hono answer',
  object: 'call of an object that does nothing',
  insert: 'call with one durable insert',
} as const

async function measure(subjects: readonly Subject[], secondsEach: number): Promise<readonly string[]> {
  const results = new Map<string, Map<number, Measured>>()
  const parts = new Map<string, number[]>()
  for (const { port, next } of subjects) await runLoad({ port, next, clients: 4, seconds: 1 })
  for (const clients of clientCounts) {
    for (const { name, port, next } of subjects) {
      process.stderr.write(`${name}, ${String(clients)} clients\n`)
      const onHead = (head: string) => {
        if (clients === 1 && name === variants[0]?.name) collectParts(head, parts)
      }
      const measured = await runLoad({ port, next, clients, seconds: secondsEach, onHead })
      const row = results.get(name) ?? new Map<number, Measured>()
      results.set(name, row.set(clients, measured))
    }
  }
  return [...tableOf(results, secondsEach), '', ...ratiosOf(results), '', ...partsOf(parts)]
}

function tableOf(
  results: ReadonlyMap<string, ReadonlyMap<number, Measured>>,
  secondsEach: number,
): readonly string[] {
  const cell = (measured: Measured | undefined): string => {
    if (measured === undefined) return ''
    const ms = [0.5, 0.95, 0.99].map((share) => percentile(measured, share).toFixed(2)).join(' / ')
    return `${measured.perSecond.toFixed(0)} · ${ms}`
  }
  return [
    `Requests a second · p50 / p95 / p99 in ms, ${String(secondsEach)} s each.`,
    '',
    `| | ${clientCounts.map((clients) => `${String(clients)} client${clients === 1 ? '' : 's'}`).join(' | ')} |`,
    `|---|${clientCounts.map(() => '---|').join('')}`,
    ...[...results].map(
      ([name, row]) => `| ${name} | ${clientCounts.map((clients) => cell(row.get(clients))).join(' | ')} |`,
    ),
  ]
}

function ratiosOf(results: ReadonlyMap<string, ReadonlyMap<number, Measured>>): readonly string[] {
  const insert = results.get(floorNames.insert)
  const ours = results.get(variants[0]?.name ?? '')
  const p50 = (row: ReadonlyMap<number, Measured> | undefined) => {
    const measured = row?.get(1)
    return measured === undefined ? Number.NaN : percentile(measured, 0.5)
  }
  const rate = (row: ReadonlyMap<number, Measured> | undefined) => row?.get(16)?.perSecond ?? Number.NaN
  return [
    `p50 at one client: ${(p50(ours) / p50(insert)).toFixed(2)} × the insert floor (aim: at most 2.5). ` +
      `Requests a second at 16 clients: ${(rate(ours) / rate(insert)).toFixed(2)} × that floor (aim: at least 0.6).`,
  ]
}

/** `Server-Timing: name;dur=1.2, …` */
function collectParts(head: string, parts: Map<string, number[]>): void {
  const timing = /\r\nserver-timing: ([^\r]+)/i.exec(head)?.[1] ?? ''
  for (const [, name = '', ms] of timing.matchAll(/([\w-]+);dur=([\d.]+)/g)) {
    const times = parts.get(name) ?? []
    times.push(Number(ms))
    parts.set(name, times)
  }
}

function partsOf(parts: ReadonlyMap<string, readonly number[]>): readonly string[] {
  return [
    'Parts of one authorize at one client, 20 policies, mean µs by `Server-Timing` (the runtime’s clock ticks once a',
    'millisecond, so that only a mean over many says anything):',
    '',
    `| ${[...parts.keys()].join(' | ')} |`,
    `|${[...parts].map(() => '---|').join('')}`,
    `| ${[...parts.values()].map((times) => ((times.reduce((sum, ms) => sum + ms, 0) / times.length) * 1000).toFixed(0)).join(' | ')} |`,
  ]
}

function floorRequest(path: string): Buffer {
  return toRequest(`/${path}`, '', '{"text":"floor"}')
}

/** Fresh `request_id` and `timestamp` for each; the action is the same, so that its hash is computed once. */
export function authorizeRequests(key: string): () => Buffer {
  const toolCall = {
    tool: 'bench',
    action: 'action_7',
    resource: 'order:7',
    mutates_state: true,
    parameters: { total: 500, note: 'one of many', items: [1, 2, 3] },
  }
  const hash = actionHash(toolCall, nodeSuite)
  let count = 0
  return () => {
    count += 1
    const body = canonicalText({
      request_id: `bench-${String(process.pid)}-${String(count)}`,
      timestamp: new Date().toISOString(),
      tool_call: toolCall,
      action_hash: hash,
      context: { source_trust: 'trusted_internal_signed', contains_sensitive_data: false, session: 'bench' },
    })
    return toRequest('/v1/authorize', `Authorization: Bearer ${key}\r\n`, body)
  }
}

function toRequest(path: string, headers: string, body: string): Buffer {
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n` +
      `${headers}Content-Length: ${String(Buffer.byteLength(body))}\r\n\r\n${body}`,
  )
}

/** Policies spread over 50 actions; the limits are out of the way, as those of a tenant that is larger than this machine. */
export function bundleOf({ policies, envelope }: Pick<Variant, 'policies' | 'envelope'>): Bundle {
  const actions = Array.from({ length: actionsCount }, (_, at) => `action_${String(at)}`)
  const tool = Object.fromEntries(
    actions.map((action) => [
      action,
      {
        risk: 'medium',
        mutates_state: true,
        args: { total: { at: '/total', type: 'integer', required: true } },
      },
    ]),
  )
  const rules = Array.from({ length: policies }, (_, at) => {
    const permits = at < actionsCount
    const limit = String(10_000 + at)
    const test = permits ? `context.args.total < ${limit}` : `context.args.total > ${limit}`
    return (
      `@id("rule-${String(at)}") ${permits ? 'permit' : 'forbid'} ` +
      `(principal, action == Action::"bench.${actions[at % actionsCount] ?? ''}", resource)\n` +
      `when { context.trust >= 3 && context.environment == "local" && ${test} };\n`
    )
  })
  const settings = {
    agent_rate_per_s: 5_000,
    agent_burst: 20_000,
    tenant_rate_per_s: 5_000,
    tenant_burst: 20_000,
    agent_daily_quota: 10_000_000,
    tenant_daily_quota: 10_000_000,
    envelope,
  }
  const files = new Map([
    ['tools.json', utf8(JSON.stringify({ bench: tool }))],
    ['settings.json', utf8(JSON.stringify(settings))],
    ['rules.cedar', utf8(`// Permits up to a limit.\n${rules.join('\n')}`)],
  ])
  const { bundle, findings } = readBundle(files, policyMeans())
  if (bundle === undefined) throw new Error(JSON.stringify(findings, undefined, 1))
  return bundle
}

async function bundleFloor(): Promise<string> {
  const built = await build({
    entryPoints: [join(import.meta.dirname, 'floor-worker.ts')],
    bundle: true,
    format: 'esm',
    external: ['cloudflare:workers'],
    write: false,
  })
  return built.outputFiles[0]?.text ?? ''
}
