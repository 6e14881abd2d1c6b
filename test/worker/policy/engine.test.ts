/** policy.md §5 in workerd; the same bodies run in Node from test/policy. */
import { describe } from 'vitest'
// @ts-expect-error -- the package does not export its wasm; a path into node_modules is how workerd gets the module.
import cedarModule from '../../../node_modules/@cedar-policy/cedar-wasm/web/cedar_wasm_bg.wasm'
import type { WasmModule } from '../../../src/policy/index.ts'
import { engineClaims } from '../../policy/claims/engine-claims.ts'

describe('the engine in workerd', { timeout: 60_000 }, () => {
  engineClaims(cedarModule as WasmModule)
})
