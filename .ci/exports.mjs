// Copied beside an installed package and run there: imports every published entry point and compiles a program
// that uses their declarations, so that what package.json promises is what `npm install aegis-edge` gives.
// Usage: node exports.mjs PATH-OF-TSC
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'

const manifest = JSON.parse(readFileSync('node_modules/aegis-edge/package.json', 'utf8'))
const names = Object.keys(manifest.exports).map((name) => `aegis-edge${name.slice(1)}`)

for (const name of names) {
  const found = Object.keys(await import(name))
  if (found.length === 0) throw new Error(`${name} exports nothing`)
  process.stdout.write(`${name}: ${found.length} exports\n`)
}

writeFileSync(
  'consumer.ts',
  names
    .map((name, at) => `import * as m${at} from '${name}'\nexport const n${at}: object = m${at}\n`)
    .join(''),
)
const compilerOptions = { strict: true, module: 'nodenext', target: 'es2022', types: [], noEmit: true }
writeFileSync('tsconfig.json', JSON.stringify({ compilerOptions, files: ['consumer.ts'] }))
const { status } = spawnSync(process.execPath, [process.argv[2]], { stdio: 'inherit' })
process.exitCode = status ?? 1
