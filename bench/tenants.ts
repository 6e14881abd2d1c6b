/**
 * `npm run bench -- tenants`: a thousand tenants in one Worker, each with an object, an agent, a key and a policy set of
 * its own, all asked once and then once more in the same order. What is remembered of them is bounded, so memory must
 * stop growing although the tenants do not. A bench and not a test, because making the tenants takes minutes.
 */
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type LocalAuthorizer, bundleWorker, startAuthorizer } from '../examples/local/authorizer.ts'
import { developmentSecrets } from '../examples/local/secrets.ts'
import { type LocalTenant, provisionTenant, readBundleOrThrow } from '../examples/local/tenant.ts'
import { nodeSuite } from '../src/crypto-node/index.ts'
import { Aegis } from '../src/sdk/index.ts'
import type { BenchOptions } from './options.ts'

/** Made at once: more would only wait for the same disk. */
const atOnce = 20

export async function benchTenants({ quick }: BenchOptions): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'aegis-bench-'))
  const modules = await bundleWorker()
  const authorizer = await startAuthorizer({
    stateFolder: folder,
    port: 0,
    secrets: developmentSecrets,
    modules,
  })
  try {
    const tenantsCount = quick ? 40 : 1_000
    const bundle = await readBundleOrThrow('policies/default')
    const rows: string[] = []
    const tenants: LocalTenant[] = []
    for (let from = 0; from < tenantsCount; from += atOnce) {
      const made = Array.from({ length: atOnce }, async (_, at) => {
        const agent = { id: 'reader', owner: 'ada', trustMax: 'trusted_internal_signed' as const }
        const name = `tenant-${String(from + at)}`
        const tenant = await provisionTenant(authorizer, developmentSecrets, { tenant: name, agent, bundle })
        await askOnce(authorizer, tenant)
        return tenant
      })
      tenants.push(...(await Promise.all(made)))
      if (tenants.length % Math.max(atOnce, tenantsCount / 5) === 0)
        rows.push(await row(`${String(tenants.length)} made and asked`))
    }
    for (let at = 0; at < tenants.length; at += atOnce) {
      await Promise.all(tenants.slice(at, at + atOnce).map((tenant) => askOnce(authorizer, tenant)))
      if ((at + atOnce) % (tenantsCount / 2) === 0)
        rows.push(await row(`${String(at + atOnce)} asked once more`))
    }
    return ['| tenants | resident memory of workerd |', '|---|---|', ...rows]
  } finally {
    await authorizer.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

async function askOnce({ url }: LocalAuthorizer, { keys }: LocalTenant): Promise<void> {
  const aegis = new Aegis({ url, key: keys.agent, suite: nodeSuite, timeoutMs: 60_000 })
  const action = { tool: 'files', action: 'read', mutates: false, parameters: { path: '/srv/report.txt' } }
  const { kind } = await aegis.authorize(action, { context: { sourceTrust: 'trusted_internal_signed' } })
  if (kind !== 'allowed') throw new Error(`a read was ${kind}`)
}

async function row(what: string): Promise<string> {
  process.stderr.write(`${what}\n`)
  return `| ${what} | ${(await workerdMiB()).toFixed(0)} MiB |`
}

/** Of this process's own workerd, from /proc: on other systems the column says 0. */
async function workerdMiB(): Promise<number> {
  let largest = 0
  for (const pid of await readdir('/proc').catch(() => [])) {
    const status = /^\d+$/.test(pid) ? await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '') : ''
    if (!/^Name:\s+workerd$/m.test(status) || !status.includes(`PPid:\t${String(process.pid)}\n`)) continue
    largest = Math.max(largest, Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1024)
  }
  return largest
}
