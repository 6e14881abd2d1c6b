/**
 * `npm run bench -- policy`: what a decision costs, in Node and in workerd, by the number of policies; next to Cedar
 * called without anything of ours, and to casbin. casbin is no dependency of the project: bench/peers-installed.ts.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import * as bare from '@cedar-policy/cedar-wasm/web'
import { build } from 'esbuild'
import { Miniflare } from 'miniflare'
import { nodeSuite } from '../src/crypto-node/index.ts'
import { type WasmModule, createEngine } from '../src/policy/index.ts'
import type { BenchOptions } from './options.ts'
import { installPeers } from './peers-installed.ts'
import {
  type BareCedar,
  type Shape,
  type Measured,
  actionsCount,
  measureShape,
  shapes,
  ways,
} from './policy-workload.ts'

const here = dirname(fileURLToPath(import.meta.url))

/** A shape in one runtime. */
interface Row {
  readonly runtime: string
  readonly shape: Shape
  readonly measured: Measured
}

export async function benchPolicy({ quick }: BenchOptions): Promise<readonly string[]> {
  installPeers()
  // The package's own glue can end a Node 20 process (src/policy/glue.ts, outOfLine); ours does without this flag.
  setFlagsFromString('--no-turbo-inline-js-wasm-calls')
  const wasm = readFileSync(wasmPath())
  const shapeMs = quick ? 300 : 7_000
  const rows = [...(await measureNode(wasm, shapeMs)), ...(await measureWorkerd(wasm, shapeMs))]
  return [...tableOf(rows), '', ...aimsOf(rows)]
}

function wasmPath(): string {
  const entry = createRequire(import.meta.url).resolve('@cedar-policy/cedar-wasm/nodejs')
  return join(entry, '../../web/cedar_wasm_bg.wasm')
}

async function measureNode(wasm: Uint8Array, shapeMs: number): Promise<Row[]> {
  const { Module } = (
    globalThis as unknown as { WebAssembly: { Module: new (bytes: Uint8Array) => WasmModule } }
  ).WebAssembly
  const module = new Module(wasm)
  bare.initSync({ module: module as never })
  const { StringAdapter, newEnforcer, newModelFromString } = await import('./policy-casbin.mjs')
  const engine = createEngine({ module })
  const rows: Row[] = []
  for (const shape of shapes) {
    say('Node', shape)
    const measured = await measureShape(shape, {
      engine,
      digester: nodeSuite,
      bare: bare as unknown as BareCedar,
      casbin: (model, policy) => newEnforcer(newModelFromString(model), new StringAdapter(policy)),
      now: () => performance.now(),
      sampleMs: 10,
      shapeMs,
    })
    rows.push({ runtime: `Node ${process.versions.node}`, shape, measured })
  }
  return rows
}

async function measureWorkerd(wasm: Uint8Array, shapeMs: number): Promise<Row[]> {
  const built = await build({
    entryPoints: [join(here, 'policy-worker.ts')],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    target: 'es2022',
    conditions: ['workerd', 'import'],
    external: ['node:*', '*.wasm'],
    // What casbin asks Node for by `require` and without a prefix.
    banner: {
      js: "import { createRequire } from 'node:module'\nconst require = createRequire('file:///worker.js')",
    },
    logLevel: 'warning',
  })
  const miniflare = new Miniflare({
    cf: false,
    modules: [
      { type: 'ESModule', path: 'bench/worker.js', contents: built.outputFiles[0]?.text ?? '' },
      {
        type: 'CompiledWasm',
        path: 'node_modules/@cedar-policy/cedar-wasm/web/cedar_wasm_bg.wasm',
        contents: new Uint8Array(wasm),
      },
    ],
    compatibilityDate: '2026-04-01',
    compatibilityFlags: ['nodejs_compat'],
  })
  try {
    const rows: Row[] = []
    for (const shape of shapes) {
      say('workerd', shape)
      const response = await miniflare.dispatchFetch('http://bench/', {
        method: 'POST',
        body: JSON.stringify({ shape, shapeMs }),
      })
      if (!response.ok) throw new Error(`workerd: ${await response.text()}`)
      rows.push({
        runtime: `workerd ${workerdVersion()}`,
        shape,
        measured: (await response.json()) as Measured,
      })
    }
    return rows
  } finally {
    await miniflare.dispose()
  }
}

function workerdVersion(): string {
  const manifest = createRequire(import.meta.url).resolve('workerd/package.json')
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string }).version
}

function say(runtime: string, { policies, scoped }: Shape): void {
  process.stderr.write(`bench: ${runtime}, ${String(policies)} policies${scoped ? '' : ', unscoped'}\n`)
}

function tableOf(rows: readonly Row[]): readonly string[] {
  return [
    `µs a decision over ${String(actionsCount)} actions, p50 of samples · quickest sample:`,
    '',
    '| runtime | policies | `decide`, whole | engine, sliced | engine, unsliced | bare `statefulIsAuthorized` | casbin 5.51.1 |',
    '|---|---|--:|--:|--:|--:|--:|',
    ...rows.map(({ runtime, shape, measured }) => {
      const policies = `${shape.policies.toLocaleString('en')}${shape.scoped ? '' : ', none scoped'}`
      return `| ${runtime} | ${policies} | ${ways.map((way) => `${micros(measured.micros[way])} · ${micros(measured.quickest[way])}`).join(' | ')} |`
    }),
  ]
}

function micros(value: number): string {
  return value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString('en')
}

/** The two aims, as they came out. */
function aimsOf(rows: readonly Row[]): readonly string[] {
  return [...new Set(rows.map(({ runtime }) => runtime))].map((runtime) => {
    const of = (policies: number, scoped: boolean): Measured | undefined =>
      rows.find(
        ({ runtime: where, shape }) =>
          where === runtime && shape.policies === policies && shape.scoped === scoped,
      )?.measured
    const growth = (kind: keyof Measured): string =>
      ((of(1_000, true)?.[kind].decide ?? Number.NaN) / (of(20, true)?.[kind].decide ?? 1)).toFixed(2)
    // On an unscoped set both do the same work: medians would show what else the machine did.
    const costs = [100, 1_000].map((policies) => {
      const { sliced = Number.NaN, unsliced = 1 } = of(policies, false)?.quickest ?? {}
      return ((sliced / unsliced - 1) * 100).toFixed(1)
    })
    return (
      `- ${runtime}: 1,000 policies over ${String(actionsCount)} actions cost ${growth('micros')} (quickest: ` +
      `${growth('quickest')}) times what 20 cost; the aim is at most 3. Unscoped, slicing costs ` +
      `${costs.join(' % of 100 and ')} % of 1,000 policies; the aim is at most 5.`
    )
  })
}
