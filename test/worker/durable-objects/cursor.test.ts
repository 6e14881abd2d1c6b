import { expect, it } from 'vitest'
import { nonceGenerationMs } from '../../../src/chain/ids.ts'
import { SqlChainStore } from '../../../durable-objects/store.ts'
import { provision } from './object.ts'

it('a page that was broken off does not keep a generation of ids from going', async () => {
  const object = await provision('cursor-open')
  for (let n = 0; n < 40; n += 1) await object.admit('bot', { requestId: `r${String(n)}` })
  await object.inside(({ storage }) => {
    const store = new SqlChainStore(storage)
    const now = Date.now()
    for (const [at, nonce] of ['a', 'b', 'c', 'd'].entries()) {
      const later = now + at * nonceGenerationMs
      store.transaction(() => {
        store.insertNonce('bot', nonce, later)
      })
      const [row] = store.readRows(0, 3)
      expect(row?.seq).toBeLessThanOrEqual(3)
    }
    expect(store.hasNonce('bot', 'a', now + 3 * nonceGenerationMs)).toBe(false)
    // Over more than one page every row comes once, in order.
    const seqs = [...store.readRows(0, 0)].map(({ seq }) => seq)
    expect(seqs).toEqual([...new Set(seqs)].sort((left, right) => left - right))
    expect(seqs.length).toBeGreaterThan(40)
  })
})
