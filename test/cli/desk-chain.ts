/** A day at the service desk of examples/recheck, recorded by the real writer with the proposal in the shadow. */
import { readBundle } from '../../src/policy/index.ts'
import { readBundleFolder } from '../../src/cli/bundle-folder.ts'
import { policyMeans } from '../../src/cli/policy-engine.ts'
import { RecordedTenant, type TestCall } from '../harness/recorded-tenant.ts'

/** @param sample the folder examples/recheck. */
export async function recordDesk(sample: string): Promise<RecordedTenant> {
  const open = async (name: string) => {
    const { bundle } = readBundle(await readBundleFolder(`${sample}/${name}`), policyMeans())
    if (bundle === undefined) throw new Error(`${name} is no bundle`)
    return bundle
  }
  const desk = new RecordedTenant(await open('bundle'), [{ id: 'clerk' }])
  const refund = (order: string, amount: number): TestCall => ({
    tool: 'desk',
    action: 'refund',
    parameters: { order, amount },
    mutatesState: true,
  })
  const charge = (order: string, card: string): TestCall => ({
    tool: 'desk',
    action: 'charge',
    parameters: { order, amount: 30, card },
    mutatesState: true,
  })
  desk.authorize(refund('A-30', 60))
  desk.shadow(await open('proposed'))
  desk.authorize({ tool: 'desk', action: 'look_up', parameters: { order: 'A-31' } })
  desk.authorize(refund('A-31', 40))
  desk.authorize(refund('A-32', 75))
  const asked = desk.authorize(refund('A-33', 250))
  desk.approve(asked, ['managers-1'])
  desk.consume(asked)
  desk.authorize(refund('A-34', 800))
  desk.authorize(charge('A-35', '4111'))
  desk.authorize(charge('A-36', '9000'))
  desk.shadow(undefined)
  desk.authorize(charge('A-37', '9001'))
  desk.verify()
  return desk
}
