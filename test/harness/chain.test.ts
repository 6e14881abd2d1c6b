/** The Chains that other tests are made of: they verify, they repeat, and they hold what they claim to. */
import { describe, expect, it } from 'vitest'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { isKnownLine, parseLine } from '../../src/record/index.ts'
import { Walk, parseTrustStore } from '../../src/verify/index.ts'
import { type BuiltChain, buildChain } from './chain.ts'

const full = {
  seed: 3,
  sessions: 4,
  callsPerSession: 7,
  interleave: true,
  approvals: true,
  rotate: true,
} as const

function verdictOf(chain: BuiltChain, pinned: boolean): string {
  const store = parseTrustStore(chain.trustStore)
  if (!store.ok) throw new Error(store.error.code)
  const walk = new Walk({
    digester: nodeSuite,
    check: ({ publicKey, message, signature }) => nodeSuite.verify(publicKey, message, signature),
    ...(pinned ? { pins: store.value } : {}),
    head: chain.head,
  })
  for (const file of chain.files) {
    walk.push(file)
    walk.endFile()
  }
  const report = walk.end()
  return report.verdict === 'verified'
    ? `verified ${String(report.completeTo !== undefined)}`
    : report.finding.reason
}

describe('a built Chain', () => {
  it('is the same for the same seed, and another for another', () => {
    const bytes = Buffer.from(buildChain(full).bytes)
    expect(bytes.equals(buildChain(full).bytes)).toBe(true)
    expect(bytes.equals(buildChain({ ...full, seed: 4 }).bytes)).toBe(false)
  })

  it('verifies, pinned and unpinned, up to its head', () => {
    for (let seed = 0; seed < 12; seed += 1) {
      const chain = buildChain({ ...full, seed, interleave: seed % 2 === 0, rotate: seed % 3 === 0 })
      expect([verdictOf(chain, false), verdictOf(chain, true)]).toEqual(['verified true', 'verified true'])
    }
  })

  it('decodes, Line by Line, and has Lines of every type that is written', () => {
    const types = buildChain(full).lines.map((line) => {
      const read = parseLine(line.bytes)
      if (!read.ok) throw new Error(`${read.error.path} ${read.error.code}`)
      expect(isKnownLine(read.value)).toBe(true)
      expect(read.value.line_type).toBe(line.type)
      return line.type
    })
    expect([...new Set(types)].sort()).toEqual(['close', 'decision', 'intent', 'open', 'outcome'])
  })

  it('can lack its last close', () => {
    expect(verdictOf(buildChain({ seed: 1, closeLast: false }), false)).toBe('unanchored_tail')
  })
})
