/**
 * The whole system on this machine: the Worker as wrangler bundles it, in real workerd, with its Durable Object on
 * SQLite and its R2 buckets in a folder. Used by `npm run dev`, the demo, the end-to-end tests and the benchmarks.
 * Listens on 127.0.0.1 only; `stop` leaves nothing running.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Miniflare, type WorkerOptions } from 'miniflare'

const home = fileURLToPath(new URL('../..', import.meta.url))

export interface LocalSecrets {
  readonly seed: string
  readonly operatorSecret: string
  readonly deployment: string
}

export interface LocalOptions {
  /** Where the object's SQLite and the buckets are kept. */
  readonly stateFolder: string
  /** 0 takes any free port. */
  readonly port: number
  readonly secrets: Partial<LocalSecrets>
  /** The bundled Worker, from {@link bundleWorker}. */
  readonly modules: WorkerModules
  /** Further bindings of the Worker, or others than these. */
  readonly bindings?: Readonly<Record<string, string>>
  /** A second Worker with the same code, bound to the first one's object: it stands for another isolate. */
  readonly twin?: boolean
  /** The script of a Worker beside it, for the benchmark: `floor`, with an object `Floor` of its own. */
  readonly floor?: string
  /** Lines that the Worker logs; by default they are dropped. */
  readonly onLog?: (line: string) => void
}

export type WorkerModules = Extract<WorkerOptions, { modules: readonly unknown[] }>['modules']

/** A running authorizer. */
export interface LocalAuthorizer {
  readonly url: string
  readonly stateFolder: string
  /** A request to the twin, never through a socket. */
  readonly fetchTwin: (path: string, init?: RequestInit) => Promise<Response>
  /** A port of a Worker that nothing stands in front of. */
  readonly directPort: (worker: string) => Promise<number>
  readonly stop: () => Promise<void>
}

/** What `wrangler deploy` would upload, built offline into a folder that is removed again. */
export async function bundleWorker(): Promise<WorkerModules> {
  const folder = await mkdtemp(join(tmpdir(), 'aegis-worker-'))
  try {
    const wrangler = join(home, 'node_modules', 'wrangler', 'bin', 'wrangler.js')
    await promisify(execFile)(
      process.execPath,
      [wrangler, 'deploy', '--dry-run', '--env', '', '--outdir', folder],
      {
        cwd: home,
        env: { ...process.env, WRANGLER_SEND_METRICS: 'false', WRANGLER_HIDE_BANNER: 'true' },
      },
    )
    const files = await readdir(folder)
    const main = files.find((file) => file.endsWith('.js'))
    if (main === undefined) throw new Error('wrangler built no Worker')
    const script = {
      type: 'ESModule' as const,
      path: main,
      contents: await readFile(join(folder, main), 'utf8'),
    }
    const wasm = files
      .filter((file) => file.endsWith('.wasm'))
      .map(async (file) => ({
        type: 'CompiledWasm' as const,
        path: file,
        contents: new Uint8Array(await readFile(join(folder, file))),
      }))
    return [script, ...(await Promise.all(wasm))]
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Starts it and waits until it answers. */
export async function startAuthorizer(options: LocalOptions): Promise<LocalAuthorizer> {
  const miniflare = new Miniflare({
    host: '127.0.0.1',
    port: options.port,
    // No look-up of where this machine is: nothing here leaves it.
    cf: false,
    durableObjectsPersist: join(options.stateFolder, 'objects'),
    r2Persist: join(options.stateFolder, 'buckets'),
    // Nothing may come back: Miniflare ends the process on a value, and `write` of a stream has one.
    handleStructuredLogs: ({ message }: { message: string }) => {
      options.onLog?.(message)
    },
    workers: [
      realWorker('aegis-edge', options, 'TenantChain'),
      ...(options.twin === true ? [realWorker('aegis-twin', options, objectElsewhere)] : []),
      ...(options.floor === undefined ? [] : [floorWorker(options.floor)]),
    ],
  })
  const url = (await miniflare.ready).origin
  return {
    url,
    stateFolder: options.stateFolder,
    async fetchTwin(path, init) {
      const twin = await miniflare.getWorker('aegis-twin')
      return twin.fetch(new URL(path, url).href, init as never)
    },
    directPort: async (worker) => Number((await miniflare.unsafeGetDirectURL(worker)).port),
    stop: () => miniflare.dispose(),
  }
}

const objectElsewhere = { className: 'TenantChain', scriptName: 'aegis-edge', useSQLite: true } as const

function realWorker(
  name: string,
  options: LocalOptions,
  chain: 'TenantChain' | typeof objectElsewhere,
): WorkerOptions {
  const { seed, operatorSecret, deployment } = options.secrets
  const bindings = {
    AEGIS_SEED: seed,
    AEGIS_OPERATOR_SECRET: operatorSecret,
    AEGIS_DEPLOYMENT: deployment,
    // A receiver on this machine may be told of approvals.
    AEGIS_WEBHOOK_ALLOW_PRIVATE: 'true',
    ...options.bindings,
  }
  return {
    name,
    modules: options.modules,
    compatibilityDate: '2026-04-01',
    compatibilityFlags: ['nodejs_compat'],
    unsafeDirectSockets: [{}],
    bindings: Object.fromEntries(
      Object.entries(bindings).filter(([, value]) => value !== undefined),
    ) as Record<string, string>,
    durableObjects: {
      TENANT_CHAIN: chain === 'TenantChain' ? { className: 'TenantChain', useSQLite: true } : chain,
    },
    r2Buckets: { CHAIN: 'chain', ENVELOPES: 'envelopes' },
  }
}

function floorWorker(script: string): WorkerOptions {
  return {
    name: 'floor',
    modules: [{ type: 'ESModule', path: 'floor.js', contents: script }],
    compatibilityDate: '2026-04-01',
    unsafeDirectSockets: [{}],
    durableObjects: { FLOOR: { className: 'Floor', useSQLite: true } },
  }
}
