/**
 * Writes the vectors of this folder that are made and not found: `npm run vectors`. Running it changes nothing unless
 * test/harness/vectors changed. Files that stand here beside those are vectors too: the tests read whole folders.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { allVectorFiles } from '../harness/vectors/files.ts'

const here = dirname(fileURLToPath(import.meta.url))
for (const [path, text] of allVectorFiles()) {
  mkdirSync(dirname(join(here, path)), { recursive: true })
  writeFileSync(join(here, path), text)
}
