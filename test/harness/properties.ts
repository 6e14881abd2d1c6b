/** Properties with a seed that is said: before they run, and again by fast-check when one fails. */
import fc from 'fast-check'

/** `AEGIS_TEST_SEED` repeats a run; otherwise every run draws its own. */
function chooseSeed(): number {
  const named = process.env['AEGIS_TEST_SEED']
  if (named === undefined || named === '') return Math.floor(Math.random() * 2 ** 31)
  if (!/^[0-9]{1,10}$/.test(named)) throw new Error(`AEGIS_TEST_SEED is not a number: ${named}`)
  return Number(named)
}

/** The seed of this run of tests. */
const testSeed = chooseSeed()
process.stdout.write(`AEGIS_TEST_SEED=${String(testSeed)}\n`)

/** Asserts a property under the seed of this run. */
export function check<T>(property: fc.IProperty<T>, parameters: fc.Parameters<T> = {}): void {
  fc.assert(property, { seed: testSeed, ...parameters })
}
