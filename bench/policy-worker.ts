/** The workload of bench/policy.ts inside workerd: one shape a request. Never deployed. */
import * as bare from '@cedar-policy/cedar-wasm/web'
// @ts-expect-error A module of wasm, which only workerd knows how to load.
import cedarWasm from '../node_modules/@cedar-policy/cedar-wasm/web/cedar_wasm_bg.wasm'
import { nodeSuite } from '../src/crypto-node/index.ts'
import { type WasmModule, createEngine } from '../src/policy/index.ts'
import { StringAdapter, newEnforcer, newModelFromString } from './policy-casbin.mjs'
import { type BareCedar, type Shape, measureShape } from './policy-workload.ts'

const module = cedarWasm as WasmModule
const engine = createEngine({ module })
let started = false

const worker = {
  fetch: async (request: Request): Promise<Response> => {
    if (!started) bare.initSync({ module: module as never })
    started = true
    const { shape, shapeMs } = (await request.json()) as { readonly shape: Shape; readonly shapeMs: number }
    const measured = await measureShape(shape, {
      engine,
      digester: nodeSuite,
      bare: bare as unknown as BareCedar,
      casbin: (model, policy) => newEnforcer(newModelFromString(model), new StringAdapter(policy)),
      now: () => performance.now(),
      // Its clock counts milliseconds.
      sampleMs: 40,
      shapeMs,
    })
    return Response.json(measured)
  },
}

// eslint-disable-next-line import/no-default-export -- a Worker's entry is its default export
export default worker
