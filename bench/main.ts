/**
 * `npm run bench -- NAME [--quick]`: runs one bench and prints its table, in Markdown, ready for docs/benchmarks.md.
 * `npm run bench -- all` runs them all and writes one page (bench/all.ts).
 */
import { benchAll } from './all.ts'
import { benchAuthorize } from './authorize.ts'
import { benchCalls } from './calls.ts'
import { headline } from './machine.ts'
import type { Bench } from './options.ts'
import { benchPeers } from './peers.ts'
import { benchPolicy } from './policy.ts'
import { benchRecheck } from './recheck.ts'
import { benchTamper } from './tamper.ts'
import { benchTenants } from './tenants.ts'
import { benchVerify } from './verify.ts'
import { benchWriters } from './writers.ts'

/** Each returns lines of Markdown; what it does meanwhile goes to stderr. The order is that of the page of all. */
const benches: Readonly<Record<string, Bench>> = {
  tamper: benchTamper,
  peers: benchPeers,
  policy: benchPolicy,
  verify: benchVerify,
  recheck: benchRecheck,
  authorize: benchAuthorize,
  writers: benchWriters,
  tenants: benchTenants,
  calls: benchCalls,
}

const [name = '', flag, ...more] = process.argv.slice(2)
const bench = Object.hasOwn(benches, name) ? benches[name] : undefined
const quick = flag === '--quick'
if ((bench === undefined && name !== 'all') || more.length > 0 || (flag !== undefined && !quick)) {
  process.stderr.write(`usage: npm run bench -- ${['all', ...Object.keys(benches)].join('|')} [--quick]\n`)
  process.exitCode = 2
} else if (bench === undefined) {
  process.exitCode = await benchAll(Object.keys(benches), { quick })
} else {
  const lines = await bench({ quick })
  process.stdout.write(`${[headline(name, { quick }), '', ...lines].join('\n')}\n`)
}
