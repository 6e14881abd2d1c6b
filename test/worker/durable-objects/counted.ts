/** An object's storage, every cursor kept: what it read and wrote in rows is what the platform counts. */

export interface RowCounts {
  /** Rows written, by table; those of a generation under the name of their family. */
  readonly written: Readonly<Record<string, number>>
  readonly read: number
}

export function counted(
  storage: DurableObjectStorage,
  { databaseSize = storage.sql.databaseSize }: { readonly databaseSize?: number } = {},
): { storage: DurableObjectStorage; rows: () => RowCounts } {
  const cursors: { readonly query: string; readonly cursor: SqlStorageCursor<never> }[] = []
  const exec = (query: string, ...bindings: unknown[]): SqlStorageCursor<never> => {
    const cursor = storage.sql.exec<never>(query, ...bindings)
    cursors.push({ query, cursor })
    return cursor
  }
  const sql = { exec, databaseSize } as unknown as SqlStorage
  const rows = (): RowCounts => {
    const written: Record<string, number> = {}
    let read = 0
    for (const { query, cursor } of cursors) {
      read += cursor.rowsRead
      if (cursor.rowsWritten === 0) continue
      const [, table = query] = /(?:INTO|UPDATE|DELETE FROM)\s+([a-z_]+?)(?:_[0-9]+)?\s/.exec(query) ?? []
      written[table] = (written[table] ?? 0) + cursor.rowsWritten
    }
    return { written, read }
  }
  const faced = {
    sql,
    transactionSync: <T>(work: () => T): T => storage.transactionSync(work),
    setAlarm: (at: number): Promise<void> => storage.setAlarm(at),
    deleteAlarm: (): Promise<void> => storage.deleteAlarm(),
  }
  return { storage: faced as unknown as DurableObjectStorage, rows }
}
