/**
 * Two verifiers that share nothing but SPEC.md must say the same of everything: text, JSON and exit code, byte for
 * byte. One is src/verify, the other verify.py beside this file.
 */
import { beforeAll, describe, expect, test } from 'vitest'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { type ToolCall, actionHash, parseBody } from '../../src/record/index.ts'
import {
  exitCodeOf,
  indeterminateReasons,
  parseTrustStore,
  receiptRefusals,
  tamperedReasons,
  toJson,
  toText,
  verifyReceipt,
} from '../../src/verify/index.ts'
import { curveInputs } from './curve.ts'
import { firstSessionInputs, headInputs } from './heads.ts'
import { runFirstVerifier } from './first-verifier.ts'
import { type Input, brokenInputs, forgedInputs, goodInputs, hostileInputs, longInputs } from './inputs.ts'
import { type ReceiptCase, actionSources, receiptCases } from './receipts.ts'
import { type Answer, type Run, runSecondVerifier } from './second-verifier.ts'
import { vectorInputs } from './vector-inputs.ts'

interface Said {
  readonly exit: number
  readonly text: string
  readonly json: string
}

const groups: readonly (readonly [string, readonly Input[]])[] = [
  ['vectors', vectorInputs().map(({ input }) => input)],
  ['unbroken Chains', goodInputs()],
  ['broken Chains', brokenInputs(800)],
  ['forged Chains', forgedInputs(1200)],
  ['hostile rows and stores', hostileInputs()],
  ['crafted keys and signatures', curveInputs()],
  ['first Sessions', firstSessionInputs()],
  ['heads', headInputs()],
  ['long reports', longInputs()],
]

describe('src/verify and verify.py', () => {
  const second = new Map<string, Said>()
  beforeAll(async () => {
    const inputs = groups.flatMap(([, group]) => group)
    const answers = await runSecondVerifier(inputs.map(toRun))
    for (const [at, { name }] of inputs.entries()) {
      if (second.has(name)) throw new Error(`two inputs are called ${name}`)
      second.set(name, toSaid(answers[at] as Answer))
    }
  }, 120_000)

  test.each(groups)(
    'agree on %s',
    (_, inputs) => {
      const differences = inputs.flatMap((input, at) => {
        const feeding = {
          chunk: [1 << 20, 61, 4096, isShort(input) ? 1 : 1021][at % 4] ?? 1,
          late: at % 3 === 0,
        }
        const said = [firstSays(input, feeding), second.get(input.name)]
        return JSON.stringify(said[0]) === JSON.stringify(said[1]) ? [] : [{ input: input.name, said }]
      })
      expect(differences).toEqual([])
    },
    30_000,
  )

  test('are asked for every verdict and every reason', () => {
    const heard = new Set(
      [...second.values()].map(({ text }) => (text.split('\n')[0] ?? '').split(' at ')[0]),
    )
    const reasons = [
      ...tamperedReasons.map((reason) => `Tampered ${reason}`),
      ...indeterminateReasons.map((reason) => `Indeterminate ${reason}`),
    ]
    expect(
      [...reasons, 'Verified (unpinned)', 'Verified (pinned)', ''].filter((one) => !heard.has(one)),
    ).toEqual([])
  })

  test('verify.py says what each vector states', () => {
    const wrong = vectorInputs().filter(({ input, expected }) => {
      const said = second.get(input.name)
      return said?.exit !== expected.exit || said.text !== expected.text || said.json !== expected.json
    })
    expect(wrong).toEqual([])
  })
})

test('src/verify and verify.py agree on receipts', async () => {
  const cases = receiptCases(600)
  const answers = await runSecondVerifier(cases.map(toReceiptRun))
  const first = cases.map((one) => `${one.name} ${judge(one)}`)
  expect(answers.map(({ stdout }, at) => `${String(cases[at]?.name)} ${stdout.trim()}`)).toEqual(first)
  const codes = new Set(first.map((answer) => answer.split(' ')[2] ?? ''))
  expect([...codes].sort()).toEqual([...receiptRefusals, 'valid'].sort())
}, 60_000)

test('src/record and verify.py agree on the hash of an action', async () => {
  const sources = actionSources(700)
  const run = (source: string): Run => ({ args: ['--action-hash', 'a'], files: { a: Buffer.from(source) } })
  const answers = await runSecondVerifier(sources.map(run))
  const differences = sources.flatMap((source, at) => {
    const said = [hashOf(source), answers[at]?.stdout.trim()]
    return said[0] === said[1] ? [] : [{ source, said }]
  })
  expect(differences).toEqual([])
  expect(answers.filter(({ exit }) => exit === 0).length).toBeGreaterThan(700)
}, 60_000)

/** Short enough to be handed over byte by byte. */
function isShort({ files }: Input): boolean {
  return files.every((file) => file.length < 20_000)
}

function toRun(input: Input, at: number): Run {
  const names = input.files.map((_, file) => `file-${String(file)}`)
  const files: Record<string, Uint8Array> = {}
  for (const [file, bytes] of input.files.entries()) files[names[file] ?? ''] = bytes
  const args = at % 2 === 0 ? ['--json'] : []
  for (const key of input.keys ?? []) args.push('--key', key)
  if (input.trustStore !== undefined) {
    args.push('--trust-store', 'store')
    files['store'] = input.trustStore
  }
  if (input.head !== undefined) {
    args.push('--head', typeof input.head === 'string' ? input.head : 'head')
    if (typeof input.head !== 'string') files['head'] = input.head
  }
  return { args: [...args, ...names], files }
}

function toSaid({ exit, text, json }: Answer): Said {
  return { exit, text, json }
}

function firstSays(input: Input, feeding: Parameters<typeof runFirstVerifier>[1]): Said {
  const report = runFirstVerifier(input, feeding)
  if (report === undefined) return { exit: 1, text: '', json: '' }
  return { exit: exitCodeOf(report), text: toText(report), json: toJson(report) }
}

function toReceiptRun(one: ReceiptCase): Run {
  const agent = one.agentId === undefined ? [] : ['--agent', one.agentId]
  const about = ['--now', String(one.now), '--chain-id', one.chainId, ...agent, '--trust-store', 'store']
  return {
    args: ['--receipt', 'receipt', '--action', 'action', ...about],
    files: { receipt: one.receipt, action: Buffer.from(one.action), store: Buffer.from(one.trustStore) },
  }
}

function judge(one: ReceiptCase): string {
  const keys = parseTrustStore(Buffer.from(one.trustStore))
  if (!keys.ok) throw new Error(`no trust store: ${one.trustStore}`)
  const answer = verifyReceipt(
    one.receipt,
    {
      action: JSON.parse(one.action) as ToolCall,
      now: one.now,
      keys: keys.value,
      chainId: one.chainId,
      ...(one.agentId === undefined ? {} : { agentId: one.agentId }),
    },
    nodeSuite,
  )
  return answer.valid ? 'valid' : answer.reason
}

/** The hash of an action's source text, or nothing where it is none. */
function hashOf(source: string): string {
  const body = parseBody(Buffer.from(source))
  if (!body.ok) return ''
  const { tool, action, resource, mutates_state, parameters, ...more } = body.value
  const rightTypes =
    typeof tool === 'string' &&
    typeof action === 'string' &&
    (resource === null || typeof resource === 'string') &&
    typeof mutates_state === 'boolean' &&
    typeof parameters === 'object' &&
    parameters !== null &&
    !Array.isArray(parameters)
  if (!rightTypes || Object.keys(more).length > 0) return ''
  return actionHash(body.value as unknown as ToolCall, nodeSuite)
}
