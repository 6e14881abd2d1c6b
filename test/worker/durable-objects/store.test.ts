/** The store over SQLite: what it writes, that it behaves like the one in memory, and how its tables move on. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type Migration,
  createTables,
  migrate,
  migrations,
  readSchemaVersion,
} from '../../../durable-objects/migrations.ts'
import { SqlChainStore } from '../../../durable-objects/store.ts'
import { TenantChain } from '../../../durable-objects/tenant-chain.ts'
import { admit } from '../../../src/chain/admit.ts'
import { nonceGenerationMs, requestGenerationMs } from '../../../src/chain/ids.ts'
import { MemoryStore } from '../../../src/chain/memory-store.ts'
import type { ChainStore } from '../../../src/chain/ports.ts'
import type {
  ApprovalRecord,
  ApprovalState,
  GrantRecord,
  HeadRecord,
  WebhookTarget,
} from '../../../src/chain/records.ts'
import {
  type ActionHash,
  type BindingHash,
  type KeyId,
  type LineHash,
  type RequestDigest,
  utf8,
} from '../../../src/record/index.ts'
import { type DraftGiven, agentFields, denial, keyFields } from '../../harness/drafts.ts'
import { chainContext, countingRandom, someNoon, tenantRecord } from '../../harness/memory-tenant.ts'
import { counted } from './counted.ts'
import { ObjectUnderTest, provision, testEnv } from './object.ts'

describe('the rows that a Call writes (STORAGE.md)', () => {
  const written = async (name: string, given: DraftGiven, settings = {}, webhook?: WebhookTarget) => {
    const object = await provision(name, { settings })
    const told = webhook === undefined ? {} : { webhook }
    await object.do({ act: 'group.change', group: 'leads', members: ['lead@example.com'], ...told })
    // The first of its generation also makes the tables: a day's one, and a half-hour's.
    await object.admit('bot', { requestId: 'first', nonce: 'first', timestamp: Date.now() })
    const rows = await object.inside(({ storage }) => {
      const counting = counted(storage)
      const context = chainContext(new SqlChainStore(counting.storage), Date.now(), (count) =>
        crypto.getRandomValues(new Uint8Array(count)),
      )
      const result = admit(context, object.draft('bot', given))
      return { kind: result.kind, rows: counting.rows().written }
    })
    await object.verified()
    return rows
  }
  const ordinary = { head: 1, calls: 1, counters: 1 }

  it('an ordinary allow: six', async () => {
    expect(await written('rows-allow', { requestId: 'r' })).toEqual({
      kind: 'admitted',
      rows: { ...ordinary, request_ids: 1, grants: 1, envelopes: 1 },
    })
  })

  it('without an Envelope five, with a nonce seven', async () => {
    expect((await written('rows-off', { requestId: 'r' }, { envelope: 'off' })).rows).toEqual({
      ...ordinary,
      request_ids: 1,
      grants: 1,
    })
    expect((await written('rows-nonce', { requestId: 'r', nonce: 'n', timestamp: Date.now() })).rows).toEqual(
      { ...ordinary, request_ids: 1, grants: 1, envelopes: 1, nonces: 1 },
    )
  })

  it('a denial without a grant, a pending one the approval with its index and its deadline besides', async () => {
    expect((await written('rows-deny', { requestId: 'r', evaluation: denial() })).rows).toEqual({
      ...ordinary,
      request_ids: 1,
      envelopes: 1,
    })
    const approval = { groups: ['leads'], quorum: 1 }
    const evaluation = { decision: 'require_approval', code: 'approval_required', approval } as const
    expect((await written('rows-pend', { requestId: 'r', evaluation })).rows).toEqual({
      ...ordinary,
      request_ids: 1,
      envelopes: 1,
      approvals: 2,
      due: 1,
    })
    const hook = { url: 'https://hooks.invalid/', format: 'standard' } as const
    expect((await written('rows-told', { requestId: 'r', evaluation }, {}, hook)).rows).toEqual({
      ...ordinary,
      request_ids: 1,
      envelopes: 1,
      approvals: 2,
      notices: 1,
      due: 2,
    })
  })

  it('a repeat: what was counted; a stale draft: nothing', async () => {
    const object = await provision('rows-repeat')
    const first = object.draft('bot', { requestId: 'r', body: 'x' })
    await object.rpc.admit(first)
    for (const [draft, rows] of [
      [first, { head: 1, counters: 1 }],
      [{ ...first, revision: 0 }, {}],
    ] as const) {
      const got = await object.inside(({ storage }) => {
        const counting = counted(storage)
        admit(chainContext(new SqlChainStore(counting.storage), Date.now(), countingRandom()), draft)
        return counting.rows().written
      })
      expect(got).toEqual(rows)
    }
  })
})

describe('the head', () => {
  it('is replaced only behind itself', async () => {
    const object = await provision('head-cas')
    await object.inside(({ storage }) => {
      const store = new SqlChainStore(storage)
      const head = store.readHead()
      const other = { ...head, head: { ...head.head, lineHash: 'ab'.repeat(32) } } as HeadRecord
      expect(() => {
        store.replaceHead(other, head)
      }).toThrow('one row was to be written, not 0')
      expect(store.readHead()).toEqual(head)
      expect(() => {
        store.appendLines(0, 0, [utf8('{}')])
      }).toThrow('UNIQUE')
    })
  })
})

function approvalRecord(approvalId: string, state: ApprovalState): ApprovalRecord {
  return {
    approvalId,
    state,
    agentId: 'bot',
    owner: '',
    callId: 'call',
    toolId: 'github.merge_pr',
    sessionIndex: 0,
    seq: 0,
    requestedAt: someNoon,
    approveBy: someNoon,
    useWithinMs: 1,
    groups: ['leads'],
    quorum: 1,
    actionHash: 'a'.repeat(64) as ActionHash,
    bindingHash: 'b'.repeat(64) as BindingHash,
    requestDigest: 'c'.repeat(64) as RequestDigest,
    line: '{}',
    votes: [],
  }
}

function grantRecord(grantId: string, expiresAt: number): GrantRecord {
  const requestDigest = 'd'.repeat(64) as RequestDigest
  return { grantId, callId: 'call', toolId: 'github.merge_pr', requestDigest, expiresAt, reported: false }
}

describe('both stores', () => {
  type Step = (store: ChainStore) => unknown
  const name = fc.constantFrom('a', 'b')
  const id = fc.constantFrom('x', 'y', 'z')
  const time = fc
    .tuple(fc.integer({ min: -1, max: 4 }), fc.constantFrom(requestGenerationMs, nonceGenerationMs))
    .map(([count, generationMs]) => someNoon + count * generationMs)
  const digest = (text: string): RequestDigest => text.repeat(64) as RequestDigest
  const leaf: fc.Arbitrary<Step> = fc.oneof(
    fc.tuple(name, id, time).map(([agent, request, now]): Step => (store) => {
      const known = store.readRequest(agent, 'authorize', request, now)
      if (known !== undefined) return known
      const record = { requestDigest: digest('d'), sessionIndex: 3, seq: 7 }
      store.insertRequest(agent, 'authorize', request, record, now)
      return 'inserted'
    }),
    fc.tuple(name, id, time).map(([agent, nonce, now]): Step => (store) => {
      if (store.hasNonce(agent, nonce, now)) return 'known'
      store.insertNonce(agent, nonce, now)
      return 'inserted'
    }),
    fc.tuple(name, fc.boolean()).map(([tool, frozen]): Step => (store) => {
      store.setToolFrozen(tool, frozen)
      return [store.isToolFrozen('a'), store.isToolFrozen('b')]
    }),
    fc.tuple(name, fc.boolean()).map(([agent, frozen]): Step => (store) => {
      store.writeAgent({ ...agentFields(agent), frozen, revoked: false })
      return [store.readAgent('a'), store.readAgent('b')]
    }),
    fc.integer({ min: 0, max: 9 }).map((revision): Step => (store) => {
      store.writeTenant({ ...tenantRecord('t'), revision })
      return store.readTenant()
    }),
    fc
      .tuple(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 0, max: 5 }), fc.integer({ min: 1, max: 3 }))
      .map(([sessionIndex, at, count]): Step => (store) => {
        const lines = Array.from({ length: count }, (_, line) => utf8(`{"at":${String(at * 3 + line)}}`))
        store.appendLines(sessionIndex, at * 3, lines)
        return 'appended'
      }),
    fc
      .tuple(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 0, max: 20 }))
      .map(([sessionIndex, seq]): Step => (store) => {
        const rows = [...store.readRows(sessionIndex, seq)].map((row) => [row.seq, [...row.bytes]])
        return [rows, [...(store.readLine(sessionIndex, seq) ?? [])]]
      }),
    fc.tuple(name, fc.boolean()).map(([agentId, revoked]): Step => (store) => {
      store.writeKey({ ...keyFields(agentId), revoked })
      store.writeGroup({ name: agentId, members: [agentId] })
      return [store.readKey('a'), store.readGroup('b'), store.readTenant(), store.readHead()]
    }),
    fc
      .tuple(id, fc.constantFrom<ApprovalState>('pending', 'approved', 'consumed'), fc.nat(9), fc.boolean())
      .map(([approvalId, state, deadline, keepsRequest]): Step => (store) => {
        const record = approvalRecord(approvalId, state)
        store.writeApproval(keepsRequest ? { ...record, request: utf8('{}') } : record, deadline)
        if (deadline === 9) store.deleteApproval('y')
        return [
          store.readApproval('x'),
          store.nextApprovalDeadline(),
          store.listApprovals(undefined, 'w', 2),
          store.listApprovals('approved', 'x', 2),
          store.listOverdueApprovals('pending', 5, 9).toSorted(),
        ]
      }),
    fc.tuple(id, name, fc.nat(9), fc.boolean()).map(([approvalId, group, at, isSent]): Step => (store) => {
      if (isSent) store.deleteNotice({ approvalId, group })
      else store.writeNotice({ approvalId, group, at, attempts: at })
      if (at === 0) store.forgetApprovals()
      return [store.listNotices(5, 2), store.nextNoticeAt()]
    }),
    fc.tuple(name, id, time).map(([agent, grantId, now]): Step => (store) => {
      const grant = store.readGrant(agent, grantId, now)
      if (grant?.reported === false) store.markReported(agent, grantId, now)
      else if (grant === undefined) store.insertGrant(agent, grantRecord(grantId, now), now)
      return [grant, store.listUnreported(agent, 'x', now + 1, 2)]
    }),
  )
  const session = fc.integer({ min: 0, max: 2 })
  const someDigest = fc.constantFrom('a', 'b', 'c').map(digest)
  /** What sealing, publishing and erasing do. */
  const upkeep: fc.Arbitrary<Step> = fc.oneof(
    fc.tuple(someDigest, fc.boolean()).map(([one, stages]): Step => (store) => {
      if (stages) store.stageEnvelope(one, utf8(one))
      else store.deleteEnvelope(one)
      return [store.listEnvelopes(2), [...(store.readEnvelope(one) ?? [])]]
    }),
    fc.tuple(someDigest, fc.integer({ min: 1, max: 9 })).map(([one, until]): Step => (store) => {
      if (store.isErased(one)) store.endErasing(one)
      else store.insertErased(one, until)
      return [store.isErased(one), store.listErasing(2)]
    }),
    fc
      .tuple(fc.constantFrom('seal' as const, 'publish' as const), fc.nat(9), fc.nat(2), fc.boolean())
      .map(([due, at, attempts, deletes]): Step => (store) => {
        if (deletes) store.deleteDue(due)
        else store.writeDue({ name: due, at, attempts })
        return store.listDue()
      }),
    fc.tuple(session, fc.nat(9)).map(([sessionIndex, bytes]): Step => (store) => {
      const tail = digest('e') as unknown as LineHash
      const facts = { sha256: 'f'.repeat(64), calls: 1, openedAt: 1, closedAt: 2, tail, keyId: 'k' as KeyId }
      store.insertSegment({ sessionIndex, bytes, ...facts })
      return [store.listSegments(0, 1), store.listSegments(-1, 9), store.readSegment(1)]
    }),
    session.map((through): Step => (store) => {
      const before = store.readPublication()
      store.writePublication({ ...before, erasedThrough: through })
      return [before, store.readPublication()]
    }),
    session.map((sessionIndex): Step => (store) => {
      const last = store.readLastRow(sessionIndex)
      store.deleteRows(sessionIndex)
      return [last?.seq, [...(last?.bytes ?? [])], store.readLastRow(sessionIndex)]
    }),
    fc.tuple(session, fc.noBias(fc.nat())).map(([from, now]): Step => (store) => {
      const count = store.setRowsAside(from, now)
      return [count, [...store.readRows(from, 0)], [...store.readRows(0, 0)].length]
    }),
  )
  const failed = Symbol('made to fail')
  /** Steps in a transaction, perhaps nested, that perhaps fails at its end. */
  const block: fc.Arbitrary<Step> = fc
    .tuple(fc.array(fc.oneof(leaf, upkeep), { minLength: 1, maxLength: 4 }), fc.boolean())
    .map(([steps, fails]): Step => (store) => {
      const seen: unknown[] = []
      try {
        store.transaction(() => {
          for (const step of steps) seen.push(step(store))
          // Not an Error: nothing here may depend on what is thrown.
          // oxlint-disable-next-line typescript/only-throw-error
          if (fails) throw failed
        })
      } catch (thrown) {
        seen.push(thrown === failed ? 'rolled back' : 'refused')
      }
      return seen
    })
  const nested: fc.Arbitrary<Step> = fc
    .tuple(fc.array(block, { minLength: 1, maxLength: 3 }), fc.boolean())
    .map(([blocks, fails]): Step => (store) => {
      const seen: unknown[] = []
      try {
        store.transaction(() => {
          for (const one of blocks) seen.push(one(store))
          // oxlint-disable-next-line typescript/only-throw-error
          if (fails) throw failed
        })
      } catch {
        seen.push('rolled back')
      }
      return seen
    })

  it('answer alike, nested transactions and clocks that jump included', async () => {
    const head: HeadRecord = {
      head: { state: 'empty', chainId: 't' },
      openedAt: 0,
      calls: 0,
      bytes: 0,
      bucket: { tokens: 1.25, at: someNoon },
      day: { day: 0, calls: 0 },
      pendingApprovals: 0,
    }
    const run = (store: ChainStore, steps: readonly Step[]): readonly unknown[] => {
      expect(store.readTenant()).toBeUndefined()
      store.transaction(() => {
        store.createTenant(tenantRecord('t'), head)
      })
      return steps.map((step) => step(store))
    }
    await new ObjectUnderTest('both').inside(({ storage }) => {
      fc.assert(
        fc.property(fc.array(fc.oneof(block, nested), { minLength: 1, maxLength: 20 }), (steps) => {
          const memory = run(new MemoryStore(), steps)
          let sqlite: readonly unknown[] = []
          // The next run finds an empty storage again.
          const undone = (): void => {
            storage.transactionSync(() => {
              sqlite = run(new SqlChainStore(storage), steps)
              throw new Error('undone')
            })
          }
          expect(undone).toThrow('undone')
          expect(sqlite).toEqual(memory)
        }),
        { numRuns: 200 },
      )
    })
  })
})

describe('approvals that ended', () => {
  it('cost nothing where those that wait are asked for', async () => {
    const object = await provision('many-approvals')
    const read = await object.inside(({ storage }) => {
      const many = new SqlChainStore(storage)
      storage.transactionSync(() => {
        for (let at = 0; at < 500; at += 1) {
          many.writeApproval(approvalRecord(`ended${String(at)}`, 'consumed'), someNoon + at)
        }
        many.writeApproval(approvalRecord('waits', 'pending'), someNoon)
      })
      const counting = counted(storage)
      const store = new SqlChainStore(counting.storage)
      expect(store.listApprovals('pending', '', 200)).toHaveLength(1)
      expect(store.nextApprovalDeadline()).toBe(someNoon)
      expect(store.listOverdueApprovals('approved', someNoon, 10)).toEqual([])
      return counting.rows().read
    })
    expect(read).toBeLessThan(20)
  })
})

describe('generations of ids', () => {
  it('are dropped as whole tables, two kept', async () => {
    const object = await provision('generations')
    await object.inside(({ storage }) => {
      const store = new SqlChainStore(storage)
      const tables = (): number =>
        storage.sql.exec("SELECT name FROM sqlite_schema WHERE name GLOB 'nonces_*'").toArray().length
      for (let at = 0; at < 5; at += 1) {
        store.transaction(() => {
          store.insertNonce('bot', 'n', someNoon + at * nonceGenerationMs)
        })
        expect(tables()).toBe(Math.min(at + 1, 2))
      }
    })
  })
})

describe('migrations', () => {
  /** A made-up version before and a made-up one behind. */
  const older: Migration = {
    version: 1,
    apply: (sql) =>
      sql.exec('CREATE TABLE things (id TEXT PRIMARY KEY, size TEXT NOT NULL) STRICT, WITHOUT ROWID'),
  }
  const newer: Migration = {
    version: 2,
    apply: (sql) => {
      sql.exec('CREATE TABLE sized (id TEXT PRIMARY KEY, size INTEGER NOT NULL) STRICT, WITHOUT ROWID')
      sql.exec('INSERT INTO sized SELECT id, CAST(size AS INTEGER) FROM things')
      sql.exec('DROP TABLE things')
    },
  }
  const failing: Migration = {
    version: 3,
    apply: (sql) => {
      sql.exec('DELETE FROM sized')
      sql.exec('no statement')
    },
  }

  it('bring stored tables forward with what is in them, once', async () => {
    await new ObjectUnderTest('older').inside(({ storage }) => {
      storage.transactionSync(() => {
        createTables(storage.sql, [older])
      })
      storage.sql.exec("INSERT INTO things VALUES ('a', '7')")
      for (let waking = 0; waking < 2; waking += 1) {
        expect(migrate(storage, [older, newer])).toEqual({ kind: 'current' })
        expect(readSchemaVersion(storage.sql)).toBe(2)
        expect(storage.sql.exec('SELECT * FROM sized').toArray()).toEqual([{ id: 'a', size: 7 }])
      }
      expect(() => migrate(storage, [older, newer, failing])).toThrow('SQLITE_ERROR')
      expect(readSchemaVersion(storage.sql)).toBe(2)
      expect(storage.sql.exec('SELECT * FROM sized').toArray().length).toBe(1)
    })
  })

  it('leave an object alone that was never provisioned, and tables that are newer', async () => {
    await new ObjectUnderTest('absent').inside(({ storage }) => {
      expect(migrate(storage)).toEqual({ kind: 'absent' })
      expect(storage.sql.exec('SELECT name FROM sqlite_schema').toArray()).toEqual([])
    })
    const object = await provision('newer')
    const draft = object.draft('bot')
    await object.inside(async (state) => {
      state.storage.sql.exec('UPDATE schema SET version = 99')
      const chain = new TenantChain(state, testEnv)
      const refused = { kind: 'unavailable', code: 'schema_newer' }
      expect(await chain.admit(draft)).toEqual(refused)
      expect(await chain.head('aud')).toEqual(refused)
      expect(migrate(state.storage)).toEqual({ kind: 'newer', version: 99 })
      state.storage.sql.exec('UPDATE schema SET version = 1')
    })
  })

  it('are numbered from 1 without a gap', () => {
    expect(migrations.map(({ version }) => version)).toEqual(migrations.map((_, at) => at + 1))
  })
})
