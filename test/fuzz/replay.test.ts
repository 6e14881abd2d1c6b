/**
 * The corpus of fuzz/ once more, and a few seconds of plain mutations of it: what the fuzzer found stays found. The long
 * run, led by coverage, is `npm run fuzz`.
 */
import { readFileSync, readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { mutate } from '../../fuzz/mutate.ts'
import { targets } from '../../fuzz/targets.ts'
import { randomFrom } from '../harness/random.ts'

const corpus = new URL('../../fuzz/corpus/', import.meta.url)
const mutateMs = 2_000

describe.each(Object.entries(targets))('fuzz target %s', (name, target) => {
  const folder = new URL(`${name}/`, corpus)
  const seeds = readdirSync(folder).map((file) => new Uint8Array(readFileSync(new URL(file, folder))))

  it('takes every input of the corpus', () => {
    expect(seeds.length).toBeGreaterThan(0)
    for (const seed of seeds) target(seed)
  })

  it('takes what is made of them', { timeout: 60_000 }, () => {
    // Another seed each day; a failure prints its input.
    const random = randomFrom(Math.floor(Date.now() / 86_400_000))
    const end = Date.now() + mutateMs
    let count = 0
    while (Date.now() < end) {
      const input = mutate(random.pick(seeds), random.pick(seeds), random)
      try {
        target(input)
      } catch (cause) {
        throw new Error(`input ${Buffer.from(input).toString('base64')}`, { cause })
      }
      count += 1
    }
    expect(count).toBeGreaterThan(10)
  })
})
