/** What is asked of the writer without a Call: explanations, leave to read, the open Session page by page. */
import { describe, expect, it } from 'vitest'
import { admit } from '../../src/chain/admit.ts'
import { append } from '../../src/chain/append.ts'
import { countExplanation, leaveToRead } from '../../src/chain/consult.ts'
import { newId } from '../../src/chain/ids.ts'
import { readHeadLine, readLive } from '../../src/chain/reading.ts'
import { decodeRow, encodeRow } from '../../src/chain/row.ts'
import { utf8 } from '../../src/record/index.ts'
import { draft } from '../harness/drafts.ts'
import { linesOf } from '../harness/follower.ts'
import { MemoryTenant } from '../harness/memory-tenant.ts'

describe('explanations', () => {
  const ask = (tenant: MemoryTenant, keyId: string, agentId = 'bot') =>
    tenant.verified(() =>
      countExplanation(tenant.context(), {
        keyId,
        agentId,
        revision: tenant.revision,
        evaluatedAt: tenant.now,
      }),
    )

  it("leave no Line, and the agent's next Line counts them", () => {
    const tenant = new MemoryTenant()
    const lines = linesOf(tenant.chain).length
    expect([ask(tenant, 'adm'), ask(tenant, 'aud')]).toEqual([{ kind: 'counted' }, { kind: 'counted' }])
    expect(linesOf(tenant.chain).length).toBe(lines)
    tenant.admit('bot')
    expect(tenant.outcomes.at(-1)?.decision_axes.explained).toBe(2)
  })

  it('by others do not use up what the agent may do', () => {
    const tenant = new MemoryTenant({ settings: { agent_burst: 1, agent_rate_per_s: 1 } })
    for (let at = 0; at < 5; at += 1) expect(ask(tenant, 'aud').kind).toBe('counted')
    expect(tenant.admit('bot').kind).toBe('admitted')
  })

  it('by agents need the setting, and are of themselves', () => {
    const closed = new MemoryTenant()
    expect(ask(closed, 'bot').kind).toBe('unauthorized')
    const open = new MemoryTenant({ settings: { agents_may_explain: true }, agents: ['bot', 'other'] })
    expect(ask(open, 'bot').kind).toBe('counted')
    expect(ask(open, 'bot', 'other').kind).toBe('unauthorized')
  })

  it("by auditors share the tenant's rate", () => {
    const tenant = new MemoryTenant({ settings: { tenant_burst: 1, tenant_rate_per_s: 1 } })
    expect(ask(tenant, 'aud').kind).toBe('counted')
    expect(ask(tenant, 'aud')).toEqual({ kind: 'limited', retryAfterMs: 1_000 })
  })
})

describe('leave to read', () => {
  it("is a role's, and a token of the tenant's bucket, also when the day is used up", () => {
    const tenant = new MemoryTenant({
      settings: { tenant_burst: 2, tenant_rate_per_s: 1, tenant_daily_quota: 1 },
    })
    expect(tenant.admit('bot').kind).toBe('admitted')
    const leave = () => leaveToRead(tenant.context(), 'aud', ['auditor'])
    expect(leaveToRead(tenant.context(), 'adm', ['auditor']).kind).toBe('unauthorized')
    expect(leave()).toEqual({ kind: 'granted' })
    expect(leave()).toEqual({ kind: 'limited', retryAfterMs: 1_000 })
    tenant.now += 1_000
    expect(leave().kind).toBe('granted')
  })
})

describe('reading the open Session', () => {
  const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

  it('goes on behind any Line, also in the middle of a row', () => {
    const tenant = new MemoryTenant()
    tenant.admit('bot')
    const lines = linesOf(tenant.chain)
    const end = lines.length - 1
    for (let seq = 0; seq <= end; seq += 1) {
      const page = readLive(tenant.context(), 'aud', { sessionIndex: 0, seq, endSession: 0, end })
      if (page.kind !== 'lines') throw new Error(page.kind)
      expect(textOf(page.bytes)).toBe(
        lines
          .slice(seq + 1)
          .map((line) => `${line}\n`)
          .join(''),
      )
      expect(page.next).toBeUndefined()
    }
  })

  it('ends with the Session', () => {
    const tenant = new MemoryTenant()
    const record = tenant.store.readTenant()
    if (record === undefined) throw new Error('no tenant')
    const head = tenant.store.readHead()
    const close = { line_type: 'close', closed_at: tenant.now, calls: head.calls } as const
    const closed = append(tenant.context(), record, head, head, [close])
    if (closed.kind !== 'appended') throw new Error(closed.kind)
    expect(readLive(tenant.context(), 'aud')).toMatchObject({ kind: 'lines', bytes: new Uint8Array() })
    // Whoever was reading it reads it to its end; a new reader can ask for it as long as it is not published.
    const after = { sessionIndex: 0, seq: -1, endSession: 0, end: closed.seq }
    const whole = readLive(tenant.context(), 'aud', after)
    expect(whole).toEqual({ kind: 'lines', bytes: tenant.chain })
    expect(readLive(tenant.context(), 'aud', { from: 0 })).toEqual(whole)
    expect(readHeadLine(tenant.context(), 'aud')).toMatchObject({
      kind: 'head',
      line: textOf(closed.line),
      lineHash: closed.lineHash,
    })
    // The next Call opens the next Session, in the same row.
    expect(admit(tenant.context(), draft('bot', tenant.revision, tenant.now)).kind).toBe('admitted')
    expect(tenant.store.readHead().head).toMatchObject({ sessionIndex: 1, seq: 2 })
    const page = readLive(tenant.context(), 'aud')
    expect(page.kind === 'lines' && linesOf(page.bytes).length).toBe(3)
    const first = readLive(tenant.context(), 'aud', { from: 0 })
    expect(first).toMatchObject({ next: { sessionIndex: 1, seq: -1, endSession: 1, end: 2 } })
    // Once the rows are gone a reader is told so, and never given the next Session as if nothing were missing.
    tenant.store.deleteRows(0)
    expect(readLive(tenant.context(), 'aud', after)).toEqual({ kind: 'published' })
    expect(readLive(tenant.context(), 'aud', { from: 9 })).toMatchObject({ bytes: new Uint8Array() })
  })
})

describe('rows and ids', () => {
  it('a row is its Lines, each with LF, and comes apart again', () => {
    const lines = ['{"a":1}', '{}', '{"b":"\u00e9"}'].map(utf8)
    expect(new TextDecoder().decode(encodeRow(lines))).toBe('{"a":1}\n{}\n{"b":"é"}\n')
    expect(decodeRow(encodeRow(lines)).map((line) => [...line])).toEqual(lines.map((line) => [...line]))
    expect(() => decodeRow(utf8('{}'))).toThrow('LF')
  })

  it('an id is 130 of the bits that were drawn', () => {
    const ids = new Set<string>()
    for (let bit = 0; bit < 130; bit += 1) {
      const bytes = new Uint8Array(17)
      bytes[bit >> 3] = 0x80 >> (bit & 7)
      ids.add(newId('call', () => bytes))
    }
    expect(ids.size).toBe(130)
    for (const id of ids) expect(id).toMatch(/^call_[0-9a-hjkmnp-tv-z]{26}$/)
    expect(newId('grt', (count) => new Uint8Array(count).fill(255))).toBe(`grt_${'z'.repeat(26)}`)
  })
})
