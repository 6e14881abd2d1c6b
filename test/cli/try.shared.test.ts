/** `aegis try` on the calls that a real model made, and what the airline's bundle says of them. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { sharedPath } from '../harness/shared.ts'
import { buildCommand } from './command.ts'

const aegis = buildCommand()
const airline = fileURLToPath(new URL('../../policies/examples/airline', import.meta.url))
const file = sharedPath('data', 'airline-calls.jsonl')
const args = ['try', file, '--tool', 'airline', '--bundle', airline]

interface Told {
  readonly calls: readonly {
    readonly line: number
    readonly tool_id: string
    readonly decision: string
    readonly matched_rules: readonly string[]
  }[]
  readonly unknown_tools: readonly unknown[]
  readonly unread: readonly unknown[]
}

interface Recorded {
  readonly tool: string
  readonly arguments: string
}

const mutating =
  /^(book_reservation|cancel_reservation|update_reservation_(flights|baggages|passengers)|send_certificate)$/

/** The rules of the bundle, written once more by other means. */
function expected({ arguments: text, tool }: Recorded): {
  readonly decision: string
  readonly rules: readonly string[]
} {
  const given = JSON.parse(text) as {
    readonly amount?: number
    readonly payment_id?: string
    readonly payment_methods?: readonly { readonly amount: number }[]
  }
  if (tool === 'transfer_to_human_agents') return { decision: 'allow', rules: ['transfers'] }
  if (!mutating.test(tool)) return { decision: 'allow', rules: ['reads'] }
  if (tool.startsWith('update_') && given.payment_id?.startsWith('certificate_') === true) {
    return { decision: 'deny', rules: ['change-paid-by-certificate'] }
  }
  const total = (given.payment_methods ?? []).reduce((sum, { amount }) => sum + amount, 0)
  const rules = [
    'customer-changes',
    ...(tool === 'cancel_reservation' ? ['cancellation'] : []),
    ...(tool === 'send_certificate' && (given.amount ?? 0) > 100 ? ['certificate-above-amount'] : []),
    ...(total > 500 ? ['booking-above-total'] : []),
  ]
  return { decision: 'require_approval', rules: rules.toSorted() }
}

describe('the 784 calls of the airline', { timeout: 120_000 }, () => {
  it('are decided as the rules say, each of them, with no unknown tool', async () => {
    const { code, stdout, stderr } = await aegis.run([...args, '--json'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const told = JSON.parse(stdout) as Told
    expect(told).toMatchObject({ unknown_tools: [], unread: [] })
    const recorded = readFileSync(file, 'utf8').trimEnd().split('\n')
    expect(told.calls).toHaveLength(784)
    for (const [at, call] of told.calls.entries()) {
      const row = JSON.parse(recorded[at] ?? '') as Recorded
      const { decision, rules } = expected(row)
      expect(call).toMatchObject({
        line: at + 1,
        tool_id: `airline.${row.tool}`,
        decision,
        matched_rules: rules,
      })
    }
  })

  it('in under five seconds', async () => {
    // The best of three: what else the machine does meanwhile is not what is measured.
    let bestMs = Number.POSITIVE_INFINITY
    for (let attempt = 0; attempt < 3 && bestMs >= 5_000; attempt += 1) {
      const start = performance.now()
      const { code, stdout } = await aegis.run(args)
      bestMs = Math.min(bestMs, performance.now() - start)
      expect(code).toBe(0)
      expect(stdout).toContain('784 calls decided: 623 allow, 160 require_approval, 1 deny\n')
    }
    expect(bestMs).toBeLessThan(5_000)
  })
})
