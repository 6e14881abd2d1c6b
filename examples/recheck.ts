/**
 * Writes examples/recheck: a small Chain of a service desk, the requests that it recorded and the policy set that decided
 * them, for docs/recheck.md. Run it with `npx tsx examples/recheck.ts` where the format changes; its ids and its clock are
 * counted, its key is published and worthless.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { administer } from '../src/chain/administer.ts'
import { nodeSuite } from '../src/crypto-node/index.ts'
import { describeFinding, readBundle } from '../src/policy/index.ts'
import { act } from '../test/harness/drafts.ts'
import { RecordedTenant, recheckEngine } from '../test/harness/recorded-tenant.ts'
import { readFolder } from '../test/policy/node-means.ts'

const folder = fileURLToPath(new URL('recheck', import.meta.url))
const { bundle, findings } = readBundle(readFolder(join(folder, 'bundle')), {
  engine: recheckEngine,
  digester: nodeSuite,
})
if (bundle === undefined) throw new Error(findings.map(describeFinding).join('\n'))

const desk = new RecordedTenant(bundle, [{ id: 'clerk', roles: [], trustMax: 'semi_trusted_customer' }])
const call = (action: string, parameters: Readonly<Record<string, string | number>>) =>
  desk.authorize({
    tool: 'desk',
    action,
    parameters,
    mutatesState: action !== 'look_up',
    sourceTrust: 'semi_trusted_customer',
  })
call('look_up', { order: 'A-17' })
call('refund', { order: 'A-17', amount: 40 })
call('refund', { order: 'A-18', amount: 80 })
const approved = call('refund', { order: 'A-19', amount: 300 })
desk.approve(approved, ['managers-1'])
desk.consume(approved)
const tooMuch = call('refund', { order: 'A-20', amount: 700 })
desk.approve(tooMuch, ['managers-2'])
desk.consume(tooMuch)
call('refund', { order: 'A-21', amount: 5_000 })
call('charge', { order: 'A-22', amount: 30, card: '4111' })
call('charge', { order: 'A-23', amount: 30, card: '9000' })
call('delete_customer', { order: 'A-23' })
desk.verify()
administer(desk.tenant.context(), act({ act: 'chain.seal' }))

for (const name of ['envelopes', 'policies']) {
  rmSync(join(folder, name), { recursive: true, force: true })
  mkdirSync(join(folder, name))
}
writeFileSync(join(folder, 'chain.aarl'), desk.chain)
for (const [digest, body] of desk.envelopes) writeFileSync(join(folder, 'envelopes', digest), body)
for (const [hash, object] of desk.objects) writeFileSync(join(folder, 'policies', `${hash}.json`), object)
