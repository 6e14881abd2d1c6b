/** The bundled Worker as files, so that many processes can start from one build. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { WorkerModules } from '../../examples/local/authorizer.ts'

export async function writeModules(modules: WorkerModules, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  const index: { readonly type: string; readonly path: string }[] = []
  for (const { type, path, contents } of modules) {
    if (contents === undefined) throw new Error(`the module ${path} has no contents`)
    index.push({ type, path })
    await writeFile(join(folder, path), contents)
  }
  await writeFile(join(folder, 'modules.json'), JSON.stringify(index))
}

export async function readModules(folder: string): Promise<WorkerModules> {
  const index = JSON.parse(await readFile(join(folder, 'modules.json'), 'utf8')) as WorkerModules
  return Promise.all(
    index.map(async ({ type, path }) => {
      const bytes = await readFile(join(folder, path))
      return { type, path, contents: type === 'ESModule' ? bytes.toString('utf8') : new Uint8Array(bytes) }
    }),
  ) as Promise<WorkerModules>
}
