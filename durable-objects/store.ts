/**
 * The chain's store over SQLite in a Durable Object (ports.ts says what it promises, STORAGE.md what lies where). One
 * statement an operation, by primary key; records are JSON text, since nothing but our own code asks for their members.
 */
import { generationOf, grantGenerationMs, nonceGenerationMs, requestGenerationMs } from '../src/chain/ids.ts'
import { endedStates, openStates } from '../src/chain/approval.ts'
import type { ChainStore } from '../src/chain/ports.ts'
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
} from '../src/chain/records.ts'
import { decodeRow, encodeRow } from '../src/chain/row.ts'
import type { RequestDigest } from '../src/record/index.ts'
import { createTables, readSchemaVersion } from './migrations.ts'

/** Of the 10 GB that the platform allows: the rest is for what must still be written when no Call may be. */
const databaseBytesMax = 8_000_000_000

/**
 * A row's key is `session_index * 2^24 + seq`: one integer, so that a row needs no second entry. A Session of 2^24
 * Lines would not fit into {@link databaseBytesMax}; 2^29 Sessions are a thousand years of one a minute.
 */
const seqsPerSession = 2 ** 24
const sessionsMax = 2 ** 29

/** Ids that are forgotten as a whole table (ids.ts). */
const families = {
  request_ids: {
    generationMs: requestGenerationMs,
    columns: `agent_id TEXT, route TEXT, request_id TEXT, request_digest TEXT NOT NULL, position INTEGER NOT NULL,
      PRIMARY KEY (agent_id, route, request_id)`,
  },
  nonces: {
    generationMs: nonceGenerationMs,
    columns: 'agent_id TEXT, nonce TEXT, PRIMARY KEY (agent_id, nonce)',
  },
  grants: {
    generationMs: grantGenerationMs,
    columns: `agent_id TEXT, grant_id TEXT, call_id TEXT NOT NULL, tool_id TEXT NOT NULL,
      request_digest TEXT NOT NULL, expires_at INTEGER NOT NULL, reported INTEGER NOT NULL,
      PRIMARY KEY (agent_id, grant_id)`,
  },
} as const
type Family = keyof typeof families

const approvalStates: readonly ApprovalState[] = [...openStates, ...endedStates]

/** At 192 KiB a row at most, 6 MiB. */
const rowsPerPage = 32

export class SqlChainStore implements ChainStore {
  readonly #storage: DurableObjectStorage
  readonly #sql: SqlStorage
  /** What was read and is still so. Dropped whenever a transaction rolls back, since it may hold what was undone. */
  #tenant: TenantRecord | undefined
  #generations: Record<Family, readonly number[]> | undefined

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage
    this.#sql = storage.sql
  }

  transaction<T>(work: () => T): T {
    try {
      return this.#storage.transactionSync(work)
    } catch (thrown) {
      this.#tenant = undefined
      this.#generations = undefined
      throw thrown
    }
  }

  readTenant(): TenantRecord | undefined {
    if (this.#tenant !== undefined) return this.#tenant
    if (readSchemaVersion(this.#sql) === undefined) return undefined
    this.#tenant = this.#readRecord<TenantRecord>('SELECT record FROM tenant')
    return this.#tenant
  }

  createTenant(tenant: TenantRecord, head: HeadRecord): void {
    createTables(this.#sql)
    this.#sql.exec('INSERT INTO tenant (one, record) VALUES (1, ?)', JSON.stringify(tenant))
    this.#sql.exec(
      'INSERT INTO head (one, line_hash, record) VALUES (1, ?, ?)',
      hashOf(head),
      JSON.stringify(head),
    )
    this.#tenant = tenant
  }

  writeTenant(tenant: TenantRecord): void {
    this.#writeOne('UPDATE tenant SET record = ? WHERE one = 1', JSON.stringify(tenant))
    this.#tenant = tenant
  }

  readHead(): HeadRecord {
    const head = this.#readRecord<HeadRecord>('SELECT record FROM head')
    if (head === undefined) throw new Error('a provisioned object has no head')
    return head
  }

  replaceHead(expected: HeadRecord, next: HeadRecord): void {
    // No row changed means that the stored head is another: an append here would fork the Chain.
    this.#writeOne(
      'UPDATE head SET line_hash = ?, record = ? WHERE one = 1 AND line_hash = ?',
      hashOf(next),
      JSON.stringify(next),
      hashOf(expected),
    )
  }

  appendLines(sessionIndex: number, seq: number, lines: readonly Uint8Array[]): void {
    this.#writeOne(
      'INSERT INTO calls (position, lines) VALUES (?, ?)',
      positionOf(sessionIndex, seq),
      encodeRow(lines),
    )
  }

  readLine(sessionIndex: number, seq: number): Uint8Array | undefined {
    const [row] = this.#sql
      .exec<CallRow>(
        'SELECT position, lines FROM calls WHERE position <= ? ORDER BY position DESC LIMIT 1',
        positionOf(sessionIndex, seq),
      )
      .toArray()
    if (row === undefined || row.position < positionOf(sessionIndex, 0)) return undefined
    return decodeRow(new Uint8Array(row.lines))[seq - (row.position % seqsPerSession)]
  }

  /**
   * A page at a time and no cursor in between: whoever stops in the middle would leave one open, and a generation of ids
   * cannot be dropped as long as there is one (SQLITE_LOCKED).
   */
  *readRows(sessionIndex: number, seq: number): Generator<StoredRow> {
    const first = positionOf(sessionIndex, 0)
    const [start] = this.#sql
      .exec<{ position: number | null }>(
        'SELECT max(position) AS position FROM calls WHERE position BETWEEN ? AND ?',
        first,
        first + seq,
      )
      .toArray()
    let from = start?.position ?? undefined
    while (from !== undefined) {
      const rows: readonly CallRow[] = this.#sql
        .exec<CallRow>(
          'SELECT position, lines FROM calls WHERE position >= ? AND position < ? ORDER BY position LIMIT ?',
          from,
          first + seqsPerSession,
          rowsPerPage,
        )
        .toArray()
      for (const { position, lines } of rows) yield { seq: position - first, bytes: new Uint8Array(lines) }
      const last = rows[rows.length - 1]
      from = rows.length < rowsPerPage || last === undefined ? undefined : last.position + 1
    }
  }

  readLastRow(sessionIndex: number): StoredRow | undefined {
    const first = positionOf(sessionIndex, 0)
    const [row] = this.#sql
      .exec<CallRow>(
        'SELECT position, lines FROM calls WHERE position BETWEEN ? AND ? ORDER BY position DESC LIMIT 1',
        first,
        first + seqsPerSession - 1,
      )
      .toArray()
    return row === undefined ? undefined : { seq: row.position - first, bytes: new Uint8Array(row.lines) }
  }

  deleteRows(sessionIndex: number): void {
    const first = positionOf(sessionIndex, 0)
    this.#sql.exec('DELETE FROM calls WHERE position BETWEEN ? AND ?', first, first + seqsPerSession - 1)
  }

  setRowsAside(fromSession: number, now: number): number {
    const first = positionOf(fromSession, 0)
    this.#sql.exec(
      'INSERT INTO calls_aside (set_aside_at, position, lines) SELECT ?, position, lines FROM calls WHERE position >= ?',
      now,
      first,
    )
    return this.#sql.exec('DELETE FROM calls WHERE position >= ? RETURNING 1', first).toArray().length
  }

  readAgent(id: string): AgentRecord | undefined {
    return this.#readRecord('SELECT record FROM agents WHERE id = ?', id)
  }

  writeAgent(agent: AgentRecord): void {
    this.#upsert('agents', 'id', agent.id, agent)
  }

  listAgents(after: string, limit: number): readonly AgentRecord[] {
    return this.#readRecords('SELECT record FROM agents WHERE id > ? ORDER BY id LIMIT ?', after, limit)
  }

  readCounters(agentId: string): AgentCounters | undefined {
    return this.#readRecord('SELECT record FROM counters WHERE agent_id = ?', agentId)
  }

  writeCounters(counters: AgentCounters): void {
    this.#upsert('counters', 'agent_id', counters.agentId, counters)
  }

  readKey(id: string): KeyRecord | undefined {
    return this.#readRecord('SELECT record FROM api_keys WHERE id = ?', id)
  }

  writeKey(key: KeyRecord): void {
    this.#upsert('api_keys', 'id', key.id, key)
  }

  listKeys(after: string, limit: number): readonly KeyRecord[] {
    return this.#readRecords('SELECT record FROM api_keys WHERE id > ? ORDER BY id LIMIT ?', after, limit)
  }

  listAdminKeys(): readonly KeyRecord[] {
    return this.#readRecords("SELECT record FROM api_keys WHERE record ->> '$.role' = 'admin' ORDER BY id")
  }

  readGroup(name: string): GroupRecord | undefined {
    return this.#readRecord('SELECT record FROM approver_groups WHERE name = ?', name)
  }

  writeGroup(group: GroupRecord): void {
    this.#upsert('approver_groups', 'name', group.name, group)
  }

  listGroups(after: string, limit: number): readonly GroupRecord[] {
    return this.#readRecords(
      'SELECT record FROM approver_groups WHERE name > ? ORDER BY name LIMIT ?',
      after,
      limit,
    )
  }

  isToolFrozen(toolId: string): boolean {
    return this.#sql.exec('SELECT 1 FROM frozen_tools WHERE tool_id = ?', toolId).toArray().length > 0
  }

  setToolFrozen(toolId: string, frozen: boolean): void {
    this.#sql.exec(
      frozen
        ? 'INSERT INTO frozen_tools (tool_id) VALUES (?) ON CONFLICT DO NOTHING'
        : 'DELETE FROM frozen_tools WHERE tool_id = ?',
      toolId,
    )
  }

  listFrozenTools(after: string, limit: number): readonly string[] {
    return this.#sql
      .exec<{ tool_id: string }>(
        'SELECT tool_id FROM frozen_tools WHERE tool_id > ? ORDER BY tool_id LIMIT ?',
        after,
        limit,
      )
      .toArray()
      .map((row) => row.tool_id)
  }

  readRequest(agentId: string, route: string, requestId: string, now: number): RequestRecord | undefined {
    for (const generation of this.#kept('request_ids', now)) {
      const [row] = this.#sql
        .exec<{ request_digest: string; position: number }>(
          `SELECT request_digest, position FROM request_ids_${String(generation)}
           WHERE agent_id = ? AND route = ? AND request_id = ?`,
          agentId,
          route,
          requestId,
        )
        .toArray()
      if (row === undefined) continue
      const seq = row.position % seqsPerSession
      return {
        requestDigest: row.request_digest as RequestDigest,
        sessionIndex: (row.position - seq) / seqsPerSession,
        seq,
      }
    }
    return undefined
  }

  insertRequest(
    agentId: string,
    route: string,
    requestId: string,
    request: RequestRecord,
    now: number,
  ): void {
    this.#writeOne(
      `INSERT INTO request_ids_${String(this.#newest('request_ids', now))}
       (agent_id, route, request_id, request_digest, position) VALUES (?, ?, ?, ?, ?)`,
      agentId,
      route,
      requestId,
      request.requestDigest,
      positionOf(request.sessionIndex, request.seq),
    )
  }

  hasNonce(agentId: string, nonce: string, now: number): boolean {
    return this.#kept('nonces', now).some(
      (generation) =>
        this.#sql
          .exec(`SELECT 1 FROM nonces_${String(generation)} WHERE agent_id = ? AND nonce = ?`, agentId, nonce)
          .toArray().length > 0,
    )
  }

  insertNonce(agentId: string, nonce: string, now: number): void {
    this.#writeOne(
      `INSERT INTO nonces_${String(this.#newest('nonces', now))} (agent_id, nonce) VALUES (?, ?)`,
      agentId,
      nonce,
    )
  }

  stageEnvelope(digest: RequestDigest, bytes: Uint8Array): void {
    this.#sql.exec(
      'INSERT INTO envelopes (request_digest, bytes) VALUES (?, ?) ON CONFLICT DO NOTHING',
      digest,
      bytes,
    )
  }

  readEnvelope(digest: RequestDigest): Uint8Array | undefined {
    const [row] = this.#sql
      .exec<{ bytes: ArrayBuffer }>('SELECT bytes FROM envelopes WHERE request_digest = ?', digest)
      .toArray()
    return row === undefined ? undefined : new Uint8Array(row.bytes)
  }

  listEnvelopes(limit: number): readonly RequestDigest[] {
    return this.#sql
      .exec<{ request_digest: string }>(
        'SELECT request_digest FROM envelopes ORDER BY request_digest LIMIT ?',
        limit,
      )
      .toArray()
      .map((row) => row.request_digest as RequestDigest)
  }

  deleteEnvelope(digest: RequestDigest): void {
    this.#sql.exec('DELETE FROM envelopes WHERE request_digest = ?', digest)
  }

  isErased(digest: RequestDigest): boolean {
    return this.#sql.exec('SELECT 1 FROM erased WHERE request_digest = ?', digest).toArray().length > 0
  }

  insertErased(digest: RequestDigest, deleteUntil: number): void {
    this.#sql.exec('INSERT INTO erased (request_digest) VALUES (?) ON CONFLICT DO NOTHING', digest)
    this.#writeOne(
      `INSERT INTO erasing (request_digest, delete_until) VALUES (?, ?)
       ON CONFLICT DO UPDATE SET delete_until = excluded.delete_until`,
      digest,
      deleteUntil,
    )
  }

  listErasing(limit: number): readonly { readonly digest: RequestDigest; readonly deleteUntil: number }[] {
    return this.#sql
      .exec<{ request_digest: string; delete_until: number }>(
        'SELECT request_digest, delete_until FROM erasing ORDER BY request_digest LIMIT ?',
        limit,
      )
      .toArray()
      .map((row) => ({ digest: row.request_digest as RequestDigest, deleteUntil: row.delete_until }))
  }

  endErasing(digest: RequestDigest): void {
    this.#sql.exec('DELETE FROM erasing WHERE request_digest = ?', digest)
  }

  readPublication(): PublicationRecord {
    return this.#readRecord<PublicationRecord>('SELECT record FROM publication') ?? {}
  }

  writePublication(publication: PublicationRecord): void {
    this.#writeOne(
      'INSERT INTO publication (one, record) VALUES (1, ?) ON CONFLICT DO UPDATE SET record = excluded.record',
      JSON.stringify(publication),
    )
  }

  insertSegment(segment: SegmentRecord): void {
    this.#writeOne(
      `INSERT INTO segments (session_index, record) VALUES (?, ?)
       ON CONFLICT DO UPDATE SET record = excluded.record`,
      segment.sessionIndex,
      JSON.stringify(segment),
    )
  }

  readSegment(sessionIndex: number): SegmentRecord | undefined {
    return this.#readRecord('SELECT record FROM segments WHERE session_index = ?', sessionIndex)
  }

  listSegments(after: number, limit: number): readonly SegmentRecord[] {
    return this.#sql
      .exec<{ record: string }>(
        'SELECT record FROM segments WHERE session_index > ? ORDER BY session_index LIMIT ?',
        after,
        limit,
      )
      .toArray()
      .map(({ record }) => JSON.parse(record) as SegmentRecord)
  }

  listDue(): readonly DueRecord[] {
    return this.#sql
      .exec<{ name: string; at: number; attempts: number }>(
        'SELECT name, at, attempts FROM due ORDER BY name',
      )
      .toArray()
      .map(({ name, at, attempts }) => ({ name: name as DueName, at, attempts }))
  }

  writeDue({ name, at, attempts }: DueRecord): void {
    this.#writeOne(
      `INSERT INTO due (name, at, attempts) VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET at = excluded.at, attempts = excluded.attempts`,
      name,
      at,
      attempts,
    )
    this.arm()
  }

  deleteDue(name: DueName): void {
    this.#sql.exec('DELETE FROM due WHERE name = ?', name)
    this.arm()
  }

  /** Sets the alarm to the earliest deadline: inside a transaction it commits and rolls back with it. */
  arm(): void {
    const { at } = this.#sql.exec<{ at: number | null }>('SELECT min(at) AS at FROM due').one()
    // Not awaited: the storage keeps its writes in order, and an answer leaves only when they are durable.
    if (at === null) void this.#storage.deleteAlarm()
    // A deadline of 0 is what a migration writes for "late already", and no time that the platform takes.
    else void this.#storage.setAlarm(Math.max(1, at))
  }

  writeApproval({ request, ...record }: ApprovalRecord, deadline: number): void {
    this.#sql.exec(
      `INSERT INTO approvals (approval_id, state, deadline, record, request) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET state = excluded.state, deadline = excluded.deadline,
         record = excluded.record, request = excluded.request`,
      record.approvalId,
      record.state,
      deadline,
      JSON.stringify(record),
      request ?? null,
    )
  }

  readApproval(approvalId: string): ApprovalRecord | undefined {
    const [row] = this.#sql
      .exec<{ record: string; request: ArrayBuffer | null }>(
        'SELECT record, request FROM approvals WHERE approval_id = ?',
        approvalId,
      )
      .toArray()
    if (row === undefined) return undefined
    const record = JSON.parse(row.record) as ApprovalRecord
    return row.request === null ? record : { ...record, request: new Uint8Array(row.request) }
  }

  /** In one state: by the index first, which has the ids, so that thousands that ended cost nothing. */
  listApprovals(state: ApprovalState | undefined, after: string, limit: number): readonly ApprovalRecord[] {
    if (state === undefined) {
      return this.#readRecords(
        'SELECT record FROM approvals WHERE approval_id > ? ORDER BY approval_id LIMIT ?',
        after,
        limit,
      )
    }
    return this.#readRecords(
      `SELECT record FROM approvals WHERE approval_id IN (
         SELECT approval_id FROM approvals INDEXED BY approvals_by_deadline
         WHERE state = ? AND approval_id > ? ORDER BY approval_id LIMIT ?) ORDER BY approval_id`,
      state,
      after,
      limit,
    )
  }

  listOverdueApprovals(state: ApprovalState, now: number, limit: number): readonly string[] {
    return this.#sql
      .exec<{ approval_id: string }>(
        'SELECT approval_id FROM approvals WHERE state = ? AND deadline <= ? ORDER BY deadline LIMIT ?',
        state,
        now,
        limit,
      )
      .toArray()
      .map((row) => row.approval_id)
  }

  nextApprovalDeadline(): number | undefined {
    // One look into the index a state: the smallest of all would be looked for in the whole table.
    const deadlines = approvalStates.flatMap((state) => {
      const { at } = this.#sql
        .exec<{ at: number | null }>('SELECT min(deadline) AS at FROM approvals WHERE state = ?', state)
        .one()
      return at === null ? [] : [at]
    })
    return deadlines.length === 0 ? undefined : Math.min(...deadlines)
  }

  deleteApproval(approvalId: string): void {
    this.#sql.exec('DELETE FROM approvals WHERE approval_id = ?', approvalId)
  }

  writeNotice({ approvalId, group, at, attempts }: NoticeRecord): void {
    this.#writeOne(
      `INSERT INTO notices (approval_id, group_name, at, attempts) VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET at = excluded.at, attempts = excluded.attempts`,
      approvalId,
      group,
      at,
      attempts,
    )
  }

  deleteNotice({ approvalId, group }: Pick<NoticeRecord, 'approvalId' | 'group'>): void {
    this.#sql.exec('DELETE FROM notices WHERE approval_id = ? AND group_name = ?', approvalId, group)
  }

  listNotices(now: number, limit: number): readonly NoticeRecord[] {
    return this.#sql
      .exec<{ approval_id: string; group_name: string; at: number; attempts: number }>(
        'SELECT * FROM notices WHERE at <= ? ORDER BY at, approval_id, group_name LIMIT ?',
        now,
        limit,
      )
      .toArray()
      .map(({ approval_id: approvalId, group_name: group, at, attempts }) => ({
        approvalId,
        group,
        at,
        attempts,
      }))
  }

  nextNoticeAt(): number | undefined {
    const { at } = this.#sql.exec<{ at: number | null }>('SELECT min(at) AS at FROM notices').one()
    return at ?? undefined
  }

  forgetApprovals(): void {
    this.#sql.exec('DELETE FROM approvals')
    this.#sql.exec('DELETE FROM notices')
    this.#sql.exec("UPDATE counters SET record = json_set(record, '$.pendingApprovals', 0)")
  }

  insertGrant(agentId: string, grant: GrantRecord, now: number): void {
    this.#writeOne(
      `INSERT INTO grants_${String(this.#newest('grants', now))}
       (agent_id, grant_id, call_id, tool_id, request_digest, expires_at, reported) VALUES (?, ?, ?, ?, ?, ?, 0)`,
      agentId,
      grant.grantId,
      grant.callId,
      grant.toolId,
      grant.requestDigest,
      grant.expiresAt,
    )
  }

  readGrant(agentId: string, grantId: string, now: number): GrantRecord | undefined {
    for (const generation of this.#kept('grants', now)) {
      const [row] = this.#sql
        .exec<GrantRow>(
          `SELECT * FROM grants_${String(generation)} WHERE agent_id = ? AND grant_id = ?`,
          agentId,
          grantId,
        )
        .toArray()
      if (row !== undefined) return toGrant(row)
    }
    return undefined
  }

  markReported(agentId: string, grantId: string, now: number): void {
    for (const generation of this.#kept('grants', now)) {
      this.#sql.exec(
        `UPDATE grants_${String(generation)} SET reported = 1 WHERE agent_id = ? AND grant_id = ?`,
        agentId,
        grantId,
      )
    }
  }

  listUnreported(agentId: string, after: string, now: number, limit: number): readonly GrantRecord[] {
    return this.#kept('grants', now)
      .flatMap((generation) =>
        this.#sql
          .exec<GrantRow>(
            `SELECT * FROM grants_${String(generation)}
             WHERE agent_id = ? AND grant_id > ? AND reported = 0 AND expires_at <= ? ORDER BY grant_id LIMIT ?`,
            agentId,
            after,
            now,
            limit,
          )
          .toArray(),
      )
      .map(toGrant)
      .sort((left, right) => (left.grantId < right.grantId ? -1 : 1))
      .slice(0, limit)
  }

  hasRoom(): boolean {
    return this.#sql.databaseSize < databaseBytesMax
  }

  /** Text that we wrote ourselves, in a table that nobody else can write. */
  #readRecord<T>(query: string, ...bindings: readonly (string | number)[]): T | undefined {
    const [row] = this.#sql.exec<{ record: string }>(query, ...bindings).toArray()
    return row === undefined ? undefined : (JSON.parse(row.record) as T)
  }

  #readRecords<T>(query: string, ...bindings: readonly (string | number)[]): readonly T[] {
    const rows = this.#sql.exec<{ record: string }>(query, ...bindings).toArray()
    return rows.map(({ record }) => JSON.parse(record) as T)
  }

  #upsert(table: string, key: string, value: string, record: object): void {
    this.#writeOne(
      `INSERT INTO ${table} (${key}, record) VALUES (?, ?) ON CONFLICT DO UPDATE SET record = excluded.record`,
      value,
      JSON.stringify(record),
    )
  }

  /** A write that changes exactly one row, or the store is not what we think it is. */
  #writeOne(query: string, ...bindings: readonly (string | number | Uint8Array)[]): void {
    const { rowsWritten } = this.#sql.exec(query, ...bindings)
    if (rowsWritten !== 1) throw new Error(`one row was to be written, not ${String(rowsWritten)}: ${query}`)
  }

  /** The generations that count now: the current one, the one before, and later ones after a clock was set back. */
  #kept(family: Family, now: number): readonly number[] {
    const current = generationOf(now, families[family].generationMs)
    return this.#readGenerations()[family].filter((generation) => generation >= current - 1)
  }

  /** The table for what is kept now; made when its time has come, and the table before the last one dropped. */
  #newest(family: Family, now: number): number {
    const { generationMs, columns } = families[family]
    const made = this.#readGenerations()[family]
    // Also when the clock was set back: what is kept is never forgotten early.
    const generation = Math.max(generationOf(now, generationMs), ...made)
    if (made.includes(generation)) return generation
    this.#sql.exec(`CREATE TABLE ${family}_${String(generation)} (${columns}) STRICT, WITHOUT ROWID`)
    for (const older of made) {
      if (older < generation - 1) this.#sql.exec(`DROP TABLE ${family}_${String(older)}`)
    }
    this.#generations = undefined
    return generation
  }

  #readGenerations(): Record<Family, readonly number[]> {
    this.#generations ??= {
      request_ids: this.#listGenerations('request_ids'),
      nonces: this.#listGenerations('nonces'),
      grants: this.#listGenerations('grants'),
    }
    return this.#generations
  }

  #listGenerations(family: Family): readonly number[] {
    return this.#sql
      .exec<{ name: string }>(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB ?",
        `${family}_[0-9]*`,
      )
      .toArray()
      .map(({ name }) => Number(name.slice(family.length + 1)))
      .sort((left, right) => right - left)
  }
}

interface CallRow extends Record<string, SqlStorageValue> {
  readonly position: number
  readonly lines: ArrayBuffer
}

interface GrantRow extends Record<string, SqlStorageValue> {
  readonly grant_id: string
  readonly call_id: string
  readonly tool_id: string
  readonly request_digest: string
  readonly expires_at: number
  readonly reported: number
}

function toGrant(row: GrantRow): GrantRecord {
  return {
    grantId: row.grant_id,
    callId: row.call_id,
    toolId: row.tool_id,
    requestDigest: row.request_digest as RequestDigest,
    expiresAt: row.expires_at,
    reported: row.reported === 1,
  }
}

function positionOf(sessionIndex: number, seq: number): number {
  if (seq >= seqsPerSession || sessionIndex >= sessionsMax) throw new Error('a position out of range')
  return sessionIndex * seqsPerSession + seq
}

function hashOf({ head }: HeadRecord): string {
  return head.state === 'empty' ? '' : head.lineHash
}
