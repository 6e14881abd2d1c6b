/** Receipts and trust stores of the vectors (SPEC.md §7.12, §7.7). */
import { describe, expect, it } from 'vitest'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { type ToolCall, nobleSuite, utf8 } from '../../src/record/index.ts'
import { parseTrustStore, receiptRefusals, verifyReceipt } from '../../src/verify/index.ts'
import { toPins } from '../harness/judge.ts'
import { readCases } from '../harness/vector-files.ts'
import type { ReceiptCase, TrustStoreCase } from '../harness/vectors/receipts.ts'

const receipts = readCases<ReceiptCase>('7/receipts')

const granted = {
  valid: true,
  grantId: 'grt_00000000000000000000000000',
  toolId: 'github.merge_pr',
  decidedAt: 1_796_040_000_000,
  expiresAt: 1_796_040_060_000,
}

describe('a receipt of the vectors', () => {
  it.each(receipts)('$name ($spec)', (vector) => {
    const { receipt, tool_call, now, trust_store, chain_id, agent_id, expect: wanted } = vector
    const question = {
      action: JSON.parse(tool_call) as ToolCall,
      now,
      keys: toPins(undefined, trust_store) ?? [],
      chainId: chain_id,
      ...(agent_id === undefined ? {} : { agentId: agent_id }),
    }
    for (const suite of [nodeSuite, nobleSuite]) {
      const answer = verifyReceipt(utf8(receipt), question, suite)
      expect(answer).toEqual(
        wanted === 'valid'
          ? { ...granted, outcome: JSON.parse(receipt) as unknown }
          : { valid: false, reason: wanted },
      )
    }
  })

  it('is refused where the time is no time, for a clock that fails must not let anything run', () => {
    const vector = receipts.find(({ name }) => name === 'valid')
    if (vector === undefined) throw new Error('no such vector')
    for (const now of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
      const action = JSON.parse(vector.tool_call) as ToolCall
      const keys = toPins(undefined, vector.trust_store) ?? []
      const question = { action, now, keys, chainId: vector.chain_id }
      expect(verifyReceipt(utf8(vector.receipt), question, nodeSuite)).toMatchObject({ valid: false })
    }
  })

  it('stands for every refusal that there is', () => {
    expect(new Set(receipts.map((vector) => vector.expect))).toEqual(new Set(['valid', ...receiptRefusals]))
  })
})

describe('a trust store of the vectors', () => {
  it.each(readCases<TrustStoreCase>('7/trust-stores'))('$name ($spec)', ({ text, expect: wanted }) => {
    const read = parseTrustStore(utf8(text))
    const names = {
      publicKey: 'public_key',
      chainId: 'chain_id',
      firstSession: 'first_session',
      lastSession: 'last_session',
    }
    const told = read.ok
      ? read.value.map((pin) =>
          Object.fromEntries(
            Object.entries(names).flatMap(([ours, theirs]) => {
              const value = pin[ours as keyof typeof pin]
              return value === undefined ? [] : [[theirs, value]]
            }),
          ),
        )
      : 'refused'
    expect(told).toEqual(wanted)
  })
})
