/** `npm run bench -- NAME`: runs one bench and prints its table, in Markdown, ready for README. */
import { cpus, release, totalmem, type } from 'node:os'
import { benchAuthorize } from './authorize.ts'
import { benchPolicy } from './policy.ts'
import { benchRecheck } from './recheck.ts'
import { benchTamper } from './tamper.ts'
import { benchTenants } from './tenants.ts'
import { benchVerify } from './verify.ts'

/** Each returns lines of Markdown; what it does meanwhile goes to stderr. */
const benches: Readonly<Record<string, () => Promise<readonly string[]>>> = {
  authorize: benchAuthorize,
  policy: benchPolicy,
  recheck: benchRecheck,
  tamper: benchTamper,
  tenants: benchTenants,
  verify: benchVerify,
}

const [name = '', ...more] = process.argv.slice(2)
const bench = Object.hasOwn(benches, name) ? benches[name] : undefined
if (bench === undefined || more.length > 0) {
  process.stderr.write(`usage: npm run bench -- ${Object.keys(benches).join('|')}\n`)
  process.exitCode = 1
} else {
  const lines = await bench()
  process.stdout.write(`${[machine(), '', ...lines].join('\n')}\n`)
}

function machine(): string {
  const processors = cpus()
  const memory = `${(totalmem() / 2 ** 30).toFixed(0)} GiB`
  const model = `${String(processors.length)} × ${processors[0]?.model.trim() ?? 'unknown processor'}`
  const date = new Date().toISOString().slice(0, 10)
  return `\`npm run bench -- ${name}\`, ${date}: ${model}, ${memory}, ${type()} ${release()}, Node ${process.versions.node}`
}
