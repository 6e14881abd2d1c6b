/** Reads test/vectors from disk: whole folders, so that a new vector is one new file. Not for the Worker's tests. */
import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ExpectedReport } from './vectors/expected-report.ts'

export const vectorFolder = join(dirname(fileURLToPath(import.meta.url)), '../vectors')

/** The path of a file below test/vectors. */
export function vectorPath(...names: string[]): string {
  return join(vectorFolder, ...names)
}

/** Every case of a folder, by name; throws where there is none. */
export function readCases<T>(
  folder: string,
): readonly (T & { readonly name: string; readonly spec: string })[] {
  const names = readdirSync(vectorPath(folder)).filter((name) => name.endsWith('.json'))
  if (names.length === 0) throw new Error(`no vector in ${folder}`)
  return names.sort().map((name) => {
    const read = JSON.parse(readFileSync(vectorPath(folder, name), 'utf8')) as T & {
      name: string
      spec: string
    }
    if (`${read.name}.json` !== name) throw new Error(`${folder}/${name} is called ${read.name}`)
    return read
  })
}

/** One file of a Chain: rows that each end in LF, other text, or bytes. */
export type ChainInput =
  { readonly lines: readonly string[] } | { readonly text: string } | { readonly base64: string }

/** A file of test/vectors/7/chains. */
export interface ChainVector {
  readonly name: string
  readonly spec: string
  readonly files: readonly ChainInput[]
  readonly options?: {
    readonly keys?: readonly string[]
    readonly trust_store?: string
    readonly head?: string
  }
  readonly expect: ExpectedReport
}

export function inputBytes(input: ChainInput): Uint8Array {
  if ('base64' in input) return Uint8Array.from(atob(input.base64), (letter) => letter.charCodeAt(0))
  return new TextEncoder().encode(
    'text' in input ? input.text : input.lines.map((line) => `${line}\n`).join(''),
  )
}
