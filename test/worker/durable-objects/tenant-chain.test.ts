/** The writer as it runs: real workerd, its SQLite, its R2, driven through stubs and verified from public bytes. */
import { abortAllDurableObjects } from 'cloudflare:test'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AdmitResult } from '../../../durable-objects/rpc.ts'
import { utf8 } from '../../../src/record/index.ts'
import { act, denial, keyFields } from '../../harness/drafts.ts'
import { linesOf, outcomesOf } from '../../harness/follower.ts'
import { ObjectUnderTest, provision } from './object.ts'

const range = (count: number): number[] => Array.from({ length: count }, (_, at) => at)

function receiptOf(result: AdmitResult): string {
  if (result.kind !== 'admitted' && result.kind !== 'repeated') throw new Error(JSON.stringify(result))
  return result.line
}

/** Each receipt stands at the position that it names, and none twice. */
function expectReceipts(chain: Uint8Array, receipts: readonly string[]): void {
  const lines = linesOf(chain)
  for (const receipt of receipts) {
    const { seq } = JSON.parse(receipt) as { readonly seq: number }
    if (lines[seq] !== receipt) throw new Error(`no receipt at seq ${String(seq)}`)
  }
  expect(new Set(receipts).size).toBe(receipts.length)
}

describe('an object that was never provisioned', () => {
  it('answers every method like one that does not know the key, and writes nothing', async () => {
    const object = new ObjectUnderTest('nobody')
    const { rpc } = object
    const actor = { role: 'operator' } as const
    const call = act({ act: 'tenant.freeze' })
    const policySetHash = 'ab'.repeat(32) as never
    const answers = [
      await rpc.administer(call),
      await rpc.pushPolicy({ actor, bundle: utf8('{}') }),
      await rpc.activatePolicy({ ...call, policySetHash }),
      await rpc.shadowPolicy(call),
      await rpc.resolve('bot'),
      await object.admit('bot'),
      await rpc.explain({ keyId: 'bot', agentId: 'bot', revision: 0, evaluatedAt: Date.now() }),
      await rpc.mayRead('aud', ['auditor']),
      await rpc.head('aud'),
      await rpc.live('aud'),
      await rpc.live('aud', { sessionIndex: 0, seq: 0, endSession: 0, end: 9 }),
    ]
    for (const answer of answers) expect(answer).toEqual({ kind: 'unauthorized' })
    const tables = await object.inside(({ storage }) =>
      storage.sql.exec('SELECT name FROM sqlite_schema').toArray(),
    )
    expect(tables).toEqual([])
  })

  it('is made once, under its own name only', async () => {
    const object = new ObjectUnderTest('made-once')
    const other = new ObjectUnderTest('Not-A-Name')
    expect(await other.create()).toEqual({ kind: 'invalid', code: 'tenant_name' })
    const request = { request: utf8('{}'), requestDigest: 'ab'.repeat(32) as never }
    expect(await object.rpc.create({ ...request, tenant: 'another' })).toEqual({
      kind: 'invalid',
      code: 'tenant_mismatch',
    })
    const answers = await Promise.all(range(4).map(() => object.create()))
    expect(answers.map(({ kind }) => kind).sort()).toEqual(['done', 'exists', 'exists', 'exists'])
  })
})

describe('many at once', () => {
  it('64 agents: one dense Chain, and every answer in it', async () => {
    const agents = range(64).map((at) => `agent-${String(at)}`)
    const object = await provision('many', { agents })
    const receipts: string[] = []
    for (const round of range(3)) {
      const answers = await Promise.all(
        agents.map((agent) => object.admit(agent, { requestId: `r${String(round)}` })),
      )
      receipts.push(...answers.map(receiptOf))
      await object.verified()
    }
    const chain = await object.verified()
    expect(outcomesOf(chain).length).toBe(192)
    expectReceipts(chain, receipts)
  })

  it('50 equal requests are one Call with one answer; other bytes are a conflict', async () => {
    const object = await provision('equal')
    const answers = await Promise.all(range(50).map(() => object.admit('bot', { requestId: 'r', body: 'x' })))
    expect(new Set(answers.map(receiptOf)).size).toBe(1)
    expect(answers.filter(({ kind }) => kind === 'admitted').length).toBe(1)
    expect(await object.admit('bot', { requestId: 'r', body: 'y' })).toEqual({
      kind: 'conflict',
      code: 'idempotency_conflict',
    })
    expect(outcomesOf(await object.verified()).length).toBe(1)
  })

  it('a nonce at once in two requests is allowed in one', async () => {
    const object = await provision('nonce')
    const given = { nonce: 'n', timestamp: Date.now() }
    await Promise.all([object.admit('bot', given), object.admit('bot', given)])
    const statuses = outcomesOf(await object.verified()).map(({ policy }) => policy.reason ?? policy.status)
    expect(statuses).toEqual(['allowed', 'nonce_replayed'])
  })

  it('refused Calls past the cap leave no Line, and the next Line counts them', async () => {
    const object = await provision('flood', { settings: { refused_calls_per_minute: 5 } })
    const answers = await Promise.all(range(20).map(() => object.admit('bot', { evaluation: denial() })))
    expect(answers.filter(({ kind }) => kind === 'admitted').length).toBe(5)
    await object.admit('bot')
    const outcomes = outcomesOf(await object.verified())
    expect(outcomes.length).toBe(6)
    expect(outcomes.at(-1)?.decision_axes.suppressed).toBe(15)
  })

  it('two tenants never meet', async () => {
    const [one, two] = [await provision('one', { agents: ['a'] }), await provision('two', { agents: ['b'] })]
    expect((await one.admit('b')).kind).toBe('unauthorized')
    await Promise.all(range(10).flatMap(() => [one.admit('a'), two.admit('b')]))
    for (const [object, agent] of [
      [one, 'a'],
      [two, 'b'],
    ] as const) {
      const outcomes = outcomesOf(await object.verified())
      expect(outcomes.map(({ agent_id }) => agent_id)).toEqual(range(10).map(() => agent))
    }
  })

  it('any interleaving of admits and acts is one Chain that verifies, with every answer in it', async () => {
    const step = fc.oneof(
      {
        weight: 8,
        arbitrary: fc.record({
          what: fc.constant('admit' as const),
          agent: fc.constantFrom('a', 'b', 'c'),
          request: fc.option(fc.constantFrom('r1', 'r2', 'r3'), { nil: undefined }),
          body: fc.constantFrom('x', 'y'),
          denied: fc.boolean(),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({
          what: fc.constant('act' as const),
          act: fc.constantFrom('agent.freeze' as const, 'agent.unfreeze' as const),
          agent: fc.constantFrom('a', 'b'),
        }),
      },
      { weight: 1, arbitrary: fc.record({ what: fc.constant('wait' as const) }) },
    )
    let run = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
        run += 1
        const object = await provision(`any-${String(run)}`, { agents: ['a', 'b', 'c'] })
        const answers: Promise<AdmitResult>[] = []
        for (const one of steps) {
          if (one.what === 'act') await object.do({ act: one.act, agentId: one.agent })
          else if (one.what === 'wait') await Promise.all(answers)
          else {
            const requestId = one.request === undefined ? {} : { requestId: one.request }
            const evaluation = one.denied ? { evaluation: denial() } : {}
            answers.push(object.admit(one.agent, { ...requestId, ...evaluation, body: one.body }))
          }
        }
        const results = await Promise.all(answers)
        const chain = await object.verified()
        const admitted = results.filter(({ kind }) => kind === 'admitted').map(receiptOf)
        expectReceipts(chain, admitted)
        expect(outcomesOf(chain).length).toBe(admitted.length)
        const others = results.filter(
          (result) =>
            result.kind !== 'admitted' && !(result.kind === 'repeated' && admitted.includes(result.line)),
        )
        for (const { kind } of others) expect(['stale', 'conflict']).toContain(kind)
      }),
      { numRuns: 12 },
    )
  })
})

describe('an object that is lost', () => {
  it('between Calls keeps everything', async () => {
    const object = await provision('lost')
    const receipts: string[] = []
    for (const at of range(5)) {
      receipts.push(receiptOf(await object.admit('bot', { requestId: `r${String(at)}`, body: 'x' })))
      await abortAllDurableObjects()
      expectReceipts(await object.verified(), receipts)
    }
    expect(outcomesOf(await object.verified()).length).toBe(5)
  })

  it('in the middle of them keeps what it acknowledged, and a retry never writes twice', async () => {
    const object = await provision('reset', { agents: ['a', 'b', 'c', 'd'] })
    const receipts = new Map<string, string>()
    for (const round of range(4)) {
      const requests = range(32).map((at) => ({
        agent: ['a', 'b', 'c', 'd'][at % 4] ?? 'a',
        requestId: `r${String(round)}-${String(at)}`,
      }))
      const send = async ({ agent, requestId }: { agent: string; requestId: string }): Promise<void> => {
        receipts.set(requestId, receiptOf(await object.admit(agent, { requestId, body: 'x' })))
      }
      const sent = Promise.allSettled(requests.map(send))
      // Anywhere from before the first commit to behind the last.
      for (let turn = 0; turn < round * 20; turn += 1) await Promise.resolve()
      await object.lose()
      await sent
      expectReceipts(await object.verified(), [...receipts.values()])
      const before = new Map(receipts)
      for (const request of requests) await send(request)
      for (const [requestId, receipt] of before) expect(receipts.get(requestId)).toBe(receipt)
    }
    const chain = await object.verified()
    expectReceipts(chain, [...receipts.values()])
    expect(outcomesOf(chain).length).toBe(4 * 32)
  })
})

describe('a broken storage', () => {
  it('whose head was changed by another takes no Line', async () => {
    const object = await provision('forked')
    const before = await object.verified()
    const set = (hash: string): Promise<void> =>
      object.inside(({ storage }) => {
        storage.sql.exec('UPDATE head SET line_hash = ?', hash)
      })
    const { line_hash: hash } = await object.inside(({ storage }) =>
      storage.sql.exec<{ line_hash: string }>('SELECT line_hash FROM head').one(),
    )
    await set('00'.repeat(32))
    expect(await object.admit('bot')).toEqual({ kind: 'unavailable', code: 'storage_failed' })
    expect((await object.do({ act: 'tenant.freeze' })).kind).toBe('unavailable')
    await set(hash)
    expect(await object.verified()).toEqual(before)
    expect((await object.admit('bot')).kind).toBe('admitted')
    await object.verified()
  })

  it('fails one draft of a commit alone: rolled back whole, the others as if it had not been', async () => {
    const object = await provision('one-fails')
    const drafts = range(12).map((at) => object.draft('bot', { requestId: `r${String(at)}` }))
    const broken = drafts[5]?.requestDigest ?? ''
    // Fires at the last write of that draft, when its Lines and the new head are already written.
    await object.inside(({ storage }) => {
      storage.sql.exec(
        `CREATE TRIGGER break_one BEFORE INSERT ON envelopes WHEN NEW.request_digest = '${broken}'
         BEGIN SELECT RAISE(ABORT, 'made to fail'); END`,
      )
    })
    const answers = await Promise.all(drafts.map((one) => object.rpc.admit(one)))
    expect(answers.map(({ kind }) => kind)).toEqual(
      range(12).map((at) => (at === 5 ? 'unavailable' : 'admitted')),
    )
    const chain = await object.verified()
    expect(outcomesOf(chain).length).toBe(11)
    expectReceipts(chain, answers.filter(({ kind }) => kind === 'admitted').map(receiptOf))
    await object.inside(({ storage }) => storage.sql.exec('DROP TRIGGER break_one').toArray())
    const again = drafts[5]
    if (again === undefined) throw new Error('no draft')
    expect((await object.rpc.admit(again)).kind).toBe('admitted')
    await object.verified()
  })
})

describe('reading', () => {
  it('the head is the last Line, for auditors and admins only', async () => {
    const object = await provision('head')
    await object.admit('bot')
    const lines = linesOf(await object.verified())
    for (const key of ['aud', 'adm']) {
      expect(await object.rpc.head(key)).toMatchObject({
        kind: 'head',
        line: lines.at(-1),
        seq: lines.length - 1,
        sessionIndex: 0,
      })
    }
    expect((await object.rpc.head('bot')).kind).toBe('unauthorized')
    await object.do({ act: 'key.revoke', keyId: 'aud' }, 'adm')
    expect((await object.rpc.head('aud')).kind).toBe('unauthorized')
    expect((await object.rpc.live('aud', { sessionIndex: 0, seq: 0, endSession: 0, end: 9 })).kind).toBe(
      'unauthorized',
    )
  })

  it('a long Session comes in pages and ends where it ended when the reading began', async () => {
    const object = await provision('long')
    const axes = { decided_by: 'policy', context: { body: 'x'.repeat(20_000) } } as const
    await Promise.all(range(120).map(() => object.admit('bot', { evaluation: { axes } })))
    const first = await object.rpc.live('aud')
    if (first.kind !== 'lines' || first.next === undefined) throw new Error('one page only')
    expect(first.bytes.length).toBeLessThan(1_048_576 + 3 * 65_537)
    await object.admit('bot')
    const parts = [first.bytes]
    for (let after = first.next; ;) {
      const page = await object.rpc.live('aud', after)
      if (page.kind !== 'lines') throw new Error(page.kind)
      parts.push(page.bytes)
      if (page.next === undefined) break
      after = page.next
    }
    const read = Buffer.concat(parts)
    expect(parts.length).toBeGreaterThan(2)
    expect(linesOf(read).length - 1).toBe(first.next.end)
    expect(Buffer.compare(read, (await object.verified()).subarray(0, read.length))).toBe(0)
  })

  it('resolves a key to the state that a decision is made under', async () => {
    const object = await provision('state', { agents: ['a', 'b'] })
    expect(await object.rpc.resolve('a')).toMatchObject({
      kind: 'resolved',
      current: { tenant: 'state', revision: object.revision, key: { id: 'a' }, agent: { id: 'a' } },
    })
    expect(await object.rpc.resolve('aud', 'b')).toMatchObject({ current: { agent: { id: 'b' } } })
    expect(await object.rpc.resolve('aud', 'nobody')).toEqual({ kind: 'not_found' })
    expect(await object.rpc.resolve('nobody')).toEqual({ kind: 'unauthorized' })
    await object.do({ act: 'key.issue', key: keyFields('old', { expiresAt: Date.now() - 1 }) })
    expect(await object.rpc.resolve('old')).toEqual({ kind: 'unauthorized' })
  })
})
