/**
 * A `ChainStore` in memory: for tests, simulation and mutation. It keeps the same promises as the one on SQLite, nested
 * transactions and compare-and-set included, so that what is proven over it holds of the algorithm. Never deployed.
 */
import type { RequestDigest } from '../record/index.ts'
import { generationOf, nonceGenerationMs, requestGenerationMs } from './ids.ts'
import type { ChainStore } from './ports.ts'
import type {
  AgentCounters,
  AgentRecord,
  ApprovalRecord,
  GroupRecord,
  HeadRecord,
  KeyRecord,
  RequestRecord,
  TenantRecord,
} from './records.ts'

interface Tables {
  tenant: TenantRecord | undefined
  head: HeadRecord | undefined
  readonly rows: Map<
    string,
    { readonly sessionIndex: number; readonly seq: number; readonly lines: readonly Uint8Array[] }
  >
  readonly agents: Map<string, AgentRecord>
  readonly counters: Map<string, AgentCounters>
  readonly keys: Map<string, KeyRecord>
  readonly groups: Map<string, GroupRecord>
  readonly frozenTools: Map<string, true>
  readonly requests: Map<string, RequestRecord>
  readonly nonces: Map<string, true>
  readonly envelopes: Map<RequestDigest, Uint8Array>
  readonly approvals: Map<string, ApprovalRecord>
}

function emptyTables(): Tables {
  return {
    tenant: undefined,
    head: undefined,
    rows: new Map(),
    agents: new Map(),
    counters: new Map(),
    keys: new Map(),
    groups: new Map(),
    frozenTools: new Map(),
    requests: new Map(),
    nonces: new Map(),
    envelopes: new Map(),
    approvals: new Map(),
  }
}

/** Records are immutable, so that copying the maps copies everything. */
function copyTables(tables: Tables): Tables {
  return {
    ...tables,
    rows: new Map(tables.rows),
    agents: new Map(tables.agents),
    counters: new Map(tables.counters),
    keys: new Map(tables.keys),
    groups: new Map(tables.groups),
    frozenTools: new Map(tables.frozenTools),
    requests: new Map(tables.requests),
    nonces: new Map(tables.nonces),
    envelopes: new Map(tables.envelopes),
    approvals: new Map(tables.approvals),
  }
}

export class MemoryStore implements ChainStore {
  #tables = emptyTables()
  /** Set to `false` to stand for a full disk. */
  room = true

  transaction<T>(work: () => T): T {
    const before = copyTables(this.#tables)
    try {
      return work()
    } catch (thrown) {
      this.#tables = before
      throw thrown
    }
  }

  readTenant(): TenantRecord | undefined {
    return this.#tables.tenant
  }

  createTenant(tenant: TenantRecord, head: HeadRecord): void {
    if (this.#tables.tenant !== undefined) throw new Error('the tenant exists')
    this.#tables.tenant = tenant
    this.#tables.head = head
  }

  writeTenant(tenant: TenantRecord): void {
    this.#tables.tenant = tenant
  }

  readHead(): HeadRecord {
    if (this.#tables.head === undefined) throw new Error('the tenant does not exist')
    return this.#tables.head
  }

  replaceHead(expected: HeadRecord, next: HeadRecord): void {
    const stored = this.readHead()
    if (hashOf(stored) !== hashOf(expected)) throw new Error('the head was moved by another writer')
    this.#tables.head = next
  }

  appendLines(sessionIndex: number, seq: number, lines: readonly Uint8Array[]): void {
    const key = `${String(sessionIndex)}/${String(seq)}`
    if (this.#tables.rows.has(key)) throw new Error(`position ${key} is taken`)
    this.#tables.rows.set(key, { sessionIndex, seq, lines })
  }

  readLine(sessionIndex: number, seq: number): Uint8Array | undefined {
    for (const row of this.#tables.rows.values()) {
      if (row.sessionIndex === sessionIndex && row.seq <= seq && seq < row.seq + row.lines.length) {
        return row.lines[seq - row.seq]
      }
    }
    return undefined
  }

  readAgent(id: string): AgentRecord | undefined {
    return this.#tables.agents.get(id)
  }

  writeAgent(agent: AgentRecord): void {
    this.#tables.agents.set(agent.id, agent)
  }

  readCounters(agentId: string): AgentCounters | undefined {
    return this.#tables.counters.get(agentId)
  }

  writeCounters(counters: AgentCounters): void {
    this.#tables.counters.set(counters.agentId, counters)
  }

  readKey(id: string): KeyRecord | undefined {
    return this.#tables.keys.get(id)
  }

  writeKey(key: KeyRecord): void {
    this.#tables.keys.set(key.id, key)
  }

  readGroup(name: string): GroupRecord | undefined {
    return this.#tables.groups.get(name)
  }

  writeGroup(group: GroupRecord): void {
    this.#tables.groups.set(group.name, group)
  }

  isToolFrozen(toolId: string): boolean {
    return this.#tables.frozenTools.has(toolId)
  }

  setToolFrozen(toolId: string, frozen: boolean): void {
    if (frozen) this.#tables.frozenTools.set(toolId, true)
    else this.#tables.frozenTools.delete(toolId)
  }

  readRequest(agentId: string, route: string, requestId: string, now: number): RequestRecord | undefined {
    return this.#find(this.#tables.requests, requestGenerationMs, now, [agentId, route, requestId])
  }

  insertRequest(
    agentId: string,
    route: string,
    requestId: string,
    request: RequestRecord,
    now: number,
  ): void {
    const key = toKey(generationOf(now, requestGenerationMs), [agentId, route, requestId])
    this.#tables.requests.set(key, request)
  }

  hasNonce(agentId: string, nonce: string, now: number): boolean {
    return this.#find(this.#tables.nonces, nonceGenerationMs, now, [agentId, nonce]) === true
  }

  insertNonce(agentId: string, nonce: string, now: number): void {
    this.#tables.nonces.set(toKey(generationOf(now, nonceGenerationMs), [agentId, nonce]), true)
  }

  stageEnvelope(digest: RequestDigest, bytes: Uint8Array): void {
    this.#tables.envelopes.set(digest, bytes)
  }

  insertApproval(approval: ApprovalRecord): void {
    this.#tables.approvals.set(approval.approvalId, approval)
  }

  readApproval(approvalId: string): ApprovalRecord | undefined {
    return this.#tables.approvals.get(approvalId)
  }

  hasRoom(): boolean {
    return this.room
  }

  /** The whole Chain as a file: every stored Line, each with its LF. */
  chainBytes(): Uint8Array {
    const rows = [...this.#tables.rows.values()].sort(
      (a, b) => a.sessionIndex - b.sessionIndex || a.seq - b.seq,
    )
    const lines = rows.flatMap((row) => row.lines)
    const bytes = new Uint8Array(lines.reduce((sum, line) => sum + line.length + 1, 0))
    let at = 0
    for (const line of lines) {
      bytes.set(line, at)
      bytes[at + line.length] = 0x0a
      at += line.length + 1
    }
    return bytes
  }

  readEnvelope(digest: RequestDigest): Uint8Array | undefined {
    return this.#tables.envelopes.get(digest)
  }

  /** The current generation, the one before, and the one behind, in case the clock was set back. */
  #find<V>(
    table: ReadonlyMap<string, V>,
    generationMs: number,
    now: number,
    names: readonly string[],
  ): V | undefined {
    const generation = generationOf(now, generationMs)
    for (const candidate of [generation, generation - 1, generation + 1]) {
      const found = table.get(toKey(candidate, names))
      if (found !== undefined) return found
    }
    return undefined
  }
}

function toKey(generation: number, names: readonly string[]): string {
  return JSON.stringify([generation, ...names])
}

function hashOf(record: HeadRecord): string {
  return record.head.state === 'empty' ? '' : record.head.lineHash
}
