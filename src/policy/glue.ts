/**
 * One instance of cedar-wasm with its own glue (docs/decisions/0006). The package's glue keeps the instance in a
 * module-level variable and refuses a second one, so that a trap could be answered only by a new isolate; here
 * every instance brings its own. The types are the package's, and a test holds that the answers are too. Knows the
 * calling convention of 4.13.0 and nothing of policies: limits stand in guard.ts, recovery in engine.ts.
 */
import type {
  CheckParseAnswer,
  PolicySet as CedarPolicySet,
  PolicyToJsonAnswer,
  PolicyToTextAnswer,
  Schema,
  SchemaToTextAnswer,
  AuthorizationAnswer,
  StatefulAuthorizationCall,
  ValidationAnswer,
  ValidationCall,
} from '@cedar-policy/cedar-wasm/web'

/** A compiled `WebAssembly.Module`: from an import in workerd, from bytes on disk in Node. */
export type WasmModule = object

/** The calls that this floor makes. Each may throw; a `WebAssembly.RuntimeError` means the instance is lost. */
export interface CedarInstance {
  readonly version: () => string
  readonly policyToJson: (text: string) => PolicyToJsonAnswer
  readonly policyToText: (policy: object) => PolicyToTextAnswer
  readonly schemaToText: (schema: Schema) => SchemaToTextAnswer
  readonly validate: (call: ValidationCall) => ValidationAnswer
  readonly preparsePolicySet: (name: string, policies: CedarPolicySet) => CheckParseAnswer
  readonly statefulIsAuthorized: (call: StatefulAuthorizationCall) => AuthorizationAnswer
}

/** What the instance exports, as far as it is used. Objects cross as references, strings as pointer and length. */
interface CedarExports {
  readonly memory: { readonly buffer: ArrayBuffer }
  readonly __wbindgen_malloc: (bytes: number, align: number) => number
  readonly __wbindgen_realloc: (at: number, from: number, to: number, align: number) => number
  readonly __wbindgen_free: (at: number, bytes: number, align: number) => void
  readonly __wbindgen_exn_store: (reference: number) => void
  readonly __externref_table_alloc: () => number
  readonly __wbindgen_externrefs: {
    readonly grow: (by: number) => number
    readonly set: (at: number, value: unknown) => void
  }
  readonly __wbindgen_start: () => void
  readonly getCedarVersion: () => [number, number]
  readonly policyToJson: (policy: unknown) => unknown
  readonly policyToText: (policy: unknown) => unknown
  readonly schemaToText: (schema: unknown) => unknown
  readonly validate: (call: unknown) => unknown
  readonly preparsePolicySet: (nameAt: number, nameBytes: number, policies: unknown) => unknown
  readonly statefulIsAuthorized: (call: unknown) => unknown
}

type Imported = (...args: never[]) => unknown

/** The part of the platform's `WebAssembly` that is used; Node's types do not declare it. */
interface WebAssemblyApi {
  readonly Module: { readonly imports: (module: WasmModule) => { module: string; name: string }[] }
  readonly Instance: new (
    module: WasmModule,
    imports: Record<string, Record<string, Imported>>,
  ) => { readonly exports: unknown }
  readonly RuntimeError: new (message?: string) => Error
}

function webAssembly(): WebAssemblyApi {
  return (globalThis as unknown as { readonly WebAssembly: WebAssemblyApi }).WebAssembly
}

/** Whether an exception is a trap: the instance that threw it answers nothing any more. */
export function isTrap(thrown: unknown): boolean {
  // A stack overflow inside the wasm surfaces as the engine's RangeError, and the instance is as lost.
  return thrown instanceof webAssembly().RuntimeError || thrown instanceof RangeError
}

/**
 * The exports behind proxies, which no compiler inlines a call of. V8 11.3 (Node 20) inlines calls of wasm into hot
 * JavaScript and then ends the process ("unreachable code") when that JavaScript is deoptimised while the call runs and
 * the call returns a reference, as all of Cedar's do; a garbage collection at the wrong moment is enough. A call costs
 * some ten nanoseconds more.
 */
function outOfLine(exports: CedarExports): CedarExports {
  const shielded: Record<string, unknown> = {}
  for (const [name, value] of Object.entries<unknown>(exports as unknown as Record<string, unknown>)) {
    shielded[name] = typeof value === 'function' ? new Proxy(value, {}) : value
  }
  return shielded as unknown as CedarExports
}

/**
 * Instantiates the module with fresh glue; about 1 ms.
 *
 * @throws Error when the module wants an import that this file does not know: another version of the package.
 */
export function instantiateCedar(module: WasmModule): CedarInstance {
  const encoder = new TextEncoder()
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true })
  const memory = (): Uint8Array => new Uint8Array(wasm.memory.buffer)
  const readText = (at: number, bytes: number): string => {
    const start = at >>> 0
    return decoder.decode(memory().subarray(start, start + bytes))
  }
  /** The callee owns and frees the bytes. */
  const writeText = (text: string): [number, number] => {
    const bytes = encoder.encode(text)
    const at = wasm.__wbindgen_malloc(bytes.length, 1) >>> 0
    memory().set(bytes, at)
    return [at, bytes.length]
  }
  const caught = (run: () => unknown): unknown => {
    try {
      return run()
    } catch (thrown) {
      const reference = wasm.__externref_table_alloc()
      wasm.__wbindgen_externrefs.set(reference, thrown)
      wasm.__wbindgen_exn_store(reference)
      return undefined
    }
  }
  const known: Readonly<Record<string, Imported>> = {
    __wbg_parse: (at: number, bytes: number) => caught(() => JSON.parse(readText(at, bytes)) as unknown),
    __wbg_stringify: (value: unknown) => caught(() => JSON.stringify(value)),
    __wbg___wbindgen_throw: (at: number, bytes: number) => {
      throw new Error(readText(at, bytes))
    },
    __wbg___wbindgen_string_get: (out: number, value: unknown) => {
      const [at, bytes] = typeof value === 'string' ? writeText(value) : [0, 0]
      const view = new DataView(wasm.memory.buffer)
      view.setInt32(out + 4, bytes, true)
      view.setInt32(out, at, true)
    },
    __wbg___wbindgen_is_undefined: (value: unknown) => value === undefined,
    __wbindgen_init_externref_table: () => {
      const table = wasm.__wbindgen_externrefs
      const at = table.grow(4)
      table.set(0, undefined)
      for (const [offset, value] of [undefined, null, true, false].entries()) table.set(at + offset, value)
    },
  }
  const imports: Record<string, Record<string, Imported>> = {}
  for (const { module: from, name } of webAssembly().Module.imports(module)) {
    // Names end in a hash of the generator's version: `__wbg_parse_545d11396395fbbd`.
    const imported = known[name.replace(/_[0-9a-f]{16}$/, '')]
    if (imported === undefined) throw new Error(`cedar-wasm wants an import that the glue lacks: ${name}`)
    ;(imports[from] ??= {})[name] = imported
  }
  // The functions above run only from here on: instantiation itself calls none of them.
  const wasm = outOfLine(new (webAssembly().Instance)(module, imports).exports as CedarExports)
  wasm.__wbindgen_start()
  return {
    version: () => {
      const [at, bytes] = wasm.getCedarVersion()
      try {
        return readText(at, bytes)
      } finally {
        wasm.__wbindgen_free(at, bytes, 1)
      }
    },
    policyToJson: (text) => wasm.policyToJson(text) as PolicyToJsonAnswer,
    policyToText: (policy) => wasm.policyToText(policy) as PolicyToTextAnswer,
    schemaToText: (schema) => wasm.schemaToText(schema) as SchemaToTextAnswer,
    validate: (call) => wasm.validate(call) as ValidationAnswer,
    preparsePolicySet: (name, policies) => {
      const [at, bytes] = writeText(name)
      return wasm.preparsePolicySet(at, bytes, policies) as CheckParseAnswer
    },
    statefulIsAuthorized: (call) => wasm.statefulIsAuthorized(call) as AuthorizationAnswer,
  }
}
