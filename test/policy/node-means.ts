/** Cedar for tests in Node: the module from disk, and a bundle from texts or from a folder. */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { WasmModule } from '../../src/policy/index.ts'

interface WebAssemblyCompiler {
  readonly WebAssembly: { readonly Module: new (bytes: Uint8Array) => WasmModule }
}

function compile(): WasmModule {
  const wasm = '../../node_modules/@cedar-policy/cedar-wasm/web/cedar_wasm_bg.wasm'
  const { Module } = (globalThis as unknown as WebAssemblyCompiler).WebAssembly
  return new Module(readFileSync(new URL(wasm, import.meta.url)))
}

export const cedarModule = compile()

/** The files of a bundle's folder, by their path in it. */
export function readFolder(folder: string): ReadonlyMap<string, Uint8Array> {
  const files = new Map<string, Uint8Array>()
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    files.set(path.slice(folder.length + 1), readFileSync(path))
  }
  return files
}
