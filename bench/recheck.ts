/**
 * `npm run bench -- recheck`: how many recorded Calls `aegis recheck` judges in a second, next to bare
 * `statefulIsAuthorized` on the same requests, by the number of policies; and what memory it takes at 10,000 and 100,000
 * Calls. The command runs as its users run it, start included. Its files are removed.
 */
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import * as bareCedar from '@cedar-policy/cedar-wasm/web'
import { deriveLineKey, nodeSuite } from '../src/crypto-node/index.ts'
import {
  type CedarRequest,
  type Evaluation,
  type WasmModule,
  cedarRequestFromAxes,
  createEngine,
  decide,
} from '../src/policy/index.ts'
import { type ChainHead, type LineDraft, nextLine } from '../src/record/index.ts'
import { type Run, program, runCommand } from './command-run.ts'
import type { BenchOptions } from './options.ts'
import { type BareCedar, type Prepared, benchAgent, prepare } from './policy-workload.ts'
import { draftsOf } from './recorded-call.ts'

const rounds = 3
const startedAt = 1_796_040_000_000

export async function benchRecheck({ quick }: BenchOptions): Promise<readonly string[]> {
  if (!existsSync(program)) throw new Error('the command is not built: npm run build')
  // The package's own glue can end a Node 20 process (src/policy/glue.ts, outOfLine); ours does without this flag.
  setFlagsFromString('--no-turbo-inline-js-wasm-calls')
  const module = compile()
  bareCedar.initSync({ module: module as never })
  const engine = createEngine({ module })
  const callsOfRate = quick ? 1_000 : 50_000
  const callsOfMemory = quick ? [1_000, 2_000] : [10_000, 100_000]
  const folder = mkdtempSync(join(tmpdir(), 'aegis-bench-'))
  try {
    const rows: string[] = []
    for (const policies of [20, 200]) {
      const prepared = prepare({ policies, scoped: true }, { engine, digester: nodeSuite })
      const set = join(folder, `${String(policies)}.json`)
      writeFileSync(set, prepared.objectBytes)
      const decided = new Recorded(prepared, (request, at) =>
        decide(
          { request, agent: benchAgent, policySet: prepared.set, nowMs: at },
          { engine, digester: nodeSuite },
        ),
      )
      const chain = join(folder, `${String(policies)}.aarl`)
      note(`writing ${count(callsOfRate)} Calls under ${String(policies)} policies`)
      decided.write(chain, callsOfRate)
      rows.push(await rateRow(policies, prepared, { decided, calls: callsOfRate }, set, chain))
      if (policies !== 20) continue
      for (const calls of callsOfMemory) {
        const file = join(folder, `memory-${String(calls)}.aarl`)
        note(`writing ${count(calls)} Calls`)
        decided.write(file, calls)
      }
    }
    const memory = await memoryRows(folder, callsOfMemory)
    return [
      `${count(callsOfRate)} Calls, all unchanged, median of ${String(rounds)} rounds, start of the process included.`,
      '',
      '| policies | bare `statefulIsAuthorized`, calls/s | `aegis recheck --threads 1` | of bare | `--threads 2` | × one thread |',
      '|--:|--:|--:|--:|--:|--:|',
      ...rows,
      '',
      `| peak memory | ${callsOfMemory.map((calls) => `${count(calls)} Calls`).join(' | ')} |`,
      '|---|--:|--:|',
      ...memory,
    ]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function rateRow(
  policies: number,
  prepared: Prepared,
  { decided, calls }: { readonly decided: Recorded; readonly calls: number },
  set: string,
  chain: string,
): Promise<string> {
  const bare = new BareRun(prepared, decided.requests)
  const seconds = { bare: [] as number[], one: [] as number[], two: [] as number[] }
  // In turns, so that a change of the machine's speed meets all of them.
  for (let round = 1; round <= rounds; round += 1) {
    note(`${String(policies)} policies, round ${String(round)} of ${String(rounds)}`)
    seconds.bare.push(bare.seconds(calls))
    seconds.one.push((await runRecheck(set, chain, 1)).seconds)
    seconds.two.push((await runRecheck(set, chain, 2)).seconds)
  }
  const rate = (of: readonly number[]): string => count(calls / median(of))
  const ratio = (over: readonly number[], under: readonly number[]): string =>
    median(over.map((value, at) => value / (under[at] ?? Number.NaN))).toFixed(2)
  return (
    `| ${String(policies)} | ${rate(seconds.bare)} | ${rate(seconds.one)} | ${ratio(seconds.bare, seconds.one)} | ` +
    `${rate(seconds.two)} | ${ratio(seconds.one, seconds.two)} |`
  )
}

async function memoryRows(folder: string, callsOfMemory: readonly number[]): Promise<readonly string[]> {
  const rows: string[] = []
  for (const threads of [1, 2]) {
    const peaks: string[] = []
    for (const calls of callsOfMemory) {
      note(`${count(calls)} Calls, threads ${String(threads)}`)
      const run = await runRecheck(
        join(folder, '20.json'),
        join(folder, `memory-${String(calls)}.aarl`),
        threads,
      )
      peaks.push(`${(run.peakBytes / 1e6).toFixed(0)} MB`)
    }
    rows.push(`| \`--threads ${String(threads)}\` | ${peaks.join(' | ')} |`)
  }
  return rows
}

async function runRecheck(set: string, chain: string, threads: number): Promise<Run> {
  const run = await runCommand(['recheck', '--changed', '--threads', String(threads), '--policy', set, chain])
  if (run.code !== 0) throw new Error(`aegis recheck: ${run.stdout}`)
  return run
}

/** What is left of a recheck when everything but the engine is taken away. */
class BareRun {
  readonly #cedar = bareCedar as unknown as BareCedar
  readonly #requests: readonly CedarRequest[]

  constructor({ set }: Prepared, requests: readonly CedarRequest[]) {
    this.#requests = requests
    const staticPolicies = Object.fromEntries([...set.policies.values()].map(({ id, json }) => [id, json]))
    this.#cedar.preparsePolicySet('bench', { staticPolicies })
  }

  seconds(calls: number): number {
    const from = performance.now()
    for (let at = 0; at < calls; at += 1) {
      const request = this.#requests[at % this.#requests.length] as CedarRequest
      const answer = this.#cedar.statefulIsAuthorized({
        ...request,
        preparsedPolicySetId: 'bench',
        validateRequest: false,
      }) as { readonly type: string }
      if (answer.type !== 'success') throw new Error('bare Cedar refused a request')
    }
    return (performance.now() - from) / 1_000
  }
}

type Decide = (request: Prepared['requests'][number], at: number) => Evaluation

/** Calls as the service records them: every decision is made, every Line signed. */
class Recorded {
  readonly #prepared: Prepared
  readonly #decide: Decide
  /** Cedar's requests of the first Calls, one an action. */
  readonly requests: readonly CedarRequest[]

  constructor(prepared: Prepared, decideOne: Decide) {
    this.#prepared = prepared
    this.#decide = decideOne
    this.requests = prepared.requests.map((_, at) => this.#requestOf(at))
  }

  write(path: string, calls: number): void {
    const signer = nodeSuite.signer(deriveLineKey(new Uint8Array(32).fill(7), 'prod', 'acme', 0))
    let head: ChainHead = { state: 'empty', chainId: 'acme' }
    const file = openSync(path, 'w')
    const append = (draft: LineDraft): void => {
      const next = nextLine(head, draft, signer, nodeSuite)
      if (next.kind === 'too_long') throw new Error('a Line is too long')
      head = next.head
      writeSync(file, Buffer.concat([next.bytes, lf]))
    }
    try {
      append({ line_type: 'open', deployment: 'prod', opened_at: startedAt })
      for (let at = 0; at < calls; at += 1)
        for (const draft of draftsOf(this.#evaluate(at), at, startedAt + at)) append(draft)
      append({ line_type: 'close', closed_at: startedAt + calls, calls })
    } finally {
      closeSync(file)
    }
  }

  #evaluate(at: number): Evaluation {
    const { requests } = this.#prepared
    return this.#decide(requests[at % requests.length] as (typeof requests)[number], startedAt + at)
  }

  #requestOf(at: number): CedarRequest {
    const { axes, toolId } = this.#evaluate(at)
    const action = this.#prepared.set.catalogue.toolAction(toolId)
    const request = action === undefined ? undefined : cedarRequestFromAxes(axes, action)
    if (request === undefined) throw new Error('a recorded request is none')
    return request
  }
}

const lf = Buffer.of(0x0a)

function compile(): WasmModule {
  const entry = createRequire(import.meta.url).resolve('@cedar-policy/cedar-wasm/nodejs')
  const { Module } = (
    globalThis as unknown as { WebAssembly: { Module: new (bytes: Uint8Array) => WasmModule } }
  ).WebAssembly
  return new Module(readFileSync(join(entry, '../../web/cedar_wasm_bg.wasm')))
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

/** Always with a comma at thousands, whatever the locale. */
function count(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}

function note(text: string): void {
  process.stderr.write(`bench: ${text}\n`)
}
