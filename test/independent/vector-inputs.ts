/** The Chains and heads of test/vectors with the report that each must get. */
import { readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Input } from './inputs.ts'

export interface VectorInput {
  readonly input: Input
  readonly expected: { readonly exit: number; readonly text: string; readonly json: string }
}

type FileOfCase =
  { readonly lines: readonly string[] } | { readonly text: string } | { readonly base64: string }

interface ChainCaseFile {
  readonly name: string
  readonly files: readonly FileOfCase[]
  /** Of 7/heads: text of the file that `--head` names. */
  readonly head?: string
  readonly options?: {
    readonly keys?: readonly string[]
    readonly trust_store?: string
    readonly head?: string
  }
  readonly expect: VectorInput['expected']
}

const folder = fileURLToPath(new URL('../vectors/', import.meta.url))

export function vectorInputs(): VectorInput[] {
  return [finalExample(), ...readCases('7/chains/').map(toInput), ...readCases('7/heads/').map(toInput)]
}

function readCases(cases: string): ChainCaseFile[] {
  const names = readdirSync(folder + cases).sort()
  return names.map((name) => JSON.parse(readFileSync(folder + cases + name, 'utf8')) as ChainCaseFile)
}

function finalExample(): VectorInput {
  const file = (name: string): Buffer => readFileSync(`${folder}11/final.${name}`)
  return {
    input: {
      name: 'the final example',
      files: [file('aarl')],
      trustStore: file('trust.json'),
      head: file('head.aarl'),
    },
    expected: { exit: 0, text: file('report.txt').toString(), json: file('report.json').toString() },
  }
}

function toInput({ name, files, head: headFile, options = {}, expect }: ChainCaseFile): VectorInput {
  const { keys, trust_store } = options
  const head = headFile === undefined ? options.head : Buffer.from(headFile)
  return {
    input: {
      name: `vector ${headFile === undefined ? '' : 'of a head '}${name}`,
      files: files.map(toBytes),
      ...(keys === undefined ? {} : { keys }),
      ...(trust_store === undefined ? {} : { trustStore: Buffer.from(trust_store) }),
      ...(head === undefined ? {} : { head }),
    },
    expected: expect,
  }
}

function toBytes(file: FileOfCase): Uint8Array {
  if ('base64' in file) return Buffer.from(file.base64, 'base64')
  return Buffer.from('text' in file ? file.text : file.lines.map((line) => `${line}\n`).join(''))
}
