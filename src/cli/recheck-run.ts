/** Reads files as one Chain and rechecks them: what `aegis recheck` and `aegis policy coverage` have in common. */
import { availableParallelism } from 'node:os'
import { type BrokenRow, Recheck, type RecheckSummary, type RecheckedRow } from '../recheck/index.ts'
import { checkInputNames, closeInputs, openInputs, readChunks, totalBytes } from './input-files.ts'
import { Progress } from './progress.ts'
import { RecheckPool } from './recheck-pool.ts'
import type { RecheckSource } from './recheck-source.ts'
import { type RowBatch, RowBatcher } from './row-batch.ts'
import { type Output, warn } from './terminal.ts'

export interface RecheckRun {
  readonly files: readonly string[]
  readonly source: RecheckSource
  readonly since?: number | undefined
  /** Default: one for small inputs, then as many as there are processors. */
  readonly threads?: number | undefined
  readonly workerUrl: URL
  /** For the progress bar. */
  readonly title: string
  readonly output: Output
}

/** More would wait for the one thread that walks. */
export const recheckThreadsDefaultMax = 4
/** Some 1,500 Calls, half a second of work, before threads are started by default. */
const startAfterDefault = 32

/** Rechecks and hands out rows in file order; returns early when nobody reads the output any more. */
export async function runRecheck(
  run: RecheckRun,
  take: (row: RecheckedRow | BrokenRow) => Promise<void> | void,
): Promise<RecheckSummary> {
  const { files, output, since, source, threads, title, workerUrl } = run
  checkInputNames(files)
  const inputs = await openInputs(files)
  const recheck = new Recheck()
  const pool = new RecheckPool({
    threads: threads ?? Math.min(availableParallelism(), recheckThreadsDefaultMax),
    startAfter: threads === undefined ? startAfterDefault : 0,
    source,
    since,
    workerUrl,
    warn,
  })
  const progress = new Progress(title, totalBytes(inputs))
  const batcher = new RowBatcher()
  const report = async (): Promise<void> => {
    for (const readings of pool.take()) {
      for (const reading of readings) {
        const row = recheck.take(reading)
        if (row !== undefined) await take(row)
      }
    }
  }
  const readAll = async (batches: readonly RowBatch[], doneBytes: number): Promise<void> => {
    for (const batch of batches) {
      await pool.put(batch)
      await report()
      progress.update(doneBytes)
    }
  }
  try {
    let doneBytes = 0
    for (const input of inputs) {
      for await (const chunk of readChunks(input)) {
        batcher.push(chunk)
        doneBytes += chunk.length
        await readAll(batcher.take(), doneBytes)
        if (output.closed) return recheck.summary
      }
      batcher.endFile()
    }
    await readAll(batcher.take(true), doneBytes)
    await pool.drain()
    await report()
    return recheck.summary
  } finally {
    progress.end()
    await pool.end()
    await closeInputs(inputs)
  }
}
