/** The 784 calls of the airline, recorded by the writer: unchanged under their own bundle, and what three edits change. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { type Bundle, describeFinding, readBundle } from '../../src/policy/index.ts'
import { type JsonObject, utf8 } from '../../src/record/index.ts'
import { PolicyCoverage } from '../../src/recheck/index.ts'
import { readFolder } from '../policy/node-means.ts'
import { recheck, verdictsOf } from '../harness/recheck.ts'
import { RecordedTenant, recheckEngine } from '../harness/recorded-tenant.ts'
import { sharedPath } from '../harness/shared.ts'

const files = readFolder(fileURLToPath(new URL('../../policies/examples/airline', import.meta.url)))

/** The bundle with some of its files written anew; `undefined` takes one away. */
function edited(edits: Readonly<Record<string, ((text: string) => string) | undefined>>): Bundle {
  const changed = new Map(files)
  for (const [name, edit] of Object.entries(edits)) {
    const before = changed.get(name)
    if (before === undefined) throw new Error(`no ${name}`)
    changed.delete(name)
    if (edit !== undefined) changed.set(name, utf8(edit(new TextDecoder().decode(before))))
  }
  const { bundle, findings } = readBundle(changed, { engine: recheckEngine, digester: nodeSuite })
  if (bundle === undefined) throw new Error(findings.map(describeFinding).join('\n'))
  return bundle
}

const calls = readFileSync(sharedPath('data', 'airline-calls.jsonl'), 'utf8')
  .trimEnd()
  .split('\n')
  .map((row) => {
    const { arguments: text, run, step, tool } = JSON.parse(row) as Record<string, string>
    return {
      name: `${String(run)}/${String(step)} ${String(tool)}`,
      tool: String(tool),
      given: JSON.parse(String(text)) as JsonObject & {
        readonly amount?: number
        readonly payment_id?: string
        readonly payment_methods?: readonly { readonly amount: number }[]
      },
    }
  })

describe('the 784 calls of the airline', { timeout: 120_000 }, () => {
  const own = edited({})
  let recorded: RecordedTenant
  let nameOf: ReadonlyMap<string, string>

  beforeAll(() => {
    recorded = new RecordedTenant(own, [{ id: 'desk', trustMax: 'trusted_internal_unsigned' }])
    nameOf = new Map(
      calls.map(({ given, name, tool }, at) => {
        // Half of what customers ask for comes through the airline's own systems: both kinds of rules decide.
        const sourceTrust = at % 2 === 0 ? 'semi_trusted_customer' : 'trusted_internal_unsigned'
        const call = { tool: 'airline', action: tool, parameters: given, sourceTrust }
        return [recorded.authorize(call).line.call_id, name]
      }),
    )
    recorded.verify()
  })

  const changedUnder = (bundle: Bundle): readonly string[] => {
    const done = recheck(recorded.chain, { under: bundle.policySet, envelopes: recorded.envelopes })
    expect(done.summary.verdicts.indeterminate).toBe(0)
    expect(done.rechecked).toHaveLength(784)
    return verdictsOf(done).flatMap((verdict, at) =>
      verdict.startsWith('unchanged ') ? [] : [`${calls[at]?.name ?? ''}: ${verdict}`],
    )
  }

  it('are all unchanged under the bundle that decided them, by --policy and by --policies', () => {
    for (const under of [own.policySet, recorded.objects]) {
      const { summary } = recheck(recorded.chain, { under, envelopes: recorded.envelopes })
      expect(summary.verdicts).toEqual({
        unchanged: 784,
        newly_blocked: 0,
        newly_allowed: 0,
        newly_parked: 0,
        indeterminate: 0,
      })
    }
  })

  it('need Envelopes only where a value was recorded as its digest', () => {
    const { rechecked, summary } = recheck(recorded.chain, { under: own.policySet })
    const digested = calls.filter(({ tool }) =>
      /^(book_reservation|update_reservation_(flights|baggages))$/.test(tool),
    )
    expect(summary.reasons).toEqual(new Map([['missing_envelope', digested.length]]))
    const missing = rechecked.filter(({ verdict }) => verdict.verdict === 'indeterminate')
    expect(missing.map(({ line }) => nameOf.get(line.callId))).toEqual(digested.map(({ name }) => name))
  })

  /** Position in the file, by the rules of the bundle written once more. */
  const isInternal = (at: number): boolean => at % 2 === 1
  const total = (at: number): number =>
    (calls[at]?.given.payment_methods ?? []).reduce((sum, { amount }) => sum + amount, 0)
  const expected = (affected: (at: number) => boolean, verdict: string): readonly string[] =>
    calls.flatMap(({ name }, at) => (affected(at) ? [`${name}: ${verdict}`] : []))

  it('a limit lowered, from 500 to 300: bookings between the two from internal systems wait', () => {
    const bundle = edited({
      'bookings.cedar': (text) => text.replace('context.args.total > 500', 'context.args.total > 300'),
    })
    const affected = (at: number): boolean =>
      isInternal(at) && calls[at]?.tool === 'book_reservation' && total(at) > 300 && total(at) <= 500
    const wanted = expected(affected, 'newly_parked was=allowed')
    expect(wanted).toEqual(lowered)
    expect(changedUnder(bundle)).toEqual(wanted)
  })

  it('a rule removed, the ban on certificates for changes: what it denied is allowed, or waits', () => {
    const bundle = edited({
      'customer-changes.cedar': (text) => text,
      'certificate-payments.cedar': undefined,
    })
    const wanted = calls.flatMap(({ given, name, tool }, at) => {
      if (!/^update_reservation_(flights|baggages)$/.test(tool)) return []
      if (given.payment_id?.startsWith('certificate_') !== true) return []
      return [
        `${name}: ${isInternal(at) ? 'newly_allowed was=denied now=allowed' : 'newly_parked was=denied'}`,
      ]
    })
    expect(wanted).toEqual(unbanned)
    expect(changedUnder(bundle)).toEqual(wanted)
  })

  it('another rule removed, the one for handing over: customers are no longer handed over', () => {
    const bundle = edited({ 'transfers.cedar': undefined })
    const affected = (at: number): boolean =>
      !isInternal(at) && calls[at]?.tool === 'transfer_to_human_agents'
    const wanted = expected(affected, 'newly_blocked was=allowed now=denied')
    expect(wanted).toEqual(stranded)
    expect(changedUnder(bundle)).toEqual(wanted)
  })

  it('a human gate added for baggage and passengers: changes from internal systems wait', () => {
    const bundle = edited({
      'internal-changes.cedar': (text) =>
        `${text}\n@id("gate")\n@decision("require_approval")\n@approvers("service-desk")\n` +
        'permit (principal, action in [Action::"airline.update_reservation_baggages", ' +
        'Action::"airline.update_reservation_passengers"], resource);\n',
    })
    const affected = (at: number): boolean =>
      isInternal(at) &&
      /^update_reservation_(baggages|passengers)$/.test(calls[at]?.tool ?? '') &&
      calls[at]?.given.payment_id?.startsWith('certificate_') !== true
    const wanted = expected(affected, 'newly_parked was=allowed')
    expect(wanted).toEqual(gated)
    expect(changedUnder(bundle)).toEqual(wanted)
  })

  it('show which policies they need', () => {
    const { rechecked } = recheck(recorded.chain, { under: own.policySet, envelopes: recorded.envelopes })
    const coverage = new PolicyCoverage(own.policySet)
    for (const row of rechecked) coverage.take(row)
    const told = JSON.parse(coverage.json) as {
      readonly policies: readonly { readonly id: string; readonly calls: number }[]
      readonly never_fired: readonly string[]
      readonly never_used: readonly string[]
      readonly undecided: number
    }
    const reads = calls.filter(({ tool }) => /^(get_|list_|search_|calculate|think)/.test(tool))
    expect(told.policies.find(({ id }) => id === 'reads')?.calls).toBe(reads.length)
    expect(told.never_fired).toEqual(['negative-payment', 'nonfree-baggage-count', 'untrusted-changes'])
    expect(told.never_used).toEqual([])
    expect(told.undecided).toBe(0)
  })
})

const lowered: readonly string[] = [
  'run-00-0/7 book_reservation: newly_parked was=allowed',
  'run-00-1/5 book_reservation: newly_parked was=allowed',
  'run-25-1/6 book_reservation: newly_parked was=allowed',
  'run-04-2/8 book_reservation: newly_parked was=allowed',
  'run-00-3/5 book_reservation: newly_parked was=allowed',
  'run-00-3/7 book_reservation: newly_parked was=allowed',
  'run-00-3/9 book_reservation: newly_parked was=allowed',
  'run-00-3/11 book_reservation: newly_parked was=allowed',
]
const unbanned: readonly string[] = ['run-03-0/18 update_reservation_flights: newly_parked was=denied']
const stranded: readonly string[] = [
  'run-30-0/8 transfer_to_human_agents: newly_blocked was=allowed now=denied',
  'run-48-0/1 transfer_to_human_agents: newly_blocked was=allowed now=denied',
  'run-12-1/2 transfer_to_human_agents: newly_blocked was=allowed now=denied',
  'run-24-1/3 transfer_to_human_agents: newly_blocked was=allowed now=denied',
  'run-28-1/14 transfer_to_human_agents: newly_blocked was=allowed now=denied',
  'run-48-1/1 transfer_to_human_agents: newly_blocked was=allowed now=denied',
  'run-49-1/1 transfer_to_human_agents: newly_blocked was=allowed now=denied',
  'run-13-2/8 transfer_to_human_agents: newly_blocked was=allowed now=denied',
  'run-21-2/2 transfer_to_human_agents: newly_blocked was=allowed now=denied',
  'run-42-2/1 transfer_to_human_agents: newly_blocked was=allowed now=denied',
  'run-43-2/1 transfer_to_human_agents: newly_blocked was=allowed now=denied',
  'run-45-2/3 transfer_to_human_agents: newly_blocked was=allowed now=denied',
  'run-40-3/6 transfer_to_human_agents: newly_blocked was=allowed now=denied',
  'run-42-3/1 transfer_to_human_agents: newly_blocked was=allowed now=denied',
  'run-43-3/1 transfer_to_human_agents: newly_blocked was=allowed now=denied',
]
const gated: readonly string[] = [
  'run-43-0/1 update_reservation_passengers: newly_parked was=allowed',
  'run-19-1/5 update_reservation_baggages: newly_parked was=allowed',
  'run-03-2/9 update_reservation_baggages: newly_parked was=allowed',
  'run-10-3/10 update_reservation_baggages: newly_parked was=allowed',
]
