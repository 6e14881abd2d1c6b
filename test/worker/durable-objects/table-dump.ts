/**
 * An object's tables as SQL text, and back: how the fixtures of earlier releases are made and opened. A release's fixture
 * is what `dumpTables` says of an object that the release's own code has filled, and is never changed afterwards.
 */

/** Everything but what the platform keeps for itself, in the order of names. */
export function dumpTables(sql: SqlStorage): string {
  const tables = sql
    .exec<{ name: string; sql: string }>(
      `SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT GLOB '_cf_*' AND name NOT GLOB 'sqlite_*'
       ORDER BY type DESC, name`,
    )
    .toArray()
  const statements = tables.map((table) => table.sql.replace(/\s+/g, ' '))
  for (const { name, sql: made } of tables) {
    if (!made.startsWith('CREATE TABLE')) continue
    const rows = sql.exec(`SELECT * FROM ${name}`).toArray()
    const inserts = rows.map((row) => {
      const columns = Object.keys(row).join(', ')
      return `INSERT INTO ${name} (${columns}) VALUES (${Object.values(row).map(literal).join(', ')})`
    })
    statements.push(...inserts.toSorted())
  }
  return `${statements.join(';\n')};\n`
}

/** Into an object that has none. */
export function loadTables(storage: DurableObjectStorage, text: string): void {
  storage.transactionSync(() => {
    // Statement by statement: each is one line, and no text in them holds a line's end.
    for (const line of text.split('\n')) if (line !== '') storage.sql.exec(line)
  })
}

function literal(value: SqlStorageValue): string {
  if (value === null) return 'NULL'
  if (typeof value === 'number') return String(value)
  if (typeof value === 'string') return `'${value.replaceAll("'", "''")}'`
  const hex = [...new Uint8Array(value)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  return `x'${hex}'`
}
