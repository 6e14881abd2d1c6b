/**
 * `npm run dev [-- --bundle DIR] [--port N] [--state DIR] [--reset]`: the system on this machine, with its state kept
 * between runs. Prints the URL, a key for each role and a curl line that works; ends with Ctrl-C and leaves nothing
 * running.
 */
import { rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { bundleWorker, startAuthorizer } from './authorizer.ts'
import { writeProfiles } from './profiles.ts'
import { sampleCurl } from './sample-request.ts'
import { readDevVars } from './secrets.ts'
import { provisionTenant, readBundleOrThrow } from './tenant.ts'

const home = fileURLToPath(new URL('../..', import.meta.url))

const { values } = parseArgs({
  options: {
    bundle: { type: 'string', default: 'policies/default' },
    port: { type: 'string', default: '8787' },
    state: { type: 'string', default: '.wrangler/state/aegis' },
    reset: { type: 'boolean', default: false },
    quiet: { type: 'boolean', default: false },
  },
})

const say = (text: string) => process.stdout.write(`${text}\n`)

const port = Number(values.port)
if (!Number.isInteger(port) || port < 0 || port > 65_535)
  throw new Error('--port is not a number from 0 to 65535')
process.chdir(home)
if (values.reset) await rm(values.state, { recursive: true, force: true })
const bundle = await readBundleOrThrow(values.bundle)
const secrets = await readDevVars('.dev.vars')
const authorizer = await startAuthorizer({
  stateFolder: values.state,
  port,
  secrets,
  modules: await bundleWorker(),
  onLog: values.quiet ? () => undefined : say,
})
const local = await provisionTenant(authorizer, secrets, {
  tenant: 'dev',
  // Trust as high as it gets: on this machine the claim decides, so that every rule can be tried.
  agent: { id: 'dev-agent', owner: 'dev-owner', trustMax: 'trusted_internal_signed' },
  bundle,
})

const config = await writeProfiles(values.state, authorizer.url, secrets, local)

say('')
say(`Aegis Edge, on this machine only: ${authorizer.url}`)
say(`  tenant dev, agent dev-agent, bundle ${values.bundle} (${bundle.policySet.policySetHash})`)
say(`  state in ${values.state}; secrets in .dev.vars are for development only`)
say('')
for (const [role, key] of Object.entries(local.keys)) say(`  ${role.padEnd(8)}  ${key}`)
say('')
say(`  Lines are signed by ${local.publicKey}`)
say('')
say('Ask for a decision:')
say('')
say(sampleCurl(authorizer.url, local))
say('')
say('Read the Chain and verify it:')
say('')
say(`curl -s -H 'Authorization: Bearer ${local.keys.auditor}' ${authorizer.url}/v1/chain/live \\`)
say(`  | npx aegis verify --key ${local.publicKey} -`)
say('')
say('With the command line: profiles admin, approver, auditor, agent and operator are in')
say(`  export AEGIS_CONFIG=${config}`)
say('')
say('Ctrl-C ends it.')

await new Promise<void>((resolve) => {
  process.once('SIGINT', resolve)
  process.once('SIGTERM', resolve)
})
await authorizer.stop()
