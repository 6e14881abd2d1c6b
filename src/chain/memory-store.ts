/**
 * A `ChainStore` in memory: for tests, simulation and mutation. It keeps the same promises as the one on SQLite, nested
 * transactions and compare-and-set included, so that what is proven over it holds of the algorithm. Never deployed.
 */
import type { RequestDigest } from '../record/index.ts'
import { generationOf, grantGenerationMs, nonceGenerationMs, requestGenerationMs } from './ids.ts'
import type { ChainStore } from './ports.ts'
import type {
  AgentCounters,
  AgentRecord,
  ApprovalRecord,
  ApprovalState,
  DueName,
  DueRecord,
  GrantRecord,
  GroupRecord,
  HeadRecord,
  KeyRecord,
  NoticeRecord,
  PublicationRecord,
  RequestRecord,
  SegmentRecord,
  StoredRow,
  TenantRecord,
} from './records.ts'
import { decodeRow, encodeRow } from './row.ts'

interface Tables {
  tenant: TenantRecord | undefined
  head: HeadRecord | undefined
  readonly rows: Map<string, StoredRow & { readonly sessionIndex: number }>
  readonly agents: Map<string, AgentRecord>
  readonly counters: Map<string, AgentCounters>
  readonly keys: Map<string, KeyRecord>
  readonly groups: Map<string, GroupRecord>
  readonly frozenTools: Map<string, true>
  /** By generation (ids.ts), then by name. */
  readonly requests: Map<number, ReadonlyMap<string, RequestRecord>>
  readonly nonces: Map<number, ReadonlyMap<string, true>>
  readonly envelopes: Map<RequestDigest, Uint8Array>
  readonly approvals: Map<string, { readonly approval: ApprovalRecord; readonly deadline: number }>
  readonly notices: Map<string, NoticeRecord>
  readonly grants: Map<number, ReadonlyMap<string, GrantRecord>>
  readonly erased: Map<RequestDigest, true>
  readonly erasing: Map<RequestDigest, number>
  publication: PublicationRecord
  readonly segments: Map<number, SegmentRecord>
  readonly due: Map<DueName, DueRecord>
  readonly aside: Map<string, StoredRow & { readonly sessionIndex: number }>
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
    notices: new Map(),
    grants: new Map(),
    erased: new Map(),
    erasing: new Map(),
    publication: {},
    segments: new Map(),
    due: new Map(),
    aside: new Map(),
  }
}

/** Records are immutable, generations replaced and not changed, so that copying the maps copies everything. */
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
    notices: new Map(tables.notices),
    grants: new Map(tables.grants),
    erased: new Map(tables.erased),
    erasing: new Map(tables.erasing),
    segments: new Map(tables.segments),
    due: new Map(tables.due),
    aside: new Map(tables.aside),
  }
}

export class MemoryStore implements ChainStore {
  #tables = emptyTables()
  /** Set to `false` to stand for a full disk. */
  room = true

  /** What would be there if the object were lost now: another store with the same rows. */
  copy(): MemoryStore {
    const copy = new MemoryStore()
    copy.#tables = copyTables(this.#tables)
    return copy
  }

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
    this.#tables.rows.set(key, { sessionIndex, seq, bytes: encodeRow(lines) })
  }

  readLine(sessionIndex: number, seq: number): Uint8Array | undefined {
    const [row] = this.readRows(sessionIndex, seq)
    return row === undefined ? undefined : decodeRow(row.bytes)[seq - row.seq]
  }

  readRows(sessionIndex: number, seq: number): Iterable<StoredRow> {
    const rows = this.#sortedRows().filter((row) => row.sessionIndex === sessionIndex)
    const from = rows.filter((row) => row.seq <= seq).length - 1
    return from < 0 ? [] : rows.slice(from)
  }

  readLastRow(sessionIndex: number): StoredRow | undefined {
    return this.#sortedRows()
      .filter((row) => row.sessionIndex === sessionIndex)
      .at(-1)
  }

  deleteRows(sessionIndex: number): void {
    for (const [key, row] of this.#tables.rows) {
      if (row.sessionIndex === sessionIndex) this.#tables.rows.delete(key)
    }
  }

  setRowsAside(fromSession: number, now: number): number {
    let count = 0
    for (const [key, row] of this.#tables.rows) {
      if (row.sessionIndex < fromSession) continue
      this.#tables.aside.set(`${String(now)}/${key}`, row)
      this.#tables.rows.delete(key)
      count += 1
    }
    return count
  }

  readAgent(id: string): AgentRecord | undefined {
    return this.#tables.agents.get(id)
  }

  writeAgent(agent: AgentRecord): void {
    this.#tables.agents.set(agent.id, agent)
  }

  listAgents(after: string, limit: number): readonly AgentRecord[] {
    return page(this.#tables.agents, after, limit)
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

  listKeys(after: string, limit: number): readonly KeyRecord[] {
    return page(this.#tables.keys, after, limit)
  }

  listAdminKeys(): readonly KeyRecord[] {
    return [...this.#tables.keys.values()].filter((key) => key.role === 'admin')
  }

  readGroup(name: string): GroupRecord | undefined {
    return this.#tables.groups.get(name)
  }

  writeGroup(group: GroupRecord): void {
    this.#tables.groups.set(group.name, group)
  }

  listGroups(after: string, limit: number): readonly GroupRecord[] {
    return page(this.#tables.groups, after, limit)
  }

  isToolFrozen(toolId: string): boolean {
    return this.#tables.frozenTools.has(toolId)
  }

  setToolFrozen(toolId: string, frozen: boolean): void {
    if (frozen) this.#tables.frozenTools.set(toolId, true)
    else this.#tables.frozenTools.delete(toolId)
  }

  listFrozenTools(after: string, limit: number): readonly string[] {
    const names = new Map([...this.#tables.frozenTools.keys()].map((name) => [name, name]))
    return page(names, after, limit)
  }

  readRequest(agentId: string, route: string, requestId: string, now: number): RequestRecord | undefined {
    return find(this.#tables.requests, requestGenerationMs, now, [agentId, route, requestId])
  }

  insertRequest(
    agentId: string,
    route: string,
    requestId: string,
    request: RequestRecord,
    now: number,
  ): void {
    insert(this.#tables.requests, requestGenerationMs, now, [agentId, route, requestId], request)
  }

  hasNonce(agentId: string, nonce: string, now: number): boolean {
    return find(this.#tables.nonces, nonceGenerationMs, now, [agentId, nonce]) === true
  }

  insertNonce(agentId: string, nonce: string, now: number): void {
    insert(this.#tables.nonces, nonceGenerationMs, now, [agentId, nonce], true)
  }

  stageEnvelope(digest: RequestDigest, bytes: Uint8Array): void {
    if (!this.#tables.envelopes.has(digest)) this.#tables.envelopes.set(digest, bytes)
  }

  readEnvelope(digest: RequestDigest): Uint8Array | undefined {
    return this.#tables.envelopes.get(digest)
  }

  listEnvelopes(limit: number): readonly RequestDigest[] {
    return [...this.#tables.envelopes.keys()].sort().slice(0, limit)
  }

  deleteEnvelope(digest: RequestDigest): void {
    this.#tables.envelopes.delete(digest)
  }

  isErased(digest: RequestDigest): boolean {
    return this.#tables.erased.has(digest)
  }

  insertErased(digest: RequestDigest, deleteUntil: number): void {
    this.#tables.erased.set(digest, true)
    this.#tables.erasing.set(digest, deleteUntil)
  }

  listErasing(limit: number): readonly { readonly digest: RequestDigest; readonly deleteUntil: number }[] {
    return [...this.#tables.erasing]
      .map(([digest, deleteUntil]) => ({ digest, deleteUntil }))
      .sort((left, right) => (left.digest < right.digest ? -1 : 1))
      .slice(0, limit)
  }

  endErasing(digest: RequestDigest): void {
    this.#tables.erasing.delete(digest)
  }

  readPublication(): PublicationRecord {
    return this.#tables.publication
  }

  writePublication(publication: PublicationRecord): void {
    this.#tables.publication = publication
  }

  insertSegment(segment: SegmentRecord): void {
    this.#tables.segments.set(segment.sessionIndex, segment)
  }

  readSegment(sessionIndex: number): SegmentRecord | undefined {
    return this.#tables.segments.get(sessionIndex)
  }

  listSegments(after: number, limit: number): readonly SegmentRecord[] {
    return [...this.#tables.segments.values()]
      .filter(({ sessionIndex }) => sessionIndex > after)
      .sort((left, right) => left.sessionIndex - right.sessionIndex)
      .slice(0, limit)
  }

  listDue(): readonly DueRecord[] {
    return [...this.#tables.due.values()].sort((left, right) => (left.name < right.name ? -1 : 1))
  }

  writeDue(due: DueRecord): void {
    this.#tables.due.set(due.name, due)
  }

  deleteDue(name: DueName): void {
    this.#tables.due.delete(name)
  }

  writeApproval(approval: ApprovalRecord, deadline: number): void {
    this.#tables.approvals.set(approval.approvalId, { approval, deadline })
  }

  readApproval(approvalId: string): ApprovalRecord | undefined {
    return this.#tables.approvals.get(approvalId)?.approval
  }

  listApprovals(state: ApprovalState | undefined, after: string, limit: number): readonly ApprovalRecord[] {
    return [...this.#tables.approvals.values()]
      .map(({ approval: { request: _request, ...approval } }) => approval)
      .filter((approval) => approval.approvalId > after && (state === undefined || approval.state === state))
      .sort((left, right) => (left.approvalId < right.approvalId ? -1 : 1))
      .slice(0, limit)
  }

  listOverdueApprovals(state: ApprovalState, now: number, limit: number): readonly string[] {
    return [...this.#tables.approvals.values()]
      .filter(({ approval, deadline }) => approval.state === state && deadline <= now)
      .sort((left, right) => left.deadline - right.deadline)
      .slice(0, limit)
      .map(({ approval }) => approval.approvalId)
  }

  nextApprovalDeadline(): number | undefined {
    const deadlines = [...this.#tables.approvals.values()].map(({ deadline }) => deadline)
    return deadlines.length === 0 ? undefined : Math.min(...deadlines)
  }

  deleteApproval(approvalId: string): void {
    this.#tables.approvals.delete(approvalId)
  }

  writeNotice(notice: NoticeRecord): void {
    this.#tables.notices.set(JSON.stringify([notice.approvalId, notice.group]), notice)
  }

  deleteNotice({ approvalId, group }: Pick<NoticeRecord, 'approvalId' | 'group'>): void {
    this.#tables.notices.delete(JSON.stringify([approvalId, group]))
  }

  listNotices(now: number, limit: number): readonly NoticeRecord[] {
    const nameOf = ({ approvalId, group }: NoticeRecord): string => `${approvalId} ${group}`
    return [...this.#tables.notices.values()]
      .filter(({ at }) => at <= now)
      .sort((left, right) => left.at - right.at || (nameOf(left) < nameOf(right) ? -1 : 1))
      .slice(0, limit)
  }

  nextNoticeAt(): number | undefined {
    const times = [...this.#tables.notices.values()].map(({ at }) => at)
    return times.length === 0 ? undefined : Math.min(...times)
  }

  forgetApprovals(): void {
    this.#tables.approvals.clear()
    this.#tables.notices.clear()
    for (const [id, counters] of this.#tables.counters) {
      this.#tables.counters.set(id, { ...counters, pendingApprovals: 0 })
    }
  }

  insertGrant(agentId: string, grant: GrantRecord, now: number): void {
    insert(this.#tables.grants, grantGenerationMs, now, [agentId, grant.grantId], grant)
  }

  readGrant(agentId: string, grantId: string, now: number): GrantRecord | undefined {
    return find(this.#tables.grants, grantGenerationMs, now, [agentId, grantId])
  }

  markReported(agentId: string, grantId: string): void {
    const key = JSON.stringify([agentId, grantId])
    for (const [generation, table] of this.#tables.grants) {
      const grant = table.get(key)
      if (grant === undefined) continue
      this.#tables.grants.set(generation, new Map(table).set(key, { ...grant, reported: true }))
    }
  }

  listUnreported(agentId: string, after: string, now: number, limit: number): readonly GrantRecord[] {
    const current = generationOf(now, grantGenerationMs)
    return [...this.#tables.grants]
      .filter(([generation]) => generation >= current - 1)
      .flatMap(([, table]) => [...table])
      .filter(([key]) => (JSON.parse(key) as string[])[0] === agentId)
      .map(([, grant]) => grant)
      .filter((grant) => !grant.reported && grant.expiresAt <= now && grant.grantId > after)
      .sort((left, right) => (left.grantId < right.grantId ? -1 : 1))
      .slice(0, limit)
  }

  hasRoom(): boolean {
    return this.room
  }

  /** The whole Chain as a file: every stored Line, each with its LF. */
  chainBytes(): Uint8Array {
    return encodeRow(this.#sortedRows().flatMap((row) => decodeRow(row.bytes)))
  }

  #sortedRows() {
    return [...this.#tables.rows.values()].sort(
      (left, right) => left.sessionIndex - right.sessionIndex || left.seq - right.seq,
    )
  }
}

/** Values by their keys, from the one behind `after`. */
function page<V>(table: ReadonlyMap<string, V>, after: string, limit: number): readonly V[] {
  return [...table]
    .filter(([name]) => name > after)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .slice(0, limit)
    .map(([, value]) => value)
}

/** Of the generations that are kept, the current one and the one before, and a later one after a clock was set back. */
function find<V>(
  generations: ReadonlyMap<number, ReadonlyMap<string, V>>,
  generationMs: number,
  now: number,
  names: readonly string[],
): V | undefined {
  const key = JSON.stringify(names)
  for (const [generation, table] of generations) {
    const found = generation < generationOf(now, generationMs) - 1 ? undefined : table.get(key)
    if (found !== undefined) return found
  }
  return undefined
}

/** Into the newest generation, also when the clock was set back: what is kept is never forgotten early. */
function insert<V>(
  generations: Map<number, ReadonlyMap<string, V>>,
  generationMs: number,
  now: number,
  names: readonly string[],
  value: V,
): void {
  const generation = Math.max(generationOf(now, generationMs), ...generations.keys())
  const table = new Map(generations.get(generation))
  const key = JSON.stringify(names)
  if (table.has(key)) throw new Error('the id is already kept')
  generations.set(generation, table.set(key, value))
  for (const older of generations.keys()) if (older < generation - 1) generations.delete(older)
}

function hashOf(record: HeadRecord): string {
  return record.head.state === 'empty' ? '' : record.head.lineHash
}
