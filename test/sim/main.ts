/**
 * `npm run sim [-- --seed N] [--seeds N] [--steps N]`: many seeded runs of the simulation, or one again. A failure prints
 * the line that repeats it.
 */
import { parseArgs } from 'node:util'
import { simulate } from './simulate.ts'

const { values } = parseArgs({
  options: { seed: { type: 'string' }, seeds: { type: 'string' }, steps: { type: 'string', default: '200' } },
})
const first = Number(values.seed ?? Math.floor(Math.random() * 1_000_000_000))
const count = Number(values.seeds ?? (values.seed === undefined ? 1_000 : 1))
const steps = Number(values.steps)
const started = Date.now()
const states = new Set<string>()
let faults = 0
let acknowledged = 0
let sessions = 0
for (let at = 0; at < count; at += 1) {
  const seed = first + at
  try {
    const report = await simulate(seed, steps)
    for (const state of report.states) states.add(state)
    faults += report.faults
    acknowledged += report.acknowledged
    sessions += report.sessions
  } catch (error) {
    process.stderr.write(`npm run sim -- --seed ${String(seed)} --steps ${String(steps)}\n`)
    throw error
  }
}
process.stdout.write(
  `${String(count)} seeds from ${String(first)}, ${String(count * steps)} steps, ${String(faults)} faults, ` +
    `${String(acknowledged)} acknowledged, ${String(sessions)} Sessions, ${String(states.size)} distinct states, ` +
    `${String(Math.round((Date.now() - started) / 1000))} s: nothing lost, doubled or forked\n`,
)
