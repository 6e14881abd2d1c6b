/**
 * Two verifiers that share nothing but SPEC.md must say the same of everything: text, JSON and exit code, byte for
 * byte. One is src/verify, the other verify.py beside this file.
 */
import { beforeAll, describe, expect, test } from 'vitest'
import { exitCodeOf, toJson, toText } from '../../src/verify/index.ts'
import { runFirstVerifier } from './first-verifier.ts'
import { type Input, brokenInputs, forgedInputs, goodInputs, hostileInputs, longInputs } from './inputs.ts'
import { type Run, runSecondVerifier } from './second-verifier.ts'

interface Said {
  readonly exit: number
  readonly text: string
  readonly json: string
}

const groups: readonly (readonly [string, Input[]])[] = [
  ['unbroken Chains', goodInputs()],
  ['broken Chains', brokenInputs(500)],
  ['forged Chains', forgedInputs(900)],
  ['hostile rows and stores', hostileInputs()],
  ['long reports', longInputs()],
]

describe('src/verify and verify.py', () => {
  const said = new Map<Input, Said>()
  beforeAll(async () => {
    const inputs = groups.flatMap(([, group]) => group)
    const answers = await runSecondVerifier(inputs.flatMap((input) => [toRun(input, false), toRun(input, true)]))
    for (const [at, input] of inputs.entries()) {
      const [text, json] = [answers[2 * at], answers[2 * at + 1]]
      if (text === undefined || json === undefined || text.exit !== json.exit) throw new Error(input.name)
      said.set(input, { exit: text.exit, text: text.stdout, json: json.stdout })
    }
  }, 120_000)

  test.each(groups)('%s', (_, inputs) => {
    const differences = inputs.flatMap((input, at) => {
      const feeding = { chunk: [1 << 20, 1, 7, 4096][at % 4] ?? 1, late: at % 3 === 0 }
      const first = firstSays(input, feeding)
      const second = said.get(input)
      return JSON.stringify(first) === JSON.stringify(second) ? [] : [{ input: input.name, first, second }]
    })
    expect(differences).toEqual([])
  })
})

function toRun(input: Input, json: boolean): Run {
  const names = input.files.map((_, at) => `file-${String(at)}`)
  const files: Record<string, Uint8Array> = {}
  for (const [at, file] of input.files.entries()) files[names[at] ?? ''] = file
  const args = json ? ['--json'] : []
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

function firstSays(input: Input, feeding: Parameters<typeof runFirstVerifier>[1]): Said {
  const report = runFirstVerifier(input, feeding)
  if (report === undefined) return { exit: 1, text: '', json: '' }
  return { exit: exitCodeOf(report), text: toText(report), json: toJson(report) }
}
