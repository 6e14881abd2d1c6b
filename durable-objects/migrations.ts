/**
 * The tables of a tenant's object, version by version. Forward only: a migration is applied in one transaction when a
 * provisioned object first wakes under newer code; an object that was never provisioned gets no table at all.
 * What the tables mean stands in STORAGE.md.
 */

/** One step, from the version before it. */
export interface Migration {
  readonly version: number
  readonly apply: (sql: SqlStorage) => void
}

/** From the first to the current version, without a gap. A step that was released is never changed. */
export const migrations: readonly Migration[] = [
  { version: 1, apply: createFirstTables },
  { version: 2, apply: addPublishing },
]

/** No table has an index besides its key: every index would be another row to write. */
function createFirstTables(sql: SqlStorage): void {
  const statements = [
    'CREATE TABLE tenant (one INTEGER PRIMARY KEY CHECK (one = 1), record TEXT NOT NULL) STRICT',
    `CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), line_hash TEXT NOT NULL, record TEXT NOT NULL) STRICT`,
    'CREATE TABLE calls (position INTEGER PRIMARY KEY, lines BLOB NOT NULL) STRICT',
    'CREATE TABLE agents (id TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID',
    'CREATE TABLE counters (agent_id TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID',
    'CREATE TABLE api_keys (id TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID',
    'CREATE TABLE approver_groups (name TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID',
    'CREATE TABLE frozen_tools (tool_id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID',
    'CREATE TABLE envelopes (request_digest TEXT PRIMARY KEY, bytes BLOB NOT NULL) STRICT, WITHOUT ROWID',
    `CREATE TABLE approvals (approval_id TEXT PRIMARY KEY, record TEXT NOT NULL, request BLOB NOT NULL) STRICT, WITHOUT ROWID`,
  ]
  for (const statement of statements) sql.exec(statement)
}

/** Publishing, Envelopes and their deadlines; a tenant's generations of its key. */
function addPublishing(sql: SqlStorage): void {
  const statements = [
    'CREATE TABLE due (name TEXT PRIMARY KEY, at INTEGER NOT NULL, attempts INTEGER NOT NULL) STRICT, WITHOUT ROWID',
    'CREATE TABLE publication (one INTEGER PRIMARY KEY CHECK (one = 1), record TEXT NOT NULL) STRICT',
    'CREATE TABLE segments (session_index INTEGER PRIMARY KEY, record TEXT NOT NULL) STRICT',
    'CREATE TABLE erased (request_digest TEXT PRIMARY KEY) STRICT, WITHOUT ROWID',
    'CREATE TABLE erasing (request_digest TEXT PRIMARY KEY, delete_until INTEGER NOT NULL) STRICT, WITHOUT ROWID',
    `CREATE TABLE calls_aside (set_aside_at INTEGER, position INTEGER, lines BLOB NOT NULL,
       PRIMARY KEY (set_aside_at, position)) STRICT`,
    // Approvals of version 1 could neither be decided nor used: they are let go.
    'DROP TABLE approvals',
    `CREATE TABLE approvals (approval_id TEXT PRIMARY KEY, state TEXT NOT NULL, deadline INTEGER NOT NULL,
       record TEXT NOT NULL, request BLOB) STRICT, WITHOUT ROWID`,
    // The alarm asks for what is over; a table of 30 days would otherwise be read as a whole each time.
    'CREATE INDEX approvals_by_deadline ON approvals (state, deadline)',
    // Only what waits: as many rows as pending approvals have groups with a webhook.
    `CREATE TABLE notices (approval_id TEXT NOT NULL, group_name TEXT NOT NULL, at INTEGER NOT NULL,
       attempts INTEGER NOT NULL, PRIMARY KEY (approval_id, group_name)) STRICT, WITHOUT ROWID`,
    `UPDATE counters SET record = json_set(record, '$.pendingApprovals', 0)`,
    `UPDATE head SET record = json_set(record, '$.pendingApprovals', 0)`,
    // A Session that is open now has no deadline yet: whatever is late is done at the first alarm.
    "INSERT INTO due (name, at, attempts) SELECT 'seal', 0, 0 FROM tenant UNION ALL SELECT 'envelopes', 0, 0 FROM tenant",
    `UPDATE tenant SET record = json_set(record, '$.settings.envelope_retention_days', 90,
       '$.keys', json_array(json_object('keyEpoch', record ->> '$.keyEpoch',
         'seedNumber', record ->> '$.seedNumber', 'firstSession', 0)))`,
  ]
  for (const statement of statements) sql.exec(statement)
}

/** The version of the stored tables; `undefined` on an object that was never provisioned. Writes nothing. */
export function readSchemaVersion(sql: SqlStorage): number | undefined {
  const [table] = sql.exec("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema'").toArray()
  if (table === undefined) return undefined
  return sql.exec<{ version: number }>('SELECT version FROM schema').one().version
}

/** Makes all tables, in the caller's transaction. Throws when they exist. */
export function createTables(sql: SqlStorage, steps: readonly Migration[] = migrations): void {
  sql.exec('CREATE TABLE schema (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL) STRICT')
  for (const step of steps) step.apply(sql)
  sql.exec('INSERT INTO schema (one, version) VALUES (1, ?)', steps[steps.length - 1]?.version ?? 0)
}

export type Migrated =
  | { readonly kind: 'absent' }
  | { readonly kind: 'current' }
  /** The code is older than the tables: it must not touch them. */
  | { readonly kind: 'newer'; readonly version: number }

/** Brings stored tables to the version of this code: all steps that are missing, or none of them and it throws. */
export function migrate(storage: DurableObjectStorage, steps: readonly Migration[] = migrations): Migrated {
  const stored = readSchemaVersion(storage.sql)
  if (stored === undefined) return { kind: 'absent' }
  const latest = steps[steps.length - 1]?.version ?? 0
  if (stored > latest) return { kind: 'newer', version: stored }
  if (stored < latest) {
    storage.transactionSync(() => {
      for (const step of steps) if (step.version > stored) step.apply(storage.sql)
      storage.sql.exec('UPDATE schema SET version = ?', latest)
    })
  }
  return { kind: 'current' }
}
