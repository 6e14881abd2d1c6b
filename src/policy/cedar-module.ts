/**
 * The engine's compiled wasm as workerd gets it: an import by path, which its bundler turns into a module. Only the
 * Worker reaches this file; Node reads the wasm from disk and never loads it.
 */
// @ts-expect-error -- the package's exports do not list its wasm, so it has no types
import compiled from '../../node_modules/@cedar-policy/cedar-wasm/web/cedar_wasm_bg.wasm'
import type { WasmModule } from './glue.ts'

export const cedarModule = compiled as WasmModule
