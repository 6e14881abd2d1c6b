/** Cedar for the commands: the package's wasm from disk, compiled when it is first needed. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { nodeSuite } from '../crypto-node/index.ts'
import { type DecisionMeans, type WasmModule, createEngine } from '../policy/index.ts'

/** Node's types do not declare `WebAssembly`. */
interface WebAssemblyCompiler {
  readonly WebAssembly: { readonly Module: new (bytes: Uint8Array) => WasmModule }
}

/** The engine and the digests that decisions are made with. */
export function policyMeans(): DecisionMeans {
  // The package exports no path of the wasm; its entry for `require` lies in a folder beside.
  const entry = createRequire(import.meta.url).resolve('@cedar-policy/cedar-wasm/nodejs')
  const bytes = readFileSync(join(entry, '../../web/cedar_wasm_bg.wasm'))
  const { Module } = (globalThis as unknown as WebAssemblyCompiler).WebAssembly
  return { engine: createEngine({ module: new Module(bytes) }), digester: nodeSuite }
}
