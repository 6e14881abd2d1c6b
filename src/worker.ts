/** The composition root: what the platform starts. Brings the world to the application; nothing is decided here. */
import type { TenantChainRpc } from '../durable-objects/rpc.ts'
import { type App, createApp } from './app/app.ts'
import { type ConfigBindings, readConfig } from './app/config.ts'
import { deployedBundle } from './app/deployed-bundles.ts'
import { createIsolateEngine } from './app/engine.ts'
import type { World } from './app/services.ts'
import { deriveTagKey, hmacSha256, nodeSuite, parseSeeds } from './crypto-node/index.ts'

export { TenantChain } from '../durable-objects/tenant-chain.ts'

/** What wrangler.toml binds, as far as it is used here. */
interface WorkerEnv extends ConfigBindings {
  readonly TENANT_CHAIN: { readonly getByName: (tenant: string) => unknown }
  readonly CHAIN: World['archive']
  readonly ENVELOPES: World['envelopes']
  /** Optional: without it the tenants' own limits are the only ones. */
  readonly FLOOD?: {
    readonly limit: (options: { readonly key: string }) => Promise<{ readonly success: boolean }>
  }
}

/** One application an environment, so that what it remembers lives as long as the isolate. */
const apps = new WeakMap<WorkerEnv, App>()

export default {
  fetch(request: Request, env: WorkerEnv): Response | Promise<Response> {
    let app = apps.get(env)
    if (app === undefined) {
      app = compose(env)
      apps.set(env, app)
    }
    return app.fetch(request)
  },
}

function compose(env: WorkerEnv): App {
  const { FLOOD: flood } = env
  return createApp({
    config: readConfig(env, readTagHmacs),
    now: () => Date.now(),
    elapsed: () => performance.now(),
    randomId: () => crypto.randomUUID(),
    random: (count) => crypto.getRandomValues(new Uint8Array(count)),
    digester: nodeSuite,
    engine: createIsolateEngine(),
    chainOf: (tenant) => env.TENANT_CHAIN.getByName(tenant) as TenantChainRpc,
    archive: env.CHAIN,
    envelopes: env.ENVELOPES,
    deployedBundle,
    ...(flood === undefined
      ? {}
      : { floodLimit: async (key: string) => (await flood.limit({ key })).success }),
    // oxlint-disable-next-line no-console -- what a Worker prints is its log
    log: (line) => console.log(line),
  })
}

/** Newest seed first: keys that an older one tagged stay good. */
function readTagHmacs(text: string, deployment: string) {
  const parsed = parseSeeds(text)
  if (parsed.kind === 'invalid') return undefined
  const numbers = [...parsed.set.seeds].sort(([left], [right]) => right - left)
  return numbers.map(([, seed]) => {
    const key = deriveTagKey(seed, deployment)
    return (message: Uint8Array) => hmacSha256(key, message)
  })
}
