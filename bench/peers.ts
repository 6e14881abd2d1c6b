/**
 * `npm run bench -- peers`: a decision, and a decision with its record, next to libraries that run here and do less:
 * casbin and @microsoft/agent-governance-sdk. The same rules, the same requests, the same answers, in Node, in memory;
 * what each of them does besides is the table below the numbers.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { deriveLineKey, nodeSuite } from '../src/crypto-node/index.ts'
import {
  type DecisionRequest,
  type Engine,
  type Evaluation,
  type WasmModule,
  caseNowMs,
  createEngine,
  decide,
} from '../src/policy/index.ts'
import { type ChainHead, nextLine } from '../src/record/index.ts'
import type { BenchOptions } from './options.ts'
import { installPeers } from './peers-installed.ts'
import {
  type Rule,
  type Shape,
  benchAgent,
  casbinLine,
  casbinModel,
  measureWays,
  prepare,
  rulesOf,
} from './policy-workload.ts'
import { draftsOf } from './recorded-call.ts'

const shapes: readonly Shape[] = [3, 20, 100, 1_000].map((policies) => ({ policies, scoped: true }))

export async function benchPeers({ quick }: BenchOptions): Promise<readonly string[]> {
  installPeers()
  // The package's own glue can end a Node 20 process (src/policy/glue.ts, outOfLine); ours does without this flag.
  setFlagsFromString('--no-turbo-inline-js-wasm-calls')
  const engine = createEngine({ module: compile() })
  const rows: string[] = []
  for (const shape of shapes) {
    process.stderr.write(`bench: ${String(shape.policies)} policies\n`)
    rows.push(await rowOf(shape, engine, quick ? 300 : 7_000))
  }
  return [
    'µs a decision over 50 actions, p50 of samples · quickest sample. The record is made and kept in memory by both.',
    '',
    '| policies | `decide` | casbin 5.51.1 | SDK 4.0.0 | `decide`, two Lines linked and signed | SDK, and its audit entry |',
    '|--:|--:|--:|--:|--:|--:|',
    ...rows,
    '',
    ...differences,
  ]
}

async function rowOf(shape: Shape, engine: Engine, shapeMs: number): Promise<string> {
  const { set, requests } = prepare(shape, { engine, digester: nodeSuite })
  const evaluate = (at: number): Evaluation =>
    decide(
      { request: requests[at] as DecisionRequest, agent: benchAgent, policySet: set, nowMs: caseNowMs },
      { engine, digester: nodeSuite },
    )
  const { StringAdapter, newEnforcer, newModelFromString } = await import('./policy-casbin.mjs')
  const lines = rulesOf(shape).map((rule) => casbinLine(rule, shape.scoped))
  const enforcer = await newEnforcer(newModelFromString(casbinModel), new StringAdapter(lines.join('\n')))
  const sdk = await governanceSdk(rulesOf(shape))
  const record = recorder()
  const contexts = requests.map((_, at) => ({ trust: 3, environment: 'prod', total: 357 + at }))
  const sdkContexts = contexts.map((context, at) => ({ ...context, action: `action_${String(at)}` }))
  const actions = sdkContexts.map(({ action }) => action)
  const { micros, quickest } = measureWays(
    {
      ours: (at) => evaluate(at).decision === 'allow',
      casbin: (at) => enforcer.enforceSync(actions[at], contexts[at]),
      sdk: (at) => sdk.decide(sdkContexts[at] ?? {}),
      oursRecorded: (at) => {
        const evaluation = evaluate(at)
        record(evaluation)
        return evaluation.decision === 'allow'
      },
      sdkLogged: (at) => {
        const allowed = sdk.decide(sdkContexts[at] ?? {})
        sdk.log(actions[at] ?? '', allowed)
        return allowed
      },
    },
    requests.length,
    { now: () => performance.now(), sampleMs: 10, shapeMs },
  )
  const cells = (['ours', 'casbin', 'sdk', 'oursRecorded', 'sdkLogged'] as const).map(
    (way) => `${toMicros(micros[way])} · ${toMicros(quickest[way])}`,
  )
  return `| ${shape.policies.toLocaleString('en')} | ${cells.join(' | ')} |`
}

/** Its documents of rules, deny before allow, as Cedar has it; its audit as it comes, the last 10,000 entries. */
async function governanceSdk(rules: readonly Rule[]): Promise<{
  readonly decide: (context: Record<string, unknown>) => boolean
  readonly log: (action: string, allowed: boolean) => void
}> {
  const { AuditLogger, ConflictResolutionStrategy, PolicyEngine } = await import('./governance-sdk.mjs')
  const engine = new PolicyEngine([], ConflictResolutionStrategy.DenyOverrides)
  engine.loadPolicy({
    apiVersion: 'governance.toolkit/v1',
    name: 'bench',
    scope: 'global',
    rules: rules.map(({ action, limit, permits }, at) => ({
      name: `policy-${String(at)}`,
      condition:
        `action == '${action}' and trust >= 3 and environment == 'prod' and ` +
        `total ${permits ? '<' : '>'} ${String(limit)}`,
      ruleAction: permits ? 'allow' : 'deny',
    })),
    default_action: 'deny',
  })
  const audit = new AuditLogger()
  return {
    decide: (context) => engine.evaluatePolicy(benchAgent.id, context).allowed,
    log: (action, allowed) =>
      audit.log({ agentId: benchAgent.id, action, decision: allowed ? 'allow' : 'deny' }),
  }
}

/** Lines kept, as many as the SDK keeps entries. */
const linesKept = 10_000

/** Links, hashes and signs the Lines of one Call after the other. */
function recorder(): (evaluation: Evaluation) => void {
  const signer = nodeSuite.signer(deriveLineKey(new Uint8Array(32).fill(7), 'prod', 'acme', 0))
  let head: ChainHead = { state: 'empty', chainId: 'acme' }
  const kept: Uint8Array[] = []
  let written = 0
  const append = (draft: Parameters<typeof nextLine>[1]): void => {
    const next = nextLine(head, draft, signer, nodeSuite)
    if (next.kind === 'too_long') throw new Error('a Line is too long')
    head = next.head
    kept[written % linesKept] = next.bytes
    written += 1
  }
  append({ line_type: 'open', deployment: 'prod', opened_at: caseNowMs })
  let calls = 0
  return (evaluation) => {
    for (const draft of draftsOf(evaluation, calls, caseNowMs + calls)) append(draft)
    calls += 1
  }
}

const differences = [
  '| | this project | casbin 5.51.1 | SDK 4.0.0 |',
  '|---|---|---|---|',
  '| what it is | a service, and a client that refuses when it has no answer | a library in the process | a library in the process |',
  '| rules | Cedar, checked against a schema of the tools before they are published | a model and expressions of its own | expressions of its own, matched as text; OPA and Cedar by HTTP |',
  '| a rule whose condition cannot be read | is not published | throws when it is evaluated | is false: a deny does not deny |',
  '| a deny that compares what the call has not | the call is denied (`policy_error`) | is false: it does not deny | is false: it does not deny |',
  '| arguments of the call | read from the request by typed bindings | what the caller passes | what the caller passes |',
  '| a human’s approval | bound to the call, counted, timed, used once | – | an answer that names approvers; the rest is the caller’s |',
  '| limits | stored with the record | – | counted in the memory of the process |',
  '| record of a decision | two Lines, linked and signed, stored before the answer | – | an entry, linked and unsigned, in memory; the last 10,000 |',
  '| checked by somebody else | `aegis verify`, from bytes and a key | – | – (`verify()` checks its own memory) |',
  '| what it has that this project has not | | many models (roles, domains, resources), adapters for databases, many languages | agents’ identities, trust scores, a kill switch, encrypted channels, scans of prompts |',
]

function toMicros(value: number): string {
  return value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString('en')
}

function compile(): WasmModule {
  const entry = createRequire(import.meta.url).resolve('@cedar-policy/cedar-wasm/nodejs')
  const { Module } = (
    globalThis as unknown as { WebAssembly: { Module: new (bytes: Uint8Array) => WasmModule } }
  ).WebAssembly
  return new Module(readFileSync(join(entry, '../../web/cedar_wasm_bg.wasm')))
}
