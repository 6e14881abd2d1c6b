/** A short run of the simulation; `npm run sim` is the long one. */
import { describe, expect, it } from 'vitest'
import { faultKinds, simulate } from './simulate.ts'

describe('the object under faults, late and double alarms, and losses', () => {
  it('loses, doubles and forks nothing, whatever the seed', { timeout: 120_000 }, async () => {
    // Another one each day: what fails says its seed, and `npm run sim -- --seed N` repeats it.
    const first = Math.floor(Date.now() / 86_400_000) * 1_000
    const kinds = new Set<string>()
    let faults = 0
    let sessions = 0
    for (let seed = first; seed < first + 300; seed += 1) {
      const report = await simulate(seed, 120).catch((cause: unknown) => {
        throw new Error(`npm run sim -- --seed ${String(seed)} --steps 120`, { cause })
      })
      for (const kind of report.kinds) kinds.add(kind)
      faults += report.faults
      sessions += report.sessions
    }
    expect([...kinds].sort()).toEqual([...faultKinds].sort())
    expect(faults).toBeGreaterThan(1_000)
    expect(sessions).toBeGreaterThan(300)
  })
})
