/** The authorizer in a process of its own, so that it can be ended with SIGKILL: prints its address, then serves. */
import { join } from 'node:path'
import { startAuthorizer } from '../../examples/local/authorizer.ts'
import { developmentSecrets } from '../../examples/local/secrets.ts'
import { provisionTenant, readBundleOrThrow } from '../../examples/local/tenant.ts'
import { readModules } from './modules.ts'

const [stateFolder, port] = process.argv.slice(2)
if (stateFolder === undefined || port === undefined) throw new Error('server.ts FOLDER PORT')

const authorizer = await startAuthorizer({
  stateFolder,
  port: Number(port),
  secrets: developmentSecrets,
  modules: await readModules(join(stateFolder, 'worker')),
})
const tenant = await provisionTenant(authorizer, developmentSecrets, {
  tenant: 'crash',
  agent: { id: 'desk', owner: 'ada', trustMax: 'semi_trusted_customer' },
  bundle: await readBundleOrThrow('policies/examples/airline'),
})
process.stdout.write(
  `${JSON.stringify({ url: authorizer.url, keys: tenant.keys, publicKey: tenant.publicKey })}\n`,
)
