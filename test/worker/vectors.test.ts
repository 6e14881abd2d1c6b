/// <reference types="vite/types/importMeta.d.ts" />
/** The vectors inside workerd: signatures in both suites, Chains to the byte (SPEC.md §5.5, §7), keys (§6.4). */
import { describe, expect, it } from 'vitest'
import { deriveLineKey, nodeSuite } from '../../src/crypto-node/index.ts'
import { decodeHex, encodeHex, nobleSuite } from '../../src/record/index.ts'
import { judge, judgeOptions, outputsOf } from '../harness/judge.ts'
import { type ChainVector, inputBytes } from '../harness/chain-vector.ts'
import type { KeyCase } from '../harness/vectors/derivations.ts'
import type { SignatureCase } from '../harness/vectors/ed25519.ts'

const bytes = (hex: string): Uint8Array => decodeHex(hex) ?? new Uint8Array(0)
const casesOf = <T>(files: Readonly<Record<string, unknown>>): readonly T[] => Object.values(files) as T[]

const signatures = casesOf<SignatureCase>(
  import.meta.glob('../vectors/5/ed25519/*.json', { eager: true, import: 'default' }),
)
const chains = casesOf<ChainVector>(
  import.meta.glob('../vectors/7/chains/*.json', { eager: true, import: 'default' }),
)
const keys = casesOf<KeyCase>(
  import.meta.glob('../vectors/6/line-key/*.json', { eager: true, import: 'default' }),
)

describe('in workerd', () => {
  it('both suites judge every signature of the vectors as it is stated', () => {
    expect(signatures.length).toBeGreaterThan(40)
    for (const { name, public_key, message, signature, accept } of signatures) {
      const parts = [bytes(public_key), bytes(message), bytes(signature)] as const
      const answers = { name, node: nodeSuite.verify(...parts), noble: nobleSuite.verify(...parts) }
      expect(answers).toEqual({ name, node: accept, noble: accept })
    }
  })

  it('every Chain of the vectors gets its report to the byte', () => {
    expect(chains.length).toBeGreaterThan(250)
    for (const { name, files, options, expect: wanted } of chains) {
      const outputs = outputsOf(judge(files.map(inputBytes), judgeOptions(nodeSuite, options)))
      expect({ name, ...outputs }).toEqual({ name, ...wanted })
    }
  })

  it('the keys of a tenant are those that an auditor derives', () => {
    for (const { seed, deployment, tenant, key_epoch, line_key, public_key } of keys) {
      const key = deriveLineKey(bytes(seed), deployment, tenant, Number(key_epoch))
      expect(encodeHex(key)).toBe(line_key)
      for (const suite of [nodeSuite, nobleSuite])
        expect(encodeHex(suite.signer(key).publicKey)).toBe(public_key)
    }
  })
})
