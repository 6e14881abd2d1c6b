/** A thread that reads batches for `aegis recheck`: an entry point of its own, started by recheck-pool.ts. */
import { parentPort, workerData } from 'node:worker_threads'
import { RowReader } from '../recheck/index.ts'
import type { RecheckWork, RecheckWorkerData, RecheckWorkerMessage } from './recheck-pool.ts'
import { recheckMeans } from './recheck-source.ts'
import { readBatch } from './row-batch.ts'

const { since, source } = workerData as RecheckWorkerData
const send = (message: RecheckWorkerMessage): void => {
  parentPort?.postMessage(message)
}
const means = recheckMeans(source, (warning) => {
  send({ warning })
})
const reader = new RowReader(means, since === undefined ? {} : { since })

parentPort?.on('message', ({ number, batch }: RecheckWork) => {
  try {
    send({ number, readings: readBatch(batch, reader) })
  } catch {
    send({ number, failed: true })
  }
})
