/** Chains for properties: several Sessions, rotations, interleaved Calls, approvals, drawn by fast-check. */
import fc from 'fast-check'
import { type BuiltChain, type ChainOptions, buildChain } from './chain.ts'

const options: fc.Arbitrary<ChainOptions> = fc.record({
  seed: fc.nat(0xffff),
  sessions: fc.integer({ min: 1, max: 4 }),
  callsPerSession: fc.integer({ min: 0, max: 5 }),
  interleave: fc.boolean(),
  approvals: fc.boolean(),
  rotate: fc.boolean(),
})

/** Shown as its options, which rebuild it. */
export const chainOptions = options

const built = new Map<string, BuiltChain>()

/** Building signs every Line; a property that shrinks asks for the same Chains again. */
export function chainOf(chosen: ChainOptions): BuiltChain {
  const name = JSON.stringify(chosen)
  const known = built.get(name)
  if (known !== undefined) return known
  const chain = buildChain(chosen)
  if (built.size > 200) built.clear()
  built.set(name, chain)
  return chain
}
