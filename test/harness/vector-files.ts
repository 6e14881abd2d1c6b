/** Reads test/vectors from disk: whole folders, so that a new vector is one new file. Not for the Worker's tests. */
import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export { type ChainInput, type ChainVector, type RecheckVector, inputBytes } from './chain-vector.ts'

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
